//! Early ends: deadlines, cancellation, exhausted budgets, and escalations.

use std::time::Duration;

use super::frame::TaskStatus;
use super::machine::Run;
use super::queue::EffectQueue;
use super::scope::{Scope, ScopeBody, Scopes};
use super::termination::{CancelMode, Termination};
use crate::budget::{BudgetDimension, exhausted};
use crate::command::{Route, Update};
use crate::effect::Ending;
use crate::event::{EventKind, Level};
use crate::fault::{Fault, FaultCode};
use crate::rules::Rules;
use crate::task::{TaskId, TaskOutcome};
use crate::value::Value;

impl<V: Value> Run<V> {
    /// Stops waiting for a cancelled task.
    pub(super) fn abandon_task(&mut self, scope: u32, slot: u32) {
        let Some(record) = self.scopes.task_mut(scope, slot) else { return };
        if record.status.is_stopping() {
            record.status = TaskStatus::Void;
            self.queue.running -= 1;
            self.close_task(scope);
        }
    }

    /// Nothing can stop the code of a cancelled task, such as a function on a thread. Returns
    /// whether the run waits for its outcome, which then counts: if a graph fails, a resumed run
    /// need not repeat what its other nodes have done. If the caller cancels, nobody waits.
    pub fn let_finish(&mut self, id: TaskId) -> bool {
        let is_cancelled = self.scopes.is_cancelled(id.scope);
        let record = self.scopes.task_mut(id.scope, id.slot);
        let Some(record) = record.filter(|record| record.serial == id.serial) else { return false };
        let finishes = !is_cancelled && matches!(record.status, TaskStatus::Cancelling);
        if finishes {
            record.status = TaskStatus::Finishing;
        }
        finishes
    }

    /// The outcome of a task that nothing could stop, or nobody in time.
    pub(super) fn resolve_finishing(&mut self, id: TaskId, outcome: TaskOutcome<V>) {
        let TaskId { scope, slot, .. } = id;
        let is_agent = self.scopes.is_agent(scope);
        match outcome {
            outcome if is_agent => {
                self.queue.running -= 1;
                self.resolve_call(scope, slot, outcome);
            }
            TaskOutcome::Done(update) => {
                self.queue.running -= 1;
                self.complete(scope, slot, update);
            }
            TaskOutcome::Failed(failure) => {
                self.log_error(scope, slot, &failure.fault);
                self.abandon_task(scope, slot);
            }
            _ => self.abandon_task(scope, slot),
        }
    }

    /// A task of a nested graph ends the graph.
    pub(super) fn escalate(&mut self, scope: u32, slot: u32, update: Update<V>) {
        if let Some(record) = self.scopes.record(scope, slot) {
            record.status = TaskStatus::Void;
        }
        self.terminate(scope, Termination::Escalate(update), CancelMode::Await);
        self.close_task(scope);
    }

    /// Cancels the tasks of a scope, which ends once all of them have.
    pub(super) fn terminate(&mut self, scope: u32, terminate: Termination<V>, mode: CancelMode) {
        if let Termination::Budget(dimension) = terminate {
            self.log_budget(scope, dimension);
        }
        self.commit_unstored(scope);
        let Some(found) = self.scopes.get_mut(scope) else { return };
        if terminate.outranks(found.terminate.as_deref()) {
            found.terminate = Some(Box::new(terminate));
        }
        for slot in self.queue.retract_starts(scope) {
            if let Some(record) = found.task_mut(slot) {
                record.status = TaskStatus::Void;
                self.queue.running -= 1;
                found.open -= 1;
            }
        }
        let children = found.stop_tasks(scope, mode, &mut self.queue);
        self.activate(scope);
        for child in children {
            self.terminate(child, Termination::Abandon, mode);
        }
    }

    /// Ends a terminated scope once all its tasks have ended.
    pub(super) fn conclude(&mut self, scope: u32, rules: &mut impl Rules<V>) {
        let Some(found) = self.scopes.get_mut(scope) else { return };
        let Some(terminate) = found.terminate.take().map(|boxed| *boxed) else { return };
        let parent = found.parent;
        if let Termination::Budget(dimension) = terminate
            && self.take_budget_edge(scope, dimension, rules)
        {
            return;
        }
        let Some((parent, slot)) = parent else {
            return self.end_run(match terminate {
                Termination::Fault(fault) => Err(fault),
                Termination::Budget(dimension) => Ok(Ending::Budget(dimension)),
                Termination::Cancel(reason) => Ok(Ending::Cancelled(reason)),
                Termination::Abandon => Ok(Ending::Cancelled("abandoned".into())),
                Termination::Escalate(_) => Err(no_parent()),
            });
        };
        self.scopes.remove(scope);
        match terminate {
            Termination::Fault(fault) => self.fail_nested((parent, slot), fault, rules),
            Termination::Budget(dimension) => {
                self.apply_on_error(parent, slot, exhausted(dimension));
            }
            Termination::Escalate(update) => {
                self.notify_nested_update(parent, slot, &update);
                self.complete(parent, slot, update);
            }
            Termination::Cancel(_) | Termination::Abandon => {
                if let Some(record) = self.scopes.record(parent, slot) {
                    record.status = TaskStatus::Void;
                }
                self.close_task(parent);
            }
        }
    }

