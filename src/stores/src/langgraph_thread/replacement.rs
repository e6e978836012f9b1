//! Replacing the contents of a cached thread: checkpoints are removed, or those of another
//! thread are added.

use antiphon_core::Fault;
use antiphon_runtime::store::EntryRange;

use super::cached_thread::{CachedThread, PendingWrite};
use super::{
    CacheClient, CheckpointKeys, KnownEntries, LangGraphThread, OWNER, ThreadCache, WriteTurn,
    copied, remove_checkpoints,
};
use crate::sealed_store::SealedStore;

/// How the contents of a thread are replaced.
#[derive(Clone, Copy)]
enum Rewrite<'a> {
    /// Without these checkpoints.
    Remove(&'a CheckpointKeys),
    /// With all checkpoints of another thread.
    AddAll(&'a str),
}

impl<C: CacheClient> ThreadCache<C> {
    /// Removes checkpoints of a thread, and the thread if it has no others.
    ///
    /// # Errors
    /// As [`ThreadCache::apply`].
    pub async fn remove(&self, name: &str, keys: &CheckpointKeys) -> Result<(), C::Error> {
        let is_empty = self.rewrite(name, Rewrite::Remove(keys)).await?;
        if is_empty { self.delete_empty(name).await } else { Ok(()) }
    }

    /// Adds all checkpoints of a thread to another one.
    ///
    /// # Errors
    /// As [`ThreadCache::apply`].
    pub async fn copy(&self, source: &str, target: &str) -> Result<(), C::Error> {
        self.rewrite(target, Rewrite::AddAll(source)).await.map(drop)
    }

    /// Removes a thread with all it has.
    ///
    /// # Errors
    /// As [`ThreadCache::apply`].
    pub async fn delete(&self, name: &str) -> Result<(), C::Error> {
        let sealed_store = self.client.sealed_store()?;
        let (store, mut turn) = (sealed_store.store(), WriteTurn::new(&sealed_store, name));
        loop {
            let (released, deleted) = (store.release(name, OWNER), store.delete(name));
            let done = async { released.await.and(deleted.await.map(|_| ())) }.await;
            self.access(&self.shared_thread(name), CachedThread::invalidate);
            match done {
                Ok(()) => return Ok(()),
                Err(fault) => self.retry(&mut turn, fault).await?,
            }
        }
    }

    /// Rewrites a thread until no other writer is first; returns whether it is empty then.
    async fn rewrite(&self, name: &str, rewrite: Rewrite<'_>) -> Result<bool, C::Error> {
        let sealed_store = self.client.sealed_store()?;
        let mut turn = WriteTurn::new(&sealed_store, name);
        let mut replaced = None;
        loop {
            let place = (name, rewrite);
            match self.rewritten(&sealed_store, place, &turn, &mut replaced).await {
                Ok(is_empty) => {
                    self.access(&self.shared_thread(name), CachedThread::invalidate);
                    return Ok(is_empty);
                }
                Err(fault) => self.retry(&mut turn, fault).await?,
            }
        }
    }

    /// Entries that an earlier attempt has `replaced`, and not removed, are removed by the next.
    async fn rewritten(
        &self,
        sealed_store: &SealedStore,
        (name, rewrite): (&str, Rewrite<'_>),
        turn: &WriteTurn,
        replaced: &mut Option<KnownEntries>,
    ) -> Result<bool, Fault> {
        let (store, owner) = (sealed_store.store(), turn.alone().unwrap_or(OWNER));
        let mut thread = LangGraphThread::load(sealed_store, name).await?;
        let first = match rewrite {
            Rewrite::Remove(keys) => remove_checkpoints(sealed_store, &mut thread, keys).await?,
            Rewrite::AddAll(source) => {
                thread = copied(sealed_store, source, thread).await?;
                None
            }
        };
        let is_empty = thread.is_empty();
        if let Some(batch) = thread.batch(sealed_store, owner, self.clock.now())? {
            let first = batch.entries.iter().find(|entry| Some(entry.seq) == first);
            let first = first.map(KnownEntries::up_to);
            let claim = turn.alone().is_none().then(|| store.claim(name, OWNER, WriteTurn::TERM));
            PendingWrite::of(claim, store.append(batch)).stored(sealed_store, name).await?;
            *replaced = first.or_else(|| replaced.take());
        }
        if let Some(first) = replaced
            && first.are_stored(sealed_store, name).await?
        {
            let span = EntryRange { from: 0, to: first.span().from.saturating_sub(1) };
            store.remove(name, owner, span).await?;
        }
        Ok(is_empty)
    }

    /// Removes a thread that holds nothing, and leaves any other as it is.
    async fn delete_empty(&self, name: &str) -> Result<(), C::Error> {
        let raised = |fault| self.client.error(fault);
        let sealed_store = self.client.sealed_store()?;
        let mut turn = WriteTurn::new(&sealed_store, name);
        loop {
            let pause = turn.take().await.map_err(raised)?;
            if turn.alone().is_none() {
                self.clock.sleep(pause).await;
                continue;
            }
            let thread = LangGraphThread::load(&sealed_store, name).await.map_err(raised)?;
            if !thread.is_empty() {
                return Ok(());
            }
            // A later writer has to take it first, and then it stays.
            turn.leave();
            match sealed_store.store().delete(name).await {
                Ok(_) => break,
                Err(fault) => self.retry(&mut turn, fault).await?,
            }
        }
        self.access(&self.shared_thread(name), CachedThread::invalidate);
        Ok(())
    }
}
