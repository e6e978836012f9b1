//! Waiting for something to change in a topic.

use std::pin::Pin;
use std::sync::Arc;

use antiphon_core::Time;
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

use super::SharedQueue;

/// A publisher or consumer with its eye on a topic, which exists as long as somebody has.
pub(super) struct TopicWatch {
    queue: Arc<SharedQueue>,
    topic: String,
    notify: Arc<Notify>,
}

impl TopicWatch {
    pub(super) fn new(queue: &Arc<SharedQueue>, topic: &str) -> Self {
        let notify = queue.state().watch(topic);
        Self { queue: queue.clone(), topic: topic.to_owned(), notify }
    }

    /// What happens from now on, so that nothing between a look and a wait is missed.
    pub(super) fn changed(&self) -> Pin<Box<OwnedNotified>> {
        let mut changed = Box::pin(self.notify.clone().notified_owned());
        changed.as_mut().enable();
        changed
    }

    /// Returns when something has changed, and at that time.
    pub(super) async fn wait(&self, changed: Pin<Box<OwnedNotified>>, now: Time, until: Time) {
        tokio::select! {
            () = changed => {}
            () = self.queue.clock.sleep(until.since(now)) => {}
        }
    }
}

impl Drop for TopicWatch {
    fn drop(&mut self) {
        // Replaced, so that the topic does not see this watch any more.
        self.notify = Arc::default();
        self.queue.state().forget_idle(&self.topic);
    }
}
