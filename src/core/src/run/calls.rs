//! Calls that a task makes while it runs: looked up, counted and stored, so that no finished call
//! is made again.

use super::call_tracker::{CallTracker, KnownCall};
use super::frame::{TaskRecord, TaskStatus};
use super::machine::Run;
use crate::budget::{Budget, BudgetCharge, Limits, exhausted};
use crate::checkpoint::{
    Call, CallOutcome, CallRecord, Callee, Commit, CommitChange, diverged, key, unknown_outcome,
};
use crate::fault::{Fault, FaultCode};
use crate::model::Usage;
use crate::seed::KeySeed;
use crate::task::TaskId;
use crate::value::Value;

/// What a task has to do about a call.
#[derive(Debug)]
pub enum CallStart<V> {
    /// Nothing: it was made before, with this outcome.
    Known(CallOutcome<V>),
    /// Make it, and then report its outcome with [`Run::end_call`].
    Pending(PendingCall<V>),
}

/// A call that must be made.
#[derive(Debug)]
pub struct PendingCall<V> {
    /// The index of the call in its task.
    pub index: u32,
    /// The idempotency key: the same in every attempt and after a restart, and unique to the call.
    pub key: String,
    /// A commit that must be durable before the call is made. It needs no acknowledgement, and may
    /// overtake commits that wait to be handed out.
    pub intent: Option<Box<Commit<V>>>,
    /// Whether its outcome must be stored.
    pub stored: bool,
}

impl<V: Value> Run<V> {
    /// Whether an attempt has no outcome yet: it runs, or was cancelled. An attempt that has timed
    /// out has one, even while its thread still runs.
    pub fn is_under_way(&self, id: TaskId) -> bool {
        self.scopes.status(id).is_some_and(TaskStatus::is_under_way)
    }

    pub(super) fn is_running(&self, id: TaskId) -> bool {
        matches!(self.scopes.status(id), Some(TaskStatus::Running))
    }

    /// Asks whether a task may make one more call, and counts it if so.
    ///
    /// # Errors
    /// A `Budget` fault, with which the task should end; a `Cancelled` fault if the attempt is over
    /// or cancelled.
    pub fn request(&mut self, id: TaskId, charge: BudgetCharge) -> Result<(), Fault> {
        if !self.is_running(id) {
            return Err(cancelled());
        }
        self.spend(id.scope, id.slot, charge)
    }

    /// What the budgets around a task leave to it, that of the run included.
    pub fn budget_left(&self, id: TaskId) -> Limits {
        let budgets = self.scopes.budgets(id.scope, id.slot).chain([&self.queue.budget]);
        budgets.map(Budget::left).fold(Limits::default(), |least, left| least.lowest(&left))
    }

    pub(super) fn spend(
        &mut self,
        scope: u32,
        slot: u32,
        charge: BudgetCharge,
    ) -> Result<(), Fault> {
        let spent = self.scopes.budgets(scope, slot).find_map(|budget| budget.allows(charge).err());
        if let Some(dimension) = spent.or_else(|| self.queue.budget.allows(charge).err()) {
            return Err(exhausted(dimension));
        }
        self.scopes.charge(scope, slot, |budget| budget.charge(charge));
        self.queue.budget.charge(charge);
        Ok(())
    }

    /// Counts the tokens of a call. Those of an attempt that is over count for the run only.
    pub fn charge(&mut self, id: TaskId, usage: Usage) {
        if self.scopes.is_present(id) {
            self.scopes.charge(id.scope, id.slot, |budget| budget.charge_usage(usage));
        }
        self.queue.budget.charge_usage(usage);
    }

