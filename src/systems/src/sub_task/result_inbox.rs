//! The results of a run as they come in, each for the call that waits for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use antiphon_core::{Fault, FaultCode, Time};
use antiphon_runtime::queue::{Delivery, MessageLease};
use antiphon_runtime::{Clock, Queue};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::EXTENSION;
use super::message::SubTaskResult;
use super::name::result_message_id;

/// How many results are taken at a time.
const BATCH: usize = 64;
/// The pause after a failure of the queue.
const PAUSE: Duration = Duration::from_millis(200);
/// How long a result waits for its run to be resumed.
pub(super) const KEPT: Duration = Duration::from_hours(24);

/// A result that was of no use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedResult {
    /// The message of the sub-task, or what claimed to be one.
    pub message_id: String,
    /// Why it was dropped.
    pub reason: DropReason,
}

/// Why a result was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DropReason {
    /// Nobody waits for it any more, or it has come before.
    Late,
    /// Nobody has waited for it.
    Unknown,
    /// It is none.
    Unreadable,
}

type Arrival = Result<SubTaskResult, Fault>;

/// What has come for a run. Keys are the ids of the messages of sub-tasks.
pub(super) struct ResultInbox {
    queue: Arc<dyn Queue>,
    clock: Arc<dyn Clock>,
    topic: String,
    state: Mutex<InboxState>,
}

#[derive(Default)]
struct InboxState {
    closed: Option<Fault>,
    waiting: BTreeMap<String, oneshot::Sender<Arrival>>,
    /// Came before anybody waited: the run was resumed, and will come to it.
    early: BTreeMap<String, (SubTaskResult, Arc<dyn MessageLease>)>,
    /// The leases of what was returned and may not be committed yet, by the sub-task and the id of
    /// the message.
    returned: BTreeMap<(String, String), Arc<dyn MessageLease>>,
    /// Nobody will wait for these.
    over: BTreeSet<String>,
    /// Of these no result has come.
    missing: BTreeSet<String>,
    dropped: Vec<DroppedResult>,
}

impl ResultInbox {
    pub(super) fn new(queue: Arc<dyn Queue>, clock: Arc<dyn Clock>, topic: String) -> Arc<Self> {
        Arc::new(Self { queue, clock, topic, state: Mutex::default() })
    }

    pub(super) fn queue(&self) -> &dyn Queue {
        &*self.queue
    }

    /// How long a result that is sent now is kept.
    pub(super) fn kept_until(&self) -> Time {
        self.clock.now() + KEPT
    }

    fn state(&self) -> MutexGuard<'_, InboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a result arrives, perhaps at once.
    pub(super) fn expect(&self, key: &str) -> oneshot::Receiver<Arrival> {
        let (sender, arrival) = oneshot::channel();
        let mut state = self.state();
        state.over.remove(key);
        if let Some((result, lease)) = state.early.remove(key) {
            state.returned.insert((key.to_owned(), result.message_id()), lease);
            // Its receiver is still here.
            let _ = sender.send(Ok(result));
        } else if let Some(fault) = &state.closed {
            let _ = sender.send(Err(fault.clone()));
        } else {
            state.waiting.insert(key.to_owned(), sender);
        }
        arrival
    }

    /// Nobody waits any more.
    pub(super) fn forget(&self, key: &str) {
        let mut state = self.state();
        state.waiting.remove(key);
        state.over.insert(key.to_owned());
        state.missing.insert(key.to_owned());
    }

    async fn accept(&self, delivery: Delivery) {
        let lease: Arc<dyn MessageLease> = Arc::from(delivery.lease);
        match SubTaskResult::read(&delivery.message) {
            Ok(result) => {
                let is_of_no_use = self.state().sort(result, &lease);
                if is_of_no_use {
                    // One that cannot be acknowledged comes again, and is of no use again.
                    let _ = lease.acknowledge().await;
                }
            }
            Err(fault) => {
                let message_id = delivery.message.id;
                self.state().drop_result(message_id, DropReason::Unreadable);
                let _ = lease.bury(&fault.message).await;
            }
        }
    }

