//! The native driver, with hosts, models and tools that are real but small.

#![cfg(test)]

mod agents;
mod answers;
mod approved_arguments;
mod cancellation;
mod concurrency;
mod limits;
mod panics;
mod snapshots;
mod support;
mod tool_calls;
mod tool_gates;
mod watching;
