//! Failures: retries and error policies.

use super::frame::{Frame, TaskRecord, TaskStatus};
use super::machine::Run;
use super::scope::TaskIndex;
use super::termination::{CancelMode, Termination};
use crate::budget::{Budget, BudgetDimension, exhausted, spent_dimension};
use crate::channel::Write;
use crate::command::{Destination, Route, Update};
use crate::event::{EventKind, Level};
use crate::fault::{Category, Fault, FaultRecord};
use crate::graph::{NodeId, NodeWork, OnError};
use crate::retry::RetryPolicy;
use crate::rules::Rules;
use crate::task::{Failure, RetryVerdict};
use crate::time::earlier;
use crate::value::Value;

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self { fault, verdict: RetryVerdict::ByCategory }
    }
}

impl<V: Value> Run<V> {
    /// An attempt has failed.
    pub(super) fn fail(&mut self, scope: u32, slot: u32, failure: Failure) {
        let Failure { fault, verdict } = failure;
        match self.pause_before_retry(scope, slot, &fault, &verdict) {
            Some(pause) if self.charge_retry(scope, slot) => {
                let at = self.queue.log.now + pause;
                self.log_retry(scope, slot, &fault, pause);
                if let Some(record) = self.scopes.record(scope, slot) {
                    record.status = TaskStatus::Waiting(at);
                }
                self.queue.sleeping += 1;
                self.queue.wake_at(at);
            }
            Some(_) => {
                let spent = exhausted(BudgetDimension::Retries);
                let spent = spent
                    .with("cause", fault.code.as_str())
                    .with("message", fault.message.as_str());
                self.apply_on_error(scope, slot, spent);
            }
            None => self.apply_on_error(scope, slot, fault),
        }
    }

    /// What worked for a task, a nested graph or an agent loop, has failed: so has the attempt.
    pub(super) fn fail_nested(
        &mut self,
        (scope, slot): TaskIndex,
        fault: Fault,
        rules: &mut impl Rules<V>,
    ) {
        let frame = self.scopes.frame(scope);
        let record = frame.and_then(|frame| frame.records.get(slot as usize));
        let verdict = match frame.zip(record) {
            Some((frame, record)) => rules.retry_verdict(&frame.graph, record.node, &fault),
            None => RetryVerdict::ByCategory,
        };
        self.fail(scope, slot, Failure { fault, verdict });
    }

    fn pause_before_retry(
        &mut self,
        scope: u32,
        slot: u32,
        fault: &Fault,
        verdict: &RetryVerdict,
    ) -> Option<std::time::Duration> {
        let seed = self.scopes.task_seed(scope, slot);
        let around = earlier(self.scopes.deadline_around(scope), self.queue.deadline);
        let frame = self.scopes.frame(scope)?;
        let record = frame.records.get(slot as usize)?;
        let own = &frame.graph.node(record.node)?.policy.retry;
        let policy: &RetryPolicy = match verdict {
            RetryVerdict::Again(policy) => policy,
            RetryVerdict::ByCategory if fault.category.is_transient() => own.as_ref()?,
            RetryVerdict::ByCategory | RetryVerdict::Never => return None,
        };
        let pause = policy.pause(record.attempt, fault, seed)?;
        let in_time = |deadline| self.queue.log.now + pause < deadline;
        earlier(around, record.expires()).is_none_or(in_time).then_some(pause)
    }

    /// Counts a retry in all budgets around, if it fits.
    fn charge_retry(&mut self, scope: u32, slot: u32) -> bool {
        let fits = self.scopes.budgets(scope, slot).all(Budget::has_retry)
            && self.queue.budget.has_retry();
        if fits {
            self.scopes.charge(scope, slot, Budget::count_retry);
            self.queue.budget.count_retry();
        }
        fits
    }

