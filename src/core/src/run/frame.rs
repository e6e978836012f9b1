//! One graph at work within a run: its state, the present superstep, and what
//! runs next.

use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;

use crate::budget::{Budget, BudgetDimension};
use crate::channel::ChannelId;
use crate::checkpoint::{GraphSnapshot, MergedWrites, OutwardWrites, PendingWork, WriteSource};
use crate::command::{Send, Update};
use crate::effect::Question;
use crate::fault::Fault;
use crate::graph::{Graph, NodeId};
use crate::seed::Seed;
use crate::state::State;
use crate::task::TaskInput;
use crate::time::Time;
use crate::value::Value;

use super::call_tracker::CallTracker;
use super::frontier::{Frontier, ResolvedRoute};
use super::write_claims::WriteClaims;

#[derive(Debug)]
pub(super) struct Frame<V> {
    pub(super) graph: Arc<Graph<V>>,
    pub(super) state: State<V>,
    pub(super) step: u64,
    /// The tasks of the present superstep, in the order of their writes.
    pub(super) records: Vec<TaskRecord<V>>,
    /// How many of those that have ended ask.
    pub(super) paused: usize,
    pub(super) frontier: Frontier<V>,
    /// Who has written what in the superstep that is being merged.
    pub(super) claims: WriteClaims,
    /// Where its tasks lead, by slot, once they have been asked.
    pub(super) routes: Vec<(u32, ResolvedRoute<V>)>,
    /// Channels with the reducer `Once` that hold a value.
    pub(super) sealed: Vec<ChannelId>,
    /// When the present superstep is given up.
    pub(super) expires: Option<Time>,
    /// Exhausted dimensions whose `on_budget` edge was taken.
    pub(super) exempt: Vec<BudgetDimension>,
    /// The supersteps that are left after their budget was exhausted.
    pub(super) grace: Option<u64>,
    /// The node that the next superstep runs instead.
    pub(super) detour: Option<NodeId>,
    /// What goes to the enclosing graph.
    pub(super) outward: OutwardWrites<V>,
    /// What led to the superstep that is merged next.
    pub(super) source: WriteSource,
    /// The present records are tasks of a superstep that is not merged yet.
    pub(super) planned: bool,
    /// What has been merged since the last commit, if commits are wanted.
    pub(super) merges: SmallVec<[MergedWrites<V>; 1]>,
}

/// One task of the present superstep.
#[derive(Debug)]
pub(super) struct TaskRecord<V> {
    pub(super) node: NodeId,
    pub(super) input: TaskInput<V>,
    /// Which of the superstep's sends it is.
    pub(super) send: Option<u32>,
    pub(super) timeout: Option<Duration>,
    pub(super) attempt: u32,
    pub(super) serial: u64,
    pub(super) status: TaskStatus<V>,
    /// When the present attempt is given up.
    pub(super) deadline: Option<Time>,
    pub(super) extra: Option<Box<TaskExtras<V>>>,
    /// Where it leads has been asked.
    pub(super) routed: bool,
    /// Its failure has been settled once; a second one ends the graph.
    pub(super) settled: bool,
}

/// What few tasks have.
#[derive(Debug)]
pub(super) struct TaskExtras<V> {
    pub(super) answers: Vec<V>,
    /// The answers to questions of its subruns, by question id.
    pub(super) relayed: Vec<(String, V)>,
    pub(super) budget: Option<Budget>,
    /// When all attempts are given up.
    pub(super) expires: Option<Time>,
    pub(super) watch: Option<IdleWatch>,
    /// What it has called.
    pub(super) tracker: Option<Box<CallTracker<V>>>,
    /// The question with which its code has ended, while calls of its are under way.
    pub(super) asks: Option<AskedQuestion<V>>,
    /// It was told to stop and has answered: only its open calls are waited for.
    pub(super) has_answered: bool,
    /// The failure that this node handles in another's place.
    pub(super) handles: Option<(NodeId, Fault)>,
}