    /// Asks whether a task may make a call, and looks it up. A call that must be made is counted
    /// in the budgets.
    ///
    /// Calls by a tool of a declared agent are counted but not recorded, because the agent's call
    /// of the tool is recorded as a whole.
    ///
    /// # Errors
    /// `unknown_outcome` if the call has side effects, was started and has no recorded outcome;
    /// `replay_diverged` if the task made another call before; and as [`Run::request`].
    pub fn begin_call(&mut self, id: TaskId, call: &Call) -> Result<CallStart<V>, Fault> {
        if !self.is_running(id) {
            return Err(cancelled());
        }
        let TaskId { scope, slot, .. } = id;
        let task = KeySeed::new(self.scopes.task_seed(scope, slot), self.queue.key_salt);
        if let Some(agent) = self.scopes.agent_mut(scope) {
            let nth = agent.count_inner(slot);
            self.spend_call(id, call)?;
            let key = key(task, call, nth);
            return Ok(CallStart::Pending(PendingCall {
                index: 0,
                key,
                intent: None,
                stored: false,
            }));
        }
        if let Some(outcome) = self.lookup(id, call)? {
            return Ok(CallStart::Known(outcome));
        }
        self.spend_call(id, call)?;
        let call_record = self.scopes.record(scope, slot).map(|record| record.tracker().open(call));
        let Some(call_record) = call_record else { return Err(cancelled()) };
        let (index, key) = (call_record.index, self.key_of(id, call));
        let intent =
            (!call.repeatable).then(|| self.commit_of_call(scope, slot, call_record)).flatten();
        Ok(CallStart::Pending(PendingCall { index, key, intent, stored: self.queue.commits }))
    }

    /// The recorded outcome of a call, which then counts as started. A call that must be made is
    /// not started.
    ///
    /// # Errors
    /// As [`Run::begin_call`], except for the budgets.
    pub fn known_call(&mut self, id: TaskId, call: &Call) -> Result<Option<CallOutcome<V>>, Fault> {
        if !self.is_running(id) {
            return Err(cancelled());
        }
        if self.scopes.is_agent(id.scope) { Ok(None) } else { self.lookup(id, call) }
    }

    fn lookup(&mut self, id: TaskId, call: &Call) -> Result<Option<CallOutcome<V>>, Fault> {
        let tracker = self.scopes.record(id.scope, id.slot).map(TaskRecord::tracker);
        match tracker.map_or(KnownCall::Unknown, |tracker| tracker.lookup(call)) {
            KnownCall::Finished(outcome) => Ok(Some(outcome)),
            KnownCall::Other(before) => Err(diverged(&before, call)),
            KnownCall::Started => Err(unknown_outcome(call, &self.key_of(id, call))),
            KnownCall::Unknown => Ok(None),
        }
    }

    /// Records the outcome of a call. Returns the commit to store, in the order of these calls; see
    /// [`PendingCall::intent`].
    pub fn end_call(
        &mut self,
        id: TaskId,
        index: u32,
        outcome: CallOutcome<V>,
    ) -> Option<Box<Commit<V>>> {
        let TaskId { scope, slot, serial } = id;
        let record = self.scopes.record(scope, slot).filter(|record| record.serial == serial)?;
        if !record.status.is_under_way() {
            return None;
        }
        let call_record = record.tracker().close(index, outcome)?;
        let is_stored = call_record.is_stored();
        let commit = if is_stored { self.commit_of_call(scope, slot, call_record) } else { None };
        // The outcome is stored before the question: a resumed task that is answered comes past
        // this call first, and must know its outcome.
        self.after_call(scope, slot);
        commit
    }

    /// Closes a call with an unknown outcome, because its caller was cancelled.
    pub fn abandon_call(&mut self, id: TaskId, index: u32) {
        let TaskId { scope, slot, serial } = id;
        let record = self.scopes.record(scope, slot).filter(|record| record.serial == serial);
        if record.is_some_and(|record| record.tracker().abandon(index)) {
            self.after_call(scope, slot);
        }
    }

    /// A cancelled task has an outcome. Open calls with side effects, on threads that cannot be
    /// stopped, are waited for, or their outcome would be unknown.
    ///
    /// Returns whether it was the first outcome.
    pub(super) fn resolve_cancelling(&mut self, scope: u32, slot: u32) -> bool {
        let now = self.queue.log.now;
        let Some(record) = self.scopes.task_mut(scope, slot) else { return false };
        if !record.has_open_side_effect() {
            self.abandon_task(scope, slot);
            return true;
        }
        if std::mem::replace(&mut record.extra().has_answered, true) {
            return false;
        }
        let until = now + Self::CALL_GRACE;
        let until = record.deadline.map_or(until, |deadline| deadline.min(until));
        record.deadline = Some(until);
        self.queue.wake_at(until);
        true
    }

