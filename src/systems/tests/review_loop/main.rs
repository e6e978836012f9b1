//! The review loop, run with scripted models and tools. Tests cite
//! the ids of `docs/systems/review-loop.md`.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "clippy does not see that these modules are compiled only for tests"
)]

mod answerability;
mod cache;
mod calculating;
#[path = "../shared/conversation_snapshot.rs"]
mod conversation_snapshot;
mod delimiting;
mod errors;
mod escalation;
mod evidence;
mod flow;
mod input;
mod limits;
mod messages;
mod not_known;
mod parallel;
mod prompts;
mod properties;
mod replies;
mod roles;
mod scene;
mod settings;
mod threads;
mod tools;
