//! The log beside a file, as long as it is not part of the file.

use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use antiphon_core::Fault;
use rusqlite::Connection;

use super::fault;

/// Moving so many pages is worth waiting for the disk, once nobody waits for us.
const ENOUGH: c_int = 4000;
/// So many are moved whoever waits: readers search all of the log.
const MOST: c_int = 16000;

/// How many pages of the log are still to be moved. `SQLite` by itself would do
/// that in the middle of a commit, which would then wait for the disk.
pub(super) struct WalBacklog {
    /// In the log.
    pages: Arc<AtomicI32>,
    /// Of these, moved.
    moved: AtomicI32,
    /// Moves them while the other connection goes on writing.
    mover: Mutex<Connection>,
}

impl WalBacklog {
    /// Counts what a connection commits from now on.
    pub(super) fn of(file: &mut Connection, mover: Connection) -> Result<Self, Fault> {
        let pages = Arc::new(AtomicI32::new(0));
        let counted = Arc::clone(&pages);
        let hook = move |log: &mut rusqlite::hooks::Wal, pages| {
            counted.store(pages, Ordering::Relaxed);
            if pages >= MOST {
                // What fails now is tried again after the next commit.
                let _ = log.checkpoint();
            }
            Ok(())
        };
        file.wal_hook(Some(hook)).map_err(|error| fault::of(&error))?;
        Ok(Self { pages, moved: AtomicI32::new(0), mover: Mutex::new(mover) })
    }

    /// Whether they are enough to be moved.
    pub(super) fn is_large(&self) -> bool {
        let pages = self.pages.load(Ordering::Relaxed);
        let moved = self.moved.load(Ordering::Relaxed);
        // A log that is shorter than what was moved has begun anew since.
        pages - if pages < moved { 0 } else { moved } >= ENOUGH
    }

    /// Nobody waits: moves them, if they are enough.
    pub(super) fn clear(&self) {
        if !self.is_large() {
            return;
        }
        let mover = self.mover.lock().unwrap_or_else(PoisonError::into_inner);
        let moved = mover.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(2));
        // The log is as good a place for them: a failure harms nobody.
        self.moved.store(moved.unwrap_or(0), Ordering::Relaxed);
    }
}
