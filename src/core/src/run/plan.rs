//! Planning supersteps, and handing out their tasks.

use std::sync::Arc;

use super::agent::AgentScope;
use super::breakpoints::Breakpoints;
use super::frame::{Frame, TaskRecord, TaskStatus};
use super::machine::Run;
use super::scope::{Scope, ScopeBody, Scopes};
use crate::budget::{Budget, BudgetDimension, Limits};
use crate::channel::Write;
use crate::command::Update;
use crate::effect::{Effect, Ending};
use crate::event::{EventKind, Level};
use crate::graph::{Graph, NodeWork};
use crate::task::{Task, TaskId, TaskInput, TaskWork};
use crate::time::{Time, earlier};
use crate::value::Value;

impl<V: Value> Run<V> {
    /// Starts the next superstep of a graph, or ends the graph.
    pub(super) fn plan(&mut self, scope: u32) {
        let Some(frame) = self.scopes.frame_mut(scope) else { return };
        frame.routes.clear();
        if let Some(target) = frame.detour.take() {
            frame.frontier.redirect(&frame.graph, target);
        }
        if !frame.frontier.gather() {
            frame.records.clear();
            return self.finish(scope);
        }
        if scope == 0 && self.is_at_breakpoint() {
            return self.end_run(Ok(Ending::Breakpoint));
        }
        if !self.charge_superstep(scope) {
            self.scopes.frame_mut(scope).into_iter().for_each(|frame| frame.records.clear());
            return self.exhaust_budget(scope, BudgetDimension::Supersteps);
        }
        let Some(frame) = self.scopes.frame_mut(scope) else { return };
        frame.step += 1;
        frame.renew_records();
        (frame.planned, frame.merged) = (true, false);
        let Some(found) = self.scopes.get_mut(scope) else { return };
        let slots = found.slots();
        found.open = slots as usize;
        self.start_step_timer(scope);
        for slot in 0..slots {
            self.start(scope, slot);
        }
    }

    /// Whether the run's own graph stops before its next superstep.
    fn is_at_breakpoint(&self) -> bool {
        let Some(breakpoints) = &self.queue.breakpoints else { return false };
        let Breakpoints { before, after } = &**breakpoints;
        if self.queue.recovered.is_some() {
            return false;
        }
        let Some(frame) = self.scopes.frame(0) else { return false };
        let sends = frame.frontier.sends.iter().map(|send| send.node);
        let mut next = frame.frontier.ready.iter().copied().chain(sends);
        let mut past = frame.records.iter().map(|record| record.node);
        next.any(|node| before.contains(&node)) || past.any(|node| after.contains(&node))
    }

    /// Counts a superstep in all budgets around, if it fits.
    fn charge_superstep(&mut self, scope: u32) -> bool {
        let fits = match self.scopes.grace_around(scope) {
            Some(left) => left.checked_sub(1).map(|rest| *left = rest).is_some(),
            None => {
                self.scopes.budgets_around(scope).all(Budget::has_superstep)
                    && self.queue.budget.has_superstep()
            }
        };
        if fits {
            self.scopes.charge_around(scope, Budget::count_superstep);
            self.queue.budget.count_superstep();
        }
        fits
    }

    /// Starts the next attempt of a task: hands it out, or opens a nested scope.
    pub(super) fn start(&mut self, scope: u32, slot: u32) {
        if self.queue.recovered.is_some() && self.restore_task(scope, slot) {
            return;
        }
        let serial = self.queue.next_serial();
        let now = self.queue.log.now;
        let around = earlier(self.scopes.deadline_around(scope), self.queue.deadline);
        let Some(Frame { graph, records, .. }) = self.scopes.frame_mut(scope) else { return };
        let Some(record) = records.get_mut(slot as usize) else { return };
        let Some(node) = graph.node(record.node) else { return };
        record.serial = serial;
        record.attempt += 1;
        record.restart_calls();
        if node.policy.is_limited() && record.budget().is_none() {
            record.limit(&node.policy.limits, now);
        }
        record.start_limit(now);
        record.deadline = record.expires();
        self.queue.watches |= node.policy.idle.is_some();
        if !(self.queue.queues() && matches!(node.work, NodeWork::Call)) {
            record.start_timers(node, now);
        }
        if let Some(deadline) = record.deadline {
            self.queue.wake_at(deadline);
        }
        match &node.work {
            NodeWork::Call => {
                record.status = TaskStatus::Running;
                self.queue.running += 1;
                self.queue.starts.push(Task {
                    id: TaskId { scope, slot, serial },
                    node: record.node,
                    attempt: record.attempt,
                    deadline: earlier(record.deadline, around),
                    work: TaskWork::Node(record.input.clone()),
                });
            }
            NodeWork::Graph(nested) => {
                let nested = Arc::clone(nested);
                self.nest(scope, slot, &nested);
            }
            NodeWork::Agent(spec) => {
                let mut agent = AgentScope::new(Arc::clone(spec));
                self.restore_approvals(scope, slot, &mut agent);
                let awaits_answer = agent.is_awaiting_answer();
                self.attach(scope, slot, ScopeBody::Agent(Box::new(agent)));
                if let Some(record) = self.scopes.record(scope, slot).filter(|_| awaits_answer) {
                    record.deadline = None;
                }
            }
        }
        self.notify_started(scope, slot);
        let Self { scopes, queue } = self;
        queue.log.emit(|| {
            let mut event = scopes.event(scope, slot, EventKind::NodeStarted, Level::Info);
            let attempt = scopes.attempt(scope, slot);
            event.data.insert("attempt".into(), attempt.into());
            event
        });
    }

