//! Agent loops as scopes of a run: their calls are tasks.

mod approvals;
mod calls;
mod state;
mod tool_questions;
mod trace;
mod turns;

pub(super) use state::AgentScope;
