//! One graph at work within a run: its state, the present superstep, and what
//! runs next.

use std::sync::Arc;
use std::time::Duration;

use crate::budget::{Budget, Dimension};
use crate::channel::{ChannelId, Write};
use crate::command::{Send, Update};
use crate::effect::Question;
use crate::fault::Fault;
use crate::graph::{Graph, NodeId};
use crate::state::State;
use crate::task::Input;
use crate::time::Time;
use crate::value::Value;

use super::route::Hops;
use super::unit::Doom;

#[derive(Debug)]
pub(super) struct Frame<V> {
    pub(super) graph: Arc<Graph<V>>,
    pub(super) state: State<V>,
    pub(super) step: u64,
    /// The tasks of the present superstep, in the order of their writes.
    pub(super) records: Vec<Record<V>>,
    /// How many of them have not ended, and how many of those that have ask.
    pub(super) open: usize,
    pub(super) paused: usize,
    /// What the next superstep runs.
    pub(super) ready: Vec<NodeId>,
    pub(super) deferred: Vec<NodeId>,
    /// By node: whether it is in one of the two.
    pub(super) marked: Vec<bool>,
    pub(super) sends: Vec<Sent<V>>,
    /// For each join, the sources that have run since it last fired.
    pub(super) arrived: Vec<Vec<NodeId>>,
    /// Why the present superstep is the last, once all its tasks have ended.
    pub(super) doom: Option<Doom<V>>,
    /// A task has asked for the end of the graph.
    pub(super) over: bool,
    /// Spent dimensions whose `on_budget` edge has been taken.
    pub(super) exempt: Vec<Dimension>,
    /// Channels that changed since the last commit, if there are commits.
    pub(super) uncommitted: Vec<ChannelId>,
    /// What was written to channels that the enclosing graph has too.
    pub(super) passed_up: Vec<Write<V>>,
}

/// A send on its way, its node looked up.
#[derive(Debug)]
pub(super) struct Sent<V> {
    pub(super) node: NodeId,
    pub(super) input: V,
    pub(super) timeout: Option<Duration>,
}

/// One task of the present superstep.
#[derive(Debug)]
pub(super) struct Record<V> {
    pub(super) node: NodeId,
    pub(super) input: Input<V>,
    /// Which of the superstep's sends it is.
    pub(super) send: Option<usize>,
    pub(super) timeout: Option<Duration>,
    pub(super) attempt: u32,
    pub(super) serial: u64,
    pub(super) status: Status<V>,
    pub(super) deadline: Option<Time>,
    pub(super) answers: Vec<V>,
    pub(super) budget: Option<Box<Budget>>,
    /// The failure that this node handles in another's place.
    pub(super) handles: Option<Box<(NodeId, Fault)>>,
    /// Where its branches lead, when they are asked before the merge.
    pub(super) routed: Option<Hops<V>>,
    /// Its failure has been settled once; a second one ends the graph.
    pub(super) settled: bool,
}

#[derive(Debug)]
pub(super) enum Status<V> {
    /// The driver has it.
    Running,
    /// The driver has it and has been told to stop it.
    Cancelling,
    /// The next attempt begins at that instant.
    Waiting(Time),
    /// A unit of its own works on it.
    Nested(u32),
    /// It asks.
    Paused(Box<Question<V>>),
    /// It is done, not merged yet.
    Done(Update<V>),
    /// It ended without anything to merge.
    Void,
}

impl<V: Value> Frame<V> {
    /// A graph that is about to merge its input as the first of its writes.
    pub(super) fn new(graph: Arc<Graph<V>>, input: Update<V>) -> Self {
        let state = State::new(&graph);
        let arrived = vec![Vec::new(); graph.joins().len()];
        let marked = vec![false; graph.nodes().len()];
        let mut start = Record::new(NodeId::START, Input::State);
        start.status = Status::Done(input);
        Self {
            graph,
            state,
            step: 0,
            records: vec![start],
            open: 0,
            paused: 0,
            ready: Vec::new(),
            deferred: Vec::new(),
            marked,
            sends: Vec::new(),
            arrived,
            doom: None,
            over: false,
            exempt: Vec::new(),
            uncommitted: Vec::new(),
            passed_up: Vec::new(),
        }
    }
}

impl<V> Record<V> {
    pub(super) const fn new(node: NodeId, input: Input<V>) -> Self {
        Self {
            node,
            input,
            send: None,
            timeout: None,
            attempt: 0,
            serial: 0,
            status: Status::Void,
            deadline: None,
            answers: Vec::new(),
            budget: None,
            handles: None,
            routed: None,
            settled: false,
        }
    }
}

impl<V: Value> Sent<V> {
    pub(super) fn as_send(&self, graph: &Graph<V>) -> Send<V> {
        Send {
            node: graph.node_name(Some(self.node)),
            input: self.input.clone(),
            timeout: self.timeout,
        }
    }
}
