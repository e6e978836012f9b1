//! The graph builder, which validates a graph before it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{
    ConditionalEdge, END, Graph, JoinEdge, MergeOrder, Node, NodeId, NodePolicy, NodeWork, OnError,
    START, Semantics,
};
use crate::channel::{Channel, ChannelId, Reducer, ValueKind};
use crate::fault::FaultCode;

/// Why a graph is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// Two nodes share a name.
    #[error("two nodes have the same name: {0}")]
    DuplicateNode(String),
    /// Two channels share a name.
    #[error("two channels have the same name: {0}")]
    DuplicateChannel(String),
    /// Two branches of one node share a name.
    #[error("two branches of `{0}` have the same name: {1}")]
    DuplicateBranch(String, String),
    /// A name that is reserved, or ambiguous in a path.
    #[error("a node may not be called `__start__` or `__end__`, be empty, or hold `|` or `:`: {0}")]
    ReservedName(String),
    /// An edge leads to an unknown node.
    #[error("an edge from `{0}` leads to an unknown node: {1}")]
    UnknownTarget(String, String),
    /// An edge begins at an unknown node.
    #[error("an edge begins at an unknown node: {0}")]
    UnknownSource(String),
    /// A policy names an unknown node.
    #[error("a policy of `{0}` names an unknown node: {1}")]
    UnknownHandler(String, String),
    /// An edge leads back to the start.
    #[error("an edge may not lead to the start: {0}")]
    EdgeIntoStart(String),
    /// An edge leaves the end.
    #[error("an edge may not leave the end: {0}")]
    EdgeOutOfEnd(String),
    /// No node would ever run.
    #[error("no edge leaves the start of the graph: {0}")]
    NoEntry(String),
    /// A join of fewer than one node.
    #[error("an edge from several nodes needs at least one, target: {0}")]
    EmptyJoin(String),
}

impl GraphError {
    /// A stable code with a page in `docs/errors/`.
    pub const fn code(&self) -> FaultCode {
        FaultCode::GraphInvalid
    }
}

/// Builds a graph by names, which may be used before they are defined.
#[derive(Debug)]
pub struct GraphBuilder<V> {
    name: Arc<str>,
    host: u32,
    semantics: Semantics,
    channels: Vec<Channel<V>>,
    nodes: Vec<Node<V>>,
    edges: Vec<(Arc<str>, Arc<str>)>,
    joins: Vec<(Vec<Arc<str>>, Arc<str>)>,
    branches: Vec<(Arc<str>, Router)>,
    handlers: Vec<Handler>,
    on_budget: Option<Arc<str>>,
}

#[derive(Debug)]
struct Handler {
    node: Arc<str>,
    target: Arc<str>,
    channel: Option<ChannelId>,
    kind: HandlerKind,
}

#[derive(Clone, Copy, Debug)]
enum HandlerKind {
    Record,
    Goto,
    Handle,
}

#[derive(Debug)]
struct Router {
    number: u32,
    name: Arc<str>,
    targets: Option<Vec<(Arc<str>, Arc<str>)>>,
}

impl<V> GraphBuilder<V> {
    pub(super) fn new(name: impl Into<Arc<str>>) -> Self {
        let start =
            Node { name: START.into(), work: NodeWork::Call, policy: NodePolicy::default() };
        Self {
            name: name.into(),
            host: 0,
            semantics: Semantics::default(),
            channels: Vec::new(),
            nodes: vec![start],
            edges: Vec::new(),
            joins: Vec::new(),
            branches: Vec::new(),
            handlers: Vec::new(),
            on_budget: None,
        }
    }

    /// The host's number of the graph.
    pub fn host(&mut self, host: u32) -> &mut Self {
        self.host = host;
        self
    }

    /// Sets the semantics.
    pub fn semantics(&mut self, semantics: Semantics) -> &mut Self {
        self.semantics = semantics;
        self
    }

    /// Adds a channel that takes any value and begins empty.
    pub fn channel(&mut self, name: impl Into<Arc<str>>, merge: Reducer) -> ChannelId {
        self.add_channel(Channel { name: name.into(), merge, default: None, kind: ValueKind::Any })
    }

    /// Adds a channel.
    pub fn add_channel(&mut self, channel: Channel<V>) -> ChannelId {
        self.channels.push(channel);
        ChannelId(id(self.channels.len() - 1))
    }

    /// Adds a node that calls the host.
    pub fn node(&mut self, name: impl Into<Arc<str>>) -> NodeId {
        self.add_node(Node {
            name: name.into(),
            work: NodeWork::Call,
            policy: NodePolicy::default(),
        })
    }

    /// Adds a node.
    pub fn add_node(&mut self, node: Node<V>) -> NodeId {
        self.nodes.push(node);
        NodeId(id(self.nodes.len() - 1))
    }

    /// After `source` comes `target`; either may be [`START`] or [`END`].
    pub fn edge(&mut self, source: impl Into<Arc<str>>, target: impl Into<Arc<str>>) -> &mut Self {
        self.edges.push((source.into(), target.into()));
        self
    }

