//! The nodes and sends that run next.

use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;

use crate::checkpoint::PendingWork;
use crate::command::Send;
use crate::graph::{Graph, JoinEdge, NodeId};

#[derive(Debug)]
pub(super) struct Frontier<V> {
    pub(super) ready: Vec<NodeId>,
    deferred: Vec<NodeId>,
    /// By node: whether it is ready or deferred.
    marked: Vec<bool>,
    pub(super) sends: Vec<ResolvedSend<V>>,
    /// By join: its progress since it last fired.
    arrived: Vec<JoinProgress>,
    /// A task has ended the graph.
    pub(super) over: bool,
}

/// A send with its node resolved.
#[derive(Debug)]
pub(super) struct ResolvedSend<V> {
    pub(super) node: NodeId,
    pub(super) input: V,
    pub(super) timeout: Option<Duration>,
    pub(super) limit: Option<Duration>,
}

/// A resolved target of a task.
#[derive(Debug)]
pub(super) enum ResolvedRoute<V> {
    To(Option<NodeId>, TargetName),
    Send(ResolvedSend<V>),
    /// An unknown node, which lenient graphs ignore.
    Lost(Arc<str>),
}

/// The name by which a target was chosen.
#[derive(Debug)]
pub(super) enum TargetName {
    Own,
    /// A label of the branch that stands for it.
    Label(Arc<str>),
}

/// The progress of a join.
#[derive(Debug)]
struct JoinProgress {
    count: usize,
    /// By source.
    marks: Vec<bool>,
}

impl<V> Frontier<V> {
    pub(super) fn new(graph: &Graph<V>) -> Self {
        let nobody = |sources: usize| JoinProgress { count: 0, marks: vec![false; sources] };
        Self {
            ready: Vec::new(),
            deferred: Vec::new(),
            marked: vec![false; graph.nodes().len()],
            sends: Vec::new(),
            arrived: graph.joins().iter().map(|join| nobody(join.sources.len())).collect(),
            over: false,
        }
    }

    /// Adds a node, at most once.
    pub(super) fn add(&mut self, graph: &Graph<V>, node: NodeId) {
        let Some(mark) = self.marked.get_mut(node.0 as usize) else { return };
        if std::mem::replace(mark, true) {
            return;
        }
        match graph.node(node) {
            Some(found) if found.policy.deferred => self.deferred.push(node),
            _ => self.ready.push(node),
        }
    }

    /// Counts a finished node for its joins; returns the targets of those that are complete.
    pub(super) fn arrive(&mut self, graph: &Graph<V>, node: NodeId) -> SmallVec<[NodeId; 2]> {
        let mut complete = SmallVec::new();
        for &place in graph.joins_of(node) {
            let (Some(join), Some(arrived)) =
                (graph.joins().get(place), self.arrived.get_mut(place))
            else {
                continue;
            };
            arrived.note(join, node);
            if arrived.count == join.sources.len() {
                arrived.count = 0;
                arrived.marks.fill(false);
                complete.push(join.target);
            }
        }
        complete
    }

    /// Makes deferred nodes ready if nothing else is left; returns whether anything runs next.
    pub(super) fn gather(&mut self) -> bool {
        if self.ready.is_empty() && self.sends.is_empty() {
            std::mem::swap(&mut self.ready, &mut self.deferred);
        }
        !self.over && (!self.ready.is_empty() || !self.sends.is_empty())
    }

    /// Puts the nodes that are ready in the order of the graph.
    pub(super) fn sort(&mut self, graph: &Graph<V>) {
        if self.ready.len() > 1 {
            self.ready.sort_unstable_by_key(|&node| graph.rank(node));
        }
    }

    /// Clears the ready nodes, which run now.
    pub(super) fn forget_ready(&mut self) {
        for node in &self.ready {
            if let Some(mark) = self.marked.get_mut(node.0 as usize) {
                *mark = false;
            }
        }
        self.ready.clear();
    }

    /// Replaces everything by `target`.
    pub(super) fn redirect(&mut self, graph: &Graph<V>, target: NodeId) {
        self.ready.clear();
        self.deferred.clear();
        self.sends.clear();
        self.marked.fill(false);
        self.over = false;
        self.add(graph, target);
    }
}

impl<V: Clone> Frontier<V> {
    /// Restored from a checkpoint, without what the graph no longer has.
    pub(super) fn restored(graph: &Graph<V>, pending_work: PendingWork<V>) -> Self {
        let mut frontier = Self::new(graph);
        let PendingWork { ready, deferred, sends, arrived, over, .. } = pending_work;
        for node in ready.into_iter().chain(deferred) {
            frontier.add(graph, node);
        }
        let sent = |sent: Send<V>| {
            let node = graph.node_id(&sent.node)?;
            Some(ResolvedSend { node, input: sent.input, timeout: sent.timeout, limit: sent.limit })
        };
        frontier.sends = sends.into_iter().filter_map(sent).collect();
        for (place, sources) in arrived {
            let (Some(join), Some(arrived)) =
                (graph.joins().get(place), frontier.arrived.get_mut(place))
            else {
                continue;
            };
            for source in sources {
                arrived.note(join, source);
            }
        }
        frontier.over = over;
        frontier
    }

    /// As it is stored.
    pub(super) fn pending_work(&self, graph: &Graph<V>) -> PendingWork<V> {
        let sent = |sent: &ResolvedSend<V>| Send {
            node: graph.node_name(Some(sent.node)),
            input: sent.input.clone(),
            timeout: sent.timeout,
            limit: sent.limit,
        };
        let arrived = self.arrived.iter().zip(graph.joins()).enumerate();
        let arrived = arrived.filter(|(_, (arrived, _))| arrived.count > 0);
        PendingWork {
            ready: SmallVec::from_slice(&self.ready),
            deferred: self.deferred.clone(),
            sends: self.sends.iter().map(sent).collect(),
            arrived: arrived.map(|(place, (arrived, join))| (place, arrived.of(join))).collect(),
            over: self.over,
            ..PendingWork::default()
        }
    }
}

impl JoinProgress {
    /// Counts a source of its join.
    fn note(&mut self, join: &JoinEdge, source: NodeId) {
        let source = join.sources.binary_search(&source);
        let mark = source.ok().and_then(|source| self.marks.get_mut(source));
        self.count += mark.map_or(0, |mark| usize::from(!std::mem::replace(mark, true)));
    }

    /// The counted sources.
    fn of(&self, join: &JoinEdge) -> Vec<NodeId> {
        let marked = join.sources.iter().zip(&self.marks).filter(|(_, marked)| **marked);
        marked.map(|(source, _)| *source).collect()
    }
}
