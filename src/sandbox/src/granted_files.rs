//! Host files that workers see under other names.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use antiphon_core::{Fault, FaultCode};
use serde::{Deserialize, Serialize};

/// The files that a zygote receives beside its settings.
pub(crate) struct GrantedFiles {
    pub(crate) files: Arc<Vec<GrantedFile>>,
    /// A host file that no worker must be able to open.
    pub(crate) canary: Option<PathBuf>,
}

/// A file to show: its path in the worker, and its identity.
#[derive(Serialize, Deserialize)]
pub(crate) struct GrantedFile {
    pub(crate) from: PathBuf,
    pub(crate) at: PathBuf,
    device: u64,
    inode: u64,
    /// Held open, so that no other file gets its inode number.
    #[serde(skip)]
    _held: Option<File>,
}

impl GrantedFile {
    /// Opens the file `from`, to be shown at `at`.
    ///
    /// Errors: `sandbox_setting_invalid` if it does not exist or is a link.
    pub(crate) fn open(from: &Path, at: &Path) -> Result<Self, Fault> {
        let refused = |why: &dyn std::fmt::Display| {
            let message =
                format!("a file cannot be granted to the sandbox: {}: {why}", from.display());
            Fault::new(FaultCode::SandboxSettingInvalid, message)
        };
        let mut options = File::options();
        let options = options.read(true).custom_flags(libc::O_PATH | libc::O_NOFOLLOW);
        let held = options.open(from).map_err(|error| refused(&error))?;
        let about = held.metadata().map_err(|error| refused(&error))?;
        if !about.is_file() {
            return Err(refused(&"it is no file"));
        }
        let (from, at) = (from.to_owned(), at.to_owned());
        Ok(Self { from, at, device: about.dev(), inode: about.ino(), _held: Some(held) })
    }

    /// Whether `path` is this file.
    pub(crate) fn is_at(&self, path: &Path) -> io::Result<bool> {
        let about = fs::metadata(path)?;
        Ok((about.dev(), about.ino()) == (self.device, self.inode))
    }
}
