//! One thread of a store, in the hands of one run.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Category, Fault, Time};
use antiphon_runtime::store::{
    Entry, EntryBatch, EntryKind, EntryMark, EntryRange, Store, StoreFuture, ThreadHead,
};

use crate::cipher::{Cipher, EntryPosition};
use crate::codec::damaged_chain;
use crate::lease::ThreadRelease;
use crate::reread::retry_torn_read;
use crate::retention::RetentionPolicy;

/// An entry that has been opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedEntry {
    /// Its number.
    pub seq: u64,
    /// The entry it follows.
    pub parent: u64,
    /// What it is.
    pub kind: EntryKind,
    /// Supersteps so far.
    pub step: u64,
    /// When it was written.
    pub at: Time,
    /// What is in it.
    pub body: Vec<u8>,
}

/// A store, and what protects what is put into it.
#[derive(Clone)]
pub struct SealedStore {
    store: Arc<dyn Store>,
    seal: Arc<Cipher>,
    keep: RetentionPolicy,
}

impl SealedStore {
    /// Threads in `store`, protected by `seal`.
    pub const fn new(store: Arc<dyn Store>, seal: Arc<Cipher>) -> Self {
        let keep = RetentionPolicy { last: None, age: None, bytes: None };
        Self { store, seal, keep }
    }

    /// The same, if the store is protected by `seal`, or begins with this. Of several
    /// keys the first is from now on that of the store.
    ///
    /// # Errors
    /// Those of [`Cipher::open_store`], and of the store.
    pub async fn unlock(store: Arc<dyn Store>, seal: Arc<Cipher>) -> Result<Self, Fault> {
        let found = store.protection(seal.new_store()?).await?;
        let seal = Arc::new(seal.open_store(store.name(), &found)?);
        if !seal.is_current_store(&found) {
            match store.protect(seal.close_store()?).await {
                // It is only looked at.
                Err(fault) if fault.code == "store_read_only" => {}
                protected => protected?,
            }
        }
        Ok(Self::new(store, seal))
    }

    /// What protects its entries.
    pub(crate) fn seal(&self) -> &Cipher {
        &self.seal
    }

    /// The same, where threads are pruned as they are written to.
    #[must_use]
    pub const fn keeping(mut self, keep: RetentionPolicy) -> Self {
        self.keep = keep;
        self
    }

