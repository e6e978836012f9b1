//! The computation: code, mistakes, second attempts, words.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "clippy does not see that the stage is only set in tests"
)]

mod answers;
mod flow;
mod prompts;
mod scene;
