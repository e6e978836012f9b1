//! A folder that no path leads out of.
//!
//! Every access goes through a descriptor of the root (`cap-std`: `openat2` with
//! `RESOLVE_BENEATH` on Linux, a walk from descriptor to descriptor elsewhere), so that neither
//! `..`, an absolute path, a symbolic link, nor one that is swapped while a file is opened reaches
//! anything outside. A check of the path's text alone could not promise that.

use std::ffi::OsString;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use antiphon_core::{Fault, FaultCode};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, OpenOptions};

use super::relative_path::RelativePath;

mod exclusive;

use exclusive::name_file;

/// Distinguishes the temporary files of this process.
static TEMPORARY: AtomicU64 = AtomicU64::new(0);

/// How temporary files begin; listings leave them out.
pub(super) const TEMPORARY_PREFIX: &str = ".antiphon-";

/// A folder and all below it. Clones share it.
#[derive(Clone, Debug)]
pub struct Root {
    dir: Arc<Dir>,
    path: PathBuf,
}

/// A file that appears under its name when it is [committed](Self::commit), and leaves nothing
/// behind if it is dropped before.
#[derive(Debug)]
pub struct AtomicFile {
    file: Option<File>,
    parent: Dir,
    temporary: String,
    path: RelativePath,
    written: u64,
    limit: u64,
}

