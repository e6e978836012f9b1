//! Queues: work that is handed to whoever is free.
//!
//! | module | holds |
//! |---|---|
//! | [`memory`] | a queue within one process |
//! | [`nats`] | a queue in a NATS server with `JetStream` |

pub mod memory;
pub mod nats;

pub use memory::MemoryQueue;
pub use nats::NatsQueue;