    /// Merges the finished tasks and continues at the `on_budget` node, once per dimension. Returns
    /// false if there is none.
    fn take_budget_edge(
        &mut self,
        scope: u32,
        spent: BudgetDimension,
        rules: &mut impl Rules<V>,
    ) -> bool {
        let Some(frame) = self.scopes.frame_mut(scope) else { return false };
        let Some(target) = frame.graph.on_budget() else { return false };
        if frame.exempt.contains(&spent) {
            return false;
        }
        frame.exempt.push(spent);
        if spent == BudgetDimension::Supersteps {
            frame.grace = Some(frame.graph.size);
        }
        frame.detour = Some(target);
        let is_merged = frame.merged;
        frame.routes.clear();
        for record in &mut frame.records {
            if let TaskStatus::Done(update) = &mut record.status {
                update.route = Route::Only(Vec::new());
                record.routed = false;
            }
        }
        if spent == BudgetDimension::WallTime {
            self.extend_deadlines(scope);
        }
        if is_merged || self.barrier(scope, rules) {
            self.plan(scope);
        }
        true
    }

    /// Gives the `on_budget` node a tenth of the time limit, at least a second.
    fn extend_deadlines(&mut self, scope: u32) {
        let now = self.queue.log.now;
        let until = |allowed: Option<Duration>| {
            now + (allowed.unwrap_or_default() / 10).max(Duration::from_secs(1))
        };
        if std::mem::take(&mut self.queue.late) {
            let until = until(self.queue.budget.limits().wall_time);
            self.queue.deadline = Some(until);
            self.queue.wake_at(until);
        }
        let parent = self.scopes.get(scope).and_then(|scope| scope.parent);
        let record = parent.and_then(|(parent, slot)| self.scopes.record(parent, slot));
        if let Some(record) = record
            && record.extra().expires.is_none()
            && let Some(allowed) = record.budget().and_then(|budget| budget.limits().wall_time)
        {
            let until = until(Some(allowed));
            record.extra().expires = Some(until);
            record.deadline = record.expires();
            let deadline = record.deadline.unwrap_or(until);
            self.queue.wake_at(deadline);
        }
    }

    fn log_budget(&mut self, scope: u32, dimension: BudgetDimension) {
        let Self { scopes, queue } = self;
        queue.log.emit(|| {
            let mut event = scopes.scope_event(scope, EventKind::Budget);
            event.level = Level::Warning;
            event.data.insert("dimension".into(), dimension.as_str().into());
            event
        });
    }
}

impl<V: Value> Scopes<V> {
    /// Whether a scope, or one around it, ends because the caller wants no more of it.
    pub(super) fn is_cancelled(&self, scope: u32) -> bool {
        let around = |at: &Scope<V>| self.get(at.parent?.0);
        std::iter::successors(self.get(scope), |at| around(at))
            .filter_map(|at| at.terminate.as_deref())
            .any(Termination::is_cancellation)
    }
}

impl<V: Value> Scope<V> {
    /// Cancels its tasks; returns the nested scopes.
    fn stop_tasks(&mut self, scope: u32, mode: CancelMode, queue: &mut EffectQueue<V>) -> Vec<u32> {
        let mut children = Vec::new();
        for slot in 0..self.slots() {
            let Some(record) = self.task_mut(slot) else { continue };
            let (mut ended, mut answered) = (0, 0);
            match &record.status {
                // A finishing task is given up if the caller cancels meanwhile.
                TaskStatus::Running | TaskStatus::Finishing => {
                    record.status = TaskStatus::Cancelling;
                    queue.cancels.push(TaskId { scope, slot, serial: record.serial });
                }
                TaskStatus::Waiting(_) => {
                    record.status = TaskStatus::Void;
                    queue.sleeping -= 1;
                    ended = 1;
                }
                TaskStatus::Paused(_) => {
                    record.status = TaskStatus::Void;
                    answered = 1;
                }
                TaskStatus::Nested(child) => children.push(*child),
                TaskStatus::Cancelling | TaskStatus::Done(_) | TaskStatus::Void => {}
            }
            if mode == CancelMode::Abandon && matches!(record.status, TaskStatus::Cancelling) {
                record.status = TaskStatus::Void;
                queue.running -= 1;
                ended = 1;
            }
            self.open -= ended;
            if let ScopeBody::Graph(frame) = &mut self.body {
                frame.paused -= answered;
            }
        }
        children
    }
}

fn no_parent() -> Fault {
    let message = "a node addressed the enclosing graph, but there is none";
    Fault::new(FaultCode::ParentMissing, message)
        .hint("only a node of a nested graph can address its parent")
}
