//! What belongs to one process. A fork has its parent's memory and none of its
//! threads: whoever waited for them would wait for ever, and what they had locked
//! stays locked.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use antiphon_core::{Category, Fault, Time};
use antiphon_runtime::store::{
    Entry, EntryBatch, EntryKind, EntryMark, EntryRange, EntryTag, Store, StoreFuture,
    StoredThreadInfo, ThreadHead,
};

/// The number of this process, if every fork tells of itself; 0 if it has to be
/// asked for.
static KNOWN: AtomicU32 = AtomicU32::new(0);

/// The number of this process. To ask the operating system each time would cost a
/// kept step a quarter of its time.
///
/// ```
/// use antiphon_stores::process;
///
/// assert_eq!(process::id(), std::process::id());
/// process::entered();
/// assert_eq!(process::id(), std::process::id());
/// ```
pub fn id() -> u32 {
    match KNOWN.load(Ordering::Relaxed) {
        0 => std::process::id(),
        known => known,
    }
}

/// Says that this process is another one than before, and that every fork of it
/// will say so before it does anything else.
pub fn entered() {
    KNOWN.store(std::process::id(), Ordering::Relaxed);
}

/// Why a fork of the process of that number cannot do what it was asked.
pub fn forked(owner: u32) -> Fault {
    let message = format!("native work of antiphon cannot go on in a fork of process: {owner}");
    Fault::new(Category::Internal, "process_forked", message).hint(
        "start processes by multiprocessing's `spawn` or `forkserver`, \
         or open stores and begin runs after the fork",
    )
}

/// Refuses what the process of that number has begun, if this is not that process.
///
/// # Errors
/// `process_forked`.
pub fn check(owner: u32) -> Result<(), Fault> {
    if id() == owner { Ok(()) } else { Err(forked(owner)) }
}

/// A store that serves the process that has opened it, and no fork of that.
pub struct ProcessGuard {
    name: String,
    process: u32,
    /// Gone only while it is dropped.
    store: Option<Box<dyn Store>>,
}

impl ProcessGuard {
    /// Takes in a store that this process has opened.
    pub fn new(store: impl Store + 'static) -> Self {
        let name = store.name().to_owned();
        Self { name, process: id(), store: Some(Box::new(store)) }
    }

    fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Store) -> StoreFuture<T>,
    ) -> StoreFuture<T> {
        match (check(self.process), &self.store) {
            (Ok(()), Some(store)) => ask(&**store),
            (checked, _) => {
                let fault = checked.err().unwrap_or_else(|| forked(self.process));
                Box::pin(std::future::ready(Err(fault)))
            }
        }
    }
}

impl Drop for ProcessGuard {
    /// In a fork nothing of it may be closed: that would wait for its threads,
    /// and take leave of a database in the parent's name.
    fn drop(&mut self) {
        if check(self.process).is_err() {
            std::mem::forget(self.store.take());
        }
    }
}

impl Store for ProcessGuard {
    fn name(&self) -> &str {
        &self.name
    }

    fn claim(&self, thread: &str, owner: &str, term: Duration) -> StoreFuture<ThreadHead> {
        self.ask(|store| store.claim(thread, owner, term))
    }

    fn release(&self, thread: &str, owner: &str) -> StoreFuture<()> {
        self.ask(|store| store.release(thread, owner))
    }

    fn append(&self, batch: EntryBatch) -> StoreFuture<()> {
        self.ask(|store| store.append(batch))
    }

    fn append_soon(&self, batch: EntryBatch) -> StoreFuture<()> {
        self.ask(|store| store.append_soon(batch))
    }

    fn read(&self, thread: &str, span: EntryRange) -> StoreFuture<Vec<Entry>> {
        self.ask(|store| store.read(thread, span))
    }

    fn find(&self, thread: &str, seq: u64) -> StoreFuture<Option<Entry>> {
        self.ask(|store| store.find(thread, seq))
    }

    fn marks(
        &self,
        thread: &str,
        span: EntryRange,
        kind: Option<EntryKind>,
    ) -> StoreFuture<Vec<(EntryMark, EntryTag)>> {
        self.ask(|store| store.marks(thread, span, kind))
    }

    fn head(&self, thread: &str) -> StoreFuture<Option<ThreadHead>> {
        self.ask(|store| store.head(thread))
    }

    fn thread(&self, thread: &str) -> StoreFuture<Option<StoredThreadInfo>> {
        self.ask(|store| store.thread(thread))
    }

    fn threads(&self, after: &str, limit: u32) -> StoreFuture<Vec<StoredThreadInfo>> {
        self.ask(|store| store.threads(after, limit))
    }

    fn recent(&self, prefix: &str) -> StoreFuture<Vec<(String, Time)>> {
        self.ask(|store| store.recent(prefix))
    }

    fn remove(&self, thread: &str, owner: &str, span: EntryRange) -> StoreFuture<u64> {
        self.ask(|store| store.remove(thread, owner, span))
    }

    fn delete(&self, thread: &str) -> StoreFuture<bool> {
        self.ask(|store| store.delete(thread))
    }

    fn replace(&self, batch: EntryBatch) -> StoreFuture<()> {
        self.ask(|store| store.replace(batch))
    }

    fn protection(&self, proposed: EntryTag) -> StoreFuture<EntryTag> {
        self.ask(|store| store.protection(proposed))
    }

    fn protect(&self, tag: EntryTag) -> StoreFuture<()> {
        self.ask(|store| store.protect(tag))
    }

    fn compact(&self) -> StoreFuture<()> {
        self.ask(|store| store.compact())
    }
}

/// Something that each process has one of. A fork begins with its own: a lock of
/// its parent's may be held by a thread that is not there.
pub(crate) struct PerProcess<T> {
    process: OnceLock<u32>,
    own: Mutex<T>,
    next: OnceLock<Box<Self>>,
    empty: fn() -> T,
}

impl<T> PerProcess<T> {
    pub(crate) const fn new(first: T, empty: fn() -> T) -> Self {
        Self { process: OnceLock::new(), own: Mutex::new(first), next: OnceLock::new(), empty }
    }

    /// That of this process, and beside it those of the processes that this one
    /// was forked from, by their numbers.
    pub(crate) fn here(&self) -> (&Mutex<T>, Vec<(u32, &Mutex<T>)>) {
        let own = id();
        let (mut found, mut before) = (self, Vec::new());
        loop {
            let process = *found.process.get_or_init(|| own);
            if process == own {
                return (&found.own, before);
            }
            before.push((process, &found.own));
            found = found.next.get_or_init(|| Box::new(Self::new((self.empty)(), self.empty)));
        }
    }
}
