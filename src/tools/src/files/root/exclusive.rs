//! Files that are written over a longer time, by one writer, and then appear under another name.

use std::fs::TryLockError;
use std::io::{self, ErrorKind};

use antiphon_core::{Fault, FaultCode};
use cap_std::fs::{Dir, Metadata, OpenOptions};

use super::{RelativePath, Root, check_ordinary, exists, failure, not_a_file, without_waiting};

/// How often a file is opened whose name was taken away or belonged to another file too.
const ATTEMPTS: usize = 3;

impl Root {
    /// Opens an ordinary file for one writer, and makes it if it is missing; `None` while another
    /// one has it. A file that has a second name, which may lie outside of the root, is not written
    /// to but replaced, and so is a symbolic link.
    ///
    /// # Errors
    /// A fault `path_refused` or `file_unusable`.
    pub fn open_exclusively(&self, path: &RelativePath) -> Result<Option<std::fs::File>, Fault> {
        let fail = |error: io::Error| failure(path, &error);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true);
        without_waiting(&mut options);
        for _ in 0..ATTEMPTS {
            if let Ok(found) = self.dir.symlink_metadata(path.as_path()) {
                if found.is_symlink() || names_of(&found) > 1 {
                    self.dir.remove_file(path.as_path()).map_err(fail)?;
                } else {
                    check_ordinary(path, &found)?;
                }
            }
            let file = self.dir.open_with(path.as_path(), &options).map_err(fail)?;
            let metadata = file.metadata().map_err(fail)?;
            check_ordinary(path, &metadata)?;
            let file = file.into_std();
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(fail(error)),
            }
            // Its name was taken away before it was locked, or a link was put in its place.
            let metadata = Metadata::from_file(&file).map_err(fail)?;
            let named = self.dir.symlink_metadata(path.as_path()).map_err(fail);
            if names_of(&metadata) == 1 && named.is_ok_and(|named| !named.is_symlink()) {
                return Ok(Some(file));
            }
        }
        let message = format!("the file is replaced by others again and again: {path}");
        Err(Fault::new(FaultCode::FileUnusable, message))
    }

    /// Gives a complete file another name in the same folder, in one step; what stands there is
    /// replaced if `overwrite`.
    ///
    /// # Errors
    /// A fault `file_exists`, `file_missing` or `file_unusable`; nothing has changed then.
    pub fn publish(
        &self,
        from: &RelativePath,
        to: &RelativePath,
        overwrite: bool,
    ) -> Result<(), Fault> {
        let folder = self.open_folder(&to.parent().unwrap_or_default())?;
        name_file(&folder, from.name(), to, overwrite)?;
        match folder.remove_file(from.name()) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failure(from, &error)),
            _ => Ok(()),
        }
    }
}

/// Gives the file `from` the name of `to`. Its old name may remain.
pub(super) fn name_file(
    folder: &Dir,
    from: &str,
    to: &RelativePath,
    overwrite: bool,
) -> Result<(), Fault> {
    let name = to.name();
    match folder.symlink_metadata(name) {
        Ok(found) if found.is_dir() => return Err(not_a_file(to, "a folder")),
        Ok(_) if !overwrite => return Err(exists(to)),
        _ => {}
    }
    if !overwrite {
        // A link fails if the name has been taken since; where there are no links, the look
        // above is all there is.
        match folder.hard_link(from, folder, name) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(exists(to)),
            Err(_) => {}
        }
    }
    folder.rename(from, folder, name).map_err(|error| failure(to, &error))
}

/// How many names a file has; none if it was deleted while it was open.
#[cfg(unix)]
fn names_of(metadata: &Metadata) -> u64 {
    use cap_std::fs::MetadataExt as _;
    metadata.nlink()
}

#[cfg(not(unix))]
fn names_of(_: &Metadata) -> u64 {
    1
}
