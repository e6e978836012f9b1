//! The way from a task that is under way back to the run it belongs to.

use antiphon_core::budget::{BudgetCharge, Limits};
use antiphon_core::checkpoint::{Call, CallOutcome};
use antiphon_core::event::{Event, EventKind};
use antiphon_core::run::{CallStart, PendingCall};
use antiphon_core::task::TaskId;
use antiphon_core::{Fault, FaultCode, Usage};
use serde_json::Value as Json;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::store::StoreFuture;

/// The messages of a task while it works.
pub(crate) enum TaskSignal {
    /// Something for the trace.
    Note(TaskId, EventKind, String, Json),
    /// An event of a run that it has started.
    Relay(TaskId, Box<Event>),
    /// What do the budgets leave?
    BudgetLeft(TaskId, oneshot::Sender<Limits>),
    /// May it make one more call?
    Request(TaskId, BudgetCharge, oneshot::Sender<Result<(), Fault>>),
    /// The cost of a call that it made itself.
    Charge(TaskId, Usage),
    /// Is the outcome of this call known?
    Begin(TaskId, Call, oneshot::Sender<CallAdmission>),
    /// What came of one.
    End(TaskId, u32, Box<CallOutcome<Json>>, oneshot::Sender<Option<StoreFuture<()>>>),
}

/// A call that may be made once something is durable, or its known outcome.
pub(crate) type CallAdmission = Result<(CallStart<Json>, Option<StoreFuture<()>>), Fault>;

/// The way from a running task to its run: events, calls that it wants to
/// make, and what they cost.
#[derive(Clone, Debug)]
pub struct TaskReporter {
    id: TaskId,
    signals: Option<UnboundedSender<TaskSignal>>,
}

impl TaskReporter {
    pub(crate) const fn new(id: TaskId, signals: UnboundedSender<TaskSignal>) -> Self {
        Self { id, signals: Some(signals) }
    }

    /// Notes that nobody reads, of a task without a run: everything is allowed
    /// and nothing is counted. For tests of a host.
    pub const fn detached(id: TaskId) -> Self {
        Self { id, signals: None }
    }

    /// Adds an event to the trace. Never waits; lost if the task is over.
    pub fn note(&self, kind: EventKind, name: impl Into<String>, data: Json) {
        self.send(TaskSignal::Note(self.id, kind, name.into(), data));
    }

    /// Adds an event of a run that the task has started, below the task. As [`TaskReporter::note`].
    pub fn relay(&self, event: Event) {
        self.send(TaskSignal::Relay(self.id, Box::new(event)));
    }

    /// What the budgets around the task leave in calls, tokens and retries: the limits of a run
    /// that the task starts.
    ///
    /// # Errors
    /// `task_cancelled` if the task is over.
    pub async fn budget_left(&self) -> Result<Limits, Fault> {
        if self.signals.is_none() {
            return Ok(Limits::default());
        }
        let (answer, answered) = oneshot::channel();
        self.send(TaskSignal::BudgetLeft(self.id, answer));
        answered.await.map_err(|_| cancelled())
    }

    /// Counts the cost of a call of the task.
    pub fn charge(&self, usage: Usage) {
        self.send(TaskSignal::Charge(self.id, usage));
    }

    /// Asks whether the task may make one more call, and counts it if so.
    ///
    /// # Errors
    /// A `Budget` fault, which the task should end with; `task_cancelled` if
    /// the task is over.
    pub async fn request(&self, charge: BudgetCharge) -> Result<(), Fault> {
        if self.signals.is_none() {
            return Ok(());
        }
        let (answer, answered) = oneshot::channel();
        self.send(TaskSignal::Request(self.id, charge, answer));
        answered.await.unwrap_or_else(|_| Err(cancelled()))
    }

    /// Asks for the known outcome of a call that the task wants to make; one that is to
    /// be made is counted, and known to have begun when this returns.
    ///
    /// # Errors
    /// As [`Run::begin_call`](antiphon_core::run::Run::begin_call), and those of
    /// the store.
    pub async fn begin_call(&self, call: Call) -> Result<CallStart<Json>, Fault> {
        if self.signals.is_none() {
            let pending =
                PendingCall { index: 0, key: "detached".to_owned(), intent: None, stored: false };
            return Ok(CallStart::Pending(pending));
        }
        let (answer, answered) = oneshot::channel();
        self.send(TaskSignal::Begin(self.id, call, answer));
        let (started, durable) = answered.await.unwrap_or_else(|_| Err(cancelled()))?;
        if let Some(durable) = durable {
            durable.await?;
        }
        Ok(started)
    }

    /// Says what came of a call that was to be made.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn end_call(&self, index: u32, outcome: CallOutcome<Json>) -> Result<(), Fault> {
        let (answer, answered) = oneshot::channel();
        self.send(TaskSignal::End(self.id, index, Box::new(outcome), answer));
        match answered.await {
            Ok(Some(durable)) => durable.await,
            // A run that is gone has nothing to remember.
            Ok(None) | Err(_) => Ok(()),
        }
    }

    fn send(&self, signal: TaskSignal) {
        if let Some(signals) = &self.signals {
            // A run that has ended takes no more notes.
            let _ = signals.send(signal);
        }
    }
}

/// The answer to a task that was cancelled.
pub(crate) fn cancelled() -> Fault {
    Fault::new(FaultCode::TaskCancelled, "the task was cancelled")
}
