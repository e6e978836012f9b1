//! The agentic search: plans, waves of tasks, answers, conversations.

#![expect(
    clippy::unwrap_used,
    reason = "clippy does not see that these modules are compiled only for tests"
)]

mod approvals;
#[path = "../shared/conversation_snapshot.rs"]
mod conversation_snapshot;
mod counting;
mod figures;
mod flow;
mod hostile;
mod iterations;
mod limits;
mod narrow_searches;
mod plans;
mod prompts;
mod references;
mod registry;
mod scene;
mod section_numbers;
mod synthesis;
mod threads;
mod waves;
