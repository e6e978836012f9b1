//! A queue within one process, for workers in it and for tests.

mod lease;
mod state;
mod topic;
mod waiting;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use antiphon_core::Fault;
use antiphon_runtime::Clock;
use antiphon_runtime::queue::{
    ConsumerGuard, DeadLetter, Delivery, PublishOutcome, Queue, QueueMessage, QueueSettings,
    closed, full,
};
use async_trait::async_trait;

use lease::MemoryLease;
use state::QueueState;
use waiting::TopicWatcher;

const NAME: &str = "memory";

/// Messages in memory: they end with the process.
#[derive(Clone)]
pub struct MemoryQueue(Arc<SharedQueueState>);

/// What the queue and its leases share.
struct SharedQueueState {
    clock: Arc<dyn Clock>,
    settings: QueueSettings,
    state: Mutex<QueueState>,
}

impl SharedQueueState {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryQueue {
    /// An empty queue that reads time from `clock`.
    pub fn new(settings: QueueSettings, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(SharedQueueState { clock, settings, state: Mutex::default() }))
    }

    fn deliver(&self, topic: &str, limit: usize) -> Vec<Delivery> {
        let taken = self.0.state().take(topic, limit, self.0.clock.now(), &self.0.settings);
        let deliver = |(message, attempt, key, cancellation): (QueueMessage, u32, _, _)| {
            let lease = Box::new(MemoryLease::new(self.0.clone(), key, message.id.clone()));
            Delivery { message, attempt, lease, cancellation }
        };
        taken.into_iter().map(deliver).collect()
    }
}

#[async_trait]
impl Queue for MemoryQueue {
    fn name(&self) -> &str {
        NAME
    }

    async fn publish(
        &self,
        message: QueueMessage,
        wait: Duration,
    ) -> Result<PublishOutcome, Fault> {
        message.check(&self.0.settings)?;
        let until = self.0.clock.now() + wait;
        let watch = TopicWatcher::new(&self.0, &message.topic);
        loop {
            let changed = watch.changed();
            let now = self.0.clock.now();
            if self.0.state().is_closed() {
                return Err(closed(NAME));
            }
            if let Some(outcome) = self.0.state().publish(&message, now, &self.0.settings) {
                return Ok(outcome);
            }
            if now >= until {
                return Err(full(&message.topic, self.0.settings.capacity.get()));
            }
            watch.wait(changed, now, until).await;
        }
    }

    async fn take(
        &self,
        topic: &str,
        limit: usize,
        wait: Duration,
    ) -> Result<Vec<Delivery>, Fault> {
        let until = self.0.clock.now() + wait;
        let watch = TopicWatcher::new(&self.0, topic);
        loop {
            let changed = watch.changed();
            let now = self.0.clock.now();
            if self.0.state().is_closed() {
                return Err(closed(NAME));
            }
            let deliveries = self.deliver(topic, limit);
            if !deliveries.is_empty() || limit == 0 || now >= until {
                return Ok(deliveries);
            }
            let due = self.0.state().next_due(topic);
            watch.wait(changed, now, due.map_or(until, |due| due.min(until))).await;
        }
    }

    async fn cancel(&self, id: &str, reason: &str) -> Result<(), Fault> {
        let mut state = self.0.state();
        if state.is_closed() {
            return Err(closed(NAME));
        }
        state.cancel(id, reason, self.0.clock.now(), &self.0.settings);
        Ok(())
    }

    async fn dead_letters(&self, topic: &str) -> Result<Vec<DeadLetter>, Fault> {
        let state = self.0.state();
        if state.is_closed() {
            return Err(closed(NAME));
        }
        Ok(state.dead_letters(topic))
    }

    async fn retire(&self, topic: &str) -> Result<(), Fault> {
        let mut state = self.0.state();
        if state.is_closed() {
            return Err(closed(NAME));
        }
        state.retire(topic);
        Ok(())
    }

    fn register_consumer(&self, topic: &str) -> ConsumerGuard {
        self.0.state().register_consumer(topic);
        let (queue, topic) = (self.0.clone(), topic.to_owned());
        ConsumerGuard::new(move || queue.state().remove_consumer(&topic))
    }

    fn has_consumer(&self, topic: &str) -> Option<bool> {
        Some(self.0.state().has_consumer(topic))
    }

    fn close(&self) {
        self.0.state().close();
    }
}
