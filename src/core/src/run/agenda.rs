//! What a graph runs next.

use std::time::Duration;

use smallvec::SmallVec;

use crate::command::Send;
use crate::graph::{Graph, NodeId};

#[derive(Debug)]
pub(super) struct Agenda<V> {
    pub(super) ready: Vec<NodeId>,
    deferred: Vec<NodeId>,
    /// By node: whether it is in one of the two.
    marked: Vec<bool>,
    pub(super) sends: Vec<Sent<V>>,
    /// By join: the sources that have run since it last fired.
    arrived: Vec<Arrived>,
    /// A task has asked for the end of the graph.
    pub(super) over: bool,
}

/// A send on its way, its node looked up.
#[derive(Debug)]
pub(super) struct Sent<V> {
    pub(super) node: NodeId,
    pub(super) input: V,
    pub(super) timeout: Option<Duration>,
}

/// How far a join has come.
#[derive(Debug)]
struct Arrived {
    count: usize,
    /// By source.
    marks: Vec<bool>,
}

impl<V> Agenda<V> {
    pub(super) fn new(graph: &Graph<V>) -> Self {
        let nobody = |sources: usize| Arrived { count: 0, marks: vec![false; sources] };
        Self {
            ready: Vec::new(),
            deferred: Vec::new(),
            marked: vec![false; graph.nodes().len()],
            sends: Vec::new(),
            arrived: graph.joins().iter().map(|join| nobody(join.sources.len())).collect(),
            over: false,
        }
    }

    /// Adds a node, once however often it is asked for.
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

    /// Counts a finished node towards the joins that wait for it; returns
    /// where those lead that are now complete.
    pub(super) fn arrive(&mut self, graph: &Graph<V>, node: NodeId) -> SmallVec<[NodeId; 2]> {
        let mut complete = SmallVec::new();
        for &place in graph.joins_of(node) {
            let (Some(join), Some(arrived)) =
                (graph.joins().get(place), self.arrived.get_mut(place))
            else {
                continue;
            };
            let source = join.sources.binary_search(&node);
            let mark = source.ok().and_then(|source| arrived.marks.get_mut(source));
            arrived.count += mark.map_or(0, |mark| usize::from(!std::mem::replace(mark, true)));
            if arrived.count == join.sources.len() {
                arrived.count = 0;
                arrived.marks.fill(false);
                complete.push(join.target);
            }
        }
        complete
    }

    /// What the next superstep runs: deferred nodes only when nothing else is left.
    pub(super) fn upcoming(&self) -> (&[NodeId], &[Sent<V>]) {
        match () {
            () if self.over => (&[], &[]),
            () if self.ready.is_empty() && self.sends.is_empty() => (&self.deferred, &[]),
            () => (&self.ready, &self.sends),
        }
    }

    /// Makes the deferred nodes ready when nothing else is left; says whether
    /// anything is.
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

    /// Forgets the nodes that were ready: they run now.
    pub(super) fn forget_ready(&mut self) {
        for node in &self.ready {
            if let Some(mark) = self.marked.get_mut(node.0 as usize) {
                *mark = false;
            }
        }
        self.ready.clear();
    }

    /// Drops whatever was to come next and goes to `target` instead.
    pub(super) fn redirect(&mut self, graph: &Graph<V>, target: NodeId) {
        self.ready.clear();
        self.deferred.clear();
        self.sends.clear();
        self.marked.fill(false);
        self.over = false;
        self.add(graph, target);
    }
}

impl<V: Clone> Sent<V> {
    pub(super) fn as_send(&self, graph: &Graph<V>) -> Send<V> {
        Send {
            node: graph.node_name(Some(self.node)),
            input: self.input.clone(),
            timeout: self.timeout,
        }
    }
}
