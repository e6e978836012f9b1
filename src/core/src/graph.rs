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

/// A node.
#[derive(Clone, Debug)]
pub struct Node<V> {
    /// Unique within the graph.
    pub name: Arc<str>,
    /// What it runs.
    pub work: NodeWork<V>,
    /// Retries, limits and error handling.
    pub policy: NodePolicy,
}

/// What a node runs.
#[derive(Clone, Debug)]
pub enum NodeWork<V> {
    /// Code of the host, from the state to an update.
    Call,
    /// A loop of model and tool calls, driven by the engine.
    Agent(Arc<AgentSpec>),
    /// A nested graph; channels of the same name pass values in and out.
    Graph(Arc<Graph<V>>),
}

/// Retries, limits and error handling of a node.
#[derive(Clone, Debug, Default)]
pub struct NodePolicy {
    /// Retries; `None` for a single attempt.
    pub retry: Option<RetryPolicy>,
    /// The host may say [`crate::task::RetryVerdict::Again`].
    pub host_retries: bool,
    /// The time-out of an attempt.
    pub timeout: Option<Duration>,
    /// The time-out of an attempt without a heartbeat.
    pub idle: Option<IdleTimeout>,
    /// The budget of one execution of the node, all attempts included.
    pub limits: Limits,
    /// What to do when no attempt is left.
    pub on_error: OnError,
    /// Whether it waits until nothing else is left to run.
    pub deferred: bool,
}

impl NodePolicy {
    /// Whether a failed attempt is retried.
    pub(crate) const fn may_retry(&self) -> bool {
        self.host_retries || self.retry.is_some()
    }

    /// Whether an execution may have a deadline or a budget.
    pub(crate) fn may_limit(&self) -> bool {
        self.timeout.is_some() || self.idle.is_some() || self.is_limited()
    }

    /// Whether it has a budget.
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

/// A time-out that heartbeats extend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleTimeout {
    /// The longest time without a heartbeat.
    pub limit: Duration,
    /// Whether only a [`Heartbeat::Explicit`] counts.
    pub strict: bool,
}

/// A heartbeat of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heartbeat {
    /// The node emitted, called or stored something.
    Progress,
    /// The node called `ctx.heartbeat()`.
    Explicit,
}

/// What to do when a node has failed and is not retried.
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

/// A conditional edge: a router of the host, called once its source has finished.
#[derive(Clone, Debug)]
pub struct ConditionalEdge {
    /// The host's number of the router.
    pub router: u32,
    /// Unique per source; shown in events and diagrams.
    pub name: Arc<str>,
    /// The possible targets by label; `None` if they are not known.
    pub targets: Option<BTreeMap<Arc<str>, Option<NodeId>>>,
}

/// An edge that waits for several sources.
#[derive(Clone, Debug)]
pub struct JoinEdge {
    /// The sources, sorted; all must have run since the join last fired.
    pub sources: Vec<NodeId>,
    /// The node that runs then.
    pub target: NodeId,
}

/// The order in which the writes of a superstep are merged.
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

/// The semantics of a graph: LangGraph's, or our own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Semantics {
    /// The order of writes.
    pub order: MergeOrder,
    /// The state that routers see.
    pub router_view: RouterView,
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

    /// The host's number of the graph.
    pub const fn host(&self) -> u32 {
        self.host
    }

    /// Its semantics.
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

    /// The static successors of a node; `None` stands for the end.
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

    /// The node that runs when a budget is exhausted.
    pub const fn on_budget(&self) -> Option<NodeId> {
        self.on_budget
    }

    pub(crate) fn joins_of(&self, id: NodeId) -> &[usize] {
        self.joined.get(id.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// The position of a node among those of the same superstep.
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
