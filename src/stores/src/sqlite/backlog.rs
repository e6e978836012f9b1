//! The log beside a file, as long as it is not part of the file.

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use antiphon_core::Fault;
use rusqlite::Connection;

use super::fault;

/// Moving so many pages is worth waiting for the disk, once nobody waits for us.
const ENOUGH: c_int = 2000;
/// So many are moved whoever waits: readers search all of the log.
const MOST: c_int = 8000;

/// How many pages of the log are still to be moved. `SQLite` by itself would do
/// that in the middle of a commit, which would then wait for the disk.
pub(super) struct Backlog(Arc<AtomicI32>);

impl Backlog {
    /// Counts what a connection commits from now on.
    pub(super) fn of(file: &mut Connection) -> Result<Self, Fault> {
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
        Ok(Self(pages))
    }

    /// Whether they are enough to be moved.
    pub(super) fn is_large(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= ENOUGH
    }

    /// Nobody waits: moves them, if they are enough.
    pub(super) fn clear(&self, file: &Connection) {
        if self.is_large() {
            self.0.store(0, Ordering::Relaxed);
            // The log is as good a place for them: a failure harms nobody.
            let _ = file.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        }
    }
}
