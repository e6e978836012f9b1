//! What a run tells a host that shows it to somebody: unlike events with the
//! values themselves, and only what was asked for is kept.

use std::sync::Arc;

use crate::command::Update;
use crate::effect::Question;
use crate::fault::Fault;
use crate::graph::{Graph, NodeId};
use crate::task::TaskInput;

/// What a host wants to be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventOptions {
    /// What nested graphs hand to the graphs around them. Hosts see the
    /// updates of other nodes themselves.
    pub handed_up: bool,
    /// How each task begins and ends.
    pub tasks: bool,
    /// Which graph has merged something.
    pub states: bool,
}

/// The values of a graph's channels, by channel.
pub type Snapshot<V> = Arc<Vec<Option<V>>>;

/// One thing to tell, in the order it happened.
#[derive(Clone, Debug)]
pub enum Notice<V> {
    /// A nested graph has handed this to a unit, as the update of one of its nodes.
    HandedUp(u32, NodeId, Update<V>),
    /// A task has begun or ended.
    Task(Box<TaskNotice<V>>),
    /// The run's own graph has merged something.
    Merged,
    /// A nested graph has merged something.
    MergedWithin(Box<NestedSnapshot<V>>),
}

/// A nested graph after a merge.
#[derive(Clone, Debug)]
pub struct NestedSnapshot<V> {
    /// The graph.
    pub graph: Arc<Graph<V>>,
    /// As in [`crate::run::Run::namespace`].
    pub namespace: Vec<String>,
    /// What it holds now.
    pub state: Snapshot<V>,
}

/// A task that has begun or ended.
#[derive(Clone, Debug)]
pub struct TaskNotice<V> {
    /// Which task.
    pub place: TaskLocation<V>,
    /// What has happened.
    pub news: TaskProgress<V>,
}

/// Where a task stands in its run.
#[derive(Clone, Debug)]
pub struct TaskLocation<V> {
    /// The graph of its node.
    pub graph: Arc<Graph<V>>,
    /// As in [`crate::run::Run::namespace`].
    pub namespace: Vec<String>,
    /// Its node.
    pub node: NodeId,
    /// A UUID as text: of this task and all its attempts, and of no other.
    pub id: String,
    /// The superstep of its graph.
    pub step: u64,
    /// Which of the superstep's sends it is.
    pub send: Option<u32>,
}

/// What has happened to a task.
#[derive(Clone, Debug)]
pub enum TaskProgress<V> {
    /// Its first attempt begins, or the first after an answer. The state is
    /// that of its graph.
    Begun(TaskInput<V>, Snapshot<V>),
    /// It is done.
    Done(Update<V>),
    /// It has failed for good.
    Failed(Fault),
    /// It asks; a nested graph asks what its tasks ask, once they are all at rest.
    Asked(Vec<Question<V>>),
}
