//! Ending before the end: deadlines, cancellation, spent budgets, and a task
//! that speaks for its whole graph.

use std::time::Duration;

use super::frame::TaskStatus;
use super::machine::Run;
use super::queue::EffectQueue;
use super::termination::{CancelMode, Termination};
use super::unit::{Unit, UnitBody};
use crate::budget::{Dimension, exhausted};
use crate::command::{Route, Update};
use crate::effect::Ending;
use crate::event::{EventKind, Level};
use crate::fault::{Fault, FaultCode};
use crate::rules::Rules;
use crate::task::{Failure, TaskId};
use crate::value::Value;

impl<V: Value> Run<V> {
    /// Stops waiting for a task that was cancelled.
    pub(super) fn abandon_task(&mut self, unit: u32, slot: u32) {
        let Some(record) = self.units.task_mut(unit, slot) else { return };
        if matches!(record.status, TaskStatus::Cancelling) {
            record.status = TaskStatus::Void;
            self.queue.running -= 1;
            self.close(unit);
        }
    }

    /// A task of a nested graph speaks for the graph.
    pub(super) fn escalate(&mut self, unit: u32, slot: u32, update: Update<V>) {
        if let Some(record) = self.units.record(unit, slot) {
            record.status = TaskStatus::Void;
        }
        self.terminate(unit, Termination::Escalate(update), CancelMode::Await);
        self.close(unit);
    }

    /// Stops what a unit has running. It ends once all of that has ended.
    pub(super) fn terminate(&mut self, unit: u32, terminate: Termination<V>, mode: CancelMode) {
        if let Termination::Budget(dimension) = terminate {
            self.log_budget(unit, dimension);
        }
        let Some(found) = self.units.get_mut(unit) else { return };
        if terminate.outranks(found.terminate.as_ref()) {
            found.terminate = Some(terminate);
        }
        for slot in self.queue.take_back(unit) {
            if let Some(record) = found.task_mut(slot) {
                record.status = TaskStatus::Void;
                self.queue.running -= 1;
                found.open -= 1;
            }
        }
        let children = found.stop_tasks(unit, mode, &mut self.queue);
        self.wake(unit);
        for child in children {
            self.terminate(child, Termination::Abandon, mode);
        }
    }

    /// Ends a terminated unit, all of whose tasks have ended.
    pub(super) fn conclude(&mut self, unit: u32, rules: &mut impl Rules<V>) {
        let Some(found) = self.units.get_mut(unit) else { return };
        let Some(terminate) = found.terminate.take() else { return };
        let parent = found.parent;
        if let Termination::Budget(dimension) = terminate
            && self.take_budget_edge(unit, dimension, rules)
        {
            return;
        }
        let Some((parent, slot)) = parent else {
            return self.end(match terminate {
                Termination::Fault(fault) => Err(fault),
                Termination::Budget(dimension) => Ok(Ending::Budget(dimension)),
                Termination::Cancel(reason) => Ok(Ending::Cancelled(reason)),
                Termination::Abandon => Ok(Ending::Cancelled("abandoned".into())),
                Termination::Escalate(_) => Err(no_parent()),
            });
        };
        self.units.remove(unit);
        match terminate {
            Termination::Fault(fault) => self.fail(parent, slot, Failure::from(fault)),
            Termination::Budget(dimension) => self.settle(parent, slot, exhausted(dimension)),
            Termination::Escalate(update) => {
                self.notify_handed_up(parent, slot, &update);
                self.done(parent, slot, update);
            }
            Termination::Cancel(_) | Termination::Abandon => {
                if let Some(record) = self.units.record(parent, slot) {
                    record.status = TaskStatus::Void;
                }
                self.close(parent);
            }
        }
    }

    /// Merges what is finished and goes to the `on_budget` target, once per
    /// spent dimension; false if there is none.
    fn take_budget_edge(&mut self, unit: u32, spent: Dimension, rules: &mut impl Rules<V>) -> bool {
        let Some(frame) = self.units.frame_mut(unit) else { return false };
        let Some(target) = frame.graph.on_budget() else { return false };
        if frame.exempt.contains(&spent) {
            return false;
        }
        frame.exempt.push(spent);
        if spent == Dimension::Supersteps {
            frame.grace = Some(frame.graph.size);
        }
        frame.detour = Some(target);
        frame.routes.clear();
        for record in &mut frame.records {
            if let TaskStatus::Done(update) = &mut record.status {
                update.route = Route::Only(Vec::new());
                record.routed = false;
            }
        }
        if spent == Dimension::WallTime {
            self.give_grace(unit);
        }
        if self.barrier(unit, rules) {
            self.plan(unit);
        }
        true
    }

    /// A tenth of the time that was allowed, and at least a second, for what
    /// an `on_budget` target has to do.
    fn give_grace(&mut self, unit: u32) {
        let now = self.queue.log.now;
        let until = |allowed: Option<Duration>| {
            now + (allowed.unwrap_or_default() / 10).max(Duration::from_secs(1))
        };
        if std::mem::take(&mut self.queue.late) {
            let until = until(self.queue.budget.limits().wall_time);
            self.queue.deadline = Some(until);
            self.queue.wake(until);
        }
        let parent = self.units.get(unit).and_then(|unit| unit.parent);
        let record = parent.and_then(|(parent, slot)| self.units.record(parent, slot));
        if let Some(record) = record
            && record.expires().is_none()
            && let Some(allowed) = record.budget().and_then(|budget| budget.limits().wall_time)
        {
            let until = until(Some(allowed));
            record.extra().expires = Some(until);
            record.deadline = Some(until);
            self.queue.wake(until);
        }
    }

    fn log_budget(&mut self, unit: u32, dimension: Dimension) {
        let Self { units, queue } = self;
        queue.log.emit(|| {
            let mut event = units.unit_event(unit, EventKind::Budget);
            event.level = Level::Warning;
            event.data.insert("dimension".into(), dimension.as_str().into());
            event
        });
    }
}

impl<V: Value> Unit<V> {
    /// Stops its tasks; returns the units that work for some of them.
    fn stop_tasks(&mut self, unit: u32, mode: CancelMode, queue: &mut EffectQueue<V>) -> Vec<u32> {
        let mut children = Vec::new();
        for slot in 0..self.slots() {
            let Some(record) = self.task_mut(slot) else { continue };
            let (mut ended, mut answered) = (0, 0);
            match &record.status {
                TaskStatus::Running => {
                    record.status = TaskStatus::Cancelling;
                    queue.cancels.push(TaskId { unit, slot, serial: record.serial });
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
            if let UnitBody::Graph(frame) = &mut self.body {
                frame.paused -= answered;
            }
        }
        children
    }
}

fn no_parent() -> Fault {
    let message = "a node spoke for the enclosing graph, but there is none";
    Fault::new(FaultCode::ParentMissing, message)
        .hint("only a node of a nested graph can address its parent")
}
