//! The engine of antiphon: what runs next, what merges how, what is retried,
//! what a watcher sees. Pure and deterministic: it does no I/O, reads no clock
//! and starts no thread. A driver asks [`run::Run::step`] what to do, does it,
//! and answers.
//!
//! | module | holds |
//! |---|---|
//! | [`value`], [`channel`], [`state`] | what a state holds and how writes are merged into it |
//! | [`graph`] | nodes, edges, branches and joins, validated once when built |
//! | [`run`] | the machine; [`task`], [`command`], [`effect`] are what goes in and out |
//! | [`checkpoint`] | what is stored of a run, and what that adds up to |
//! | [`rules`] | the call-outs: merge rules and routers of the host |
//! | [`agent`] | the loop of model and tool calls |
//! | [`budget`], [`retry`], [`seed`] | what may be spent; when to try again; randomness that repeats |
//! | [`event`], [`notice`] | what a watcher sees; what a host can show with values |
//! | [`message`], [`content`], [`model`], [`tool`], [`schema`] | what passes between agents, models and tools |
//! | [`approval`] | calls of tools that somebody has to approve of |
//! | [`breaker`] | a tool that keeps failing is left alone for a while |
//! | [`reply`] | the port to structured output: parsers of replies, one for each schema |
//! | [`fault`], [`time`] | how something fails, and where; instants |
//! | [`nearest`] | the name that was meant, for errors about a misspelt one |
//! | [`excerpt`] | shortened texts and values for errors and prompts |
//! | [`settings`](mod@settings) | settings that arrive as JSON |

pub mod agent;
pub mod approval;
pub mod breaker;
pub mod budget;
pub mod channel;
pub mod checkpoint;
pub mod command;
pub mod content;
pub mod effect;
pub mod event;
pub mod excerpt;
pub mod fault;
pub mod graph;
pub mod message;
pub mod model;
pub mod nearest;
pub mod notice;
pub mod reply;
pub mod retry;
pub mod rules;
pub mod run;
pub mod schema;
pub mod seed;
pub mod settings;
pub mod state;
pub mod task;
pub mod time;
pub mod tool;
pub mod value;

pub use content::{Content, ContentPart, Media, MediaSource};
pub use fault::{Category, Fault, FaultCode, FaultRecord};
pub use message::{Message, ProviderContent, Role, ToolCall};
pub use model::{FinishReason, ModelReply, ModelRequest, Usage};
pub use retry::{Jitter, RetryPolicy};
pub use schema::Schema;
pub use seed::{KeySeed, Seed};
pub use time::Time;
pub use tool::{SideEffect, ToolOutcome, ToolSpec};
