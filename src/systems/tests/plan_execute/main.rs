//! Plan and execute: plans, references, templates.

#![expect(clippy::unwrap_used, reason = "clippy does not see that the stage is only set in tests")]

mod capabilities;
mod references;
mod stage;
mod templates;
mod validation;
