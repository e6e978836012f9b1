//! The machine: it owns every decision of a run and does no I/O.
//!
//! A driver asks [`Run::step`] what to do, does it, and answers: tasks with
//! [`Run::resolve`], commits with [`Run::committed`], questions with
//! [`Run::answer`]. Everything is synchronous and total: the same graph, seed,
//! times and outcomes give the same bytes.

mod agent;
mod barrier;
mod breakpoints;
mod call_tracker;
mod calls;
mod conflict;
mod event_keys;
mod failure;
mod frame;
mod frontier;
mod gates;
mod log;
mod machine;
mod nested_graphs;
mod notify;
mod plan;
mod questions;
mod queue;
mod recovery;
mod route;
mod scope;
mod subruns;
mod terminate;
mod termination;
mod timers;
mod view;
mod write_claims;

pub use breakpoints::Breakpoints;
pub use calls::{CallStart, PendingCall};
pub use machine::{Options, Run};
pub use subruns::Subrun;
