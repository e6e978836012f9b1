//! Ending before the end: deadlines, cancellation, spent budgets, and a task
//! that speaks for its whole graph.

use std::time::Duration;

use super::Run;
use super::desk::Desk;
use super::frame::{Frame, Status};
use super::unit::{Body, Doom};
use crate::budget::{Dimension, exhausted, spent_dimension};
use crate::command::{Route, Update};
use crate::effect::Ending;
use crate::event::{EventKind, Level};
use crate::fault::{Category, Fault};
use crate::rules::Rules;
use crate::task::{Failure, TaskId};
use crate::time::Time;
use crate::value::Value;

/// What becomes of tasks that are told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// Each is waited for until it answers or its own time is up.
    Await,
    /// Time is up: nobody waits for them any more.
    LetGo,
}

impl<V: Value> Run<V> {
    /// Something is due: a deadline, a time-out, a further attempt.
    pub(super) fn ring(&mut self, now: Time) {
        self.desk.alarm = None;
        if let Some(deadline) = self.desk.deadline {
            if now >= deadline {
                self.desk.deadline = None;
                self.desk.late = true;
                self.doom(0, Doom::Budget(Dimension::WallTime), Patience::LetGo);
            } else {
                self.desk.wake(deadline);
            }
        }
        for unit in self.units.indices() {
            if self.units.is_agent(unit) {
                self.ring_agent(unit, now);
                continue;
            }
            self.ring_step(unit, now);
            let slots = self.units.frame(unit).map_or(0, |frame| frame.records.len());
            for slot in 0..u32::try_from(slots).unwrap_or(u32::MAX) {
                self.ring_task(unit, slot, now);
            }
        }
    }

    fn ring_task(&mut self, unit: u32, slot: u32, now: Time) {
        let due = |at: &Time| *at <= now;
        let Some(record) = self.units.record(unit, slot) else { return };
        // A question is worth more than the calls beside it that take too long.
        if record.deadline.as_ref().is_some_and(due) && self.release_question(unit, slot, true) {
            return;
        }
        let Some(record) = self.units.record(unit, slot) else { return };
        let id = TaskId { unit, slot, serial: record.serial };
        match (&record.status, record.deadline) {
            (Status::Waiting(at), _) if due(at) => {
                self.desk.sleeping -= 1;
                self.start(unit, slot);
            }
            (&Status::Waiting(at), _) => self.desk.wake(at),
            (Status::Running, Some(deadline)) if due(&deadline) => {
                // Whatever it still answers is too late.
                record.status = Status::Void;
                self.desk.running -= 1;
                self.desk.stop(id);
                let fault = self.lateness(unit, slot);
                self.fail(unit, slot, fault.into());
            }
            (Status::Cancelling, Some(deadline)) if due(&deadline) => self.let_go(unit, slot),
            (&Status::Nested(child), Some(deadline)) if due(&deadline) => {
                let fault = self.lateness(unit, slot);
                if let Some(record) = self.units.record(unit, slot) {
                    record.deadline = None;
                }
                let doom = spent_dimension(&fault).map_or(Doom::Fault(fault), Doom::Budget);
                self.doom(child, doom, Patience::LetGo);
            }
            (Status::Running | Status::Cancelling | Status::Nested(_), Some(deadline)) => {
                self.desk.wake(deadline);
            }
            _ => {}
        }
    }

    /// A task that was told to stop is waited for no more.
    pub(super) fn let_go(&mut self, unit: u32, slot: u32) {
        let Some(record) = self.units.record(unit, slot) else { return };
        if matches!(record.status, Status::Cancelling) {
            record.status = Status::Void;
            self.desk.running -= 1;
            self.close(unit);
        }
    }

    /// A task of a nested graph speaks for the graph.
    pub(super) fn escalate(&mut self, unit: u32, slot: u32, update: Update<V>) {
        if let Some(record) = self.units.record(unit, slot) {
            record.status = Status::Void;
        }
        self.doom(unit, Doom::Escalate(update), Patience::Await);
        self.close(unit);
    }

