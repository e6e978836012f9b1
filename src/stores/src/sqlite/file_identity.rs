//! Whether a file that is open is still the one of its name: SQLite would go on
//! writing to one that nobody can find any more.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use antiphon_core::Fault;

use super::fault;

/// A file, as it was when it was opened.
pub(super) struct FileIdentity {
    path: PathBuf,
    /// What tells it from other files; nothing where that cannot be told.
    file: Option<(u64, u64)>,
    /// When it was changed last, of one that SQLite takes for frozen: it would not see
    /// a change.
    frozen: Option<SystemTime>,
}

impl FileIdentity {
    /// The file that has just been opened.
    pub(super) fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), file: identity(path), frozen: None }
    }

    /// A file that is about to be opened as one that nobody writes to.
    pub(super) fn of_frozen(path: &Path) -> Self {
        Self { frozen: Some(changed(path)), ..Self::of(path) }
    }

    /// Says whether it is there.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let is_there = self.file.is_none() || self.file == identity(&self.path);
        let is_the_same =
            self.frozen.is_none_or(|at| at == changed(&self.path) && !has_log(&self.path));
        match (is_there, is_the_same) {
            (false, _) => Err(fault::moved()),
            (true, false) => Err(fault::thawed()),
            (true, true) => Ok(()),
        }
    }
}

/// Whether there is something beside a file that is not part of it yet.
pub(super) fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).is_ok_and(|log| log.len() > 0)
}

fn changed(path: &Path) -> SystemTime {
    let changed = std::fs::metadata(path).and_then(|file| file.modified());
    changed.unwrap_or(SystemTime::UNIX_EPOCH)
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
