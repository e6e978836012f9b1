//! Queues: what each of them does, and whatever is done to them.

#![cfg(test)]

mod conformance;
mod memory;
mod nats;
mod random_use;
mod server;
mod subject;
mod waiting;
