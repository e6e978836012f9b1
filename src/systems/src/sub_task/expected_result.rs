//! One wait for one result.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::queue::PublishOutcome;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::message::{SubTask, SubTaskResult};
use super::result_inbox::ResultInbox;

/// How long a note waits for a place in the topic of the results.
const NOTE_WAIT: Duration = Duration::from_secs(2);

/// The result that a call waits for. A wait that is dropped was cancelled, and takes its sub-task
/// back.
pub(super) struct ExpectedResult {
    inbox: Arc<ResultInbox>,
    task: SubTask,
    arrival: oneshot::Receiver<Result<SubTaskResult, Fault>>,
    is_over: bool,
}

impl ExpectedResult {
    pub(super) fn new(inbox: &Arc<ResultInbox>, task: SubTask) -> Self {
        let arrival = inbox.expect(&task.message_id());
        Self { inbox: Arc::clone(inbox), task, arrival, is_over: false }
    }

    pub(super) async fn received(&mut self) -> Result<SubTaskResult, Fault> {
        let arrived = (&mut self.arrival).await;
        self.is_over = true;
        arrived.unwrap_or_else(|_| Err(antiphon_runtime::queue::closed(self.inbox.queue().name())))
    }

    /// Nobody waits any more, and the worker need not go on.
    pub(super) async fn give_up(&mut self, fault: &Fault) {
        self.is_over = true;
        let id = self.task.message_id();
        self.inbox.forget(&id);
        if fault.code == FaultCode::SubTaskTimeout {
            // Without the note a run that is resumed now waits as long again.
            let _ = self.note(self.task.timed_out(fault.clone())).await;
        }
        // A message that cannot be cancelled now ends with its deadline.
        let _ = self.inbox.queue().cancel(&id, &fault.message).await;
    }

    async fn note(&self, note: SubTaskResult) -> Result<PublishOutcome, Fault> {
        let message = note.message(&self.task.result_topic, self.inbox.kept_until());
        self.inbox.queue().publish(message, NOTE_WAIT).await
    }
}

impl Drop for ExpectedResult {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let (inbox, task) = (Arc::clone(&self.inbox), self.task.clone());
        inbox.forget(&task.message_id());
        // Without a runtime the process ends, and the run finds its sub-task when it is resumed.
        let Ok(runtime) = Handle::try_current() else { return };
        runtime.spawn(async move {
            // First the note: the run that is resumed must know that it has to send it again.
            let note = task.cancelled().message(&task.result_topic, inbox.kept_until());
            let noted = inbox.queue().publish(note, NOTE_WAIT).await;
            if noted.is_ok() {
                let reason = "the run was cancelled";
                let _ = inbox.queue().cancel(&task.message_id(), reason).await;
            }
        });
    }
}
