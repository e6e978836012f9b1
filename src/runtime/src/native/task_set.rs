//! The tasks of one run that tokio has.

use std::collections::BTreeMap;
use std::pin::Pin;

use antiphon_core::task::{TaskId, TaskOutcome};
use serde_json::Value as Json;
use tokio::task::{AbortHandle, JoinError, JoinSet};

use super::panics::CaughtPanic;

/// What came of a task, or the panic it ended with; none if it was stopped.
pub(super) type TaskAnswer = Option<Result<TaskOutcome<Json>, CaughtPanic>>;

/// Work under way.
pub(super) type TaskFuture =
    Pin<Box<dyn Future<Output = Result<TaskOutcome<Json>, CaughtPanic>> + Send>>;

/// Stops all of them when it is dropped.
#[derive(Default)]
pub(super) struct TaskSet {
    set: JoinSet<(TaskId, Result<TaskOutcome<Json>, CaughtPanic>)>,
    handles: BTreeMap<TaskId, AbortHandle>,
}

impl TaskSet {
    pub(super) fn spawn(&mut self, id: TaskId, job: TaskFuture) {
        let handle = self.set.spawn(async move { (id, job.await) });
        self.handles.insert(id, handle);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.handles.is_empty()
    }

    pub(super) fn has(&self, id: TaskId) -> bool {
        self.handles.contains_key(&id)
    }

    /// Asks a task to stop; false if there is no such task.
    pub(super) fn stop(&self, id: TaskId) -> bool {
        self.handles.get(&id).map(AbortHandle::abort).is_some()
    }

    /// No longer counts on a task that does not stop.
    pub(super) fn abandon(&mut self, id: TaskId) {
        self.handles.remove(&id);
    }

    /// The next task that has ended. Never ends if there is none; nothing is
    /// lost if the future is dropped.
    pub(super) async fn next(&mut self) -> (TaskId, TaskAnswer) {
        loop {
            let Some(joined) = self.set.join_next().await else {
                return std::future::pending().await;
            };
            if let Some(ended) = self.forget_joined(joined) {
                return ended;
            }
        }
    }

    /// A task that has ended by now.
    pub(super) fn try_next(&mut self) -> Option<(TaskId, TaskAnswer)> {
        loop {
            let joined = self.set.try_join_next()?;
            if let Some(ended) = self.forget_joined(joined) {
                return Some(ended);
            }
        }
    }

    /// None if nobody counts on the task any more.
    fn forget_joined(
        &mut self,
        joined: Result<(TaskId, Result<TaskOutcome<Json>, CaughtPanic>), JoinError>,
    ) -> Option<(TaskId, TaskAnswer)> {
        let (id, answer) = match joined {
            Ok((id, answer)) => (id, Some(answer)),
            Err(error) => {
                let known = self.handles.iter().find(|(_, handle)| handle.id() == error.id());
                let id = *known?.0;
                let panic = error.try_into_panic().ok();
                (id, panic.map(|payload| Err(CaughtPanic::of(&*payload))))
            }
        };
        self.handles.remove(&id)?;
        Some((id, answer))
    }
}
