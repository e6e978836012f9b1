//! The port for where native runs are kept: threads, of which a store has any
//! number and each run one.

use std::sync::Arc;

use antiphon_core::checkpoint::{Commit, GraphSnapshot, RecoveredRun};
use antiphon_core::graph::Graph;
use antiphon_core::{Fault, Seed, Time};
use serde_json::Value as Json;

use crate::store::StoreFuture;

/// A thread that nobody has in hand yet.
pub trait ThreadRef: Send + Sync {
    /// Takes the thread for a run of `graph`. Dropping the answer lets it go.
    ///
    /// Fails with `thread_busy` while another run has it, with
    /// `checkpoint_corrupt` or `checkpoint_misfit` if what it holds cannot be
    /// read, and as its store does.
    fn open(&self, graph: Arc<Graph<Json>>) -> StoreFuture<OpenedThread>;
}

/// A thread in hand.
pub struct OpenedThread {
    /// The right to write to it.
    pub hold: Box<dyn ThreadLease>,
    /// What it holds; none if it is new.
    pub past: Option<ThreadContents>,
}

/// What a thread holds.
#[derive(Debug)]
pub struct ThreadContents {
    /// What the commits of its last run add up to.
    pub memory: RecoveredRun<Json>,
    /// That run.
    pub run: Option<RunOrigin>,
}

/// What a run that goes on has from when it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOrigin {
    /// Its id.
    pub run_id: String,
    /// Where its ids come from.
    pub seed: Seed,
    /// What the keys of its calls derive from.
    pub mark: u64,
}

/// The right to write to a thread, for one run. Dropping it keeps what was
/// handed to it so far, and lets the thread go, without waiting for either.
pub trait ThreadLease: Send {
    /// Says which run begins or goes on. It is written together with what that
    /// commits first.
    fn begin(&mut self, run: &RunOrigin);

    /// Keeps a commit. What is returned has to be waited for before the run
    /// may go on. `graph_snapshot` is what the run's own graph holds now.
    ///
    /// # Errors
    /// Whatever keeps this commit, or has kept an earlier one, from being
    /// stored. Nothing can be kept any more after that.
    fn keep(
        &mut self,
        commit: &Commit<Json>,
        graph_snapshot: &dyn Fn() -> Option<GraphSnapshot<Json>>,
        at: Time,
    ) -> Result<Option<StoreFuture<()>>, Fault>;

    /// Lets the thread go, once everything that was kept is durable.
    fn close(self: Box<Self>) -> StoreFuture<()>;
}
