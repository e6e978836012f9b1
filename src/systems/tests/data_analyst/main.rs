//! The data analyst: planning, queries of a real SQLite database, calls, code, the composed answer.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "clippy does not see that these modules are compiled only for tests"
)]

mod api;
mod composing;
mod computing;
#[path = "../shared/conversation_snapshot.rs"]
mod conversation_snapshot;
mod deadlines;
mod doubts;
mod failures;
mod limits;
mod listing;
mod mending;
mod planning;
mod prompts;
mod querying;
mod running;
mod scene;
mod units;
