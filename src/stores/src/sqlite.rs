//! A store in one SQLite file.
//!
//! A writer thread does all work in order. Requests that arrive during a transaction are
//! combined into the next one, and those that nobody waits for yet are delayed for a moment, so
//! that many small commits cost little more than one. If the writer is idle, the caller makes a
//! small change itself, which takes less time than waking the writer.
//!
//! Leases are measured by a clock that all processes of the machine share, so that setting the
//! time of day revokes none.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, Time};
use antiphon_runtime::Clock;
use antiphon_runtime::store::{
    Entry, EntryBatch, EntryKind, EntryMark, EntryRange, EntryTag, Store, StoreFuture,
    StoredThreadInfo, ThreadHead,
};

mod backlog;
mod chain;
mod compact;
mod fault;
mod file;
mod file_identity;
mod job;
mod lease_watch;
mod open_file_guard;
mod protection;
mod queue;
mod schema;
mod shared_locks;
mod statements;
mod writer;

use queue::FlushMode;
use statements as sql;
use writer::WriterThread;

/// What a commit survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncLevel {
    /// The death of the process; a power failure may lose the last commits.
    #[default]
    Process,
    /// A power failure, at the price of one flush of the disk per commit.
    Power,
}

/// Settings of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqliteSettings {
    /// What a commit survives.
    pub sync: SyncLevel,
    /// The largest size of the file in bytes; commits beyond it fail with `store_full`.
    pub max_bytes: Option<u64>,
    /// How long commits that nobody waits for are delayed, to combine more of them; by default a
    /// millisecond.
    pub delay: Duration,
}

impl Default for SqliteSettings {
    fn default() -> Self {
        Self { sync: SyncLevel::default(), max_bytes: None, delay: Duration::from_millis(1) }
    }
}

/// Threads in one file.
pub struct SqliteStore {
    name: String,
    clock: Arc<dyn Clock>,
    writer: WriterThread,
}

impl SqliteStore {
    /// Opens a file, and creates it if it does not exist.
    ///
    /// # Errors
    /// `store_setting_invalid` if the path is not that of a file, `store_unavailable` if it
    /// cannot be opened, `store_corrupt` if it is not a store, `store_version` if a later
    /// antiphon has written it.
    pub fn open(
        path: &Path,
        settings: SqliteSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Fault> {
        // SQLite's names for databases that vanish with their connection.
        if path.as_os_str().is_empty() || path == Path::new(":memory:") {
            return Err(fault::no_file(path));
        }
        let name = format!("sqlite:{}", path.display());
        Ok(Self { writer: WriterThread::start(path, settings)?, name, clock })
    }

    fn present(&self) -> sql::ClockReading {
        sql::ClockReading { now: self.clock.now(), shared: self.clock.shared() }
    }
}

impl Store for SqliteStore {
    fn name(&self) -> &str {
        &self.name
    }

    fn claim(&self, thread: &str, owner: &str, term: Duration) -> StoreFuture<ThreadHead> {
        let (thread, owner, present) = (thread.to_owned(), owner.to_owned(), self.present());
        let claim =
            self.writer.write_little(move |file| sql::claim(file, &thread, &owner, present, term));
        Box::pin(async move { claim.await? })
    }

    fn release(&self, thread: &str, owner: &str) -> StoreFuture<()> {
        let (thread, owner) = (thread.to_owned(), owner.to_owned());
        self.writer.write_little(move |file| sql::release(file, &thread, &owner))
    }

    fn append(&self, batch: EntryBatch) -> StoreFuture<()> {
        self.writer.append(batch, self.clock.now(), FlushMode::Now)
    }

    fn append_soon(&self, batch: EntryBatch) -> StoreFuture<()> {
        self.writer.append(batch, self.clock.now(), FlushMode::Soon)
    }

    fn read(&self, thread: &str, span: EntryRange) -> StoreFuture<Vec<Entry>> {
        let thread = thread.to_owned();
        self.writer.read(move |file| sql::read(file, &thread, span))
    }

    fn find(&self, thread: &str, seq: u64) -> StoreFuture<Option<Entry>> {
        let thread = thread.to_owned();
        let span = EntryRange { from: seq, to: seq };
        self.writer.read(move |file| Ok(sql::read(file, &thread, span)?.pop()))
    }

    fn marks(
        &self,
        thread: &str,
        span: EntryRange,
        kind: Option<EntryKind>,
    ) -> StoreFuture<Vec<(EntryMark, EntryTag)>> {
        let thread = thread.to_owned();
        self.writer.read(move |file| sql::marks(file, &thread, span, kind))
    }

    fn head(&self, thread: &str) -> StoreFuture<Option<ThreadHead>> {
        let thread = thread.to_owned();
        self.writer.read(move |file| sql::head(file, &thread))
    }

    fn thread(&self, thread: &str) -> StoreFuture<Option<StoredThreadInfo>> {
        let (thread, present) = (thread.to_owned(), self.present());
        self.writer.read(move |file| sql::thread(file, &thread, present))
    }

    fn threads(&self, after: &str, limit: u32) -> StoreFuture<Vec<StoredThreadInfo>> {
        let (after, present) = (after.to_owned(), self.present());
        self.writer.read(move |file| sql::threads(file, &after, limit, present))
    }

    fn recent(&self, prefix: &str) -> StoreFuture<Vec<(String, Time)>> {
        let prefix = prefix.to_owned();
        self.writer.read(move |file| sql::recent(file, &prefix))
    }

    fn remove(&self, thread: &str, owner: &str, span: EntryRange) -> StoreFuture<u64> {
        let (thread, owner) = (thread.to_owned(), owner.to_owned());
        self.writer.write(move |file| sql::remove(file, &thread, &owner, span))
    }

    fn delete(&self, thread: &str) -> StoreFuture<bool> {
        let (thread, present) = (thread.to_owned(), self.present());
        let deleted = self.writer.write(move |file| sql::delete(file, &thread, present));
        Box::pin(async move { deleted.await? })
    }

    fn replace(&self, batch: EntryBatch) -> StoreFuture<()> {
        self.writer.write(move |file| sql::replace(file, &batch))
    }

    fn protection(&self, proposed: EntryTag) -> StoreFuture<EntryTag> {
        // If the file is read-only, its tag exists already.
        self.writer.read(move |file| protection::of(file, &proposed))
    }

    fn protect(&self, tag: EntryTag) -> StoreFuture<()> {
        self.writer.write(move |file| protection::set(file, &tag))
    }

    fn compact(&self) -> StoreFuture<()> {
        self.writer.read(compact::all)
    }
}
