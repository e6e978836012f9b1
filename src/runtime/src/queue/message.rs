//! Messages, deliveries, dead letters.

use std::fmt;
use std::io::{self, Write};
use std::num::NonZeroU32;

use antiphon_core::{Fault, FaultCode, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{MessageLease, QueueSettings};
use crate::CancellationToken;

/// The longest id and the longest topic, in bytes: brokers bound the names that are made of them.
const LONGEST: usize = 64;

/// Work for one consumer of a topic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueMessage {
    /// What makes it one message, in all topics of the queue.
    pub id: String,
    /// Who is meant: the role of its consumers.
    pub topic: String,
    /// What is to be done.
    pub body: Json,
    /// From then on it is not delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Time>,
    /// How often it may be delivered, in place of what the queue's settings say: once, if its
    /// work must not be repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_deliveries: Option<NonZeroU32>,
}

impl QueueMessage {
    /// A message without deadline.
    pub fn new(id: impl Into<String>, topic: impl Into<String>, body: Json) -> Self {
        let (id, topic) = (id.into(), topic.into());
        Self { id, topic, body, deadline: None, max_deliveries: None }
    }

    /// Whether a queue with these settings can take it.
    ///
    /// # Errors
    /// `queue_message_invalid` if its id or topic is empty or too long, or its body too large.
    pub fn check(&self, settings: &QueueSettings) -> Result<(), Fault> {
        for (what, text) in [("id", &self.id), ("topic", &self.topic)] {
            if text.is_empty() || text.len() > LONGEST {
                let message = format!("the {what} of a message has 1 to {LONGEST} bytes: {text}");
                return Err(Fault::new(FaultCode::QueueMessageInvalid, message)
                    .with("id", self.id.as_str())
                    .hint("use a UUID as id, and the name of a role as topic"));
            }
        }
        let mut size = ByteCounter(0);
        // Values of JSON can always be written, and so can these bytes, which go nowhere.
        let _ = serde_json::to_writer(&mut size, &self.body);
        if size.0 > settings.max_bytes {
            let most = settings.max_bytes;
            let message = format!("the body of a message has at most {most} bytes: {}", size.0);
            return Err(Fault::new(FaultCode::QueueMessageInvalid, message)
                .with("id", self.id.as_str())
                .hint("store large data elsewhere, and send where it is"));
        }
        Ok(())
    }

    /// Why it must not be delivered after so many deliveries.
    pub fn death(
        &self,
        deliveries: u32,
        now: Time,
        settings: &QueueSettings,
    ) -> Option<DeathReason> {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            Some(DeathReason::DeadlinePassed)
        } else if deliveries >= self.max_deliveries.unwrap_or(settings.max_deliveries).get() {
            Some(DeathReason::DeliveriesExhausted)
        } else {
            None
        }
    }
}

/// Counts bytes and keeps none.
struct ByteCounter(usize);

impl Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What came of a publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishOutcome {
    /// The message is in the queue.
    Added,
    /// The queue knows its id, as that of a message that it has or had, or that was cancelled.
    Known,
}

/// A message in the hands of a consumer.
pub struct Delivery {
    /// The message.
    pub message: QueueMessage,
    /// Counts its deliveries from 1.
    pub attempt: u32,
    /// The right to it.
    pub lease: Box<dyn MessageLease>,
    /// Cancelled when the message is.
    pub cancellation: CancellationToken,
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery")
            .field("message", &self.message)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

/// A message that is not delivered any more, although nobody has acknowledged it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// The message.
    pub message: QueueMessage,
    /// How often it was delivered.
    pub deliveries: u32,
    /// Why it died.
    pub reason: DeathReason,
    /// When it died.
    pub at: Time,
}

/// Why a message died.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeathReason {
    /// It was delivered as often as it may be, and the last lease has ended.
    DeliveriesExhausted,
    /// It waited too long.
    DeadlinePassed,
    /// A consumer has buried it, and says why.
    Buried(String),
}