    /// What stays of threads that are written to.
    pub const fn keep(&self) -> RetentionPolicy {
        self.keep
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Lets a thread go, if `owner` holds it. What fails is tried again until the
    /// lease is over, and this process takes the thread meanwhile as if it were free.
    ///
    /// # Errors
    /// Those of the store.
    pub fn release(&self, thread: &str, owner: &str) -> StoreFuture<()> {
        Box::pin(ThreadRelease::of(&self.store, thread, owner))
    }

    /// What leads to an entry, from the last snapshot before it on. The tip's
    /// way is read if no entry is named; an empty or unknown thread has none.
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

    /// The entry that was added last; none if there is no such thread.
    ///
    /// # Errors
    /// Those of the store, and `checkpoint_corrupt` if the thread was changed or cut.
    pub async fn head(&self, thread: &str) -> Result<Option<u64>, Fault> {
        match self.store.head(thread).await? {
            Some(head) => self.checked(thread, &head).map(Some),
            None => Ok(None),
        }
    }

    /// The same, as a thread has just said it.
    ///
    /// # Errors
    /// `checkpoint_corrupt` if it was changed or cut.
    pub fn checked(&self, thread: &str, head: &ThreadHead) -> Result<u64, Fault> {
        self.seal.check_head(thread, head).map(|()| head.last)
    }

    /// What there is between these numbers, as [`Store::marks`] says. It is what was
    /// written: each follows an earlier one.
    ///
    /// # Errors
    /// Those of the store, and `checkpoint_corrupt` if one of them was changed.
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

    /// What leads to the end of a thread that was taken, and the number of that end.
    async fn way_from(
        &self,
        thread: &str,
        head: &ThreadHead,
    ) -> Result<(u64, Vec<OpenedEntry>), Fault> {
        let last = match self.checked(thread, head) {
            Ok(last) => last,
            // A database may have answered with parts of two moments.
            Err(_) => self.head(thread).await?.unwrap_or_default(),
        };
        Ok((last, self.way_to(thread, Some(last)).await?))
    }

    /// What leads to a checkpoint that a caller has named.
    ///
    /// # Errors
    /// `checkpoint_unknown` if the thread has none of that number, and those of
    /// [`SealedStore::way_to`].
    pub async fn way_to_checkpoint(
        &self,
        thread: &str,
        seq: u64,
    ) -> Result<Vec<OpenedEntry>, Fault> {
        let found = self.store.find(thread, seq).await?.map(|entry| entry.kind);
        if !matches!(found, Some(EntryKind::Step | EntryKind::Snapshot)) {
            return Err(missing(thread, seq));
        }
        let way = self.way_to(thread, Some(seq)).await;
        match way {
            // It was pruned while it was read.
            Err(_) if self.store.find(thread, seq).await?.is_none() => Err(missing(thread, seq)),
            way => way,
        }
    }

    /// A record of a thread, closed; `base` is the snapshot before it.
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

    /// Entries of a thread, closed anew; `last` is the last that it has.
    pub(crate) fn replacement(
        &self,
        (thread, owner): (Arc<str>, Arc<str>),
        last: u64,
        entries: Vec<Entry>,
    ) -> Result<EntryBatch, Fault> {
        let tag = self.seal.close_head(&thread, last)?;
        Ok(EntryBatch { thread, owner, after: last, expected: None, entries, tag })
    }

    /// Entries to be added to a thread after the one of that number.
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

/// The right to write to a thread, and where it is.
pub struct ThreadLog {
    sealed_store: SealedStore,
    thread: Arc<str>,
    owner: Arc<str>,
    /// The entry that the next one follows.
    tip: u64,
    /// The largest number given out, on any branch.
    last: u64,
    base: u64,
    /// Bytes since the last snapshot, and of that snapshot.
    since: usize,
    snapshot: usize,
}

impl ThreadLog {
    /// A snapshot is due no earlier than after so many bytes, and so many times
    /// as many as the last one has.
    const SNAPSHOT: (usize, usize) = (64 * 1024, 4);
    const PRUNED_SNAPSHOT: (usize, usize) = (8 * 1024, 1);

    /// Takes a thread for `term`, and reads what leads to its tip.
    ///
    /// # Errors
    /// `thread_busy` if another owner holds it, and those of [`SealedStore::way_to`].
    pub async fn open(
        sealed_store: SealedStore,
        thread: &str,
        owner: &str,
        term: Duration,
    ) -> Result<(Self, Vec<OpenedEntry>), Fault> {
        let head = sealed_store.store.claim(thread, owner, term).await?;
        let way = sealed_store.way_from(thread, &head).await;
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

    /// Goes on from an earlier entry: what follows is a branch.
    pub const fn branch(&mut self, seq: u64, base: u64) {
        self.tip = seq;
        self.base = base;
    }

    /// Goes on from an earlier checkpoint, and reads what leads there: what
    /// follows is a branch.
    ///
    /// # Errors
    /// `checkpoint_unknown` if the thread has none of that number, and those of
    /// [`SealedStore::way_to`].
    pub async fn go_back(&mut self, seq: u64) -> Result<Vec<OpenedEntry>, Fault> {
        let way = self.sealed_store.way_to_checkpoint(&self.thread, seq).await?;
        let first = way.first().filter(|record| record.kind == EntryKind::Snapshot);
        self.snapshot = first.map_or(0, |record| record.body.len());
        self.since = way.iter().map(|record| record.body.len()).sum::<usize>() - self.snapshot;
        self.branch(seq, first.map_or(0, |record| record.seq));
        Ok(way)
    }

    /// The number of the last entry on the way.
    pub const fn tip(&self) -> u64 {
        self.tip
    }

    /// The largest number given out, on any branch.
    pub const fn last(&self) -> u64 {
        self.last
    }

    /// Whether so much was written since the last snapshot that another one
    /// costs little beside it. All snapshots together then weigh no more than
    /// a quarter more than the last, however long the thread. Of a thread that
    /// is pruned as it is written they come earlier: what goes makes up for it.
    pub fn wants_snapshot(&self) -> bool {
        let (least, times) =
            if self.sealed_store.keep.is_all() { Self::SNAPSHOT } else { Self::PRUNED_SNAPSHOT };
        self.since > least.max(self.snapshot * times)
    }

    /// Adds entries, together or not at all. They are on their way when this
    /// returns, and durable when it is answered.
    ///
    /// # Errors
    /// Those of [`Cipher::close`]; the answer fails as [`Store::append`] does.
    pub fn append(
        &mut self,
        entries: impl IntoIterator<Item = (EntryKind, impl Into<Vec<u8>>)>,
        step: u64,
        at: Time,
    ) -> Result<StoreFuture<()>, Fault> {
        let batch = self.batch(entries, step, at)?;
        Ok(self.sealed_store.store.append(batch))
    }

    /// The same for entries that nobody waits for yet.
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
        Ok(self.sealed_store.store.append_soon(batch))
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

    /// Keeps the thread for `term` from now.
    pub fn renew(&self, term: Duration) -> StoreFuture<ThreadHead> {
        self.sealed_store.store.claim(&self.thread, &self.owner, term)
    }

    /// What it is called, who writes to it, and where it is.
    pub(crate) fn place(&self) -> (&SealedStore, (&str, &str)) {
        (&self.sealed_store, (&self.thread, &self.owner))
    }

    /// Lets the thread go.
    pub fn release(self) -> StoreFuture<()> {
        self.sealed_store.release(&self.thread, &self.owner)
    }
}

/// `checkpoint_unknown`: a checkpoint that a thread does not have.
pub(crate) fn missing(thread: &str, seq: u64) -> Fault {
    let message = format!("the thread {thread} has no such checkpoint: {seq}");
    Fault::new(Category::State, "checkpoint_unknown", message)
        .with("thread", thread)
        .with("checkpoint", seq)
        .hint("take the checkpoint's id from the history of the thread")
}
