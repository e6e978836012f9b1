//! An agent loop as a unit of a run: its calls are tasks like any other.

mod approvals;
mod calls;
mod state;
mod trace;
mod turns;

pub(super) use state::AgentUnit;
