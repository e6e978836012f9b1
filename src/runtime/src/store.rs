//! The port for what must outlive a process: a log of sealed entries for each
//! thread, written by one owner at a time.
//!
//! A store knows nothing of graphs or values. It keeps entries in order, says
//! which of them are on the way to a given one, and lets nobody write who does
//! not hold the thread. Every method queues its work before it returns, in the
//! order of the calls; the answer only waits for it. So a caller that must not
//! wait simply keeps the answer for later.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode, Time};
use serde::{Deserialize, Serialize};

/// The pending answer of a store. Dropping it does not undo queued writes.
pub type StoreFuture<T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + Send>>;

/// One entry of a thread's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Counts from 1 within its thread.
    pub seq: u64,
    /// The entry it follows; 0 for the first. Two that follow the same one are branches.
    pub parent: u64,
    /// The nearest snapshot on its branch, itself included; 0 if there is none.
    pub base: u64,
    /// What it is.
    pub kind: EntryKind,
    /// Supersteps of the run's own graph so far.
    pub step: u64,
    /// When it was written.
    pub at: Time,
    /// The authentication tag over all of it, as its writer made it.
    pub tag: EntryTag,
    /// Its contents, readable only to its writer.
    pub body: Vec<u8>,
}

/// What the writer adds, in order to detect later changes. A store
/// keeps it and reads nothing from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryTag {
    /// Without a key, which is most of them: nothing is allocated for it.
    Short([u8; 16]),
    /// Of any other length.
    Long(Box<[u8]>),
}

impl EntryTag {
    /// A tag of these bytes.
    pub fn new(bytes: &[u8]) -> Self {
        bytes.try_into().map_or_else(|_| Self::Long(bytes.into()), Self::Short)
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Short(bytes) => bytes,
            Self::Long(bytes) => bytes,
        }
    }
}

impl Default for EntryTag {
    /// That of nothing: no bytes.
    fn default() -> Self {
        Self::Long(Box::default())
    }
}

/// An entry without its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryMark {
    /// Counts from 1 within its thread.
    pub seq: u64,
    /// The entry it follows.
    pub parent: u64,
    /// The nearest snapshot on its branch.
    pub base: u64,
    /// What it is.
    pub kind: EntryKind,
    /// Supersteps so far.
    pub step: u64,
    /// When it was written.
    pub at: Time,
    /// Bytes of its body.
    pub size: u64,
}

/// What an entry is, for lists and retention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A run begins or continues.
    Run,
    /// A superstep of the run's own graph: a checkpoint to go back to.
    Step,
    /// Something within a superstep that was still open.
    Part,
    /// Everything up to here, so that nothing before it is needed to resume.
    Snapshot,
    /// A run has ended.
    End,
}

impl EntryKind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Run, Self::Step, Self::Part, Self::Snapshot, Self::End];

    /// The name in a store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Step => "step",
            Self::Part => "part",
            Self::Snapshot => "snapshot",
            Self::End => "end",
        }
    }

    /// The kind of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// Where a thread has come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadHead {
    /// The entry that was added last, on any branch: the next one follows it. As the
    /// thread says; 0 in an empty one.
    pub last: u64,
    /// The largest number that an entry has, which is the same unless somebody has
    /// changed one of them.
    pub stored: u64,
    /// What protects `last`: that of the batch which was added last.
    pub tag: EntryTag,
}

/// Entries to be added together or not at all.
#[derive(Clone, Debug)]
pub struct EntryBatch {
    /// The thread.
    pub thread: Arc<str>,
    /// Who holds it.
    pub owner: Arc<str>,
    /// The largest number given out so far; another one means that somebody
    /// else has written.
    pub after: u64,
    /// The tag of the entry of that number, for owners who share a name: another entry
    /// of the same number is somebody else's, and what is added here does not follow it.
    pub expected: Option<EntryTag>,
    /// Numbered upwards from there; the next batch follows the last of them.
    pub entries: Vec<Entry>,
    /// What protects the number of the last.
    pub tag: EntryTag,
}

impl EntryBatch {
    /// Whether another one follows this one, with nobody's entries between them.
    pub fn is_followed_by(&self, next: &Self) -> bool {
        let last = self.entries.last();
        let tip = last.map_or(self.after, |entry| entry.seq);
        let is_same = |tag: &EntryTag| last.is_some_and(|entry| entry.tag == *tag);
        self.thread == next.thread
            && self.owner == next.owner
            && tip == next.after
            && next.expected.as_ref().is_none_or(is_same)
    }
}

/// Which entries of a thread are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryRange {
    /// The first number.
    pub from: u64,
    /// The last number.
    pub to: u64,
}

impl EntryRange {
    /// All of them.
    pub const ALL: Self = Self { from: 0, to: u64::MAX };
}

