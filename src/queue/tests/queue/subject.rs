//! A queue under test, and what it lives by.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::Time;
use antiphon_queue::MemoryQueue;
use antiphon_runtime::queue::{Delivery, PublishOutcome, Queue, QueueMessage, QueueSettings};
use antiphon_runtime::{Clock, ManualClock};
use serde_json::json;

/// A queue under test, with small limits.
pub(crate) struct Subject {
    pub(crate) queue: Arc<dyn Queue>,
    pub(crate) settings: QueueSettings,
    clock: Arc<ManualClock>,
}

impl Subject {
    pub(crate) fn memory() -> Self {
        let clock = Arc::new(ManualClock::at(Time::from_micros(1_000_000)));
        let settings = QueueSettings {
            lease: Duration::from_secs(1),
            max_deliveries: NonZeroU32::new(3).unwrap(),
            capacity: NonZeroUsize::new(8).unwrap(),
            window: Duration::from_mins(1),
            max_bytes: 1_000,
        };
        Self { queue: Arc::new(MemoryQueue::new(settings, clock.clone())), settings, clock }
    }

    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Lets time pass, and what was woken go on.
    pub(crate) async fn advance(&self, time: Duration) {
        self.clock.advance(time);
        tokio::task::yield_now().await;
    }

    /// Lets every lease end that was not extended since.
    pub(crate) async fn end_leases(&self) {
        self.advance(self.settings.lease + Duration::from_millis(200)).await;
    }

    /// Publishes a message that must find a place at once.
    pub(crate) async fn publish(&self, id: &str, topic: &str) -> PublishOutcome {
        self.queue.publish(message(id, topic), Duration::ZERO).await.unwrap()
    }

    /// What there is, without waiting for more.
    pub(crate) async fn take(&self, topic: &str, limit: usize) -> Vec<Delivery> {
        self.queue.take(topic, limit, Duration::ZERO).await.unwrap()
    }

    /// The only message that there is.
    pub(crate) async fn take_one(&self, topic: &str) -> Delivery {
        let mut taken = self.take(topic, 10).await;
        assert_eq!(taken.len(), 1, "{taken:?}");
        taken.remove(0)
    }
}

pub(crate) fn message(id: &str, topic: &str) -> QueueMessage {
    QueueMessage::new(id, topic, json!({"work": id}))
}

pub(crate) fn ids(deliveries: &[Delivery]) -> Vec<&str> {
    deliveries.iter().map(|delivery| delivery.message.id.as_str()).collect()
}
