//! A graph at work within a run: its state, the current superstep, and what runs next.

use std::sync::Arc;
use std::time::Duration;

use crate::budget::{Budget, BudgetDimension};
use crate::channel::ChannelId;
use crate::checkpoint::{GraphSnapshot, MergedWrites, OutwardWrites, PendingWork, WriteSource};
use crate::command::{Send, Update};
use crate::effect::Question;
use crate::fault::Fault;
use crate::graph::{Graph, NodeId, NodePolicy};
use crate::seed::Seed;
use crate::state::State;
use crate::task::TaskInput;
use crate::time::{Time, earlier};
use crate::value::Value;

use super::call_tracker::CallTracker;
use super::frontier::{Frontier, ResolvedRoute};
use super::write_claims::WriteClaims;

#[derive(Debug)]
pub(super) struct Frame<V> {
    pub(super) graph: Arc<Graph<V>>,
    pub(super) state: State<V>,
    pub(super) step: u64,
    /// The tasks of the current superstep, in merge order.
    pub(super) records: Vec<TaskRecord<V>>,
    /// The number of tasks that wait for an answer.
    pub(super) paused: usize,
    pub(super) frontier: Frontier<V>,
    /// The writers of the superstep that is being merged.
    pub(super) claims: WriteClaims,
    /// The resolved routes of its tasks, by slot.
    pub(super) routes: Vec<(u32, ResolvedRoute<V>)>,
    /// Channels with the reducer `Once` that hold a value.
    pub(super) sealed: Vec<ChannelId>,
    /// The deadline of the current superstep.
    pub(super) expires: Option<Time>,
    /// Exhausted dimensions whose `on_budget` edge was taken.
    pub(super) exempt: Vec<BudgetDimension>,
    /// The supersteps that are left after their budget was exhausted.
    pub(super) grace: Option<u64>,
    /// The node that the next superstep runs instead.
    pub(super) detour: Option<NodeId>,
    /// Writes for the enclosing graph.
    pub(super) outward: OutwardWrites<V>,
    /// The source of the next superstep's writes.
    pub(super) source: WriteSource,
    /// Whether the records are tasks of a superstep that is not merged yet.
    pub(super) planned: bool,
    /// Whether they are merged, and only the next superstep is to be planned.
    pub(super) merged: bool,
    /// The task that ended last, if only the commit of the whole superstep will store it.
    pub(super) unstored: Option<u32>,
    /// Merged writes since the last commit, if the run commits.
    pub(super) merges: Vec<MergedWrites<V>>,
}

/// A task of the current superstep.
#[derive(Debug)]
pub(super) struct TaskRecord<V> {
    pub(super) node: NodeId,
    pub(super) input: TaskInput<V>,
    /// The index of the send that led to it.
    pub(super) send: Option<u32>,
    pub(super) timeout: Option<Duration>,
    /// The time of all attempts together.
    pub(super) limit: Option<Duration>,
    pub(super) attempt: u32,
    pub(super) serial: u64,
    pub(super) status: TaskStatus<V>,
    /// The deadline of the current attempt.
    pub(super) deadline: Option<Time>,
    pub(super) extra: Option<Box<TaskExtras<V>>>,
    /// Whether its route is resolved.
    pub(super) routed: bool,
    /// Whether its `on_error` policy was applied; a second failure ends the graph.
    pub(super) settled: bool,
}

/// Fields that few tasks need.
#[derive(Debug)]
pub(super) struct TaskExtras<V> {
    pub(super) answers: Vec<V>,
    /// The answers to questions of its subruns, by question id.
    pub(super) relayed: Vec<(String, V)>,
    pub(super) budget: Option<Budget>,
    /// The deadline of all attempts that its node's own limit sets.
    pub(super) expires: Option<Time>,
    /// The deadline of all attempts that it was sent with.
    pub(super) sent_until: Option<Time>,
    pub(super) watch: Option<IdleWatch>,
    /// Its calls.
    pub(super) tracker: Option<Box<CallTracker<V>>>,
    /// The question with which its code has ended while calls are open.
    pub(super) asks: Option<AskedQuestion<V>>,
    /// It was cancelled and has an outcome; only its open calls are waited for.
    pub(super) has_answered: bool,
    /// The failed node whose fault this node handles.
    pub(super) handles: Option<(NodeId, Fault)>,
}

