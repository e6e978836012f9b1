//! The port for code that nobody trusts: a model wrote it, or a stranger.
//!
//! An engine runs a [`SandboxJob`] inside its [`SandboxLimits`] and says what came of it as
//! an [`JobOutcome`]. All that the code does is data in that outcome, a
//! [`GuestFault`] with a stable [`GuestFaultKind`]; no engine fails because of its guest.
//!
//! | module | holds |
//! |---|---|
//! | [`engine`] | the port: [`Sandbox`], [`Session`], [`HostCalls`] |
//! | [`job`] | the request |
//! | [`limits`] | its limits |
//! | [`outcome`] | what came of it |
//! | [`probe`] | what an engine can promise on this machine |
//! | [`guest_fault`] | how it can go wrong |

pub mod engine;
pub mod guest_fault;
pub mod job;
pub mod limits;
pub mod outcome;
pub mod probe;

pub use engine::{CallError, HostCalls, Sandbox, Session, StopCheck};
pub use guest_fault::{GuestFault, GuestFaultKind, GuestFrame};
pub use job::{HostFunction, JobOutput, SandboxJob};
pub use limits::{SandboxBudget, SandboxLimits};
pub use outcome::{JobOutcome, JobTable, JobUsage, WorkerOrigin};
pub use probe::{Isolation, SandboxProbe};
