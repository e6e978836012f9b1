//! What is stored of a run, as values: commits, and what they add up to.
//!
//! A run hands out a [`Commit`] for whatever must not be lost. A store keeps
//! them in order; [`RecoveredRun::fold`] adds them up, and [`crate::run::Run::resume`]
//! goes on from there. The commits of one superstep hold what was written, not
//! what the channels hold afterwards, so that a list that grows costs no more
//! at its end than at its beginning.

use smallvec::SmallVec;

use crate::budget::{Dimension, Spent};
use crate::channel::{ChannelId, Write};
use crate::command::{Send, Update};
use crate::effect::{Ending, Question};
use crate::fault::Fault;
use crate::graph::NodeId;

mod graph_snapshot;
mod journal;
mod memory;
mod outward;
mod raised;
mod subrun;

pub use graph_snapshot::GraphSnapshot;
pub(crate) use graph_snapshot::SuperstepMerge;
pub use journal::{Call, CallJournal, CallOutcome, CallRecord, Callee, digest, mark};
pub(crate) use journal::{diverged, key, unknown_outcome};
pub use memory::{RecoveredGraph, RecoveredRun, TaskSnapshot, TaskSnapshotState};
pub use outward::OutwardWrites;
pub use raised::{RaisedByCall, RaisedVerdict};
pub use subrun::{KnownSubrun, SubrunCommit, SubrunLog};

/// Something that must not be lost.
#[derive(Clone, Debug)]
pub struct Commit<V> {
    /// Answered by [`crate::run::Run::committed`]; counts from 1 in each drive of a run.
    pub id: u64,
    /// The nested graph it happened in, outermost first; empty for the run's own.
    pub within: Vec<NestedLevel>,
    /// What the run has spent so far.
    pub spent: Spent,
    /// How many events the run has had so far.
    pub events: u64,
    /// What happened.
    pub change: CommitChange<V>,
}

/// A nested graph at work, within the one around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NestedLevel {
    /// The node it works for.
    pub node: NodeId,
    /// Which attempt of that node it is.
    pub attempt: u32,
    /// The same whenever the same run comes to the same place.
    pub key: u64,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum CommitChange<V> {
    /// A superstep was merged.
    Step(SuperstepDelta<V>),
    /// A task ended while its superstep went on.
    Finished(TaskKey, Update<V>),
    /// A task asks.
    Asked(TaskKey, Box<Question<V>>),
    /// A task was given one more answer.
    Answered(TaskKey, V),
    /// An attempt of a task, by its number, has begun a call, or knows what came of it.
    Called(TaskKey, u32, Box<CallRecord<V>>),
    /// A run that an attempt of a task, by its number, has started has committed something.
    Subrun(TaskKey, u32, Box<SubrunCommit>),
    /// The run is over. Whatever was not merged could be taken up again.
    Ended(Result<Ending, Fault>),
}

/// A task of a superstep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskKey {
    /// The same whenever the same run comes to the same place.
    pub key: u64,
    /// Its place in the superstep.
    pub slot: u32,
    /// The node it runs.
    pub node: NodeId,
}

/// What one superstep of one graph wrote, and what comes next there.
#[derive(Clone, Debug)]
pub struct SuperstepDelta<V> {
    /// What led to it.
    pub source: WriteSource,
    /// Which superstep of its graph it was; 0 merges the first input.
    pub step: u64,
    /// What was merged; more than once only if a router failed after a merge.
    pub merges: SmallVec<[MergedWrites<V>; 1]>,
    /// What comes next.
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
    /// Somebody outside, in the name of a node.
    Edit,
}

/// One merge.
#[derive(Clone, Debug)]
pub struct MergedWrites<V> {
    /// What the host's own rules have made of channels.
    pub made: Vec<(ChannelId, V)>,
    /// The writes, in the order they were merged.
    pub writes: SmallVec<[Write<V>; 2]>,
}

/// What a graph does next, and what it may not do any more.
#[derive(Clone, Debug)]
pub struct PendingWork<V> {
    /// The nodes that run in the next superstep.
    pub ready: SmallVec<[NodeId; 4]>,
    /// The nodes that run once nothing else is left.
    pub deferred: Vec<NodeId>,
    /// The sends that run in the next superstep, after the nodes.
    pub sends: Vec<Send<V>>,
    /// By join, as far as any has arrived: the sources that have.
    pub arrived: Vec<(usize, Vec<NodeId>)>,
    /// A task has asked for the end.
    pub over: bool,
    /// Channels to be written once that have been.
    pub sealed: Vec<ChannelId>,
    /// Spent dimensions whose `on_budget` edge has been taken.
    pub exempt: Vec<Dimension>,
    /// Supersteps left after a spent budget of them.
    pub grace: Option<u64>,
    /// What the next superstep runs instead of what it would.
    pub detour: Option<NodeId>,
}

impl<V> CommitChange<V> {
    /// Whether what follows cannot be taken back: a call that must not be made twice,
    /// or that a question is shown to somebody.
    pub fn must_be_durable(&self) -> bool {
        match self {
            // What a subrun does that cannot be taken back says so itself.
            Self::Called(_, _, made) => made.came.is_none() && made.call.callee != Callee::Graph,
            Self::Asked(..) => true,
            Self::Subrun(_, _, commit) => commit.must_be_durable,
            _ => false,
        }
    }

    /// Whether it does no harm to do again what it says was done.
    pub fn is_repeatable(&self) -> bool {
        match self {
            Self::Called(_, _, made) => made.call.repeatable,
            Self::Subrun(_, _, commit) => commit.repeatable,
            _ => true,
        }
    }
}

impl<V> PendingWork<V> {
    /// The nodes and sends of the next superstep; deferred nodes only when
    /// nothing else is left.
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
