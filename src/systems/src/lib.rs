//! The ready systems: graphs of agents on the engine, with their decisions,
//! prompts and reply schemas. They reach the world through ports alone.
//!
//! | module | holds |
//! |---|---|
//! | [`review_loop`] | one question, planned, researched and answered; a critic after each product |
//! | [`template`], [`material`] | how prompts are filled, and how untrusted text stands in them |

pub mod material;
pub mod review_loop;
pub mod template;

pub use review_loop::ReviewLoop;
