//! Checks that an open file is still at its path: SQLite would continue to write to a file that
//! was deleted or replaced.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use antiphon_core::Fault;

use super::fault;

pub(super) type DeviceInode = (u64, u64);

/// The identity of a file when it was opened.
pub(super) struct FileIdentity {
    path: PathBuf,
    /// Device and inode; `None` where they do not exist.
    file: Option<DeviceInode>,
    /// The modification time of a file that was opened as immutable: SQLite would not notice a
    /// change.
    frozen: Option<SystemTime>,
}

impl FileIdentity {
    /// The identity of a file that was just opened.
    pub(super) fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), file: identity(path), frozen: None }
    }

    /// The identity of a file that is about to be opened as immutable.
    pub(super) fn of_frozen(path: &Path) -> Self {
        Self { frozen: Some(changed(path)), ..Self::of(path) }
    }

    /// Checks that the file is still the same.
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

/// Whether a file has a log with contents.
pub(super) fn has_log(path: &Path) -> bool {
    std::fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0)
}

/// A file that SQLite keeps beside another.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn changed(path: &Path) -> SystemTime {
    let changed = std::fs::metadata(path).and_then(|file| file.modified());
    changed.unwrap_or(SystemTime::UNIX_EPOCH)
}

#[cfg(unix)]
pub(super) fn identity(path: &Path) -> Option<DeviceInode> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Other systems do not let an open file be moved.
#[cfg(not(unix))]
fn identity(_: &Path) -> Option<DeviceInode> {
    None
}