/// A question, with its id if it comes from a subrun.
pub(super) type AskedQuestion<V> = (Option<String>, V);

/// The idle time-out of the current attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdleWatch {
    pub(super) began: Time,
    /// The deadline that heartbeats do not extend.
    pub(super) until: Option<Time>,
    /// The deadline without a further heartbeat.
    pub(super) silent: Time,
}

#[derive(Debug)]
pub(super) enum TaskStatus<V> {
    /// The driver runs it.
    Running,
    /// The driver was asked to cancel it.
    Cancelling,
    /// Its graph ends early, but nothing can stop it: what it returns counts.
    Finishing,
    /// The next attempt begins at that instant.
    Waiting(Time),
    /// A nested scope works on it.
    Nested(u32),
    /// It asks a question.
    Paused(Box<Question<V>>),
    /// It is done; its writes are not merged yet.
    Done(Update<V>),
    /// It ended without writes.
    Void,
}

impl<V> TaskStatus<V> {
    /// Whether the driver owes an outcome.
    pub(super) const fn is_under_way(&self) -> bool {
        matches!(self, Self::Running | Self::Cancelling | Self::Finishing)
    }

    /// Whether an outcome would count.
    pub(super) const fn is_awaited(&self) -> bool {
        matches!(self, Self::Running | Self::Finishing)
    }

    /// Whether it is under way although its graph ends.
    pub(super) const fn is_stopping(&self) -> bool {
        matches!(self, Self::Cancelling | Self::Finishing)
    }
}

impl<V: Value> Frame<V> {
    /// A new graph, which merges its input first.
    pub(super) fn new(graph: Arc<Graph<V>>, input: Update<V>) -> Self {
        let graph_snapshot = GraphSnapshot::new(&graph);
        let mut frame = Self::restored(graph, graph_snapshot);
        frame.merge_first(NodeId::START, input, WriteSource::Begin);
        frame
    }

    /// A graph restored from a snapshot between two supersteps.
    pub(super) fn restored(graph: Arc<Graph<V>>, graph_snapshot: GraphSnapshot<V>) -> Self {
        let GraphSnapshot { state, step, pending_work, outward } = graph_snapshot;
        let PendingWork { sealed, exempt, grace, detour, .. } = &pending_work;
        Self {
            state,
            step,
            records: Vec::new(),
            paused: 0,
            claims: WriteClaims::new(graph.channels().len()),
            routes: Vec::new(),
            sealed: sealed.clone(),
            expires: None,
            exempt: exempt.clone(),
            grace: *grace,
            detour: *detour,
            frontier: Frontier::restored(&graph, pending_work),
            outward,
            source: WriteSource::Step,
            planned: false,
            merged: false,
            unstored: None,
            merges: Vec::new(),
            graph,
        }
    }

    /// Makes `update` the next merge, in the name of `node`.
    pub(super) fn merge_first(&mut self, node: NodeId, update: Update<V>, source: WriteSource) {
        let mut record = TaskRecord::new(node, TaskInput::State);
        record.status = TaskStatus::Done(update);
        record.settled = true;
        self.records = vec![record];
        self.source = source;
    }

    /// The graph after its last merged superstep; the tasks of an open one are pending work.
    pub(super) fn graph_snapshot(&self) -> GraphSnapshot<V> {
        let mut pending_work = self.pending_work();
        if self.planned {
            for record in &self.records {
                match record.as_send(&self.graph) {
                    Some(send) => pending_work.sends.push(send),
                    None => pending_work.ready.push(record.planned_node()),
                }
            }
            pending_work.grace = pending_work.grace.map(|left| left + 1);
        }
        GraphSnapshot {
            state: self.state.clone(),
            step: self.step - u64::from(self.planned),
            pending_work,
            outward: self.outward.clone(),
        }
    }

