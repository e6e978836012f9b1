//! Ids whose messages are not delivered any more, and consumers that have to be told.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use antiphon_core::Fault;
use async_nats::jetstream::kv::Operation;
use futures_util::StreamExt;
use tokio::task::JoinHandle;

use super::connection::QueueStreams;
use super::lease::HeldMessage;
use super::names::encode;

/// The pause before cancellations are listened to again, after a failure.
const PAUSE: Duration = Duration::from_millis(200);

/// The cancelled ids of a queue, which the server keeps, and the messages that consumers of this
/// process have.
pub(super) struct CancelledIds {
    streams: Arc<QueueStreams>,
    held: Arc<HeldMessages>,
    listener: JoinHandle<()>,
}

/// By the encoded id; one whose delivery was dropped is gone.
#[derive(Default)]
struct HeldMessages(Mutex<HashMap<String, Weak<HeldMessage>>>);

impl HeldMessages {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Weak<HeldMessage>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn cancel(&self, key: &str, reason: &str) {
        let held = self.all().remove(key).and_then(|held| held.upgrade());
        if let Some(held) = held {
            held.cancel(reason).await;
        }
    }
}

impl CancelledIds {
    /// Listens to cancellations by any process.
    pub(super) fn watch(streams: Arc<QueueStreams>) -> Self {
        let held = Arc::<HeldMessages>::default();
        let listener = tokio::spawn(listen(streams.clone(), held.clone()));
        Self { streams, held, listener }
    }

    pub(super) async fn add(&self, id: &str, reason: &str) -> Result<(), Fault> {
        let (key, reason) = (encode(id), reason.to_owned());
        let put = self.streams.cancelled.put(&key, reason.clone().into()).await;
        put.map_err(|error| self.streams.unreachable(&error))?;
        self.held.cancel(&key, &reason).await;
        Ok(())
    }

    pub(super) async fn contains(&self, id: &str) -> Result<bool, Fault> {
        let found = self.streams.cancelled.get(encode(id)).await;
        Ok(found.map_err(|error| self.streams.unreachable(&error))?.is_some())
    }

    /// The consumer of a message is told when its id is cancelled from now on.
    pub(super) fn tell(&self, id: &str, message: &Arc<HeldMessage>) {
        let mut held = self.held.all();
        held.retain(|_, message| message.strong_count() > 0);
        held.insert(encode(id), Arc::downgrade(message));
    }
}

impl Drop for CancelledIds {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

async fn listen(streams: Arc<QueueStreams>, held: Arc<HeldMessages>) {
    loop {
        // What was cancelled while nobody listened comes first.
        if let Ok(mut entries) = streams.cancelled.watch_with_history(">").await {
            while let Some(Ok(entry)) = entries.next().await {
                if entry.operation == Operation::Put {
                    held.cancel(&entry.key, &String::from_utf8_lossy(&entry.value)).await;
                }
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}