    /// Starts the time-outs of tasks when the driver gets them: waiting for a commit or a free slot
    /// does not count.
    pub(super) fn start_timers(&mut self, effect: &mut Effect<V>) {
        let Effect::Start(tasks) = effect else { return };
        if !self.queue.queues() {
            return;
        }
        let now = self.queue.log.now;
        for task in tasks {
            let TaskId { scope, slot, .. } = task.id;
            let around = earlier(self.scopes.deadline_around(scope), self.queue.deadline);
            let own = self.scopes.start_timers(scope, slot, now);
            task.deadline = earlier(own, around);
            if let Some(own) = own {
                self.queue.wake_at(own);
            }
        }
    }

    /// Opens a nested scope for a task.
    fn attach(&mut self, scope: u32, slot: u32, body: ScopeBody<V>) {
        let seed = self.scopes.task_seed(scope, slot);
        let limits = self.scopes.limiting_task(scope, slot);
        let mut child = Scope::new(Some((scope, slot)), limits, seed, body);
        if self.queue.log.recording || self.queue.event_options.states {
            child.trace();
        }
        let child = self.scopes.add(child);
        if let Some(record) = self.scopes.record(scope, slot) {
            record.status = TaskStatus::Nested(child);
        }
        self.queue.active.push_back(child);
    }

    fn nest(&mut self, scope: u32, slot: u32, nested: &Arc<Graph<V>>) {
        let mut frame = match self.restore_graph(scope, slot) {
            Some(graph_snapshot) => Frame::restored(Arc::clone(nested), graph_snapshot),
            None => Frame::new(Arc::clone(nested), self.scopes.nested_input(scope, slot, nested)),
        };
        if let Some(around) = self.scopes.graph(scope) {
            frame.outward.name(nested, around);
        }
        self.attach(scope, slot, ScopeBody::Graph(Box::new(frame)));
    }

    /// Ends a graph that has nothing left to run.
    fn finish(&mut self, scope: u32) {
        let Some((parent, slot)) = self.scopes.get(scope).and_then(|scope| scope.parent) else {
            return self.end_run(Ok(Ending::Completed));
        };
        let update = self.scopes.nested_output(scope, parent);
        self.scopes.remove(scope);
        self.notify_nested_update(parent, slot, &update);
        self.complete(parent, slot, update);
    }
}

impl<V: Value> Frame<V> {
    /// Creates one task per node in the order of the graph, then one per send, reusing the records
    /// of the last superstep.
    fn renew_records(&mut self) {
        let Self { graph, frontier, records, .. } = self;
        frontier.sort(graph);
        records.truncate(frontier.ready.len());
        let used = records.len();
        for (record, &node) in records.iter_mut().zip(&frontier.ready) {
            record.renew(node);
        }
        let more = frontier.ready.iter().skip(used);
        records.extend(more.map(|&node| TaskRecord::new(node, TaskInput::State)));
        frontier.forget_ready();
        if frontier.sends.is_empty() {
            return;
        }
        let sends = (0_u32..).zip(frontier.sends.drain(..));
        records.extend(sends.map(|(index, sent)| TaskRecord {
            send: Some(index),
            timeout: sent.timeout,
            limit: sent.limit,
            ..TaskRecord::new(sent.node, TaskInput::Sent(sent.input))
        }));
    }
}

impl<V: Value> Scopes<V> {
    pub(super) fn start_timers(&mut self, scope: u32, slot: u32, now: Time) -> Option<Time> {
        let record = match &mut self.get_mut(scope)?.body {
            ScopeBody::Graph(frame) => {
                let record = frame.records.get_mut(slot as usize)?;
                record.start_timers(frame.graph.node(record.node)?, now);
                record
            }
            ScopeBody::Agent(agent) => {
                let record = agent.task_mut(slot)?;
                record.deadline = record.timeout.map(|timeout| now + timeout);
                record
            }
        };
        record.deadline
    }
}

impl<V> TaskRecord<V> {
    /// Opens the budget of one execution, for all its attempts.
    fn limit(&mut self, limits: &Limits, now: Time) {
        let extra = self.extra();
        extra.expires = limits.wall_time.map(|limit| now + limit);
        extra.budget = Some(Budget::new(limits.clone()));
    }

    /// Starts the time of all attempts of a task that was sent with one, unless it runs.
    fn start_limit(&mut self, now: Time) {
        if let Some(limit) = self.limit {
            self.extra().sent_until.get_or_insert(now + limit);
        }
    }
}

/// The input of a nested graph from the fields of a record.
pub(super) fn writes_of<V: Value>(fields: Vec<(String, V)>, graph: &Graph<V>) -> Update<V> {
    let known = |(key, value): (String, V)| Some(Write::merge(graph.channel_id(&key)?, value));
    Update { writes: fields.into_iter().filter_map(known).collect(), ..Update::default() }
}
