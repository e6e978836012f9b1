//! Notices: what a host needs to stream a run. Unlike events they carry the values themselves, and
//! only those are built that the host asks for.

use std::sync::Arc;

use crate::command::Update;
use crate::effect::Question;
use crate::fault::Fault;
use crate::graph::{Graph, NodeId};
use crate::task::TaskInput;

/// Which notices a host asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventOptions {
    /// The updates with which nested graphs end. Hosts see the updates of other nodes themselves.
    pub nested_updates: bool,
    /// The start and the end of each task.
    pub tasks: bool,
    /// Merges, with the state after them.
    pub states: bool,
}

/// The values of a graph's channels, by channel.
pub type Snapshot<V> = Arc<Vec<Option<V>>>;

/// A notice.
#[derive(Clone, Debug)]
pub enum Notice<V> {
    /// A nested graph has ended with this update of its node in that scope.
    NestedUpdate(u32, NodeId, Update<V>),
    /// A task has started or ended.
    Task(Box<TaskNotice<V>>),
    /// The run's own graph has merged a superstep.
    Merged,
    /// A nested graph has merged a superstep.
    MergedWithin(Box<NestedSnapshot<V>>),
}

/// A nested graph after a merge.
#[derive(Clone, Debug)]
pub struct NestedSnapshot<V> {
    /// The graph.
    pub graph: Arc<Graph<V>>,
    /// As in [`crate::run::Run::namespace`].
    pub namespace: Vec<String>,
    /// Its state after the merge.
    pub state: Snapshot<V>,
}

/// A task that has started or ended.
#[derive(Clone, Debug)]
pub struct TaskNotice<V> {
    /// Which task.
    pub location: TaskLocation<V>,
    /// What happened to it.
    pub progress: TaskProgress<V>,
}

/// The location of a task in its run.
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
    /// The index of the send that led to it.
    pub send: Option<u32>,
}

/// What happened to a task.
#[derive(Clone, Debug)]
pub enum TaskProgress<V> {
    /// Its first attempt starts, or the first after an answer; with the state of its graph.
    Started(TaskInput<V>, Snapshot<V>),
    /// It is done.
    Done(Update<V>),
    /// It has failed, and is not retried.
    Failed(Fault),
    /// It asks these questions; a nested graph asks those of its tasks once none of them runs.
    Asked(Vec<Question<V>>),
}
