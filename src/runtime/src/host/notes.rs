//! The way from a task that is under way back to the run it belongs to.

use antiphon_core::budget::Intent;
use antiphon_core::event::EventKind;
use antiphon_core::task::TaskId;
use antiphon_core::{Category, Fault, Usage};
use serde_json::Value as Json;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

/// What a task says while it works.
#[derive(Debug)]
pub(crate) enum Signal {
    /// Something for the trace.
    Note(TaskId, EventKind, String, Json),
    /// May it make one more call?
    Request(TaskId, Intent, oneshot::Sender<Result<(), Fault>>),
    /// What a call of its own has cost.
    Charge(TaskId, Usage),
}

/// What a task may tell its run while it works: events, calls it wants to
/// make, and what they cost.
#[derive(Clone, Debug)]
pub struct Notes {
    id: TaskId,
    signals: Option<UnboundedSender<Signal>>,
}

impl Notes {
    pub(crate) const fn new(id: TaskId, signals: UnboundedSender<Signal>) -> Self {
        Self { id, signals: Some(signals) }
    }

    /// Notes that nobody reads, of a task without a run: everything is allowed
    /// and nothing is counted. For tests of a host.
    pub const fn detached(id: TaskId) -> Self {
        Self { id, signals: None }
    }

    /// Adds an event to the trace. Never waits; lost if the task is over.
    pub fn note(&self, kind: EventKind, name: impl Into<String>, data: Json) {
        self.send(Signal::Note(self.id, kind, name.into(), data));
    }

    /// Counts what a call of the task has cost.
    pub fn charge(&self, usage: Usage) {
        self.send(Signal::Charge(self.id, usage));
    }

    /// Asks whether the task may make one more call, and counts it if so.
    ///
    /// # Errors
    /// A `Budget` fault, which the task should end with; `task_cancelled` if
    /// the task is over.
    pub async fn request(&self, intent: Intent) -> Result<(), Fault> {
        if self.signals.is_none() {
            return Ok(());
        }
        let (answer, answered) = oneshot::channel();
        self.send(Signal::Request(self.id, intent, answer));
        answered.await.unwrap_or_else(|_| Err(cancelled()))
    }

    fn send(&self, signal: Signal) {
        if let Some(signals) = &self.signals {
            // A run that has ended takes no more notes.
            let _ = signals.send(signal);
        }
    }
}

/// What a task is answered with that was stopped.
pub(crate) fn cancelled() -> Fault {
    Fault::new(Category::Cancelled, "task_cancelled", "the task was cancelled")
}
