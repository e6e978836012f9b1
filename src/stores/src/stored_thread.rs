//! Threads of runs, for values of any codec.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use antiphon_core::checkpoint::{Commit, GraphSnapshot};
use antiphon_core::graph::Graph;
use antiphon_core::value::Value;
use antiphon_core::{Fault, Seed, Time};
use antiphon_runtime::store::StoreFuture;
use antiphon_runtime::thread_ref::{
    OpenedThread, RunOrigin, ThreadContents, ThreadLease, ThreadRef,
};

use crate::checkpoint_writer::{CheckpointWriter, Durability, LoadedThread};
use crate::codec::{JsonCodec, ValueCodec};
use crate::lease::Lease;
use crate::owner;
use crate::run_header::RunHeader;
use crate::sealed_store::SealedStore;

/// A thread of a sealed store, as runs use it. The same process may acquire it any number
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
pub struct StoredThread<C = JsonCodec> {
    sealed_store: SealedStore,
    thread: String,
    durability: Durability,
    checkpoint: Option<u64>,
    values: Arc<C>,
}

impl StoredThread {
    /// The thread with that name, for values that are JSON.
    pub fn new(
        sealed_store: SealedStore,
        thread: impl Into<String>,
        durability: Durability,
    ) -> Self {
        let (thread, values) = (thread.into(), Arc::new(JsonCodec));
        Self { sealed_store, thread, durability, checkpoint: None, values }
    }
}

impl<C> StoredThread<C> {
    /// The same for values of another codec.
    pub fn with_codec<D>(self, values: Arc<D>) -> StoredThread<D> {
        let Self { sealed_store, thread, durability, checkpoint, .. } = self;
        StoredThread { sealed_store, thread, durability, checkpoint, values }
    }

    /// The same from an earlier checkpoint on, if one is given: what a run commits there
    /// is a branch.
    #[must_use]
    pub fn at_checkpoint(self, checkpoint: Option<u64>) -> Self {
        Self { checkpoint, ..self }
    }

    /// The thread's name.
    pub fn thread(&self) -> &str {
        &self.thread
    }
}

impl<V, C> ThreadRef<V> for StoredThread<C>
where
    V: Value + Send + Sync + 'static,
    C: ValueCodec<V> + Send + Sync + 'static,
{
    fn name(&self) -> &str {
        &self.thread
    }

    fn open(&self, graph: Arc<Graph<V>>) -> StoreFuture<OpenedThread<V>> {
        let Self { sealed_store, thread, durability, checkpoint, values } = self;
        let owner = owner::new(Seed::new(RandomState::new().hash_one(std::process::id())));
        let graph_name = graph.name().to_owned();
        let mut claim = PendingLease {
            sealed_store: sealed_store.clone(),
            thread: thread.clone(),
            owner,
            is_open: false,
        };
        let about = (graph, Arc::clone(values));
        let (durability, checkpoint) = (*durability, *checkpoint);
        Box::pin(async move {
            let (writer, found) = match acquire(&claim, about, durability, checkpoint).await {
                Ok(acquired) => acquired,
                Err(fault) => {
                    claim.is_open = true;
                    // Others may take the thread by the time that the caller hears of it.
                    let _ = claim.sealed_store.release(&claim.thread, &claim.owner).await;
                    return Err(fault);
                }
            };
            // From here on the lease releases the thread.
            claim.is_open = true;
            let (sealed_store, thread) = (claim.sealed_store.clone(), claim.thread.clone());
            let renewal = Some(Lease::keep(sealed_store, thread, claim.owner.clone()));
            let contents = found.map(|LoadedThread { memory, header, .. }| ThreadContents {
                recovered: memory,
                origin: header.map(|RunHeader { run_id, seed, key_salt, .. }| RunOrigin {
                    run_id,
                    seed,
                    key_salt: writer.key_salt(key_salt),
                }),
            });
            let lease = Box::new(StoredThreadLease { writer: Some(writer), graph_name, renewal });
            Ok(OpenedThread { lease, contents })
        })
    }
}

type AcquiredThread<V, C> = (CheckpointWriter<V, C>, Option<LoadedThread<V>>);

async fn acquire<V: Value, C: ValueCodec<V>>(
    claim: &PendingLease,
    about: (Arc<Graph<V>>, Arc<C>),
    durability: Durability,
    checkpoint: Option<u64>,
) -> Result<AcquiredThread<V, C>, Fault> {
    let PendingLease { sealed_store, thread, owner, .. } = claim;
    let place = (sealed_store.clone(), &**thread);
    let (mut writer, mut found) = CheckpointWriter::take(place, owner, about, durability).await?;
    if let Some(seq) = checkpoint
        && found.as_ref().is_none_or(|found| found.checkpoint != seq)
    {
        found = writer.go_back(seq).await?;
    }
    Ok((writer, found))
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
struct StoredThreadLease<V: Value, C: ValueCodec<V>> {
    /// `None` once the thread was left.
    writer: Option<CheckpointWriter<V, C>>,
    graph_name: String,
    renewal: Option<Lease>,
}

impl<V, C> ThreadLease<V> for StoredThreadLease<V, C>
where
    V: Value + Send + Sync,
    C: ValueCodec<V> + Send + Sync,
{
    fn begin(&mut self, run: &RunOrigin) {
        if let Some(writer) = &mut self.writer {
            let RunOrigin { run_id, seed, key_salt } = run.clone();
            writer.begin(&RunHeader { run_id, seed, graph: self.graph_name.clone(), key_salt });
        }
    }

    fn keep(
        &mut self,
        commit: &Commit<V>,
        graph_snapshot: &dyn Fn() -> Option<GraphSnapshot<V>>,
        at: Time,
    ) -> Result<Option<StoreFuture<()>>, Fault> {
        let writer = self.writer.as_mut();
        writer.map_or(Ok(None), |writer| writer.keep(commit, graph_snapshot, at))
    }

    fn checkpoint(&self) -> u64 {
        self.writer.as_ref().map_or(0, CheckpointWriter::checkpoint)
    }

    fn close(mut self: Box<Self>) -> StoreFuture<()> {
        // The renewal must stop before the thread is released.
        self.renewal = None;
        match self.writer.take() {
            Some(writer) => leave(writer),
            None => Box::pin(std::future::ready(Ok(()))),
        }
    }
}

impl<V: Value, C: ValueCodec<V>> Drop for StoredThreadLease<V, C> {
    fn drop(&mut self) {
        self.renewal = None;
        drop(self.writer.take().map(leave));
    }
}

fn leave<V: Value, C: ValueCodec<V>>(mut writer: CheckpointWriter<V, C>) -> StoreFuture<()> {
    let (settled, closed) = (writer.settle(), writer.close());
    Box::pin(async move {
        let settled = settled.await;
        closed.await.and(settled)
    })
}