impl Root {
    /// Opens a folder that exists.
    ///
    /// # Errors
    /// A `Validation` fault `tool_setting_invalid`: there is no such folder.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Fault> {
        let path = path.as_ref();
        let dir = Dir::open_ambient_dir(path, ambient_authority()).map_err(|error| {
            let message = format!("`root` cannot be opened ({error}): {}", path.display());
            Fault::new(FaultCode::ToolSettingInvalid, message).hint("create the folder first")
        })?;
        Ok(Self { dir: Arc::new(dir), path: path.to_owned() })
    }

    /// The path under which it was opened, for the host: never for a model.
    pub fn host_path(&self) -> &Path {
        &self.path
    }

    /// What stands at a path, after symbolic links within the root.
    ///
    /// # Errors
    /// A fault `file_missing`, `path_refused` or `file_unusable`.
    pub fn metadata(&self, path: &RelativePath) -> Result<Metadata, Fault> {
        either(path, |path| self.dir.metadata(path.as_path()))
    }

    /// Whether something stands at a path, be it a symbolic link that leads nowhere.
    ///
    /// # Errors
    /// A fault `path_refused` or `file_unusable`.
    pub fn exists(&self, path: &RelativePath) -> Result<bool, Fault> {
        match self.dir.symlink_metadata(path.as_path()) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(failure(path, &error)),
        }
    }

    /// Opens an ordinary file to read it.
    ///
    /// # Errors
    /// A fault `file_missing`, `path_refused`, or `file_unusable` for a folder, pipe or device.
    pub fn open_file(&self, path: &RelativePath) -> Result<File, Fault> {
        // Opening some devices has effects, so they are looked at before; the descriptor is looked
        // at again, because what stands there may have been swapped in between.
        check_ordinary(path, &self.metadata(path)?)?;
        let mut options = OpenOptions::new();
        options.read(true);
        without_waiting(&mut options);
        let file = either(path, |path| self.dir.open_with(path.as_path(), &options))?;
        let metadata = file.metadata().map_err(|error| failure(path, &error))?;
        check_ordinary(path, &metadata)?;
        Ok(file)
    }

    /// Reads a whole file of at most `limit` bytes.
    ///
    /// # Errors
    /// As [`open_file`](Self::open_file), and `file_too_large`.
    pub fn read(&self, path: &RelativePath, limit: u64) -> Result<Vec<u8>, Fault> {
        let file = self.open_file(path)?;
        let size = file.metadata().map_err(|error| failure(path, &error))?.len();
        if size > limit {
            return Err(too_large(path, limit));
        }
        let mut bytes = Vec::new();
        let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| failure(path, &error))?;
        if bytes.len() as u64 > limit {
            return Err(too_large(path, limit));
        }
        Ok(bytes)
    }

    /// Begins a file of at most `limit` bytes, in folders that are made if they are missing.
    ///
    /// # Errors
    /// A fault `path_refused` or `file_unusable`.
    pub fn create(&self, path: &RelativePath, limit: u64) -> Result<AtomicFile, Fault> {
        let parent = path.parent().ok_or_else(|| {
            Fault::new(FaultCode::FileUnusable, "the path is the root itself: .")
                .hint("name a file, such as notes/plan.md")
        })?;
        self.create_folder(&parent)?;
        let parent = self.open_folder(&parent)?;
        let count = TEMPORARY.fetch_add(1, Ordering::Relaxed);
        let temporary = format!("{TEMPORARY_PREFIX}{}-{count}.tmp", std::process::id());
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let file = parent.open_with(&temporary, &options).map_err(|error| failure(path, &error))?;
        let path = path.clone();
        Ok(AtomicFile { file: Some(file), parent, temporary, path, written: 0, limit })
    }

    /// Makes a folder and those above it.
    ///
    /// # Errors
    /// A fault `path_refused` or `file_unusable`.
    pub fn create_folder(&self, path: &RelativePath) -> Result<(), Fault> {
        if path.is_root() {
            return Ok(());
        }
        self.dir.create_dir_all(path.as_path()).map_err(|error| {
            // A link out of the root may stand where the folder would be.
            let standing = self.dir.metadata(path.as_path()).err();
            let refused = standing.filter(|it| it.kind() == ErrorKind::PermissionDenied);
            failure(path, &refused.unwrap_or(error))
        })
    }

    /// The descriptor of a folder.
    pub(super) fn open_folder(&self, path: &RelativePath) -> Result<Dir, Fault> {
        either(path, |path| self.dir.open_dir(path.as_path()))
    }

    /// Moves a file or folder. What stands at the target is replaced if it is a file.
    ///
    /// # Errors
    /// A fault `file_missing`, `path_refused` or `file_unusable`.
    pub fn rename(&self, from: &RelativePath, to: &RelativePath) -> Result<(), Fault> {
        if let Some(parent) = to.parent() {
            self.create_folder(&parent)?;
        }
        self.dir
            .rename(from.as_path(), &self.dir, to.as_path())
            .map_err(|error| failure(from, &error))
    }

    /// Deletes a file, or a symbolic link without what it leads to.
    ///
    /// # Errors
    /// A fault `file_missing`, `path_refused` or `file_unusable`.
    pub fn remove_file(&self, path: &RelativePath) -> Result<(), Fault> {
        self.dir.remove_file(path.as_path()).map_err(|error| failure(path, &error))
    }

    /// Deletes a folder; with all in it if `recursive`.
    ///
    /// # Errors
    /// A fault `file_missing`, `path_refused` or `file_unusable`, for a folder that is not empty
    /// as well.
    pub fn remove_folder(&self, path: &RelativePath, recursive: bool) -> Result<(), Fault> {
        let removed = if recursive {
            self.dir.remove_dir_all(path.as_path())
        } else {
            self.dir.remove_dir(path.as_path())
        };
        removed.map_err(|error| failure(path, &error))
    }

    /// What stands at a path itself, be it a symbolic link.
    pub(super) fn entry(&self, path: &RelativePath) -> Result<Metadata, Fault> {
        self.dir.symlink_metadata(path.as_path()).map_err(|error| failure(path, &error))
    }
}

