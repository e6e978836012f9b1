//! Queues of messages: in memory, and in a NATS server.
//!
//! | module | holds |
//! |---|---|
//! | [`memory`] | a queue within one process |
//! | [`nats`] | a queue in a NATS server with `JetStream` |

pub mod memory;
pub mod nats;

pub use memory::MemoryQueue;
pub use nats::{NatsAddress, NatsQueue};
