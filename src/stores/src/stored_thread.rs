//! Threads of native runs.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use antiphon_core::checkpoint::{Commit, GraphSnapshot};
use antiphon_core::graph::Graph;
use antiphon_core::{Fault, Seed, Time};
use antiphon_runtime::store::StoreFuture;
use antiphon_runtime::thread_ref::{
    OpenedThread, RunOrigin, ThreadContents, ThreadLease, ThreadRef,
};
use serde_json::Value as Json;

use crate::checkpoint_writer::{CheckpointWriter, Durability, RunHeader};
use crate::codec::JsonCodec;
use crate::lease::Lease;
use crate::log::SealedStore;
use crate::owner;

/// A thread of a sealed store, as native runs use it. The same process may acquire it any number
/// of times, one after the other.
///
/// ```
/// use std::sync::Arc;
/// use antiphon_runtime::SystemClock;
/// use antiphon_stores::{Durability, MemoryStore, Cipher, StoredThread, SealedStore};
///
/// let store = MemoryStore::new(Arc::new(SystemClock::new()));
/// let store = SealedStore::new(Arc::new(store), Arc::new(Cipher::tagged()));
/// let thread = StoredThread::new(store, "question-1", Durability::Sync);
/// assert_eq!(thread.thread(), "question-1");
/// ```
#[derive(Clone)]
pub struct StoredThread {
    sealed_store: SealedStore,
    thread: String,
    durability: Durability,
}

impl StoredThread {
    /// The thread with that name.
    pub fn new(
        sealed_store: SealedStore,
        thread: impl Into<String>,
        durability: Durability,
    ) -> Self {
        Self { sealed_store, thread: thread.into(), durability }
    }

    /// The thread's name.
    pub fn thread(&self) -> &str {
        &self.thread
    }
}

impl ThreadRef for StoredThread {
    fn open(&self, graph: Arc<Graph<Json>>) -> StoreFuture<OpenedThread> {
        let Self { sealed_store, thread, durability } = self.clone();
        let owner = owner::new(Seed::new(RandomState::new().hash_one(std::process::id())));
        let name = graph.name().to_owned();
        let mut claim =
            PendingLease { sealed_store: sealed_store.clone(), thread, owner, is_open: false };
        Box::pin(async move {
            let (thread, owner) = (&claim.thread, &claim.owner);
            let about = (graph, Arc::new(JsonCodec));
            let taken =
                CheckpointWriter::take((sealed_store.clone(), thread), owner, about, durability)
                    .await;
            // From here on the lease or the checkpoint writer releases the thread.
            claim.is_open = true;
            let (checkpoint_writer, found) = taken?;
            let lease = Some(Lease::keep(sealed_store, claim.thread.clone(), claim.owner.clone()));
            let past = found.map(|found| ThreadContents {
                memory: found.memory,
                run: found.header.map(RunOrigin::from),
            });
            let hold = Box::new(StoredThreadLease {
                checkpoint_writer: Some(checkpoint_writer),
                graph: name,
                lease,
            });
            Ok(OpenedThread { hold, past })
        })
    }
}

impl From<RunHeader> for RunOrigin {
    fn from(RunHeader { run_id, seed, mark, .. }: RunHeader) -> Self {
        Self { run_id, seed, mark }
    }
}

/// A thread that is being acquired. If the future is dropped, the thread is released.
struct PendingLease {
    sealed_store: SealedStore,
    thread: String,
    owner: String,
    is_open: bool,
}

impl Drop for PendingLease {
    fn drop(&mut self) {
        if !self.is_open {
            // The release is queued behind the claim; nobody waits for it.
            drop(self.sealed_store.release(&self.thread, &self.owner));
        }
    }
}

/// A run and the lease of its thread.
struct StoredThreadLease {
    checkpoint_writer: Option<CheckpointWriter<Json, JsonCodec>>,
    graph: String,
    lease: Option<Lease>,
}

impl StoredThreadLease {
    fn leave(&mut self) -> StoreFuture<()> {
        // The renewal must stop before the thread is released.
        self.lease = None;
        let Some(mut checkpoint_writer) = self.checkpoint_writer.take() else {
            return Box::pin(std::future::ready(Ok(())));
        };
        let (settled, closed) = (checkpoint_writer.settle(), checkpoint_writer.close());
        Box::pin(async move {
            let settled = settled.await;
            closed.await.and(settled)
        })
    }
}

impl ThreadLease for StoredThreadLease {
    fn begin(&mut self, run: &RunOrigin) {
        if let Some(checkpoint_writer) = &mut self.checkpoint_writer {
            let RunOrigin { run_id, seed, mark } = run.clone();
            checkpoint_writer.begin(&RunHeader { run_id, seed, graph: self.graph.clone(), mark });
        }
    }

    fn keep(
        &mut self,
        commit: &Commit<Json>,
        graph_snapshot: &dyn Fn() -> Option<GraphSnapshot<Json>>,
        at: Time,
    ) -> Result<Option<StoreFuture<()>>, Fault> {
        self.checkpoint_writer.as_mut().map_or(Ok(None), |checkpoint_writer| {
            checkpoint_writer.keep(commit, graph_snapshot, at)
        })
    }

    fn close(mut self: Box<Self>) -> StoreFuture<()> {
        self.leave()
    }
}

impl Drop for StoredThreadLease {
    fn drop(&mut self) {
        drop(self.leave());
    }
}
