//! The write-ahead log, as far as it is not yet copied into the file.

use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use antiphon_core::Fault;
use rusqlite::Connection;

use super::fault;
use super::shared_locks::SharedLocks;

/// So many pages are worth a flush of the disk when the writer is idle.
const ENOUGH: c_int = 4000;
/// So many pages are copied even if the writer is busy, because readers search the whole log.
const MOST: c_int = 16000;

/// Counts the pages of the log that are not yet in the file. SQLite by itself would copy them
/// during a commit, which would then wait for the disk.
pub(super) struct WalBacklog {
    /// The pages in the log.
    pages: Arc<AtomicI32>,
    /// Those of them that were copied.
    moved: AtomicI32,
    /// A connection that copies pages while the other one continues to write.
    mover: Mutex<Connection>,
    /// Closed after the connection.
    _locks: Arc<SharedLocks>,
}

impl WalBacklog {
    /// Counts the pages of all later commits of a connection.
    pub(super) fn of(
        file: &mut Connection,
        mover: Connection,
        locks: Arc<SharedLocks>,
    ) -> Result<Self, Fault> {
        let pages = Arc::new(AtomicI32::new(0));
        let counted = Arc::clone(&pages);
        let hook = move |log: &mut rusqlite::hooks::Wal, pages| {
            counted.store(pages, Ordering::Relaxed);
            if pages >= MOST {
                // A failure is repeated after the next commit.
                let _ = log.checkpoint();
            }
            Ok(())
        };
        file.wal_hook(Some(hook)).map_err(|error| fault::of(&error))?;
        Ok(Self { pages, moved: AtomicI32::new(0), mover: Mutex::new(mover), _locks: locks })
    }

    /// Whether the backlog is large enough to be copied.
    pub(super) fn is_large(&self) -> bool {
        let pages = self.pages.load(Ordering::Relaxed);
        let moved = self.moved.load(Ordering::Relaxed);
        // A log with fewer pages than were copied was restarted since.
        pages - if pages < moved { 0 } else { moved } >= ENOUGH
    }

    /// Copies the backlog if it is large enough. To be called when the writer is idle.
    pub(super) fn clear(&self) {
        if !self.is_large() {
            return;
        }
        let mover = self.mover.lock().unwrap_or_else(PoisonError::into_inner);
        let moved = mover.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(2));
        // A failure does no harm: the pages are as safe in the log.
        self.moved.store(moved.unwrap_or(0), Ordering::Relaxed);
    }
}
