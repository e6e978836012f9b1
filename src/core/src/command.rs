//! The update of a task: its writes, and where to go next.

use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;

use crate::channel::Write;
use crate::graph::NodeId;

/// The update of a task that is done.
#[derive(Clone, Debug)]
pub struct Update<V> {
    /// Writes in the order they were made.
    pub writes: SmallVec<[Write<V>; 2]>,
    /// Where to go in addition to the edges, or instead of them.
    pub route: Route<V>,
}

impl<V> Default for Update<V> {
    fn default() -> Self {
        Self { writes: SmallVec::new(), route: Route::Follow }
    }
}

impl<V> From<Vec<Write<V>>> for Update<V> {
    /// Writes, and the edges decide.
    fn from(writes: Vec<Write<V>>) -> Self {
        Self { writes: writes.into(), route: Route::Follow }
    }
}

/// How a task's own targets relate to the edges of its node.
#[derive(Clone, Debug, Default)]
pub enum Route<V> {
    /// Edges and branches decide.
    #[default]
    Follow,
    /// These targets and what the edges say.
    Also(Vec<Destination<V>>),
    /// These targets, and no edge or branch.
    Only(Vec<Destination<V>>),
    /// The graph ends with this superstep.
    End,
}

/// A target chosen while the graph runs.
#[derive(Clone, Debug)]
pub enum Destination<V> {
    /// A node, already resolved by the host.
    Node(NodeId),
    /// A node, a label of the branch, or the end, by name.
    Name(Arc<str>),
    /// A task with its own input, in the next superstep.
    Send(Send<V>),
    /// Nothing more on this path.
    End,
}

/// An input that is sent to a node, outside of the state.
#[derive(Clone, Debug)]
pub struct Send<V> {
    /// The node's name.
    pub node: Arc<str>,
    /// The input, in place of the state.
    pub input: V,
    /// Overrides the node's own time-out of an attempt.
    pub timeout: Option<Duration>,
    /// How long all attempts together may take; each keeps its time-out.
    pub limit: Option<Duration>,
}

/// The choices of one router call; nearly always one.
pub type Destinations<V> = SmallVec<[Destination<V>; 1]>;
