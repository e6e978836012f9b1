//! The right of one consumer to one message in memory.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::Fault;
use antiphon_runtime::queue::{DeathReason, MessageLease, lease_lost};
use async_trait::async_trait;

use super::SharedQueueState;
use super::state::LeaseKey;

pub(super) struct MemoryLease {
    queue: Arc<SharedQueueState>,
    key: LeaseKey,
    id: String,
}

impl MemoryLease {
    pub(super) const fn new(queue: Arc<SharedQueueState>, key: LeaseKey, id: String) -> Self {
        Self { queue, key, id }
    }

    fn answer(&self, is_held: bool) -> Result<(), Fault> {
        is_held.then_some(()).ok_or_else(|| lease_lost(&self.id))
    }
}

#[async_trait]
impl MessageLease for MemoryLease {
    async fn acknowledge(&self) -> Result<(), Fault> {
        self.answer(self.queue.state().acknowledge(self.key, self.queue.clock.now()))
    }

    async fn give_back(&self, delay: Duration) -> Result<(), Fault> {
        let now = self.queue.clock.now();
        self.answer(self.queue.state().give_back(self.key, now, delay))
    }

    async fn extend(&self) -> Result<(), Fault> {
        let (now, term) = (self.queue.clock.now(), self.queue.settings.lease);
        self.answer(self.queue.state().extend(self.key, now, term))
    }

    async fn bury(&self, reason: &str) -> Result<(), Fault> {
        let (now, reason) = (self.queue.clock.now(), DeathReason::Buried(reason.to_owned()));
        self.answer(self.queue.state().bury(self.key, now, reason, &self.queue.settings))
    }
}
