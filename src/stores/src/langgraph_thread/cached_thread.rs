//! One thread in the cache, and its entries on their way to the store.

use antiphon_core::{Fault, Time};
use antiphon_runtime::store::{StoreFuture, ThreadHead};

use super::cached_values::CachedValues;
use super::{KnownEntries, LangGraphThread, OWNER, WriteTurn};
use crate::sealed_store::SealedStore;

/// A thread as this process knows it, with those of its values that it has in memory.
pub(super) struct CachedThread<V> {
    /// `None` until it is read.
    pub(super) thread: Option<LangGraphThread>,
    /// A checkpoint from before the thread's last snapshot, with those around it.
    pub(super) past: Option<LangGraphThread>,
    /// Counts how often the thread was invalidated.
    pub(super) generation: u64,
    is_claimed: bool,
    /// Forgotten whenever the thread is read anew.
    pub(super) known: CachedValues<V>,
}

/// Entries that were handed to the store.
pub struct PendingWrite {
    pub(super) generation: u64,
    claim: Option<StoreFuture<ThreadHead>>,
    append: Option<StoreFuture<()>>,
    /// What a change that adds nothing relies on.
    known: KnownEntries,
}

impl<V> Default for CachedThread<V> {
    fn default() -> Self {
        let known = CachedValues::default();
        Self { thread: None, past: None, generation: 0, is_claimed: false, known }
    }
}

impl<V> CachedThread<V> {
    pub(super) fn load(&mut self, thread: LangGraphThread) {
        *self = Self { thread: Some(thread), generation: self.generation, ..Self::default() };
    }

    pub(super) fn invalidate(&mut self) {
        *self = Self { generation: self.generation + 1, ..Self::default() };
    }

    /// Invalidates entries that were not stored, unless that was done already.
    pub(super) fn invalidate_since(&mut self, generation: u64) {
        if self.generation == generation {
            self.invalidate();
        }
    }

    pub(super) fn weight(&self) -> usize {
        self.thread.iter().chain(&self.past).map(LangGraphThread::weight).sum()
    }

    /// Sends new entries to the store; `alone` is the name of a writer who holds the thread
    /// exclusively.
    pub(super) fn send(
        &mut self,
        (sealed_store, name): (&SealedStore, &str),
        alone: Option<&str>,
        at: Time,
    ) -> Result<PendingWrite, Fault> {
        let owner = alone.unwrap_or(OWNER);
        let batch = match &mut self.thread {
            Some(thread) => thread.batch(sealed_store, owner, at)?,
            None => None,
        };
        let (mut claim, mut append, mut known) = (None, None, KnownEntries::default());
        if let Some(batch) = batch {
            if alone.is_none() && !self.is_claimed {
                claim = Some(sealed_store.store().claim(name, OWNER, WriteTurn::TERM));
            }
            // A writer who held the thread exclusively releases it.
            self.is_claimed = alone.is_none();
            append = Some(sealed_store.store().append(batch));
        } else if let Some(thread) = &self.thread {
            known = thread.seen();
        }
        Ok(PendingWrite { generation: self.generation, claim, append, known })
    }
}

impl PendingWrite {
    pub(super) fn of(claim: Option<StoreFuture<ThreadHead>>, append: StoreFuture<()>) -> Self {
        Self { generation: 0, claim, append: Some(append), known: KnownEntries::default() }
    }

    /// Waits for it. False if it has added nothing to entries that were not stored.
    pub(super) async fn stored(
        self,
        sealed_store: &SealedStore,
        thread: &str,
    ) -> Result<bool, Fault> {
        // Both were queued; the fault of the first says more.
        let claimed = match self.claim {
            Some(claim) => claim.await.map(|_| ()),
            None => Ok(()),
        };
        let appended = match self.append {
            Some(append) => append.await.map(|()| true),
            None => self.known.are_stored(sealed_store, thread).await,
        };
        claimed.and(appended)
    }
}
