//! A run that a node starts, as a part of that node: what it commits is kept in the
//! journal of the node's task.

use std::sync::{Arc, Weak};

use antiphon_core::Fault;
use antiphon_core::checkpoint::{Commit, CommitChange, RecoveredRun, SubrunCommit};
use antiphon_core::effect::Ending;
use antiphon_core::graph::Graph;
use antiphon_runtime::store::StoreFuture;
use antiphon_stores::codec::Codec;
use pyo3::prelude::*;

use crate::driver::parent_task::ParentTask;
use crate::thread::kept::Awaited;
use crate::value::codec::ObjectCodec;
use crate::value::object::Object;

/// A run's place in the node that has started it.
#[derive(Debug)]
pub(crate) struct Subrun {
    parent: Weak<dyn ParentTask>,
    index: u32,
    /// How values are stored; none if the run around is kept nowhere.
    values: Option<ObjectCodec>,
    /// What has to be durable before it goes on.
    pub(crate) waiting: Option<Awaited>,
    is_open: bool,
}

impl Subrun {
    /// The run of the node's call `index`. `waiting` has to be durable before it begins.
    pub(crate) fn new(
        parent: Weak<dyn ParentTask>,
        index: u32,
        values: Option<ObjectCodec>,
        waiting: Option<Awaited>,
    ) -> Self {
        Self { parent, index, values, waiting, is_open: true }
    }

    /// How values are stored, if they are.
    pub(crate) const fn values(&self) -> Option<&ObjectCodec> {
        self.values.as_ref()
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

    /// Tells the node that the run goes on after a rest.
    pub(crate) fn resume(&mut self) {
        if !std::mem::replace(&mut self.is_open, true)
            && let Some(parent) = self.parent.upgrade()
        {
            parent.resume_subrun(self.index);
        }
    }

    /// Has a commit kept with the node, until that has ended; gives what this has to wait for.
    pub(crate) fn relay(
        &self,
        graph: &Arc<Graph<Object>>,
        commit: &Commit<Object>,
    ) -> Result<Option<StoreFuture<()>>, Fault> {
        let Some(values) = self.values() else { return Ok(None) };
        let Some(parent) = self.parent.upgrade() else { return Ok(None) };
        let bytes = Codec::new(graph, values).encode(commit)?;
        let change = &commit.change;
        parent.commit_subrun(SubrunCommit {
            index: self.index,
            must_be_durable: change.must_be_durable(),
            repeatable: change.is_repeatable(),
            ended: matches!(change, CommitChange::Ended(Ok(Ending::Completed))),
            bytes,
        })
    }
}

impl Drop for Subrun {
    fn drop(&mut self) {
        if let Some(parent) = self.parent.upgrade().filter(|_| self.is_open) {
            parent.abandon_subrun(self.index);
        }
    }
}