    /// Once all of `sources` have run comes `target`.
    pub fn join(&mut self, sources: &[&str], target: impl Into<Arc<str>>) -> &mut Self {
        let sources = sources.iter().map(|&source| source.into()).collect();
        self.joins.push((sources, target.into()));
        self
    }

    /// After `source` the host's router `router` chooses: a label of `targets` if they are given,
    /// else the name of any node.
    pub fn branch(
        &mut self,
        source: impl Into<Arc<str>>,
        name: impl Into<Arc<str>>,
        router: u32,
        targets: Option<&[(&str, &str)]>,
    ) -> &mut Self {
        let pairs = |targets: &[(&str, &str)]| {
            targets.iter().map(|&(label, target)| (label.into(), target.into())).collect()
        };
        let router = Router { number: router, name: name.into(), targets: targets.map(pairs) };
        self.branches.push((source.into(), router));
        self
    }

    /// When `node` fails and is not retried, the failure is written to `channel` and its edges are
    /// followed.
    pub fn on_error_record(&mut self, node: impl Into<Arc<str>>, channel: ChannelId) -> &mut Self {
        let node: Arc<str> = node.into();
        let handler = Handler {
            target: Arc::clone(&node),
            node,
            channel: Some(channel),
            kind: HandlerKind::Record,
        };
        self.handlers.push(handler);
        self
    }

    /// When `node` fails and is not retried, `target` runs next instead of its successors; the
    /// failure is written to `channel`, if one is given.
    pub fn on_error_goto(
        &mut self,
        node: impl Into<Arc<str>>,
        target: impl Into<Arc<str>>,
        channel: Option<ChannelId>,
    ) -> &mut Self {
        let handler =
            Handler { node: node.into(), target: target.into(), channel, kind: HandlerKind::Goto };
        self.handlers.push(handler);
        self
    }

    /// When `node` fails and is not retried, `handler` takes its place within the superstep.
    pub fn on_error_handle(
        &mut self,
        node: impl Into<Arc<str>>,
        handler: impl Into<Arc<str>>,
    ) -> &mut Self {
        let (node, target) = (node.into(), handler.into());
        self.handlers.push(Handler { node, target, channel: None, kind: HandlerKind::Handle });
        self
    }

    /// When a budget is exhausted, `target` runs instead of ending the graph.
    pub fn on_budget(&mut self, target: impl Into<Arc<str>>) -> &mut Self {
        self.on_budget = Some(target.into());
        self
    }

    /// Validates the graph.
    ///
    /// # Errors
    /// The first error that is found.
    pub fn build(mut self) -> Result<Arc<Graph<V>>, GraphError> {
        let names = self.node_names()?;
        let keys = self.channel_names()?;
        let edges = self.resolve_edges(&names)?;
        let branches = self.resolve_branches(&names)?;
        let joins = self.resolve_joins(&names)?;
        self.resolve_handlers(&names)?;
        let on_budget = match &self.on_budget {
            Some(target) => Some(handler(&names, &self.name, target)?),
            None => None,
        };
        let starts = |list: &Vec<_>| !list.is_empty();
        if !edges.first().is_some_and(starts) && branches.first().is_none_or(Vec::is_empty) {
            return Err(GraphError::NoEntry(self.name.to_string()));
        }
        let ranks = ranks(&self.nodes, self.semantics.order);
        let joined = joined(&joins, self.nodes.len());
        let size = self.nodes.iter().map(size).sum();
        Ok(Arc::new(Graph {
            name: self.name,
            host: self.host,
            semantics: self.semantics,
            channels: self.channels,
            nodes: self.nodes,
            names,
            keys,
            edges,
            branches,
            joins,
            ranks,
            joined,
            size,
            on_budget,
        }))
    }

    fn node_names(&self) -> Result<BTreeMap<Arc<str>, NodeId>, GraphError> {
        let mut names = BTreeMap::from([(Arc::from(START), NodeId::START)]);
        for (index, node) in self.nodes.iter().enumerate().skip(1) {
            if node.name.is_empty() || &*node.name == END || node.name.contains(['|', ':']) {
                return Err(GraphError::ReservedName(node.name.to_string()));
            }
            if names.insert(Arc::clone(&node.name), NodeId(id(index))).is_some() {
                return Err(match &*node.name {
                    START => GraphError::ReservedName(node.name.to_string()),
                    name => GraphError::DuplicateNode(name.to_owned()),
                });
            }
        }
        Ok(names)
    }

    fn channel_names(&self) -> Result<BTreeMap<Arc<str>, ChannelId>, GraphError> {
        let mut keys = BTreeMap::new();
        for (index, channel) in self.channels.iter().enumerate() {
            if keys.insert(Arc::clone(&channel.name), ChannelId(id(index))).is_some() {
                return Err(GraphError::DuplicateChannel(channel.name.to_string()));
            }
        }
        Ok(keys)
    }

