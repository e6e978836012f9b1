//! Failures: whether to try again, and what happens when that is over.

use super::frame::{Frame, TaskRecord, TaskStatus};
use super::machine::Run;
use super::termination::{CancelMode, Termination};
use super::unit::sooner;
use crate::budget::{Budget, Dimension, exhausted, spent_dimension};
use crate::channel::Write;
use crate::command::{Destination, Route, Update};
use crate::event::{EventKind, Level};
use crate::fault::{Category, Fault, FaultRecord};
use crate::graph::{NodeId, OnError};
use crate::retry::RetryPolicy;
use crate::task::{Failure, RetryVerdict};
use crate::value::Value;

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self { fault, verdict: RetryVerdict::ByCategory }
    }
}

impl<V: Value> Run<V> {
    /// An attempt has failed.
    pub(super) fn fail(&mut self, unit: u32, slot: u32, failure: Failure) {
        let Failure { fault, verdict } = failure;
        match self.pause_before_retry(unit, slot, &fault, &verdict) {
            Some(pause) if self.take_retry(unit, slot) => {
                let at = self.queue.log.now + pause;
                self.log_retry(unit, slot, &fault, pause);
                if let Some(record) = self.units.record(unit, slot) {
                    record.status = TaskStatus::Waiting(at);
                }
                self.queue.sleeping += 1;
                self.queue.wake(at);
            }
            Some(_) => {
                let spent = exhausted(Dimension::Retries);
                let spent = spent
                    .with("cause", fault.code.as_str())
                    .with("message", fault.message.as_str());
                self.settle(unit, slot, spent);
            }
            None => self.settle(unit, slot, fault),
        }
    }

    fn pause_before_retry(
        &mut self,
        unit: u32,
        slot: u32,
        fault: &Fault,
        verdict: &RetryVerdict,
    ) -> Option<std::time::Duration> {
        let seed = self.units.task_seed(unit, slot);
        let around = sooner(self.units.deadline_around(unit), self.queue.deadline);
        let frame = self.units.frame(unit)?;
        let record = frame.records.get(slot as usize)?;
        let own = &frame.graph.node(record.node)?.policy.retry;
        let policy: &RetryPolicy = match verdict {
            RetryVerdict::Again(policy) => policy,
            RetryVerdict::ByCategory if fault.category.is_transient() => own.as_ref()?,
            RetryVerdict::ByCategory | RetryVerdict::Never => return None,
        };
        let pause = policy.pause(record.attempt, fault, seed)?;
        let in_time = |deadline| self.queue.log.now + pause < deadline;
        sooner(around, record.expires()).is_none_or(in_time).then_some(pause)
    }

    /// Counts one more attempt against everything that limits them, if it fits.
    fn take_retry(&mut self, unit: u32, slot: u32) -> bool {
        let fits =
            self.units.scopes(unit, slot).all(Budget::has_retry) && self.queue.budget.has_retry();
        if fits {
            self.units.charge(unit, slot, Budget::count_retry);
            self.queue.budget.count_retry();
        }
        fits
    }

    /// A task has failed for good: its node's policy decides.
    pub(super) fn settle(&mut self, unit: u32, slot: u32, fault: Fault) {
        self.log_error(unit, slot, &fault);
        self.notify_failed(unit, slot, &fault);
        let spent = spent_dimension(&fault);
        let Some(frame) = self.units.frame_mut(unit) else { return };
        frame.forget_route(slot);
        let Frame { graph, records, .. } = frame;
        let Some(record) = records.get_mut(slot as usize) else { return };
        let policy = graph.node(record.node).map(|node| node.policy.on_error.clone());
        let policy = policy.filter(|_| !std::mem::replace(&mut record.settled, true));
        // A wish to stop is nobody's to handle: it goes up to whoever drives the run.
        let stops = fault.category == Category::Cancelled;
        let policy = policy.filter(|_| !stops).unwrap_or_default();
        if let Some(dimension) = spent
            && (graph.on_budget().is_some() || policy == OnError::Raise)
        {
            return self.fail_graph(unit, slot, Termination::Budget(dimension));
        }
        let mut update = Update::default();
        let (node, attempt) = (graph.node_name(Some(record.node)), record.attempt);
        let recoverable = fault.category.is_transient();
        let value = || {
            V::from_fault_record(&FaultRecord { fault: &fault, node: &node, attempt, recoverable })
        };
        match policy {
            OnError::Record(channel) => update.writes.push(Write::merge(channel, value())),
            OnError::Goto(target, channel) => {
                update.writes.extend(channel.map(|channel| Write::merge(channel, value())));
                update.route = Route::Only(vec![Destination::Node(target)]);
            }
            OnError::Handle(handler) => {
                record.hand_over(handler, fault);
                return self.start(unit, slot);
            }
            OnError::Raise => return self.fail_graph(unit, slot, Termination::Fault(fault)),
        }
        self.commit_finished(unit, slot, &update);
        if let Some(record) = self.units.record(unit, slot) {
            record.status = TaskStatus::Done(update);
        }
        self.close(unit);
    }

    /// A failure that ends the graph.
    fn fail_graph(&mut self, unit: u32, slot: u32, terminate: Termination<V>) {
        if let Some(record) = self.units.record(unit, slot) {
            record.status = TaskStatus::Void;
        }
        self.terminate(unit, terminate, CancelMode::Await);
        self.close(unit);
    }

    fn log_retry(&mut self, unit: u32, slot: u32, fault: &Fault, pause: std::time::Duration) {
        let Self { units, queue } = self;
        queue.log.emit(|| {
            let mut event = units.event(unit, slot, EventKind::Retry, Level::Warning);
            event.data.insert("attempt".into(), units.attempt(unit, slot).into());
            event.data.insert("code".into(), fault.code.as_str().into());
            event.data.insert("message".into(), fault.message.clone().into());
            let delay = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
            event.data.insert("delay_ms".into(), delay.into());
            event
        });
    }

    fn log_error(&mut self, unit: u32, slot: u32, fault: &Fault) {
        let Self { units, queue } = self;
        queue.log.emit(|| {
            let mut event = units.event(unit, slot, EventKind::Error, Level::Error);
            event.data.insert("category".into(), fault.category.as_str().into());
            event.data.insert("code".into(), fault.code.as_str().into());
            event.data.insert("message".into(), fault.message.clone().into());
            event.data.insert("attempt".into(), units.attempt(unit, slot).into());
            event
        });
    }
}

impl<V> TaskRecord<V> {
    /// Another node takes its place, with nothing of what it had but its input.
    fn hand_over(&mut self, handler: NodeId, fault: Fault) {
        let failed = std::mem::replace(&mut self.node, handler);
        self.extra = None;
        self.extra().handles = Some((failed, fault));
        self.attempt = 0;
        self.timeout = None;
    }
}
