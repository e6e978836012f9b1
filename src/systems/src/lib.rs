//! The ready systems: graphs of agents on the engine, with their decisions,
//! prompts and reply schemas. They reach the world through ports alone.
//!
//! | module | holds |
//! |---|---|
//! | [`review_loop`] | one question, planned, researched and answered; a critic after each product |
//! | [`computation`] | one question, answered by code that a sandbox runs |
//! | [`session`] | what one question needs from outside |
//! | [`patch`] | what a node writes to the state |
//! | [`state`] | the state of a system, its channels and the keys of its patches |
//! | [`tool_cache`] | what tools have returned in a run |
//! | [`template`], [`delimited_input`] | how prompts are filled, and how untrusted text stands in them |

pub mod computation;
pub mod delimited_input;
pub mod patch;
pub mod review_loop;
pub mod session;
pub mod state;
pub mod template;
pub mod tool_cache;

pub use computation::Computation;
pub use patch::Patch;
pub use review_loop::ReviewLoop;
pub use session::Session;
pub use tool_cache::ToolCache;
