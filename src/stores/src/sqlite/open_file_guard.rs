//! Detects forks of a process that had files open. A fork has copies of SQLite's mutexes and
//! file locks that nobody in it releases: files that it opens would block for ever, or not be
//! locked at all.

use std::sync::{Mutex, MutexGuard, PoisonError};

use antiphon_core::Fault;

use crate::process::{PerProcess, forked};

/// The number of files that each process has open.
static OPEN: PerProcess<Mutex<usize>> = PerProcess::new(Mutex::new(0), Mutex::default);

/// Counts a file as open, from before it is opened until this is dropped.
pub(super) struct OpenFileGuard(());

impl OpenFileGuard {
    /// Refuses a fork of a process that had files open.
    pub(super) fn begin() -> Result<Self, Fault> {
        for (process, open) in OPEN.inherited() {
            // If the parent's count is locked, a file was being opened or closed at the fork.
            if open.try_lock().map_or(true, |open| *open > 0) {
                return Err(forked(process));
            }
        }
        *here() += 1;
        Ok(Self(()))
    }
}

impl Drop for OpenFileGuard {
    fn drop(&mut self) {
        let mut open = here();
        *open = open.saturating_sub(1);
    }
}

fn here() -> MutexGuard<'static, usize> {
    OPEN.here().lock().unwrap_or_else(PoisonError::into_inner)
}