/// What a task asks, and the id of the question if it is not the task's own.
pub(super) type AskedQuestion<V> = (Option<String>, V);

/// The present attempt of a task that has to give signs of life.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdleWatch {
    pub(super) began: Time,
    /// When its time is up in any case.
    pub(super) until: Option<Time>,
    /// When it is given up unless there is a sign of life before.
    pub(super) silent: Time,
}

#[derive(Debug)]
pub(super) enum TaskStatus<V> {
    /// The driver has it.
    Running,
    /// The driver has it and has been told to stop it.
    Cancelling,
    /// The next attempt begins at that instant.
    Waiting(Time),
    /// A scope of its own works on it.
    Nested(u32),
    /// It asks a question.
    Paused(Box<Question<V>>),
    /// It is done, not merged yet.
    Done(Update<V>),
    /// It ended without anything to merge.
    Void,
}

impl<V: Value> Frame<V> {
    /// A graph that is about to merge its input as the first of its writes.
    pub(super) fn new(graph: Arc<Graph<V>>, input: Update<V>) -> Self {
        let graph_snapshot = GraphSnapshot::new(&graph);
        let mut frame = Self::restored(graph, graph_snapshot);
        frame.merge_first(NodeId::START, input, WriteSource::Begin);
        frame
    }

    /// A graph that continues from between two supersteps.
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
            merges: SmallVec::new(),
            graph,
        }
    }

    /// Lets the next merge be of something that no task has written.
    pub(super) fn merge_first(&mut self, node: NodeId, update: Update<V>, source: WriteSource) {
        let mut record = TaskRecord::new(node, TaskInput::State);
        record.status = TaskStatus::Done(update);
        record.settled = true;
        self.records = vec![record];
        self.source = source;
    }

    /// The graph as it was after its last superstep: of one that is open,
    /// everything is still to come.
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
            attempt: 0,
            serial: 0,
            status: TaskStatus::Void,
            deadline: None,
            extra: None,
            routed: false,
            settled: false,
        }
    }

    /// Takes the place of one that is over; as new, but nothing is moved.
    pub(super) fn renew(&mut self, node: NodeId) {
        self.node = node;
        self.input = TaskInput::State;
        self.send = None;
        self.timeout = None;
        self.attempt = 0;
        self.status = TaskStatus::Void;
        self.extra = None;
        self.routed = false;
        self.settled = false;
    }

    /// The node it was planned for, whoever has taken its place.
    fn planned_node(&self) -> NodeId {
        self.handled().map_or(self.node, |(node, _)| *node)
    }

    /// As the send that led to it, if one did.
    fn as_send(&self, graph: &Graph<V>) -> Option<Send<V>>
    where
        V: Clone,
    {
        let TaskInput::Sent(input) = &self.input else { return None };
        let node = graph.node_name(Some(self.planned_node()));
        Some(Send { node, input: input.clone(), timeout: self.timeout })
    }

    pub(super) fn extra(&mut self) -> &mut TaskExtras<V> {
        self.extra.get_or_insert_with(Box::default)
    }

    pub(super) fn expires(&self) -> Option<Time> {
        self.extra.as_ref().and_then(|extra| extra.expires)
    }

    pub(super) fn budget(&self) -> Option<&Budget> {
        self.extra.as_ref().and_then(|extra| extra.budget.as_ref())
    }

    pub(super) fn handled(&self) -> Option<&(NodeId, Fault)> {
        self.extra.as_ref().and_then(|extra| extra.handles.as_ref())
    }

    /// What it is called in a path.
    pub(super) fn name(&self, graph: &Graph<V>) -> Arc<str> {
        let name = graph.node_name(Some(self.node));
        match self.send {
            Some(index) => format!("{name}#{index}").into(),
            None => name,
        }
    }

    /// What its ids derive from: the same whenever the same run comes to the
    /// same place, and another for whoever handles its failure.
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
            watch: None,
            tracker: None,
            asks: None,
            has_answered: false,
            handles: None,
        }
    }
}
