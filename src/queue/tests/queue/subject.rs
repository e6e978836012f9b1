//! A queue under test, and what it lives by.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::Time;
use antiphon_queue::MemoryQueue;
use antiphon_runtime::queue::{Delivery, PublishOutcome, Queue, QueueMessage, QueueSettings};
use antiphon_runtime::{Clock, ManualClock, SystemClock};
use serde_json::json;

use crate::server::NatsServer;

/// A queue under test, with small limits.
pub(crate) struct QueueUnderTest {
    pub(crate) queue: Arc<dyn Queue>,
    pub(crate) settings: QueueSettings,
    clock: TestClock,
}

/// What a queue lives by.
enum TestClock {
    Manual(Arc<ManualClock>),
    /// That of a server, which nobody sets.
    System(SystemClock),
}

impl QueueUnderTest {
    pub(crate) fn memory() -> Self {
        let clock = Arc::new(ManualClock::at(Time::from_micros(1_000_000)));
        let settings = settings();
        let queue = Arc::new(MemoryQueue::new(settings, clock.clone()));
        Self { queue, settings, clock: TestClock::Manual(clock) }
    }

    /// A new queue in the server of these tests.
    pub(crate) async fn nats() -> Self {
        let settings = settings();
        let queue = Arc::new(NatsServer::shared().queue(settings).await);
        Self { queue, settings, clock: TestClock::System(SystemClock::new()) }
    }

    pub(crate) fn now(&self) -> Time {
        match &self.clock {
            TestClock::Manual(clock) => clock.now(),
            TestClock::System(clock) => clock.now(),
        }
    }

    /// Lets time pass, and what was woken go on.
    pub(crate) async fn advance(&self, time: Duration) {
        match &self.clock {
            TestClock::Manual(clock) => clock.advance(time),
            TestClock::System(clock) => clock.sleep(time).await,
        }
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

    /// The only message that there is. A server may have stored it before it can deliver it.
    pub(crate) async fn take_one(&self, topic: &str) -> Delivery {
        let wait = match &self.clock {
            TestClock::Manual(_) => Duration::ZERO,
            TestClock::System(_) => self.settings.lease,
        };
        let mut taken = self.queue.take(topic, 10, wait).await.unwrap();
        assert_eq!(taken.len(), 1, "{taken:?}");
        taken.remove(0)
    }
}

/// Small limits, and leases as long as a slow machine needs.
pub(crate) fn settings() -> QueueSettings {
    QueueSettings {
        lease: Duration::from_secs(2),
        max_deliveries: NonZeroU32::new(3).unwrap(),
        capacity: NonZeroUsize::new(8).unwrap(),
        window: Duration::from_mins(1),
        max_bytes: 1_000,
    }
}

pub(crate) fn message(id: &str, topic: &str) -> QueueMessage {
    QueueMessage::new(id, topic, json!({"work": id}))
}

pub(crate) fn ids(deliveries: &[Delivery]) -> Vec<&str> {
    deliveries.iter().map(|delivery| delivery.message.id.as_str()).collect()
}
