//! Where native runs are kept: a thread of a vault.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use antiphon_core::checkpoint::{Commit, GraphSnapshot};
use antiphon_core::graph::Graph;
use antiphon_core::{Fault, Seed, Time};
use antiphon_runtime::place::{Hold, Opened, Origin, Past, Place};
use antiphon_runtime::store::Answer;
use serde_json::Value as Json;

use crate::codec::JsonCodec;
use crate::keeper::{CheckpointWriter, Durability, RunHeader};
use crate::lease::Lease;
use crate::log::SealedStore;
use crate::owner;

/// A thread of a vault, and how what a native run commits is kept there. The
/// same process may take it any number of times, one after the other.
///
/// ```
/// use std::sync::Arc;
/// use antiphon_runtime::SystemClock;
/// use antiphon_stores::{Durability, MemoryStore, StoredThread, Seal, SealedStore};
///
/// let store = MemoryStore::new(Arc::new(SystemClock::new()));
/// let vault = SealedStore::new(Arc::new(store), Arc::new(Seal::tagged()));
/// let room = StoredThread::new(vault, "question-1", Durability::Sync);
/// assert_eq!(room.thread(), "question-1");
/// ```
#[derive(Clone)]
pub struct StoredThread {
    vault: SealedStore,
    thread: String,
    durability: Durability,
}

impl StoredThread {
    /// The thread of that name.
    pub fn new(vault: SealedStore, thread: impl Into<String>, durability: Durability) -> Self {
        Self { vault, thread: thread.into(), durability }
    }

    /// The thread's name.
    pub fn thread(&self) -> &str {
        &self.thread
    }
}

impl Place for StoredThread {
    fn open(&self, graph: Arc<Graph<Json>>) -> Answer<Opened> {
        let Self { vault, thread, durability } = self.clone();
        let owner = owner::new(Seed::new(RandomState::new().hash_one(std::process::id())));
        let name = graph.name().to_owned();
        let mut claim = PendingLease { vault: vault.clone(), thread, owner, is_open: false };
        Box::pin(async move {
            let (thread, owner) = (&claim.thread, &claim.owner);
            let about = (graph, Arc::new(JsonCodec));
            let taken =
                CheckpointWriter::take((vault.clone(), thread), owner, about, durability).await;
            // From here on the tenant lets the thread go, or the keeper has.
            claim.is_open = true;
            let (keeper, found) = taken?;
            let lease = Some(Lease::keep(vault, claim.thread.clone(), claim.owner.clone()));
            let past = found
                .map(|found| Past { memory: found.memory, run: found.header.map(Origin::from) });
            let hold = Box::new(StoredThreadLease { keeper: Some(keeper), graph: name, lease });
            Ok(Opened { hold, past })
        })
    }
}

impl From<RunHeader> for Origin {
    fn from(RunHeader { run_id, seed, mark, .. }: RunHeader) -> Self {
        Self { run_id, seed, mark }
    }
}

/// A thread that is being taken. If nobody waits for that any more, it is let go.
struct PendingLease {
    vault: SealedStore,
    thread: String,
    owner: String,
    is_open: bool,
}

impl Drop for PendingLease {
    fn drop(&mut self) {
        if !self.is_open {
            // It is queued behind the claim, and nobody waits for it.
            drop(self.vault.release(&self.thread, &self.owner));
        }
    }
}

/// A run in its thread.
struct StoredThreadLease {
    keeper: Option<CheckpointWriter<Json, JsonCodec>>,
    graph: String,
    lease: Option<Lease>,
}

impl StoredThreadLease {
    fn leave(&mut self) -> Answer<()> {
        // Nothing may claim the thread once it is free.
        self.lease = None;
        let Some(mut keeper) = self.keeper.take() else {
            return Box::pin(std::future::ready(Ok(())));
        };
        let (settled, closed) = (keeper.settle(), keeper.close());
        Box::pin(async move {
            let settled = settled.await;
            closed.await.and(settled)
        })
    }
}

impl Hold for StoredThreadLease {
    fn begin(&mut self, run: &Origin) {
        if let Some(keeper) = &mut self.keeper {
            let Origin { run_id, seed, mark } = run.clone();
            keeper.begin(&RunHeader { run_id, seed, graph: self.graph.clone(), mark });
        }
    }

    fn keep(
        &mut self,
        commit: &Commit<Json>,
        graph_snapshot: &dyn Fn() -> Option<GraphSnapshot<Json>>,
        at: Time,
    ) -> Result<Option<Answer<()>>, Fault> {
        self.keeper.as_mut().map_or(Ok(None), |keeper| keeper.keep(commit, graph_snapshot, at))
    }

    fn close(mut self: Box<Self>) -> Answer<()> {
        self.leave()
    }
}

impl Drop for StoredThreadLease {
    fn drop(&mut self) {
        drop(self.leave());
    }
}