    /// A task has failed and is not retried: its node's policy decides.
    pub(super) fn apply_on_error(&mut self, scope: u32, slot: u32, fault: Fault) {
        self.log_error(scope, slot, &fault);
        self.notify_failed(scope, slot, &fault);
        let spent = spent_dimension(&fault);
        let Some(frame) = self.scopes.frame_mut(scope) else { return };
        frame.forget_route(slot);
        let Frame { graph, records, .. } = frame;
        let Some(record) = records.get_mut(slot as usize) else { return };
        let policy = graph.node(record.node).map(|node| node.policy.on_error.clone());
        let policy = policy.filter(|_| !std::mem::replace(&mut record.settled, true));
        // A cancellation is not handled by nodes: it goes up to the driver.
        let stops = fault.category == Category::Cancelled;
        let policy = policy.filter(|_| !stops).unwrap_or_default();
        if let Some(dimension) = spent
            && (graph.on_budget().is_some() || policy == OnError::Raise)
        {
            return self.fail_graph(scope, slot, Termination::Budget(dimension));
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
                return self.start(scope, slot);
            }
            OnError::Raise => return self.fail_graph(scope, slot, Termination::Fault(fault)),
        }
        self.commit_finished(scope, slot, &update);
        if let Some(record) = self.scopes.record(scope, slot) {
            record.status = TaskStatus::Done(update);
        }
        self.close_task(scope);
    }

    /// A failure that ends the graph.
    fn fail_graph(&mut self, scope: u32, slot: u32, mut terminate: Termination<V>) {
        if let (0, Termination::Fault(fault)) = (scope, &mut terminate) {
            self.name_task(slot, fault);
        }
        if let Some(record) = self.scopes.record(scope, slot) {
            record.status = TaskStatus::Void;
        }
        self.terminate(scope, terminate, CancelMode::Await);
        self.close_task(scope);
    }

    /// Says on the fault of a run which of its own nodes it is, if a node within has failed.
    fn name_task(&self, slot: u32, fault: &mut Fault) {
        let frame = self.scopes.frame(0);
        let record = frame.and_then(|frame| frame.records.get(slot as usize));
        let Some((frame, record)) = frame.zip(record) else { return };
        let Some(node) = frame.graph.node(record.node) else { return };
        let failed = fault.details.get("node").and_then(serde_json::Value::as_str);
        if matches!(node.work, NodeWork::Graph(_)) && failed != Some(&*node.name) {
            fault.details.insert("within".to_owned(), (*node.name).into());
        }
    }

    fn log_retry(&mut self, scope: u32, slot: u32, fault: &Fault, pause: std::time::Duration) {
        let Self { scopes, queue } = self;
        queue.log.emit(|| {
            let mut event = scopes.event(scope, slot, EventKind::Retry, Level::Warning);
            event.data.insert("attempt".into(), scopes.attempt(scope, slot).into());
            event.data.insert("code".into(), fault.code.as_str().into());
            event.data.insert("message".into(), fault.message.clone().into());
            let delay = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
            event.data.insert("delay_ms".into(), delay.into());
            event
        });
    }

    pub(super) fn log_error(&mut self, scope: u32, slot: u32, fault: &Fault) {
        let Self { scopes, queue } = self;
        queue.log.emit(|| {
            let mut event = scopes.event(scope, slot, EventKind::Error, Level::Error);
            event.data.insert("category".into(), fault.category.as_str().into());
            event.data.insert("code".into(), fault.code.as_str().into());
            event.data.insert("message".into(), fault.message.clone().into());
            event.data.insert("attempt".into(), scopes.attempt(scope, slot).into());
            event
        });
    }
}

impl<V> TaskRecord<V> {
    /// Hands the task to a handler, which gets its input only.
    fn hand_over(&mut self, handler: NodeId, fault: Fault) {
        let failed = std::mem::replace(&mut self.node, handler);
        self.extra = None;
        self.extra().handles = Some((failed, fault));
        self.attempt = 0;
        (self.timeout, self.limit) = (None, None);
    }
}
