//! What is stored of a run, as values: commits, and the state that they add up to.
//!
//! A run hands out a [`Commit`] for everything that must not be lost. A store keeps the commits in
//! order; [`RecoveredRun::fold`] adds them up, and [`crate::run::Run::resume`] continues from
//! there. The commit of a superstep holds what was written and not the channels afterwards, so that
//! the cost of appending to a list does not grow with the list.

use smallvec::SmallVec;

use crate::budget::{BudgetDimension, BudgetUsage};
use crate::channel::{ChannelId, Reducer, Write};
use crate::command::{Send, Update};
use crate::effect::{Ending, Question};
use crate::fault::Fault;
use crate::graph::NodeId;

mod graph_snapshot;
mod journal;
mod outward;
mod raised;
mod recovered_run;
mod subrun;

pub use graph_snapshot::GraphSnapshot;
pub(crate) use graph_snapshot::SuperstepMerge;
pub use journal::{Call, CallJournal, CallOutcome, CallRecord, Callee, digest, key_salt};
pub(crate) use journal::{diverged, key, unknown_outcome};
pub use outward::OutwardWrites;
pub use raised::{RaisedByCall, RaisedVerdict};
pub use recovered_run::{RecoveredGraph, RecoveredRun, TaskSnapshot, TaskSnapshotState};
pub use subrun::{KnownSubrun, SubrunCommit, SubrunLog};

/// A change of a run that must not be lost.
#[derive(Clone, Debug)]
pub struct Commit<V> {
    /// Acknowledged with [`crate::run::Run::committed`]; counts from 1 each time a run is started
    /// or resumed.
    pub id: u64,
    /// The nested graphs around it, outermost first; empty for the run's own graph.
    pub within: Vec<NestedLevel>,
    /// What the run has spent so far.
    pub spent: BudgetUsage,
    /// The number of events so far.
    pub events: u64,
    /// What changed.
    pub change: CommitChange<V>,
}

/// One level of nesting: a graph at work for a node of the graph around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NestedLevel {
    /// The node whose task it is.
    pub node: NodeId,
    /// The attempt of that task.
    pub attempt: u32,
    /// Derived from the run's seed and the path, so that a resumed run finds it again.
    pub key: u64,
}

/// What changed.
#[derive(Clone, Debug)]
pub enum CommitChange<V> {
    /// A superstep was merged.
    Step(SuperstepDelta<V>),
    /// A task ended while its superstep continued.
    Finished(TaskKey, Update<V>),
    /// A task asks a question.
    Asked(TaskKey, Box<Question<V>>),
    /// A task was given an answer.
    Answered(TaskKey, V),
    /// A call of an attempt, by its number, has started or has an outcome.
    Called(TaskKey, u32, Box<CallRecord<V>>),
    /// A subrun of an attempt, by its number, has committed something.
    Subrun(TaskKey, u32, Box<SubrunCommit>),
    /// The run has ended. What was not merged can still be resumed.
    Ended(Result<Ending, Fault>),
}

/// A task of a superstep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskKey {
    /// Derived from the run's seed and the path, so that a resumed run finds it again.
    pub key: u64,
    /// Its slot in the superstep.
    pub slot: u32,
    /// The node it runs.
    pub node: NodeId,
}

/// What a superstep of a graph wrote, and the pending work after it.
#[derive(Clone, Debug)]
pub struct SuperstepDelta<V> {
    /// What led to the superstep.
    pub source: WriteSource,
    /// Which superstep of its graph it was; 0 merges the first input.
    pub step: u64,
    /// What was merged; more than once only if a router failed after a merge.
    pub merges: Vec<MergedWrites<V>>,
    /// The pending work after it.
    pub pending_work: PendingWork<V>,
}

/// What led to a superstep's writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteSource {
    /// The input of a graph that starts from its defaults.
    Begin,
    /// The input of a further turn of a thread.
    Turn,
    /// Tasks.
    #[default]
    Step,
    /// An edit from outside, in the name of a node.
    Edit,
}

/// One merge.
#[derive(Clone, Debug)]
pub struct MergedWrites<V> {
    /// The channels that the host's reducers have computed.
    pub reduced: Vec<(ChannelId, V)>,
    /// The writes, in the order they were merged.
    pub writes: SmallVec<[Write<V>; 2]>,
    /// The reducers of written channels that another version of the graph had when it merged them.
    pub former: Vec<(ChannelId, Reducer)>,
}

/// What a graph runs next, and what it must not do again.
#[derive(Clone, Debug)]
pub struct PendingWork<V> {
    /// The nodes that run in the next superstep.
    pub ready: SmallVec<[NodeId; 4]>,
    /// Deferred nodes, which run once nothing else is left.
    pub deferred: Vec<NodeId>,
    /// The sends that run in the next superstep, after the nodes.
    pub sends: Vec<Send<V>>,
    /// For each join with sources that have run: its index, and these sources.
    pub arrived: Vec<(usize, Vec<NodeId>)>,
    /// A task has ended the graph.
    pub over: bool,
    /// Channels with the reducer `Once` that hold a value.
    pub sealed: Vec<ChannelId>,
    /// Exhausted dimensions whose `on_budget` edge was taken.
    pub exempt: Vec<BudgetDimension>,
    /// The supersteps that are left after their budget was exhausted.
    pub grace: Option<u64>,
    /// The node that the next superstep runs instead.
    pub detour: Option<NodeId>,
}

impl<V> CommitChange<V> {
    /// Whether it must be durable before what follows it: a call with side effects, or a question
    /// that becomes visible.
    pub fn must_be_durable(&self) -> bool {
        match self {
            // The commits of a subrun say for themselves what must be durable.
            Self::Called(_, _, record) => {
                record.outcome.is_none() && record.call.callee != Callee::Graph
            }
            Self::Asked(..) => true,
            Self::Subrun(_, _, commit) => commit.must_be_durable,
            _ => false,
        }
    }

    /// Whether what it records may be done again.
    pub fn is_repeatable(&self) -> bool {
        match self {
            Self::Called(_, _, record) => record.call.repeatable,
            Self::Subrun(_, _, commit) => commit.repeatable,
            _ => true,
        }
    }
}

impl<V> PendingWork<V> {
    /// The nodes and sends of the next superstep; deferred nodes only if nothing else is left.
    pub fn upcoming(&self) -> (&[NodeId], &[Send<V>]) {
        match () {
            () if self.over => (&[], &[]),
            () if self.ready.is_empty() && self.sends.is_empty() => (&self.deferred, &[]),
            () => (&self.ready, &self.sends),
        }
    }

    /// How many tasks the next superstep has.
    pub fn tasks(&self) -> usize {
        let (ready, sends) = self.upcoming();
        if self.detour.is_some() { 1 } else { ready.len() + sends.len() }
    }
}

impl<V> Default for MergedWrites<V> {
    fn default() -> Self {
        Self { reduced: Vec::new(), writes: SmallVec::new(), former: Vec::new() }
    }
}

impl<V> Default for PendingWork<V> {
    fn default() -> Self {
        Self {
            ready: SmallVec::new(),
            deferred: Vec::new(),
            sends: Vec::new(),
            arrived: Vec::new(),
            over: false,
            sealed: Vec::new(),
            exempt: Vec::new(),
            grace: None,
            detour: None,
        }
    }
}