impl AtomicFile {
    /// Adds bytes.
    ///
    /// # Errors
    /// A fault `file_too_large` or `file_unusable`.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.written = self.written.saturating_add(bytes.len() as u64);
        if self.written > self.limit {
            return Err(too_large(&self.path, self.limit));
        }
        let Some(file) = self.file.as_mut() else { return Ok(()) };
        file.write_all(bytes).map_err(|error| failure(&self.path, &error))
    }

    /// The bytes written so far.
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Makes the file appear under its name, in place of what stood there if `overwrite`.
    ///
    /// # Errors
    /// A fault `file_exists` or `file_unusable`; nothing has changed then.
    pub fn commit(mut self, overwrite: bool) -> Result<(), Fault> {
        if let Some(file) = self.file.take() {
            file.sync_all().map_err(|error| failure(&self.path, &error))?;
        }
        name_file(&self.parent, &self.temporary, &self.path, overwrite)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        self.file = None;
        // After a commit by renaming there is nothing to delete.
        let _ = self.parent.remove_file(&self.temporary);
    }
}

/// Tries the path as it is, and in the other spelling of its accents if nothing is there.
fn either<T>(
    path: &RelativePath,
    access: impl Fn(&RelativePath) -> io::Result<T>,
) -> Result<T, Fault> {
    let first = access(path);
    let missing = first.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound);
    let found = match path.decomposed().filter(|_| missing) {
        Some(other) => access(&other).or(first),
        None => first,
    };
    found.map_err(|error| failure(path, &error))
}

/// Keeps the opening of a pipe from waiting for its other end.
#[cfg(unix)]
fn without_waiting(options: &mut OpenOptions) {
    use cap_std::fs::OpenOptionsExt as _;
    options.custom_flags(
        (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY).bits().cast_signed(),
    );
}

#[cfg(not(unix))]
fn without_waiting(_: &mut OpenOptions) {}

/// The name of an entry as text; `None` for one that is not Unicode.
pub(super) fn text_name(name: &OsString) -> Option<&str> {
    name.to_str()
}

fn check_ordinary(path: &RelativePath, metadata: &Metadata) -> Result<(), Fault> {
    if metadata.is_file() {
        return Ok(());
    }
    let kind = if metadata.is_dir() { "a folder" } else { "a pipe, device or socket" };
    Err(not_a_file(path, kind))
}

fn not_a_file(path: &RelativePath, kind: &str) -> Fault {
    let message = format!("the path is that of {kind}, not of a file: {path}");
    Fault::new(FaultCode::FileUnusable, message).hint("call list_files to see what is there")
}

fn exists(path: &RelativePath) -> Fault {
    Fault::new(FaultCode::FileExists, format!("the file exists already: {path}"))
        .hint("set `overwrite` to replace it, or choose another name")
}

pub(super) fn too_large(path: &RelativePath, limit: u64) -> Fault {
    let message = format!("the file is larger than {limit} bytes: {path}");
    Fault::new(FaultCode::FileTooLarge, message).with("limit", limit)
}

/// The fault of a failed access. The system's text is not repeated, because it may show a path
/// outside of the root.
pub(super) fn failure(path: &RelativePath, error: &io::Error) -> Fault {
    let (code, what, hint) = match error.kind() {
        ErrorKind::NotFound => (
            FaultCode::FileMissing,
            "there is no such file or folder",
            "call list_files to see what is there",
        ),
        ErrorKind::PermissionDenied => (
            FaultCode::PathRefused,
            "the path leads out of the root, or may not be accessed",
            "use paths below the root only",
        ),
        ErrorKind::AlreadyExists => {
            (FaultCode::FileExists, "the name is taken", "choose another name")
        }
        ErrorKind::DirectoryNotEmpty => (
            FaultCode::FileUnusable,
            "the folder is not empty",
            "set `recursive` to delete it with all in it",
        ),
        ErrorKind::NotADirectory => (
            FaultCode::FileUnusable,
            "a name on the path is a file, not a folder",
            "call list_files to see what is there",
        ),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            (FaultCode::FileUnusable, "the disk is full", "delete files that are not needed")
        }
        _ => (FaultCode::FileUnusable, "the file cannot be used", "try another path"),
    };
    // A loop of links, or a link out of the root where the system has no word of its own for it.
    let message = format!("{what}: {path}");
    Fault::new(code, message).hint(hint).with("kind", error.kind().to_string())
}
