//! Threads and the stores that keep them.

pub(crate) mod admin;
pub(crate) mod arguments;
pub(crate) mod checkpoint_view;
pub(crate) mod history;
pub(crate) mod langgraph_threads;
pub(crate) mod pending_result;
pub(crate) mod run_input;
pub(crate) mod saver;
pub(crate) mod session;
pub(crate) mod summary;
pub(crate) mod thread_ref;
pub(crate) mod values;
