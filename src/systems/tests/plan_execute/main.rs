//! Plan and execute: plans, references, stages, revisions, answers.

#![expect(
    clippy::unwrap_used,
    reason = "clippy does not see that these modules are compiled only for tests"
)]

mod capabilities;
#[path = "../shared/conversation_snapshot.rs"]
mod conversation_snapshot;
mod cut_off;
mod downloads;
mod fake_tools;
mod hostile;
mod journal;
mod keeping;
mod key_profiles;
mod pdf_files;
mod planning;
mod prompts;
mod queueing;
mod references;
mod repairs;
mod revising;
mod running;
mod scene;
mod schedule;
mod small_models;
mod templates;
mod validation;
