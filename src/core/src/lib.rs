//! The engine of antiphon: what runs next, what merges how, what is retried,
//! what a watcher sees. Pure and deterministic: it does no I/O, reads no clock
//! and starts no thread. A driver asks [`run::Run::step`] what to do, does it,
//! and answers.
//!
//! | module | holds |
//! |---|---|
//! | [`message`], [`model`], [`tool`], [`schema`] | what passes between agents, models and tools |
//! | [`fault`] | how something fails: category, code, sentence, details |
//! | [`retry`], [`seed`] | when to try again; randomness that repeats |
//! | [`time`] | instants and the arithmetic on them |

pub mod fault;
pub mod message;
pub mod model;
pub mod retry;
pub mod schema;
pub mod seed;
pub mod time;
pub mod tool;

pub use fault::{Category, Fault};
pub use message::{Message, Role, ToolCall};
pub use model::{FinishReason, ModelReply, ModelRequest, Usage};
pub use retry::{Jitter, RetryPolicy};
pub use schema::Schema;
pub use seed::Seed;
pub use time::Time;
pub use tool::{SideEffect, ToolOutcome, ToolSpec};