/// One thread of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredThreadInfo {
    /// Its name.
    pub name: String,
    /// Where it has come to.
    pub head: ThreadHead,
    /// When it was last written to, as the store says: nothing protects that.
    pub at: Time,
    /// Who holds it now, and until when.
    pub held: Option<(String, Time)>,
    /// Bytes of all its entries' bodies.
    pub size: u64,
}

/// Where threads are kept. One object serves any number of callers, those that
/// wait for answers and those that await them.
pub trait Store: Send + Sync {
    /// What people call it, without any secret: `sqlite:runs.db`.
    fn name(&self) -> &str;

    /// Takes or keeps the right to write to a thread for `term` from now. A
    /// thread that does not exist begins with this.
    ///
    /// Fails with `thread_busy` while another owner holds it; its details name that `owner`.
    fn claim(&self, thread: &str, owner: &str, term: Duration) -> StoreFuture<ThreadHead>;

    /// Gives the right back; nothing happens if it is not held. A thread to which nothing
    /// was ever added ends with this.
    fn release(&self, thread: &str, owner: &str) -> StoreFuture<()>;

    /// Adds entries; they are durable when this is answered.
    ///
    /// Fails with `thread_conflict` if the owner does not hold the thread any
    /// more, or if somebody else has written.
    fn append(&self, batch: EntryBatch) -> StoreFuture<()>;

    /// Adds entries that no caller waits for yet: the store may delay them for a
    /// moment, in order to write more at once. Every later request to the store
    /// sees them.
    fn append_soon(&self, batch: EntryBatch) -> StoreFuture<()>;

    /// The entries with these numbers, in order, branches and all.
    fn read(&self, thread: &str, span: EntryRange) -> StoreFuture<Vec<Entry>>;

    /// The entry with that number.
    fn find(&self, thread: &str, seq: u64) -> StoreFuture<Option<Entry>>;

    /// What there is between these numbers, in order, branches and all, with the tags
    /// of the entries; of one kind only, if one is named. Bodies are not read for it.
    fn marks(
        &self,
        thread: &str,
        span: EntryRange,
        kind: Option<EntryKind>,
    ) -> StoreFuture<Vec<(EntryMark, EntryTag)>>;

    /// Where a thread has come to; none if it does not exist.
    fn head(&self, thread: &str) -> StoreFuture<Option<ThreadHead>>;

    /// A thread as lists show it; none if it does not exist.
    fn thread(&self, thread: &str) -> StoreFuture<Option<StoredThreadInfo>>;

    /// Threads in the order of their names, those after `after` only.
    fn threads(&self, after: &str, limit: u32) -> StoreFuture<Vec<StoredThreadInfo>>;

    /// Names of threads that begin with `prefix`, and when they were last written to,
    /// the latest first.
    fn recent(&self, prefix: &str) -> StoreFuture<Vec<(String, Time)>>;

    /// Removes the entries with these numbers; says how many. Nobody may need them
    /// any more.
    ///
    /// Fails with `thread_conflict` if the owner does not hold the thread.
    fn remove(&self, thread: &str, owner: &str, span: EntryRange) -> StoreFuture<u64>;

    /// Removes a thread with all it has; says whether there was one.
    ///
    /// Fails with `thread_busy` while somebody holds it.
    fn delete(&self, thread: &str) -> StoreFuture<bool>;

    /// What protects the entries of a thread, other than before: their tags and bodies
    /// take the place of those of the same numbers, and the batch's tag that of the
    /// thread. Nothing else changes.
    ///
    /// Fails with `thread_conflict` if the owner does not hold the thread, or if the
    /// last entry is another than `after`.
    fn replace(&self, batch: EntryBatch) -> StoreFuture<()>;

    /// The tag of the store itself, by which those who open it know how it is
    /// protected; `proposed`, if it has none yet.
    fn protection(&self, proposed: EntryTag) -> StoreFuture<EntryTag>;

    /// Gives the store another tag.
    fn protect(&self, tag: EntryTag) -> StoreFuture<()>;

    /// Gives back the room of what was removed, as far as the store has any that
    /// it does not use again by itself.
    fn compact(&self) -> StoreFuture<()> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// The fault for a thread that another owner holds.
pub fn busy(thread: &str, until: Time) -> Fault {
    Fault::new(FaultCode::ThreadBusy, format!("another run is writing to the thread: {thread}"))
        .with("thread", thread)
        .with("until", until.to_string())
        .hint(
            "wait for that run to end, or close its stream; the lease of a dead process expires \
         within 30 seconds",
        )
}

/// The fault for a lease that was lost.
pub fn conflict(thread: &str) -> Fault {
    let message = format!("another run has written to the thread: {thread}");
    Fault::new(FaultCode::ThreadConflict, message)
        .with("thread", thread)
        .hint("start again from the present state of the thread")
}
