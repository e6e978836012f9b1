//! What holds for all topics of a queue.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

/// What holds for all topics of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSettings {
    /// How long a consumer has a message to itself, unless it extends the lease: 30 seconds.
    pub lease: Duration,
    /// How often a message is delivered that says nothing else: twice.
    pub max_deliveries: NonZeroU32,
    /// How many messages of a topic may wait or be in the hands of consumers: 1,000.
    pub capacity: NonZeroUsize,
    /// How long the id of a message is known: 10 minutes.
    pub window: Duration,
    /// The largest body of a message as JSON text, in bytes: half a million.
    pub max_bytes: usize,
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(30),
            max_deliveries: NonZeroU32::MIN.saturating_add(1),
            capacity: NonZeroUsize::MIN.saturating_add(999),
            window: Duration::from_mins(10),
            max_bytes: 500_000,
        }
    }
}
