//! Guards against use in a forked process. A fork has the memory of its parent and none of its
//! threads: to wait for such a thread would block for ever, and locks that it held stay locked.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use antiphon_core::{Fault, FaultCode, Time};
use antiphon_runtime::store::{
    Entry, EntryBatch, EntryKind, EntryMark, EntryRange, EntryTag, Store, StoreFuture,
    StoredThreadInfo, ThreadHead,
};

/// The id of this process if every fork announces itself; 0 if the operating system must be
/// asked.
static KNOWN: AtomicU32 = AtomicU32::new(0);

/// The id of this process. To ask the operating system each time would make a stored superstep a
/// quarter slower.
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

/// Announces that this process is a new one, and that every fork of it will call this before it
/// does anything else.
pub fn entered() {
    KNOWN.store(std::process::id(), Ordering::Relaxed);
}

/// `process_forked`: the object belongs to the process `owner`, of which this is a fork.
pub fn forked(owner: u32) -> Fault {
    let message =
        format!("antiphon's native objects cannot be used in a fork of the process: {owner}");
    Fault::new(FaultCode::ProcessForked, message).hint(
        "start processes by multiprocessing's `spawn` or `forkserver`, \
         or open stores and begin runs after the fork",
    )
}

/// Refuses use by any process other than `owner`.
///
/// # Errors
/// `process_forked`.
pub fn check(owner: u32) -> Result<(), Fault> {
    if id() == owner { Ok(()) } else { Err(forked(owner)) }
}

/// A store that serves the process that opened it, and no fork of it.
pub struct ProcessGuard {
    name: String,
    process: u32,
    /// `None` only during `drop`.
    store: Option<Box<dyn Store>>,
}

impl ProcessGuard {
    /// Guards a store that this process has opened.
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
    /// A fork must not close the store: it would wait for the parent's threads, and log out of a
    /// database in the parent's name.
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

/// A value that each process has once. A fork begins with a new one, because a thread that does
/// not exist in the fork may hold a lock of the parent's.
///
/// ```
/// use std::sync::Mutex;
/// use antiphon_stores::process::PerProcess;
///
/// static OPENED: PerProcess<Mutex<u32>> = PerProcess::new(Mutex::new(0), || Mutex::new(0));
/// assert_eq!(OPENED.here().lock().map(|opened| *opened).ok(), Some(0));
/// assert!(OPENED.inherited().is_empty());
/// ```
#[derive(Debug)]
pub struct PerProcess<T> {
    process: OnceLock<u32>,
    own: T,
    next: OnceLock<Box<Self>>,
    empty: fn() -> T,
}

impl<T> PerProcess<T> {
    /// The value of the first process; `empty` makes that of a fork.
    pub const fn new(first: T, empty: fn() -> T) -> Self {
        Self { process: OnceLock::new(), own: first, next: OnceLock::new(), empty }
    }

    /// The value of this process.
    pub fn here(&self) -> &T {
        self.find(|_, _| ())
    }

    /// The values of the processes that this one was forked from, by process id.
    pub fn inherited(&self) -> Vec<(u32, &T)> {
        let mut inherited = Vec::new();
        self.find(|process, value| inherited.push((process, value)));
        inherited
    }

    fn find<'a>(&'a self, mut pass: impl FnMut(u32, &'a T)) -> &'a T {
        let own = id();
        let mut found = self;
        loop {
            let process = *found.process.get_or_init(|| own);
            if process == own {
                return &found.own;
            }
            pass(process, &found.own);
            found = found.next.get_or_init(|| Box::new(Self::new((self.empty)(), self.empty)));
        }
    }
}
