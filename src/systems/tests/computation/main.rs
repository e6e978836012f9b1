//! The computation: code, mistakes, second attempts, words.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "clippy does not see that these modules are compiled only for tests"
)]

mod answers;
mod cross_check;
mod flow;
mod mismatches;
mod prompts;
mod scene;
