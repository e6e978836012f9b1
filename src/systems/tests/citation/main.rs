//! The stages of citation in a graph: roles, searches, failures, prompts.

#![expect(
    clippy::unwrap_used,
    reason = "clippy does not see that these modules are compiled only for tests"
)]

mod arbitration;
mod composing;
#[path = "../shared/conversation_snapshot.rs"]
mod conversation_snapshot;
mod flow;
mod prompts;
mod scene;
