//! Where an index is kept, and who may write to it.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use twox_hash::XxHash3_128;

/// The folder of one index in the cache.
#[derive(Clone, Debug)]
pub(super) struct IndexLocation {
    folder: PathBuf,
}

impl IndexLocation {
    /// The place of the index of `root`, a canonical path, below `cache`. Settings that change what is stored are
    /// part of its name.
    pub(super) fn new(cache: &Path, root: &Path, variant: &str) -> Self {
        let key = format!("{}\0{variant}", root.display());
        Self { folder: cache.join(format!("{:032x}", XxHash3_128::oneshot(key.as_bytes()))) }
    }

    /// The file of the database.
    pub(super) fn database(&self) -> PathBuf {
        self.folder.join("index.sqlite")
    }

    /// Creates the folder, for its owner alone: it holds the texts of documents.
    pub(super) fn create(&self) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.folder)
    }

    /// The right to write, if no other process has it; it ends with the value.
    pub(super) fn try_lock(&self) -> io::Result<Option<WriterLock>> {
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.folder.join("lock"))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(WriterLock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Removes the database, to build it again.
    pub(super) fn discard(&self, _lock: &WriterLock) -> io::Result<()> {
        for ending in ["", "-wal", "-shm", "-journal"] {
            let mut name = self.database().into_os_string();
            name.push(ending);
            match fs::remove_file(PathBuf::from(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The right to write to an index.
#[derive(Debug)]
pub(super) struct WriterLock {
    _file: File,
}

/// The folder of all indexes: below `XDG_CACHE_HOME`, or `~/.cache`.
pub(super) fn default_cache() -> PathBuf {
    let set =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let base = base.or_else(|| set("HOME").map(|home| home.join(".cache")));
    base.unwrap_or_else(std::env::temp_dir).join("antiphon").join("documents")
}
