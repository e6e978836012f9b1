//! The deep research: its decisions, and questions from start to end.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "clippy does not see that these modules are compiled only for tests"
)]

mod citing;
#[path = "../shared/conversation_snapshot.rs"]
mod conversation_snapshot;
mod decisions;
mod direct_responses;
#[path = "../../../citation/tests/citation/documented_events.rs"]
mod documented_events;
mod events;
mod flow;
mod gains;
mod hostile;
mod limits;
mod links;
mod model_failures;
mod plans;
mod prompts;
mod react;
mod scene;
mod storing;
mod structured;
mod threads;
mod unfinished;
