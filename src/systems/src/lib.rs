//! The ready systems: graphs of agents on the engine, with their decisions,
//! prompts and reply schemas. They reach the world through ports alone.
//!
//! | module | holds |
//! |---|---|
//! | [`review_loop`] | one question, planned, researched and answered; a critic after each product |
//! | [`computation`] | one question, answered by code that a sandbox runs |
//! | [`session`] | what one question needs from outside |
//! | [`tool_cache`] | what tools have returned in a run |
//! | [`template`], [`material`] | how prompts are filled, and how untrusted text stands in them |

mod channels;
pub mod computation;
pub mod material;
pub mod review_loop;
pub mod session;
pub mod template;
pub mod tool_cache;

pub use computation::Computation;
pub use review_loop::ReviewLoop;
pub use session::Session;
pub use tool_cache::ToolCache;
