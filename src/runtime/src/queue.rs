//! The port to queues: messages in topics, each delivered to one consumer at a time.
//!
//! What every queue promises, and its conformance suite tests:
//!
//! * **At least once.** A message that was published stays until it is acknowledged,
//!   cancelled or dead. A consumer that dies, or whose lease ends, has not acknowledged it: the
//!   message is delivered again. So whoever acts on messages must expect them twice.
//! * **To one consumer at a time**, as long as its lease lasts. Who works longer extends it.
//! * **At most `max_deliveries` times.** Then the message is dead; so is one whose deadline has
//!   passed. It dies when a consumer asks for messages of its topic.
//! * **First in, first out** within a topic, for first deliveries. What is delivered again goes
//!   before what is new.
//! * **One id, one message**, within a window: what is published again is not added.
//!
//! | module | holds |
//! |---|---|
//! | [`message`] | messages, deliveries, dead letters |
//! | [`consumer_guard`] | consumers that a queue knows of |
//! | [`settings`] | what holds for all topics of a queue |

pub mod consumer_guard;
pub mod message;
pub mod settings;

use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use async_trait::async_trait;

pub use consumer_guard::ConsumerGuard;
pub use message::{DeadLetter, DeathReason, Delivery, PublishOutcome, QueueMessage};
pub use settings::QueueSettings;

/// Where messages are kept. One object serves any number of publishers and consumers.
#[async_trait]
pub trait Queue: Send + Sync {
    /// What people call it, without any secret: `memory`.
    fn name(&self) -> &str;

    /// Adds a message; it is kept when this is answered. Waits for a place while its topic is
    /// full: `wait` at most.
    ///
    /// # Errors
    /// `queue_full` if there was no place, `queue_message_invalid` if the message is none.
    async fn publish(&self, message: QueueMessage, wait: Duration)
    -> Result<PublishOutcome, Fault>;

    /// Takes up to `limit` messages of a topic, as many as there are; waits for the first
    /// one, `wait` at most, and returns none if there was none. A wait that is dropped takes none:
    /// what a server has sent to it already goes back at once, which counts as a delivery.
    async fn take(&self, topic: &str, limit: usize, wait: Duration)
    -> Result<Vec<Delivery>, Fault>;

    /// The message with this id is not delivered any more, and if it is published later, not
    /// at all, as long as the queue remembers the id. A consumer that has it is told by the
    /// token of its delivery. Nothing happens to a message that is acknowledged or dead.
    async fn cancel(&self, id: &str, reason: &str) -> Result<(), Fault>;

    /// The latest dead letters of a topic, the oldest first: as many as the topic may have
    /// messages.
    async fn dead_letters(&self, topic: &str) -> Result<Vec<DeadLetter>, Fault>;

    /// Nobody takes messages of the topic any more: those that it has are gone, its dead letters
    /// too, and what the queue keeps for its consumers.
    async fn retire(&self, topic: &str) -> Result<(), Fault>;

    /// A consumer of a topic is there, or about to be, until the return value is dropped.
    fn register_consumer(&self, topic: &str) -> ConsumerGuard {
        let _ = topic;
        ConsumerGuard::unknown()
    }

    /// Whether a topic has a consumer; none if nobody can know, because they may be in other
    /// processes.
    fn has_consumer(&self, topic: &str) -> Option<bool> {
        let _ = topic;
        None
    }

    /// Ends for this object: what waits fails with `queue_closed`, and so do later calls. Leases
    /// that consumers have can still be settled. Messages stay where they are kept.
    fn close(&self);
}

/// The right of one consumer to one message, for the time of the queue's lease. One that is
/// dropped without being settled ends by itself, as that of a consumer that died.
///
/// Every method fails with `queue_lease_lost` once the lease has ended, the message was
/// settled, or it was cancelled.
#[async_trait]
pub trait MessageLease: Send + Sync {
    /// The work is done: the message is gone when this is answered.
    async fn acknowledge(&self) -> Result<(), Fault>;

    /// The work is not done: the message is delivered again, in `delay` at the earliest.
    async fn give_back(&self, delay: Duration) -> Result<(), Fault>;

    /// The work goes on: the lease lasts as long as a new one, from now on.
    async fn extend(&self) -> Result<(), Fault>;

    /// The work can never be done: the message is dead.
    async fn bury(&self, reason: &str) -> Result<(), Fault>;
}

/// The fault for a topic that stayed full.
pub fn full(topic: &str, capacity: usize) -> Fault {
    Fault::new(FaultCode::QueueFull, format!("the topic stayed full: {topic}"))
        .with("topic", topic)
        .with("capacity", capacity)
        .hint("start more consumers of the topic, wait longer, or give the queue a larger capacity")
}

/// The fault for a queue that was closed.
pub fn closed(name: &str) -> Fault {
    Fault::new(FaultCode::QueueClosed, format!("the queue is closed: {name}"))
        .with("queue", name)
        .hint("open another one: the messages of a queue that outlives its process are kept")
}

/// The fault for a lease that is over.
pub fn lease_lost(id: &str) -> Fault {
    let message = format!("the consumer has no lease of the message any more: {id}");
    Fault::new(FaultCode::QueueLeaseLost, message)
        .with("id", id)
        .hint("drop what was done for it, and extend the lease of longer work in time")
}
