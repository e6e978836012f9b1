//! Whether a file that is open is still the one of its name: SQLite would go on
//! writing to one that nobody can find any more.

use std::path::{Path, PathBuf};

use antiphon_core::Fault;

use super::fault;

/// A file, as it was when it was opened.
pub(super) struct Anchor {
    path: PathBuf,
    /// What tells it from other files; nothing where that cannot be told.
    file: Option<(u64, u64)>,
}

impl Anchor {
    /// The file that has just been opened.
    pub(super) fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), file: identity(path) }
    }

    /// Says whether it is there.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let is_there = self.file.is_none() || self.file == identity(&self.path);
        if is_there { Ok(()) } else { Err(fault::moved()) }
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Elsewhere a file that is open stays where it is.
#[cfg(not(unix))]
fn identity(_: &Path) -> Option<(u64, u64)> {
    None
}
