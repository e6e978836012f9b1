//! Graphs: nodes, edges, branches and joins over channels. Built and
//! validated once, immutable and shared from then on.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::agent::AgentSpec;
use crate::budget::Limits;
use crate::channel::{Channel, ChannelId};
use crate::retry::RetryPolicy;

mod build;

pub use build::{GraphBuilder, GraphError};

/// Where a graph begins; not a node that runs.
pub const START: &str = "__start__";
/// Where a path ends.
pub const END: &str = "__end__";

/// A node of one graph, by position; position 0 is [`START`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub u32);

impl NodeId {
    /// Where a graph begins.
    pub const START: Self = Self(0);
}

/// Something that runs.
#[derive(Clone, Debug)]
pub struct Node<V> {
    /// Unique within the graph.
    pub name: Arc<str>,
    /// What running it means.
    pub work: NodeWork<V>,
    /// Limits, repetition, and what happens on failure.
    pub policy: NodePolicy,
}

/// What running a node means.
#[derive(Clone, Debug)]
pub enum NodeWork<V> {
    /// The host's own code: it gets the state and answers with an update.
    Call,
    /// A loop of model and tool calls that the engine itself drives.
    Agent(Arc<AgentSpec>),
    /// A graph within the graph; channels of equal name pass values in and out.
    Graph(Arc<Graph<V>>),
}

/// Limits of a node, and what happens when it fails.
#[derive(Clone, Debug, Default)]
pub struct NodePolicy {
    /// Repeated attempts; none means a single one.
    pub retry: Option<RetryPolicy>,
    /// The host may say [`crate::task::RetryVerdict::Again`].
    pub host_retries: bool,
    /// The longest one attempt may take.
    pub timeout: Option<Duration>,
    /// The longest one attempt may take without a sign of life.
    pub idle: Option<IdleTimeout>,
    /// What one execution of the node may spend, its attempts included.
    pub limits: Limits,
    /// What happens when no attempt is left.
    pub on_error: OnError,
    /// Waits until nothing else is left to run.
    pub deferred: bool,
}

impl NodePolicy {
    /// Whether a failed attempt may be repeated.
    pub(crate) const fn may_retry(&self) -> bool {
        self.host_retries || self.retry.is_some()
    }

    /// Whether it limits what an execution may spend.
    pub(crate) fn is_limited(&self) -> bool {
        let Limits {
            supersteps,
            model_calls,
            tool_calls,
            input_tokens,
            output_tokens,
            retries,
            wall_time,
        } = &self.limits;
        let counts = [supersteps, model_calls, tool_calls, input_tokens, output_tokens, retries];
        wall_time.is_some() || counts.into_iter().any(Option::is_some)
    }
}

/// How long an attempt may go without a sign of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleTimeout {
    /// The longest silence.
    pub limit: Duration,
    /// Whether only a [`Heartbeat::Explicit`] counts.
    pub strict: bool,
}

/// A sign that an attempt is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heartbeat {
    /// The node emitted, called or stored something.
    Progress,
    /// The node called `ctx.heartbeat()`.
    Explicit,
}

/// What happens when a node has failed for good.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The run fails.
    #[default]
    Raise,
    /// The failure is written to a channel and the edges are followed.
    Record(ChannelId),
    /// The failure is written to a channel, if one is named, and another node
    /// runs next instead of the successors.
    Goto(NodeId, Option<ChannelId>),
    /// Another node takes the failed one's place within the same superstep.
    Handle(NodeId),
}

/// A conditional edge: the host's router, asked once its source has finished.
#[derive(Clone, Debug)]
pub struct ConditionalEdge {
    /// The number under which the host keeps the router.
    pub router: u32,
    /// Unique per source; shown in events and drawings.
    pub name: Arc<str>,
    /// What the router may answer, by label; none if it cannot be known.
    pub targets: Option<BTreeMap<Arc<str>, Option<NodeId>>>,
}

/// An edge that waits for several sources.
#[derive(Clone, Debug)]
pub struct JoinEdge {
    /// All of them must have run since the join last fired; in order, each once.
    pub sources: Vec<NodeId>,
    /// Runs once they have.
    pub target: NodeId,
}

/// In which order the writes of one superstep are merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MergeOrder {
    /// As the nodes were added, then sends.
    #[default]
    Listed,
    /// By node name, then sends.
    ByName,
}