    /// Stops what a unit has running. It ends once all of that has ended.
    pub(super) fn doom(&mut self, unit: u32, doom: Doom<V>, patience: Patience) {
        if let Doom::Budget(dimension) = doom {
            self.log_budget(unit, dimension);
        }
        let Some(body) = self.units.get_mut(unit).map(|unit| &mut unit.body) else { return };
        let frame = match body {
            Body::Agent(_) => return self.doom_agent(unit, doom, patience),
            Body::Graph(frame) => frame,
        };
        if doom.outranks(frame.doom.as_ref()) {
            frame.doom = Some(doom);
        }
        for slot in self.desk.take_back(unit) {
            if let Some(record) = frame.records.get_mut(slot as usize) {
                record.status = Status::Void;
                self.desk.running -= 1;
                frame.open -= 1;
            }
        }
        let children = frame.stop_tasks(unit, patience, &mut self.desk);
        if frame.open == 0 {
            self.desk.active.push_back(unit);
        }
        for child in children {
            self.doom(child, Doom::Abandon, patience);
        }
    }

    /// Everything of a doomed unit has ended.
    pub(super) fn conclude(&mut self, unit: u32, rules: &mut impl Rules<V>) {
        let Some(doom) = self.units.frame_mut(unit).and_then(|frame| frame.doom.take()) else {
            return;
        };
        let parent = self.units.get(unit).and_then(|unit| unit.parent);
        if let Doom::Budget(dimension) = doom
            && self.take_budget_edge(unit, dimension, rules)
        {
            return;
        }
        let Some((parent, slot)) = parent else {
            return self.end(match doom {
                Doom::Fault(fault) => Err(fault),
                Doom::Budget(dimension) => Ok(Ending::Budget(dimension)),
                Doom::Cancel(reason) => Ok(Ending::Cancelled(reason)),
                Doom::Abandon => Ok(Ending::Cancelled("abandoned".into())),
                Doom::Escalate(_) => Err(no_parent()),
            });
        };
        self.units.remove(unit);
        match doom {
            Doom::Fault(fault) => self.fail(parent, slot, Failure::from(fault)),
            Doom::Budget(dimension) => self.settle(parent, slot, exhausted(dimension)),
            Doom::Escalate(update) => {
                self.tell_handed_up(parent, slot, &update);
                self.done(parent, slot, update);
            }
            Doom::Cancel(_) | Doom::Abandon => {
                if let Some(record) = self.units.record(parent, slot) {
                    record.status = Status::Void;
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
        frame.hops.clear();
        for record in &mut frame.records {
            if let Status::Done(update) = &mut record.status {
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
        let now = self.desk.log.now;
        let until = |allowed: Option<Duration>| {
            now + (allowed.unwrap_or_default() / 10).max(Duration::from_secs(1))
        };
        if std::mem::take(&mut self.desk.late) {
            let until = until(self.desk.budget.limits().wall_time);
            self.desk.deadline = Some(until);
            self.desk.wake(until);
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
            self.desk.wake(until);
        }
    }

    fn log_budget(&mut self, unit: u32, dimension: Dimension) {
        let Self { units, desk } = self;
        desk.log.emit(|| {
            let mut event = units.unit_event(unit, EventKind::Budget);
            event.level = Level::Warning;
            event.data.insert("dimension".into(), dimension.as_str().into());
            event
        });
    }
}

impl<V: Value> Frame<V> {
    /// Stops its tasks; returns the units that work for some of them.
    fn stop_tasks(&mut self, unit: u32, patience: Patience, desk: &mut Desk<V>) -> Vec<u32> {
        let mut children = Vec::new();
        for (slot, record) in (0_u32..).zip(&mut self.records) {
            match &record.status {
                Status::Running => {
                    record.status = Status::Cancelling;
                    desk.cancels.push(TaskId { unit, slot, serial: record.serial });
                }
                Status::Waiting(_) => {
                    record.status = Status::Void;
                    desk.sleeping -= 1;
                    self.open -= 1;
                }
                Status::Paused(_) => {
                    record.status = Status::Void;
                    self.paused -= 1;
                }
                Status::Nested(child) => children.push(*child),
                Status::Cancelling | Status::Done(_) | Status::Void => {}
            }
            if patience == Patience::LetGo && matches!(record.status, Status::Cancelling) {
                record.status = Status::Void;
                desk.running -= 1;
                self.open -= 1;
            }
        }
        children
    }
}

impl<V> Doom<V> {
    /// The first reason counts, but nothing outranks whoever is outside.
    pub(super) const fn outranks(&self, earlier: Option<&Self>) -> bool {
        match earlier {
            None => true,
            Some(Self::Cancel(_) | Self::Abandon) => false,
            Some(_) => matches!(self, Self::Cancel(_) | Self::Abandon),
        }
    }
}

fn no_parent() -> Fault {
    let message = "a node spoke for the enclosing graph, but there is none";
    Fault::new(Category::State, "parent_missing", message)
        .hint("only a node of a nested graph can address its parent")
}
