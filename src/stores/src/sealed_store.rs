//! A store whose entries are sealed: what is read of it was checked, and opened.

use std::sync::Arc;

use antiphon_core::{Fault, FaultCode, Time};
use antiphon_runtime::store::{
    Entry, EntryBatch, EntryKind, EntryMark, EntryRange, Store, StoreFuture, ThreadHead,
};

use crate::cipher::{Cipher, EntryPosition};
use crate::codec::damaged_chain;
use crate::lease::ThreadRelease;
use crate::reread::retry_torn_read;
use crate::retention::RetentionPolicy;

/// An entry that was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedEntry {
    /// Its sequence number.
    pub seq: u64,
    /// The sequence number of the entry it follows.
    pub parent: u64,
    /// Its kind.
    pub kind: EntryKind,
    /// Supersteps so far.
    pub step: u64,
    /// When it was written.
    pub at: Time,
    /// Its decrypted contents.
    pub body: Vec<u8>,
}

/// A store and the cipher that seals its entries.
#[derive(Clone)]
pub struct SealedStore {
    store: Arc<dyn Store>,
    seal: Arc<Cipher>,
    keep: RetentionPolicy,
}

impl SealedStore {
    /// Marks that are read at once while looking for the next checkpoint.
    const MARKS: u64 = 32;

    /// The threads of `store`, sealed with `seal`.
    pub const fn new(store: Arc<dyn Store>, seal: Arc<Cipher>) -> Self {
        let keep = RetentionPolicy { last: None, age: None, bytes: None };
        Self { store, seal, keep }
    }

    /// The same after a check that the store is sealed with `seal`; a new store is sealed with
    /// it now. The first of several keys becomes the store's key.
    ///
    /// # Errors
    /// Those of [`Cipher::open_store`], and of the store.
    pub async fn unlock(store: Arc<dyn Store>, seal: Arc<Cipher>) -> Result<Self, Fault> {
        let found = store.protection(seal.new_store()?).await?;
        let seal = Arc::new(seal.open_store(store.name(), &found)?);
        if !seal.is_current_store(&found) {
            match store.protect(seal.close_store()?).await {
                // A store that is only read keeps its tag.
                Err(fault) if fault.code == FaultCode::StoreReadOnly => {}
                protected => protected?,
            }
        }
        Ok(Self::new(store, seal))
    }

    /// The cipher of its entries.
    pub(crate) fn seal(&self) -> &Cipher {
        &self.seal
    }

    /// The same with a policy by which threads are pruned while they are written.
    #[must_use]
    pub const fn keeping(mut self, keep: RetentionPolicy) -> Self {
        self.keep = keep;
        self
    }

