//! The port for code that nobody trusts: a model wrote it, or a stranger.
//!
//! An engine runs a [`Job`] inside its [`Limits`] and says what came of it as
//! an [`Outcome`]. Whatever the code does is data in that outcome, a
//! [`Trouble`] with a stable [`Kind`]; no engine fails because of its guest.
//!
//! | module | holds |
//! |---|---|
//! | [`engine`] | the port: [`Sandbox`], [`Session`], [`HostCalls`] |
//! | [`job`] | what is asked |
//! | [`limits`] | what it may use |
//! | [`outcome`] | what came of it |
//! | [`probe`] | what an engine can promise on this machine |
//! | [`trouble`] | how it can go wrong |

pub mod engine;
pub mod job;
pub mod limits;
pub mod outcome;
pub mod probe;
pub mod trouble;

pub use engine::{CallError, Halt, HostCalls, Sandbox, Session};
pub use job::{Function, Job, Want};
pub use limits::{Budget, Limits};
pub use outcome::{Outcome, Start, Table, Usage};
pub use probe::{Isolation, Probe};
pub use trouble::{Frame, Kind, Trouble};