    fn resolve_edges(&self, names: &Names) -> Result<Vec<Vec<Option<NodeId>>>, GraphError> {
        let mut edges = vec![Vec::new(); self.nodes.len()];
        for (from, to) in &self.edges {
            let target = target(names, from, to)?;
            if let Some(list) = edges.get_mut(source(names, from)?.0 as usize)
                && !list.contains(&target)
            {
                list.push(target);
            }
        }
        Ok(edges)
    }

    fn resolve_branches(&mut self, names: &Names) -> Result<Vec<Vec<ConditionalEdge>>, GraphError> {
        let mut branches: Vec<Vec<ConditionalEdge>> = vec![Vec::new(); self.nodes.len()];
        for (from, router) in std::mem::take(&mut self.branches) {
            let source = source(names, &from)?;
            let Some(list) = branches.get_mut(source.0 as usize) else { continue };
            if list.iter().any(|branch| branch.name == router.name) {
                return Err(GraphError::DuplicateBranch(from.to_string(), router.name.to_string()));
            }
            let resolve = |pairs: Vec<(Arc<str>, Arc<str>)>| {
                pairs
                    .into_iter()
                    .map(|(label, to)| Ok((label, target(names, &from, &to)?)))
                    .collect::<Result<BTreeMap<_, _>, GraphError>>()
            };
            let targets = router.targets.map(resolve).transpose()?;
            list.push(ConditionalEdge { router: router.number, name: router.name, targets });
        }
        Ok(branches)
    }

    fn resolve_joins(&self, names: &Names) -> Result<Vec<JoinEdge>, GraphError> {
        let mut joins = Vec::with_capacity(self.joins.len());
        for (sources, to) in &self.joins {
            let unique: BTreeSet<NodeId> =
                sources.iter().map(|from| source(names, from)).collect::<Result<_, _>>()?;
            let first = sources.first().ok_or_else(|| GraphError::EmptyJoin(to.to_string()))?;
            if let Some(target) = target(names, first, to)? {
                joins.push(JoinEdge { sources: unique.into_iter().collect(), target });
            }
        }
        Ok(joins)
    }

    fn resolve_handlers(&mut self, names: &Names) -> Result<(), GraphError> {
        for rule in &self.handlers {
            let node = source(names, &rule.node)?;
            let to = handler(names, &rule.node, &rule.target)?;
            if let Some(node) = self.nodes.get_mut(node.0 as usize) {
                node.policy.on_error = match rule.kind {
                    HandlerKind::Record => rule.channel.map_or(OnError::Raise, OnError::Record),
                    HandlerKind::Goto => OnError::Goto(to, rule.channel),
                    HandlerKind::Handle => OnError::Handle(to),
                };
            }
        }
        Ok(())
    }
}

type Names = BTreeMap<Arc<str>, NodeId>;

fn source(names: &Names, name: &Arc<str>) -> Result<NodeId, GraphError> {
    if &**name == END {
        return Err(GraphError::EdgeOutOfEnd(name.to_string()));
    }
    names.get(name).copied().ok_or_else(|| GraphError::UnknownSource(name.to_string()))
}

fn target(names: &Names, from: &str, to: &Arc<str>) -> Result<Option<NodeId>, GraphError> {
    match &**to {
        END => Ok(None),
        START => Err(GraphError::EdgeIntoStart(from.to_owned())),
        _ => match names.get(to) {
            Some(&node) => Ok(Some(node)),
            None => Err(GraphError::UnknownTarget(from.to_owned(), to.to_string())),
        },
    }
}

fn handler(names: &Names, from: &str, to: &Arc<str>) -> Result<NodeId, GraphError> {
    match names.get(to) {
        Some(&node) if node != NodeId::START => Ok(node),
        _ => Err(GraphError::UnknownHandler(from.to_owned(), to.to_string())),
    }
}

/// The place of each node in the order of writes.
fn ranks<V>(nodes: &[Node<V>], order: MergeOrder) -> Vec<u32> {
    let mut places: Vec<usize> = (0..nodes.len()).collect();
    if order == MergeOrder::ByName {
        places.sort_by_key(|&place| nodes.get(place).map(|node| Arc::clone(&node.name)));
    }
    let mut ranks = vec![0; nodes.len()];
    for (rank, place) in places.into_iter().enumerate() {
        if let Some(slot) = ranks.get_mut(place) {
            *slot = id(rank);
        }
    }
    ranks
}

/// For each node the joins that wait for it.
fn joined(joins: &[JoinEdge], nodes: usize) -> Vec<Vec<usize>> {
    let mut joined = vec![Vec::new(); nodes];
    for (place, join) in joins.iter().enumerate() {
        for source in &join.sources {
            if let Some(list) = joined.get_mut(source.0 as usize) {
                list.push(place);
            }
        }
    }
    joined
}

fn size<V>(node: &Node<V>) -> u64 {
    match &node.work {
        NodeWork::Graph(nested) => 1 + nested.size,
        NodeWork::Call | NodeWork::Agent(_) => 1,
    }
}

/// Ids are 32 bits: a graph of more than four thousand million nodes cannot be held anyway.
fn id(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
