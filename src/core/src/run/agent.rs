//! An agent loop as a scope of a run: its calls are tasks like any other.

mod approvals;
mod calls;
mod state;
mod trace;
mod turns;

pub(super) use state::AgentScope;
