//! The engine, run by a scripted host: one subject a file.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise, in what it shares with others too"
)]

mod agent {
    mod approvals;
    mod approvals_again;
    mod budgets;
    mod conversation;
    mod model;
    mod output;
    mod replays;
    mod results;
    mod tool_questions;
    mod tools;
}
mod engine {
    mod breakpoints;
    mod calls;
    mod cancels;
    mod codes;
    mod commits;
    mod conflicts;
    mod documented;
    mod durable_questions;
    mod errors;
    mod events;
    mod graphs;
    mod joins;
    mod limits;
    mod merges;
    mod nested;
    mod notices;
    mod open_calls;
    mod order;
    mod properties;
    mod questions;
    mod random;
    mod resumes;
    mod retries;
    mod routes;
    mod seeds;
    mod sends;
    mod settings;
    mod settling;
    mod silence;
    mod strange;
    mod subruns;
    mod targets;
    mod threads;
    mod timeouts;
    mod transactions;
    mod unstoppable;
}
mod support;
