//! Ending before the end: deadlines, cancellation, spent budgets, and a task
//! that speaks for its whole graph.

use super::Run;
use super::frame::Status;
use super::unit::{Body, Doom};
use crate::budget::{Dimension, exhausted};
use crate::command::{Route, Update};
use crate::effect::Ending;
use crate::event::{EventKind, Level};
use crate::fault::{Category, Fault};
use crate::rules::Rules;
use crate::task::{Failure, TaskId};
use crate::time::Time;
use crate::value::Value;

impl<V: Value> Run<V> {
    /// Something is due: a deadline, a time-out, a further attempt.
    pub(super) fn ring(&mut self, now: Time) {
        self.desk.alarm = None;
        if let Some(deadline) = self.desk.deadline {
            if now >= deadline {
                self.desk.deadline = None;
                self.exhaust(0, Dimension::WallTime);
            } else {
                self.desk.wake(deadline);
            }
        }
        for unit in self.units.indices() {
            if self.units.is_agent(unit) {
                self.ring_agent(unit, now);
                continue;
            }
            let slots = self.units.frame(unit).map_or(0, |frame| frame.records.len());
            for slot in 0..u32::try_from(slots).unwrap_or(u32::MAX) {
                self.ring_task(unit, slot, now);
            }
        }
    }

    fn ring_task(&mut self, unit: u32, slot: u32, now: Time) {
        let Some(record) = self.units.record(unit, slot) else { return };
        match (&record.status, record.deadline) {
            (Status::Waiting(at), _) if *at <= now => {
                self.desk.sleeping -= 1;
                self.start(unit, slot);
            }
            (Status::Waiting(at), _) => {
                let at = *at;
                self.desk.wake(at);
            }
            (Status::Running, Some(deadline)) if deadline <= now => {
                let id = TaskId { unit, slot, serial: record.serial };
                // Whatever it still answers is too late.
                record.serial = 0;
                self.desk.running -= 1;
                self.desk.cancels.push(id);
                self.time_out(unit, slot);
            }
            (&Status::Nested(child), Some(deadline)) if deadline <= now => {
                record.deadline = None;
                let fault = self.timeout_fault(unit, slot);
                self.doom(child, Doom::Fault(fault));
            }
            (Status::Running | Status::Nested(_), Some(deadline)) => self.desk.wake(deadline),
            _ => {}
        }
    }

    fn time_out(&mut self, unit: u32, slot: u32) {
        let fault = self.timeout_fault(unit, slot);
        self.fail(unit, slot, Failure::from(fault));
    }

    fn timeout_fault(&self, unit: u32, slot: u32) -> Fault {
        let path = self.units.path(unit, slot).join(" > ");
        let frame = self.units.frame(unit);
        let record = frame.and_then(|frame| frame.records.get(slot as usize));
        let node = record.zip(frame).and_then(|(record, frame)| frame.graph.node(record.node));
        let limit = record.and_then(|record| record.timeout);
        let limit = limit.or_else(|| node.and_then(|node| node.policy.timeout)).unwrap_or_default();
        Fault::new(Category::Timeout, "node_timeout", format!("the node took too long: {path}"))
            .with("node", node.map_or("", |node| &node.name))
            .with("timeout", limit.as_secs_f64())
            .hint("raise its `timeout`, or find out what it waits for")
    }

    /// A task of a nested graph speaks for the graph.
    pub(super) fn escalate(&mut self, unit: u32, slot: u32, update: Update<V>) {
        if let Some(record) = self.units.record(unit, slot) {
            record.status = Status::Void;
        }
        self.doom(unit, Doom::Escalate(update));
        self.close(unit);
    }

    /// Stops what a unit has running. It ends once all of that has answered.
    pub(super) fn doom(&mut self, unit: u32, doom: Doom<V>) {
        if let Doom::Budget(dimension) = doom {
            self.log_budget(unit, dimension);
        }
        let Some(body) = self.units.get_mut(unit).map(|unit| &mut unit.body) else { return };
        let frame = match body {
            Body::Agent(_) => return self.doom_agent(unit, doom),
            Body::Graph(frame) => frame,
        };
        // The first reason counts, but nothing outranks whoever is outside.
        if frame.doom.is_none() || matches!(doom, Doom::Cancel(_) | Doom::Abandon) {
            frame.doom = Some(doom);
        }
        let mut children = Vec::new();
        let starts = &mut self.desk.starts;
        for (slot, record) in (0_u32..).zip(&mut frame.records) {
            match &record.status {
                // The driver has not got it yet, and never will.
                Status::Running if starts.iter().any(|task| task.id.serial == record.serial) => {
                    starts.retain(|task| task.id.serial != record.serial);
                    record.status = Status::Void;
                    self.desk.running -= 1;
                    frame.open -= 1;
                }
                Status::Running => {
                    record.status = Status::Cancelling;
                    self.desk.cancels.push(TaskId { unit, slot, serial: record.serial });
                }
                Status::Waiting(_) => {
                    record.status = Status::Void;
                    self.desk.sleeping -= 1;
                    frame.open -= 1;
                }
                Status::Paused(_) => {
                    record.status = Status::Void;
                    frame.paused -= 1;
                }
                Status::Nested(child) => children.push(*child),
                Status::Cancelling | Status::Done(_) | Status::Void => {}
            }
        }
        if frame.open == 0 {
            self.desk.active.push(unit);
        }
        for child in children {
            self.doom(child, Doom::Abandon);
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
            Doom::Fault(fault) => self.fail(parent, slot, fault.into()),
            Doom::Budget(dimension) => self.settle(parent, slot, exhausted(dimension)),
            Doom::Escalate(update) => self.done(parent, slot, update),
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
        let room = u64::try_from(frame.graph.nodes().len()).unwrap_or(u64::MAX);
        for record in &mut frame.records {
            if let Status::Done(update) = &mut record.status {
                update.route = Route::Only(Vec::new());
            }
        }
        if spent == Dimension::WallTime {
            let now = self.desk.log.now;
            let allowed = self.desk.budget.limits().wall_time.unwrap_or_default();
            let grace = (allowed / 10).max(std::time::Duration::from_secs(1));
            self.desk.deadline = Some(now + grace);
            self.desk.wake(now + grace);
        }
        self.desk.budget.extend(spent, room);
        if self.barrier(unit, rules)
            && let Some(frame) = self.units.frame_mut(unit)
        {
            frame.redirect(target);
            self.plan(unit);
        }
        true
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

fn no_parent() -> Fault {
    let message = "a node spoke for the enclosing graph, but there is none";
    Fault::new(Category::State, "parent_missing", message)
        .hint("only a node of a nested graph can address its parent")
}
