//! Ready systems, and the Python resources that they are given.

pub(crate) mod asking;
pub(crate) mod callables;
pub(crate) mod cancellation_token;
pub(crate) mod model_call;
pub(crate) mod native_queue;
pub(crate) mod native_system;
pub(crate) mod native_worker;
pub(crate) mod paused_run;
pub(crate) mod ported_sandbox;
pub(crate) mod proposal;
pub(crate) mod question;
pub(crate) mod resources;
pub(crate) mod role_attempt;
pub(crate) mod system_history;
pub(crate) mod user_context;
