//! The engine, played by a scripted host: one subject a file.

#[path = "../support/mod.rs"]
mod support;

mod cancels;
mod commits;
mod conflicts;
mod errors;
mod events;
mod graphs;

mod joins;
mod limits;
mod merges;
mod nested;
mod order;
mod properties;
mod questions;
mod random;
mod retries;
mod routes;
mod seeds;
mod sends;
mod strange;
mod targets;
mod threads;
mod timeouts;
mod transactions;