/// Which state a router sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RouterView {
    /// The state after all writes of the superstep.
    #[default]
    Merged,
    /// The state before the superstep with the writes of the branch's own task.
    Own,
}

/// How strictly and in what order a graph is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Semantics {
    /// The order of writes.
    pub order: MergeOrder,
    /// What routers see.
    pub sight: RouterView,
    /// Unknown targets end their path with a warning instead of failing it.
    pub lenient: bool,
    /// Two writers of one `set` channel are an error even when they agree.
    pub exclusive: bool,
    /// A nested graph hands back all its channels rather than those it changed.
    pub full_output: bool,
}

/// A validated graph.
pub struct Graph<V> {
    pub(crate) name: Arc<str>,
    pub(crate) host: u32,
    pub(crate) semantics: Semantics,
    pub(crate) channels: Vec<Channel<V>>,
    pub(crate) nodes: Vec<Node<V>>,
    pub(crate) names: BTreeMap<Arc<str>, NodeId>,
    pub(crate) keys: BTreeMap<Arc<str>, ChannelId>,
    pub(crate) edges: Vec<Vec<Option<NodeId>>>,
    pub(crate) branches: Vec<Vec<ConditionalEdge>>,
    pub(crate) joins: Vec<JoinEdge>,
    pub(crate) ranks: Vec<u32>,
    /// By node: the joins that wait for it.
    pub(crate) joined: Vec<Vec<usize>>,
    /// Nodes in all, those of nested graphs included.
    pub(crate) size: u64,
    pub(crate) on_budget: Option<NodeId>,
}

impl<V> Graph<V> {
    /// Starts a graph of that name.
    pub fn builder(name: impl Into<Arc<str>>) -> GraphBuilder<V> {
        GraphBuilder::new(name)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number under which the host keeps what belongs to this graph.
    pub const fn host(&self) -> u32 {
        self.host
    }

    /// How strictly and in what order it is run.
    pub const fn semantics(&self) -> Semantics {
        self.semantics
    }

    /// All channels, by id.
    pub fn channels(&self) -> &[Channel<V>] {
        &self.channels
    }

    /// All nodes, by id; the first is [`START`].
    pub fn nodes(&self) -> &[Node<V>] {
        &self.nodes
    }

    /// The channel of that name.
    pub fn channel_id(&self, name: &str) -> Option<ChannelId> {
        self.keys.get(name).copied()
    }

    /// The node of that name.
    pub fn node_id(&self, name: &str) -> Option<NodeId> {
        self.names.get(name).copied()
    }

    /// The channel with that id.
    pub fn channel(&self, id: ChannelId) -> Option<&Channel<V>> {
        self.channels.get(id.0 as usize)
    }

    /// The node with that id.
    pub fn node(&self, id: NodeId) -> Option<&Node<V>> {
        self.nodes.get(id.0 as usize)
    }

    /// The name of a node, or of [`END`] for none.
    pub fn node_name(&self, id: Option<NodeId>) -> Arc<str> {
        let known = id.and_then(|id| self.node(id));
        known.map_or_else(|| END.into(), |node| Arc::clone(&node.name))
    }

    /// The static successors of a node; none stands for the end.
    pub fn successors(&self, id: NodeId) -> &[Option<NodeId>] {
        self.edges.get(id.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// The conditional edges of a node.
    pub fn branches(&self, id: NodeId) -> &[ConditionalEdge] {
        self.branches.get(id.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// The edges that wait for several sources.
    pub fn joins(&self) -> &[JoinEdge] {
        &self.joins
    }

    /// Where a spent budget leads.
    pub const fn on_budget(&self) -> Option<NodeId> {
        self.on_budget
    }

    pub(crate) fn joins_of(&self, id: NodeId) -> &[usize] {
        self.joined.get(id.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// Where a node comes among those that run in the same superstep.
    pub fn rank(&self, id: NodeId) -> u32 {
        self.ranks.get(id.0 as usize).copied().unwrap_or_default()
    }
}

impl<V> fmt::Debug for Graph<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes: Vec<_> = self.nodes.iter().skip(1).map(|node| &node.name).collect();
        f.debug_struct("Graph")
            .field("name", &self.name)
            .field("nodes", &nodes)
            .finish_non_exhaustive()
    }
}