    /// The policy by which threads are pruned while they are written.
    pub const fn keep(&self) -> RetentionPolicy {
        self.keep
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Releases a thread if `owner` holds it. A release that fails is retried until the lease
    /// expires; meanwhile this process treats the thread as free.
    ///
    /// # Errors
    /// Those of the store.
    pub fn release(&self, thread: &str, owner: &str) -> StoreFuture<()> {
        Box::pin(ThreadRelease::of(&self.store, thread, owner))
    }

    /// The entries that lead to `seq`, beginning with the nearest snapshot before it; to the tip
    /// if `seq` is `None`. They are empty for an empty or unknown thread.
    ///
    /// # Errors
    /// Those of the store, and `checkpoint_corrupt` if entries are damaged or missing.
    pub async fn way_to(&self, thread: &str, seq: Option<u64>) -> Result<Vec<OpenedEntry>, Fault> {
        retry_torn_read(&*self.store, thread, || self.read_way(thread, seq)).await
    }

    async fn read_way(&self, thread: &str, seq: Option<u64>) -> Result<Vec<OpenedEntry>, Fault> {
        let seq = match seq {
            Some(seq) => seq,
            None => self.head(thread).await?.unwrap_or_default(),
        };
        if seq == 0 {
            return Ok(Vec::new());
        }
        let span = EntryRange { from: seq, to: seq };
        let Some(last) = self.marks(thread, span, None).await?.pop() else {
            return Err(damaged_chain(thread, seq));
        };
        let span = EntryRange { from: last.base.max(1), to: seq };
        let entries = self.store.read(thread, span).await?;
        let mut way = Vec::new();
        let mut wanted = seq;
        for entry in entries.into_iter().rev() {
            if entry.seq != wanted {
                continue;
            }
            wanted = entry.parent;
            let is_base = entry.seq == last.base;
            way.push(self.open(thread, entry)?);
            if is_base {
                wanted = 0;
                break;
            }
        }
        if wanted != 0 {
            return Err(damaged_chain(thread, wanted));
        }
        way.reverse();
        Ok(way)
    }

    /// The sequence number of the last entry; `None` if there is no such thread.
    ///
    /// # Errors
    /// Those of the store, and `checkpoint_corrupt` if the thread was changed or cut off.
    pub async fn head(&self, thread: &str) -> Result<Option<u64>, Fault> {
        match self.store.head(thread).await? {
            Some(head) => self.checked(thread, &head).map(Some),
            None => Ok(None),
        }
    }

    /// Checks a head that was just read.
    ///
    /// # Errors
    /// `checkpoint_corrupt` if the thread was changed or cut off.
    pub fn checked(&self, thread: &str, head: &ThreadHead) -> Result<u64, Fault> {
        self.seal.check_head(thread, head).map(|()| head.last)
    }

    /// The marks of a range as [`Store::marks`] returns them, after a check that they are
    /// unchanged and that each follows an earlier one.
    ///
    /// # Errors
    /// Those of the store, and `checkpoint_corrupt` if a mark was changed.
    pub async fn marks(
        &self,
        thread: &str,
        span: EntryRange,
        kind: Option<EntryKind>,
    ) -> Result<Vec<EntryMark>, Fault> {
        let found = self.store.marks(thread, span, kind).await?.into_iter();
        let checked = |(mark, tag)| self.seal.check(thread, &mark, &tag).map(|()| mark);
        found.map(checked).collect()
    }

    /// The entries that lead to the tip of an acquired thread, and the tip's sequence number.
    pub(crate) async fn entries_from(
        &self,
        thread: &str,
        head: &ThreadHead,
    ) -> Result<(u64, Vec<OpenedEntry>), Fault> {
        let last = match self.checked(thread, head) {
            Ok(last) => last,
            // A database may answer with parts of two states.
            Err(_) => self.head(thread).await?.unwrap_or_default(),
        };
        Ok((last, self.way_to(thread, Some(last)).await?))
    }

    /// The entries that lead to a checkpoint that a caller named.
    ///
    /// # Errors
    /// `checkpoint_unknown` if the thread does not have it, and those of
    /// [`SealedStore::way_to`].
    pub async fn way_to_checkpoint(
        &self,
        thread: &str,
        seq: u64,
    ) -> Result<Vec<OpenedEntry>, Fault> {
        let is_checkpoint = |kind| matches!(kind, EntryKind::Step | EntryKind::Snapshot);
        let way = self.way_if_present(thread, seq, is_checkpoint).await?;
        way.ok_or_else(|| missing(thread, seq))
    }

    /// The entries that lead to `seq`; `None` if the thread has no such entry of an accepted
    /// kind, or loses it while it is read.
    ///
    /// # Errors
    /// Those of [`SealedStore::way_to`].
    pub(crate) async fn way_if_present(
        &self,
        thread: &str,
        seq: u64,
        accepts: impl Fn(EntryKind) -> bool,
    ) -> Result<Option<Vec<OpenedEntry>>, Fault> {
        let accepts = &accepts;
        // Each reading looks for the entry first: one that is looked for after a failed reading
        // may be that of a thread of the same name that was written meanwhile.
        let read = || async move {
            match self.store.find(thread, seq).await? {
                Some(entry) if accepts(entry.kind) => {
                    self.read_way(thread, Some(seq)).await.map(Some)
                }
                _ => Ok(None),
            }
        };
        retry_torn_read(&*self.store, thread, read).await
    }

    /// What was written about the superstep after a checkpoint until that was merged, in order:
    /// by the runs that first continued from the checkpoint, not by a later branch.
    ///
    /// # Errors
    /// As [`SealedStore::way_to`].
    pub async fn superstep_after(
        &self,
        thread: &str,
        checkpoint: u64,
    ) -> Result<Vec<OpenedEntry>, Fault> {
        retry_torn_read(&*self.store, thread, || self.read_superstep(thread, checkpoint)).await
    }

    async fn read_superstep(
        &self,
        thread: &str,
        checkpoint: u64,
    ) -> Result<Vec<OpenedEntry>, Fault> {
        let last = self.superstep_end(thread, checkpoint).await?;
        let span = EntryRange { from: checkpoint + 1, to: last };
        let entries = self.store.read(thread, span).await?;
        entries.into_iter().map(|entry| self.open(thread, entry)).collect()
    }

    /// The last entry before the next checkpoint. Entries of one run follow each other, so the
    /// first that does not belongs to a branch.
    async fn superstep_end(&self, thread: &str, checkpoint: u64) -> Result<u64, Fault> {
        let mut last = checkpoint;
        loop {
            let span = EntryRange { from: last + 1, to: last + Self::MARKS };
            let found = self.store.marks(thread, span, None).await?;
            let before = last;
            for (mark, tag) in found {
                self.seal.check(thread, &mark, &tag)?;
                let ends = matches!(mark.kind, EntryKind::Step | EntryKind::Snapshot);
                if ends || mark.parent != last {
                    return Ok(last);
                }
                last = mark.seq;
            }
            if last == before {
                return Ok(last);
            }
        }
    }

    /// Seals an entry of a thread; `base` is the snapshot before it.
    pub(crate) fn close(
        &self,
        thread: &str,
        record: OpenedEntry,
        base: u64,
    ) -> Result<Entry, Fault> {
        let OpenedEntry { seq, parent, kind, step, at, mut body } = record;
        let place = EntryPosition { thread, seq, parent, base, kind, step, at };
        let tag = self.seal.close(place, &mut body)?;
        Ok(Entry { seq, parent, base, kind, step, at, tag, body })
    }

    /// Entries that replace those of the same sequence numbers; `last` is the thread's last one.
    pub(crate) fn replacement(
        &self,
        (thread, owner): (Arc<str>, Arc<str>),
        last: u64,
        entries: Vec<Entry>,
    ) -> Result<EntryBatch, Fault> {
        let tag = self.seal.close_head(&thread, last)?;
        Ok(EntryBatch { thread, owner, after: last, expected: None, entries, tag })
    }

    /// Entries to be appended after the entry `after`.
    pub(crate) fn batch(
        &self,
        (thread, owner): (Arc<str>, Arc<str>),
        after: u64,
        entries: Vec<Entry>,
    ) -> Result<EntryBatch, Fault> {
        let last = entries.last().map_or(after, |entry| entry.seq);
        let tag = self.seal.close_head(&thread, last)?;
        Ok(EntryBatch { thread, owner, after, expected: None, entries, tag })
    }

    pub(crate) fn open(&self, thread: &str, entry: Entry) -> Result<OpenedEntry, Fault> {
        let Entry { seq, parent, base, kind, step, at, tag, body } = entry;
        let place = EntryPosition { thread, seq, parent, base, kind, step, at };
        let body = self.seal.open(place, &tag, body)?;
        Ok(OpenedEntry { seq, parent, kind, step, at, body })
    }
}

/// `checkpoint_unknown`: the thread does not have the checkpoint.
pub(crate) fn missing(thread: &str, seq: u64) -> Fault {
    let message = format!("the thread {thread} does not have the checkpoint: {seq}");
    Fault::new(FaultCode::CheckpointUnknown, message)
        .with("thread", thread)
        .with("checkpoint", seq)
        .hint("take the checkpoint's id from the history of the thread")
}
