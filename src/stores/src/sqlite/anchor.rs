//! Whether a file that is open is still the one of its name: SQLite would go on
//! writing to one that nobody can find any more. And whether a fork may open it:
//! SQLite would take the locks of its parent for its own, and protect nothing.

use std::path::{Path, PathBuf};
use std::sync::{MutexGuard, PoisonError};

use antiphon_core::Fault;

use super::fault;
use crate::process::{PerProcess, forked};

type Identity = (u64, u64);

/// The files that each process has open.
static OPEN: PerProcess<Vec<Identity>> = PerProcess::new(Vec::new(), Vec::new);

fn open_here() -> MutexGuard<'static, Vec<Identity>> {
    OPEN.here().0.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file, as it was when it was opened.
pub(super) struct Anchor {
    path: PathBuf,
    /// What tells it from other files; nothing where that cannot be told.
    file: Option<Identity>,
}

impl Anchor {
    /// The file that has just been opened.
    pub(super) fn of(path: &Path) -> Self {
        let file = identity(path);
        open_here().extend(file);
        Self { path: path.to_owned(), file }
    }

    /// Refuses a file that was open in the process that this one was forked from.
    pub(super) fn check_inherited(path: &Path) -> Result<(), Fault> {
        let Some(file) = identity(path) else { return Ok(()) };
        for (process, files) in OPEN.here().1 {
            // One that is locked was being opened or closed: nobody can tell which.
            if files.try_lock().map_or(true, |files| files.contains(&file)) {
                return Err(forked(process));
            }
        }
        Ok(())
    }

    /// Says whether it is there.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let is_there = self.file.is_none() || self.file == identity(&self.path);
        if is_there { Ok(()) } else { Err(fault::moved()) }
    }
}

impl Drop for Anchor {
    fn drop(&mut self) {
        let mut open = open_here();
        if let Some(place) = open.iter().position(|open| Some(*open) == self.file) {
            open.swap_remove(place);
        }
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Elsewhere a file that is open stays where it is.
#[cfg(not(unix))]
fn identity(_: &Path) -> Option<Identity> {
    None
}
