//! The port for the threads that keep runs, generic over the value type.

use std::sync::Arc;

use antiphon_core::checkpoint::{Commit, GraphSnapshot, RecoveredRun};
use antiphon_core::graph::Graph;
use antiphon_core::{Fault, Seed, Time};
use serde_json::Value as Json;

use crate::store::StoreFuture;

/// A thread of a store, not locked yet.
pub trait ThreadRef<V = Json>: Send + Sync {
    /// The thread's name.
    fn name(&self) -> &str;

    /// Acquires the thread for a run of `graph`. Dropping the future releases it.
    ///
    /// Fails with `thread_busy` while another run holds the thread, with
    /// `checkpoint_corrupt` or `checkpoint_misfit` if its entries cannot be
    /// read, and as its store does.
    fn open(&self, graph: Arc<Graph<V>>) -> StoreFuture<OpenedThread<V>>;
}

/// A thread that this process holds.
pub struct OpenedThread<V = Json> {
    /// The exclusive right to write to it.
    pub lease: Box<dyn ThreadLease<V>>,
    /// Its contents; `None` if it is new.
    pub contents: Option<ThreadContents<V>>,
}

/// The contents of a thread.
#[derive(Debug)]
pub struct ThreadContents<V = Json> {
    /// The last run, recovered from its commits.
    pub recovered: RecoveredRun<V>,
    /// That run.
    pub origin: Option<RunOrigin>,
}

/// The parts of a run that survive a resumption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOrigin {
    /// Its id.
    pub run_id: String,
    /// The source of its ids.
    pub seed: Seed,
    /// The keys of its calls derive from this and the seed. A run on a branch has a
    /// new salt, so that its calls are made and not taken from the original.
    pub key_salt: u64,
}

/// The right to write to a thread, for one run. Dropping it releases the thread
/// after the commits that it was given, without waiting for them.
pub trait ThreadLease<V = Json>: Send {
    /// Names the run that starts or resumes. It is written together with its
    /// first commit.
    fn begin(&mut self, run: &RunOrigin);

    /// Stores a commit. A returned future has to finish before the run may
    /// continue. `graph_snapshot` returns the run's own graph as it is now.
    ///
    /// # Errors
    /// Why this commit, or an earlier one, cannot be stored. Nothing can be stored
    /// any more after that.
    fn keep(
        &mut self,
        commit: &Commit<V>,
        graph_snapshot: &dyn Fn() -> Option<GraphSnapshot<V>>,
        at: Time,
    ) -> Result<Option<StoreFuture<()>>, Fault>;

    /// The checkpoint written or found last; 0 if there is none.
    fn checkpoint(&self) -> u64;

    /// Releases the thread as soon as all of its commits are durable.
    fn close(self: Box<Self>) -> StoreFuture<()>;
}