    /// A call has ended: what waited for it continues.
    fn after_call(&mut self, scope: u32, slot: u32) {
        self.release_question(scope, slot, false);
        let Some(record) = self.scopes.record(scope, slot) else { return };
        let has_answered = record.extra.as_ref().is_some_and(|extra| extra.has_answered);
        if has_answered && !record.has_open_side_effect() {
            self.abandon_task(scope, slot);
        }
    }

    /// The recorded outcomes, for the host's garbage collector.
    pub fn known_calls(&self) -> impl Iterator<Item = &CallOutcome<V>> {
        let frames = self.scopes.indices().filter_map(|scope| self.scopes.frame(scope));
        let records = frames.flat_map(|frame| &frame.records);
        let trackers = records.filter_map(|record| record.extra.as_ref()?.tracker.as_ref());
        trackers.flat_map(|tracker| tracker.known())
    }

    fn spend_call(&mut self, id: TaskId, call: &Call) -> Result<(), Fault> {
        match call.callee {
            Callee::Model => self.spend(id.scope, id.slot, BudgetCharge::Model),
            Callee::Tool => self.spend(id.scope, id.slot, BudgetCharge::Tool),
            Callee::Step | Callee::Graph => Ok(()),
        }
    }

    /// The key of a call that has just started.
    fn key_of(&mut self, id: TaskId, call: &Call) -> String {
        let task = KeySeed::new(self.scopes.task_seed(id.scope, id.slot), self.queue.key_salt);
        let Some(record) = self.scopes.record(id.scope, id.slot) else { return String::new() };
        let (attempt, started) = (record.attempt, record.tracker().count(call));
        // A retried node must be able to get another reply: the key, which caches and providers
        // deduplicate by, differs from attempt to attempt.
        let task = if call.callee == Callee::Model { task.child(attempt.into()) } else { task };
        key(task, call, started.saturating_sub(1))
    }

    /// The commit of a call, if the run commits.
    pub(super) fn commit_of_call(
        &mut self,
        scope: u32,
        slot: u32,
        call_record: CallRecord<V>,
    ) -> Option<Box<Commit<V>>> {
        let attempt = self.scopes.attempt(scope, slot);
        let change = |task| CommitChange::Called(task, attempt, Box::new(call_record));
        self.commit_of(scope, slot, change)
    }
}

impl<V: Clone> TaskRecord<V> {
    /// An attempt starts: its recorded calls will be looked up again.
    pub(super) fn restart_calls(&mut self) {
        let attempt = self.attempt;
        let Some(extra) = self.extra.as_mut() else { return };
        extra.asks = None;
        if let Some(tracker) = &mut extra.tracker {
            tracker.begin(attempt);
        }
    }

    /// Whether calls of the current attempt are open.
    pub(super) fn has_open_calls(&self) -> bool {
        let tracker = self.extra.as_ref().and_then(|extra| extra.tracker.as_ref());
        tracker.is_some_and(|tracker| tracker.attempt() == self.attempt && tracker.has_open())
    }

    fn has_open_side_effect(&self) -> bool {
        let tracker = self.extra.as_ref().and_then(|extra| extra.tracker.as_ref());
        tracker.is_some_and(|tracker| {
            tracker.attempt() == self.attempt && tracker.has_open_side_effect()
        })
    }

    /// The calls of the current attempt.
    pub(super) fn tracker(&mut self) -> &mut CallTracker<V> {
        let attempt = self.attempt;
        let tracker = &mut self.extra().tracker;
        let tracker = tracker.get_or_insert_with(|| Box::new(CallTracker::new(attempt)));
        if tracker.attempt() != attempt {
            tracker.begin(attempt);
        }
        tracker
    }
}

pub(super) fn cancelled() -> Fault {
    Fault::new(FaultCode::TaskCancelled, "the task was cancelled")
        .hint("end the task; its result is not used")
}
