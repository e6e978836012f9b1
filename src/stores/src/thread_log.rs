//! The log of one thread that is being written.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, Time};
use antiphon_runtime::store::{EntryBatch, EntryKind, StoreFuture, ThreadHead};

use crate::sealed_store::{OpenedEntry, SealedStore};

/// The log of one thread, and the right to write to it.
pub struct ThreadLog {
    sealed_store: SealedStore,
    thread: Arc<str>,
    owner: Arc<str>,
    /// The sequence number of the entry that the next one follows.
    tip: u64,
    /// The largest sequence number on any branch.
    last: u64,
    base: u64,
    /// Bytes since the last snapshot, and the size of that snapshot.
    since: usize,
    snapshot: usize,
}

impl ThreadLog {
    /// A snapshot is due after at least so many bytes, and after so many times the size of the
    /// last one.
    const SNAPSHOT: (usize, usize) = (64 * 1024, 4);
    const PRUNED_SNAPSHOT: (usize, usize) = (8 * 1024, 1);

    /// Acquires a thread for `term` and reads the entries that lead to its tip.
    ///
    /// # Errors
    /// `thread_busy` if another owner holds it, and those of [`SealedStore::way_to`].
    pub async fn open(
        sealed_store: SealedStore,
        thread: &str,
        owner: &str,
        term: Duration,
    ) -> Result<(Self, Vec<OpenedEntry>), Fault> {
        let head = sealed_store.store().claim(thread, owner, term).await?;
        let way = sealed_store.entries_from(thread, &head).await;
        let (last, way) = match way {
            Ok(found) => found,
            Err(fault) => {
                sealed_store.release(thread, owner).await?;
                return Err(fault);
            }
        };
        let first = way.first().filter(|record| record.kind == EntryKind::Snapshot);
        let snapshot = first.map_or(0, |record| record.body.len());
        let log = Self {
            thread: thread.into(),
            owner: owner.into(),
            tip: last,
            last,
            base: first.map_or(0, |record| record.seq),
            since: way.iter().map(|record| record.body.len()).sum::<usize>() - snapshot,
            snapshot,
            sealed_store,
        };
        Ok((log, way))
    }

    /// Continues after an earlier entry: later entries become a branch.
    pub const fn branch(&mut self, seq: u64, base: u64) {
        self.tip = seq;
        self.base = base;
    }

    /// Continues after an earlier checkpoint and reads the entries that lead to it: later
    /// entries become a branch.
    ///
    /// # Errors
    /// `checkpoint_unknown` if the thread does not have it, and those of
    /// [`SealedStore::way_to`].
    pub async fn go_back(&mut self, seq: u64) -> Result<Vec<OpenedEntry>, Fault> {
        let way = self.sealed_store.way_to_checkpoint(&self.thread, seq).await?;
        let first = way.first().filter(|record| record.kind == EntryKind::Snapshot);
        self.snapshot = first.map_or(0, |record| record.body.len());
        self.since = way.iter().map(|record| record.body.len()).sum::<usize>() - self.snapshot;
        self.branch(seq, first.map_or(0, |record| record.seq));
        Ok(way)
    }

    /// The sequence number of the entry that the next one follows.
    pub const fn tip(&self) -> u64 {
        self.tip
    }

    /// The largest sequence number on any branch.
    pub const fn last(&self) -> u64 {
        self.last
    }

    /// Whether enough was written since the last snapshot for another one. Because a snapshot is
    /// due only after four times its size, all snapshots together add at most a quarter to the
    /// thread, however long it is. A thread that is pruned while it is written has them more
    /// often, because pruning needs a snapshot and removes more than that costs.
    pub fn wants_snapshot(&self) -> bool {
        let (least, times) =
            if self.sealed_store.keep().is_all() { Self::SNAPSHOT } else { Self::PRUNED_SNAPSHOT };
        self.since > least.max(self.snapshot * times)
    }

    /// Appends entries, all or none. They are queued when this returns, and durable when the
    /// future resolves.
    /// # Errors
    /// Those of `Cipher::close`; the future fails as `Store::append` does.
    pub fn append(
        &mut self,
        entries: impl IntoIterator<Item = (EntryKind, impl Into<Vec<u8>>)>,
        step: u64,
        at: Time,
    ) -> Result<StoreFuture<()>, Fault> {
        let batch = self.batch(entries, step, at)?;
        Ok(self.sealed_store.store().append(batch))
    }

    /// As [`ThreadLog::append`], for entries that nobody waits for yet.
    ///
    /// # Errors
    /// As [`ThreadLog::append`].
    pub fn append_soon(
        &mut self,
        entries: impl IntoIterator<Item = (EntryKind, impl Into<Vec<u8>>)>,
        step: u64,
        at: Time,
    ) -> Result<StoreFuture<()>, Fault> {
        let batch = self.batch(entries, step, at)?;
        Ok(self.sealed_store.store().append_soon(batch))
    }

    fn batch(
        &mut self,
        entries: impl IntoIterator<Item = (EntryKind, impl Into<Vec<u8>>)>,
        step: u64,
        at: Time,
    ) -> Result<EntryBatch, Fault> {
        let (mut tip, mut last) = (self.tip, self.last);
        let (mut base, mut since, mut snapshot) = (self.base, self.since, self.snapshot);
        let entries = entries.into_iter();
        let mut closed = Vec::with_capacity(entries.size_hint().0);
        for (kind, body) in entries {
            let body = body.into();
            let (seq, parent) = (last + 1, tip);
            if kind == EntryKind::Snapshot {
                (base, since, snapshot) = (seq, 0, body.len());
            } else {
                since += body.len();
            }
            let record = OpenedEntry { seq, parent, kind, step, at, body };
            closed.push(self.sealed_store.close(&self.thread, record, base)?);
            (tip, last) = (seq, seq);
        }
        let about = (Arc::clone(&self.thread), Arc::clone(&self.owner));
        let batch = self.sealed_store.batch(about, self.last, closed)?;
        (self.tip, self.last) = (tip, last);
        (self.base, self.since, self.snapshot) = (base, since, snapshot);
        Ok(batch)
    }

    /// Renews the lease for `term` from now.
    pub fn renew(&self, term: Duration) -> StoreFuture<ThreadHead> {
        self.sealed_store.store().claim(&self.thread, &self.owner, term)
    }

    /// The store, the name of the thread, and its owner.
    pub(crate) fn ownership(&self) -> (&SealedStore, (&str, &str)) {
        (&self.sealed_store, (&self.thread, &self.owner))
    }

    /// Releases the thread.
    pub fn release(self) -> StoreFuture<()> {
        self.sealed_store.release(&self.thread, &self.owner)
    }
}