    /// Acknowledges what was returned; see [`super::RunDispatcher::settle`].
    pub(super) async fn settle(&self) -> Vec<DroppedResult> {
        let (leases, dropped) = {
            let mut state = self.state();
            let mut leases: Vec<_> = Vec::new();
            for ((key, _), lease) in std::mem::take(&mut state.returned) {
                state.over.insert(key);
                leases.push(lease);
            }
            for (key, (_, lease)) in std::mem::take(&mut state.early) {
                state.drop_result(key, DropReason::Unknown);
                leases.push(lease);
            }
            (leases, std::mem::take(&mut state.dropped))
        };
        for lease in leases {
            // One whose lease has ended comes again, and is dropped then.
            let _ = lease.acknowledge().await;
        }
        dropped
    }

    /// Has the queue refuse what has not come, as no run will read it.
    async fn refuse_missing(&self) {
        let missing = std::mem::take(&mut self.state().missing);
        for key in missing {
            // One that comes in spite of it ends with its deadline.
            let reason = "the run has ended";
            let _ = self.queue.cancel(&result_message_id(&key), reason).await;
        }
    }

    /// Keeps what is not acknowledged yet.
    async fn extend(&self) {
        let leases: Vec<_> = {
            let state = self.state();
            let early = state.early.values().map(|(_, lease)| lease);
            early.chain(state.returned.values()).cloned().collect()
        };
        for lease in leases {
            // One that was lost comes again.
            let _ = lease.extend().await;
        }
    }

    async fn read(&self) {
        let mut extended = self.clock.now();
        loop {
            match self.queue.take(&self.topic, BATCH, EXTENSION).await {
                Ok(deliveries) => {
                    for delivery in deliveries {
                        self.accept(delivery).await;
                    }
                }
                Err(fault) if fault.code == FaultCode::QueueClosed => {
                    return self.state().close(&fault);
                }
                Err(_) => self.clock.sleep(PAUSE).await,
            }
            let now = self.clock.now();
            if now.since(extended) >= EXTENSION {
                self.extend().await;
                extended = now;
            }
        }
    }
}

impl InboxState {
    /// Gives a result to whom it is for; says whether it is of no use.
    fn sort(&mut self, result: SubTaskResult, lease: &Arc<dyn MessageLease>) -> bool {
        let (key, is_note) = (result.task_message_id(), result.is_note());
        if !is_note {
            self.missing.remove(&key);
        }
        let place = (key, result.message_id());
        // One that was lost in between is the same; a note is for the drive that resumes the run.
        let is_returned = match self.waiting.remove(&place.0) {
            Some(waiter) => waiter.send(Ok(result.clone())).is_ok(),
            None => self.returned.contains_key(&place) || (is_note && self.over.contains(&place.0)),
        };
        if is_returned {
            self.returned.insert(place, Arc::clone(lease));
            return false;
        }
        let is_second = |(first, _): &(SubTaskResult, _)| first.message_id() != place.1;
        if self.over.contains(&place.0) || self.early.get(&place.0).is_some_and(is_second) {
            self.drop_result(place.0, DropReason::Late);
            return true;
        }
        self.early.insert(place.0, (result, Arc::clone(lease)));
        false
    }

    fn drop_result(&mut self, message_id: String, reason: DropReason) {
        self.over.insert(message_id.clone());
        self.dropped.push(DroppedResult { message_id, reason });
    }

    fn close(&mut self, fault: &Fault) {
        for waiter in std::mem::take(&mut self.waiting).into_values() {
            // A call that has ended needs nothing.
            let _ = waiter.send(Err(fault.clone()));
        }
        self.closed = Some(fault.clone());
    }
}

/// Reads the results of a run until it is dropped.
pub(super) struct InboxReader {
    inbox: Arc<ResultInbox>,
    reading: Mutex<Option<JoinHandle<()>>>,
}

impl InboxReader {
    pub(super) fn start(inbox: Arc<ResultInbox>) -> Self {
        let reader = Arc::clone(&inbox);
        let reading = tokio::spawn(async move { reader.read().await });
        Self { inbox, reading: Mutex::new(Some(reading)) }
    }

    /// Reads no more, as the run has ended. Returns what was of no use.
    pub(super) async fn end(&self) -> Vec<DroppedResult> {
        if let Some(reading) = self.stop() {
            // It was stopped.
            let _ = reading.await;
        }
        let dropped = self.inbox.settle().await;
        self.inbox.refuse_missing().await;
        dropped
    }

    fn stop(&self) -> Option<JoinHandle<()>> {
        let reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        reading.abort();
        Some(reading)
    }

    pub(super) const fn inbox(&self) -> &Arc<ResultInbox> {
        &self.inbox
    }
}

impl Drop for InboxReader {
    fn drop(&mut self) {
        drop(self.stop());
    }
}