    /// Whether a task may have a deadline or budget, or the graph grace supersteps, which hold for
    /// the scopes inside. This cannot change while the task runs.
    pub(super) fn may_limit(&self, slot: u32) -> bool {
        let record = self.records.get(slot as usize);
        let policy = record.and_then(|record| Some(&self.graph.node(record.node)?.policy));
        self.grace.is_some()
            || self.graph.on_budget().is_some()
            || record.is_none_or(TaskRecord::has_sent_timeout)
            || policy.is_none_or(NodePolicy::may_limit)
    }

    pub(super) fn pending_work(&self) -> PendingWork<V> {
        PendingWork {
            sealed: self.sealed.clone(),
            exempt: self.exempt.clone(),
            grace: self.grace,
            detour: self.detour,
            ..self.frontier.pending_work(&self.graph)
        }
    }
}

impl<V> TaskRecord<V> {
    pub(super) const fn new(node: NodeId, input: TaskInput<V>) -> Self {
        Self {
            node,
            input,
            send: None,
            timeout: None,
            limit: None,
            attempt: 0,
            serial: 0,
            status: TaskStatus::Void,
            deadline: None,
            extra: None,
            routed: false,
            settled: false,
        }
    }

    /// Resets a record in place for another task.
    pub(super) fn renew(&mut self, node: NodeId) {
        self.node = node;
        self.input = TaskInput::State;
        self.send = None;
        (self.timeout, self.limit) = (None, None);
        self.attempt = 0;
        self.status = TaskStatus::Void;
        self.extra = None;
        self.routed = false;
        self.settled = false;
    }

    /// The node it was planned for, also if a handler runs in its place.
    fn planned_node(&self) -> NodeId {
        self.handled().map_or(self.node, |(node, _)| *node)
    }

    /// The send that led to it, if any.
    fn as_send(&self, graph: &Graph<V>) -> Option<Send<V>>
    where
        V: Clone,
    {
        let TaskInput::Sent(input) = &self.input else { return None };
        let node = graph.node_name(Some(self.planned_node()));
        Some(Send { node, input: input.clone(), timeout: self.timeout, limit: self.limit })
    }

    /// Whether it is cancelled and has no outcome yet.
    pub(super) fn may_return(&self) -> bool {
        let has_answered = self.extra.as_ref().is_some_and(|extra| extra.has_answered);
        matches!(self.status, TaskStatus::Cancelling) && !has_answered
    }

    /// Whether the send that led to it set a time-out or a limit.
    pub(super) const fn has_sent_timeout(&self) -> bool {
        self.timeout.is_some() || self.limit.is_some()
    }

    pub(super) fn extra(&mut self) -> &mut TaskExtras<V> {
        self.extra.get_or_insert_with(Box::default)
    }

    /// The deadline of all attempts.
    pub(super) fn expires(&self) -> Option<Time> {
        self.extra.as_ref().and_then(|extra| earlier(extra.expires, extra.sent_until))
    }

    pub(super) fn budget(&self) -> Option<&Budget> {
        self.extra.as_ref().and_then(|extra| extra.budget.as_ref())
    }

    pub(super) fn handled(&self) -> Option<&(NodeId, Fault)> {
        self.extra.as_ref().and_then(|extra| extra.handles.as_ref())
    }

    /// Its name in a path.
    pub(super) fn name(&self, graph: &Graph<V>) -> Arc<str> {
        let name = graph.node_name(Some(self.node));
        match self.send {
            Some(index) => format!("{name}#{index}").into(),
            None => name,
        }
    }

    /// The seed of its ids: the same whenever the run is resumed or replayed; a handler of its
    /// failure has another one.
    pub(super) fn seed(&self, scope: Seed, step: u64, slot: u32) -> Seed {
        let seed = scope.task(step, slot);
        if self.handled().is_some() { seed.child(u64::MAX) } else { seed }
    }
}

impl<V> Default for TaskExtras<V> {
    fn default() -> Self {
        Self {
            answers: Vec::new(),
            relayed: Vec::new(),
            budget: None,
            expires: None,
            sent_until: None,
            watch: None,
            tracker: None,
            asks: None,
            has_answered: false,
            handles: None,
        }
    }
}
