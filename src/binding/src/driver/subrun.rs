//! A run that a node starts, as a part of that node: what it commits is kept in the
//! journal of the node's task.

use std::sync::{Arc, Weak};

use antiphon_core::checkpoint::{Commit, CommitChange, GraphSnapshot, RecoveredRun, SubrunCommit};
use antiphon_core::effect::Ending;
use antiphon_core::graph::Graph;
use antiphon_core::{Fault, Time};
use antiphon_runtime::store::StoreFuture;
use antiphon_runtime::{RunCommitter, RunOrigin, ThreadLease};
use antiphon_stores::codec::Codec;
use pyo3::prelude::*;

use crate::driver::parent_task::ParentTask;
use crate::value::codec::ObjectCodec;
use crate::value::object::Object;

/// A run's place in the node that has started it.
#[derive(Debug)]
pub(crate) struct Subrun {
    parent: Weak<dyn ParentTask>,
    index: u32,
    /// How values are stored; none if the run around is kept nowhere.
    values: Option<Arc<ObjectCodec>>,
    /// Stores its commits with that node.
    pub(crate) committer: RunCommitter<Object>,
    is_open: bool,
}

impl Subrun {
    /// The run of `graph` that is the node's call `index`. `waiting` must be durable before
    /// it begins.
    pub(crate) fn new(
        parent: Weak<dyn ParentTask>,
        index: u32,
        (graph, values): (&Arc<Graph<Object>>, Option<ObjectCodec>),
        waiting: Option<StoreFuture<()>>,
    ) -> Self {
        let values = values.map(Arc::new);
        let mut committer = match &values {
            None => RunCommitter::detached(),
            Some(values) => RunCommitter::new(Box::new(SubrunLease {
                parent: Weak::clone(&parent),
                index,
                graph: Arc::clone(graph),
                values: Arc::clone(values),
            })),
        };
        if let Some(durable) = waiting {
            committer.block_on(durable);
        }
        Self { parent, index, values, committer, is_open: true }
    }

    /// How values are stored, if they are.
    pub(crate) fn values(&self) -> Option<&ObjectCodec> {
        self.values.as_deref()
    }

    /// Keeps the run with its node, which may begin again in this process.
    pub(crate) fn park(&self, run: Bound<'_, PyAny>) {
        if let Some(parent) = self.parent.upgrade().filter(|_| self.values.is_none()) {
            parent.park_subrun(self.index, Object(run.unbind()));
        }
    }

    /// Tells the node that the run rests, or is over.
    pub(crate) fn rest(&mut self, came_to: Option<RecoveredRun<Object>>) {
        if std::mem::take(&mut self.is_open)
            && let Some(parent) = self.parent.upgrade()
        {
            parent.end_subrun(self.index, came_to);
        }
    }

    /// Informs the node that the run continues after a rest.
    pub(crate) fn resume(&mut self) {
        if !std::mem::replace(&mut self.is_open, true)
            && let Some(parent) = self.parent.upgrade()
        {
            parent.resume_subrun(self.index);
        }
    }
}

/// Stores the commits of a run in the journal of the node that has started it. Once the
/// node has ended, nothing is stored any more.
struct SubrunLease {
    parent: Weak<dyn ParentTask>,
    index: u32,
    graph: Arc<Graph<Object>>,
    values: Arc<ObjectCodec>,
}

impl ThreadLease<Object> for SubrunLease {
    /// The node's journal names the run.
    fn begin(&mut self, _run: &RunOrigin) {}

    fn keep(
        &mut self,
        commit: &Commit<Object>,
        _graph_snapshot: &dyn Fn() -> Option<GraphSnapshot<Object>>,
        _at: Time,
    ) -> Result<Option<StoreFuture<()>>, Fault> {
        let Some(parent) = self.parent.upgrade() else { return Ok(None) };
        let bytes = Codec::new(&self.graph, &*self.values).encode(commit)?;
        let change = &commit.change;
        parent.commit_subrun(SubrunCommit {
            index: self.index,
            must_be_durable: change.must_be_durable(),
            repeatable: change.is_repeatable(),
            ended: matches!(change, CommitChange::Ended(Ok(Ending::Completed))),
            bytes,
        })
    }

    /// It has no checkpoints.
    fn checkpoint(&self) -> u64 {
        0
    }

    fn close(self: Box<Self>) -> StoreFuture<()> {
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Drop for Subrun {
    fn drop(&mut self) {
        if let Some(parent) = self.parent.upgrade().filter(|_| self.is_open) {
            parent.abandon_subrun(self.index);
        }
    }
}
