//! Waiting for something to change in a topic.

use std::pin::Pin;
use std::sync::Arc;

use antiphon_core::Time;
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

use super::SharedQueueState;

/// Wakes a publisher or consumer when its topic changes. A topic is kept as long as it has one.
pub(super) struct TopicWatcher {
    queue: Arc<SharedQueueState>,
    topic: String,
    notify: Arc<Notify>,
}

impl TopicWatcher {
    pub(super) fn new(queue: &Arc<SharedQueueState>, topic: &str) -> Self {
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

impl Drop for TopicWatcher {
    fn drop(&mut self) {
        // Replaced, so that the topic does not see this watch any more.
        self.notify = Arc::default();
        self.queue.state().forget_idle(&self.topic);
    }
}
