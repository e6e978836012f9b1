//! The process in which SQLite is at work. A fork has a copy of what it has
//! locked, within the process and of its files, and nobody there unlocks it: what
//! it opened would wait for ever, or be protected from nobody.

use std::sync::{MutexGuard, PoisonError};

use antiphon_core::Fault;

use crate::process::{PerProcess, forked};

/// How many files each process has open.
static OPEN: PerProcess<usize> = PerProcess::new(0, || 0);

/// A file that is open, or being opened, until it is dropped.
pub(super) struct OpenFileGuard(());

impl OpenFileGuard {
    /// Refuses a fork of a process that had files open then.
    pub(super) fn begin() -> Result<Self, Fault> {
        for (process, open) in OPEN.here().1 {
            // One that is locked was being opened or closed.
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
    OPEN.here().0.lock().unwrap_or_else(PoisonError::into_inner)
}
