//! Failures: whether to try again, and what happens when that is over.

use super::Run;
use super::frame::Status;
use super::unit::Doom;
use crate::budget::Dimension;
use crate::channel::Write;
use crate::command::{Choice, Route, Update};
use crate::event::{EventKind, Level};
use crate::fault::{Category, Fault};
use crate::graph::OnError;
use crate::retry::RetryPolicy;
use crate::task::{Failure, Verdict};
use crate::value::Value;

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self { fault, verdict: Verdict::ByCategory }
    }
}

impl<V: Value> Run<V> {
    /// An attempt has failed.
    pub(super) fn fail(&mut self, unit: u32, slot: u32, failure: Failure) {
        let Failure { fault, verdict } = failure;
        match self.pause_before_retry(unit, slot, &fault, &verdict) {
            Some(pause) if self.desk.budget.take_retry() => {
                let at = self.desk.log.now + pause;
                self.log_retry(unit, slot, &fault, pause);
                if let Some(record) = self.units.record(unit, slot) {
                    record.status = Status::Waiting(at);
                }
                self.desk.sleeping += 1;
                self.desk.wake(at);
            }
            Some(_) => self.settle(unit, slot, crate::budget::exhausted(Dimension::Retries)),
            None => self.settle(unit, slot, fault),
        }
    }

    fn pause_before_retry(
        &mut self,
        unit: u32,
        slot: u32,
        fault: &Fault,
        verdict: &Verdict,
    ) -> Option<std::time::Duration> {
        let seed = self.units.task_seed(unit, slot);
        let seed = self.desk.seed.child(seed.number());
        let frame = self.units.frame(unit)?;
        let record = frame.records.get(slot as usize)?;
        let own = &frame.graph.node(record.node)?.policy.retry;
        let policy: &RetryPolicy = match verdict {
            Verdict::Again(policy) => policy,
            Verdict::ByCategory if fault.category.is_transient() => own.as_ref()?,
            Verdict::ByCategory | Verdict::Never => return None,
        };
        let pause = policy.pause(record.attempt, fault, seed)?;
        let in_time = |deadline| self.desk.log.now + pause < deadline;
        self.desk.deadline.is_none_or(in_time).then_some(pause)
    }

    /// A task has failed for good: its node's policy decides.
    pub(super) fn settle(&mut self, unit: u32, slot: u32, fault: Fault) {
        self.log_error(unit, slot, &fault);
        if fault.category == Category::Budget && self.has_budget_edge(unit) {
            return self.settle_budget(unit, slot, fault);
        }
        let Some(frame) = self.units.frame_mut(unit) else { return };
        let graph = std::sync::Arc::clone(&frame.graph);
        let Some(record) = frame.records.get_mut(slot as usize) else { return };
        let policy = graph.node(record.node).map(|node| node.policy.on_error.clone());
        let again = std::mem::replace(&mut record.settled, true);
        let mut update = Update::default();
        match policy.unwrap_or_default() {
            OnError::Record(channel) if !again => {
                update.writes.push(Write::merge(channel, V::from_fault(&fault)));
            }
            OnError::Goto(target, channel) if !again => {
                let value = || V::from_fault(&fault);
                update.writes.extend(channel.map(|channel| Write::merge(channel, value())));
                update.route = Route::Only(vec![Choice::Node(target)]);
            }
            OnError::Handle(handler) if !again => {
                record.handles = Some(Box::new((record.node, fault)));
                record.node = handler;
                record.attempt = 0;
                return self.start(unit, slot);
            }
            _ => {
                record.status = Status::Void;
                self.doom(unit, Doom::Fault(fault));
                return self.close(unit);
            }
        }
        record.routed = None;
        record.status = Status::Done(update);
        self.close(unit);
    }

    fn has_budget_edge(&self, unit: u32) -> bool {
        let graph = self.units.frame(unit).map(|frame| &frame.graph);
        graph.is_some_and(|graph| graph.on_budget().is_some())
    }

    fn settle_budget(&mut self, unit: u32, slot: u32, fault: Fault) {
        let spent = fault.details.get("dimension").and_then(serde_json::Value::as_str);
        let known = Dimension::ALL.into_iter().find(|dimension| Some(dimension.as_str()) == spent);
        if let Some(record) = self.units.record(unit, slot) {
            record.status = Status::Void;
        }
        let doom = known.map_or(Doom::Fault(fault), Doom::Budget);
        self.doom(unit, doom);
        self.close(unit);
    }

    fn log_retry(&mut self, unit: u32, slot: u32, fault: &Fault, pause: std::time::Duration) {
        let Self { units, desk } = self;
        desk.log.emit(|| {
            let mut event = units.event(unit, slot, EventKind::Retry, Level::Warning);
            event.data.insert("attempt".into(), units.attempt(unit, slot).into());
            event.data.insert("code".into(), fault.code.clone().into());
            event.data.insert("message".into(), fault.message.clone().into());
            let delay = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
            event.data.insert("delay_ms".into(), delay.into());
            event
        });
    }

    fn log_error(&mut self, unit: u32, slot: u32, fault: &Fault) {
        let Self { units, desk } = self;
        desk.log.emit(|| {
            let mut event = units.event(unit, slot, EventKind::Error, Level::Error);
            event.data.insert("category".into(), fault.category.as_str().into());
            event.data.insert("code".into(), fault.code.clone().into());
            event.data.insert("message".into(), fault.message.clone().into());
            event
        });
    }
}
