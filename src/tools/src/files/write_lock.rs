//! One lock for all tools of this process that write below a folder: two agents may have
//! toolsets of their own for it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

type WriteLock = Mutex<()>;

static LOCKS: LazyLock<Mutex<HashMap<PathBuf, Weak<WriteLock>>>> = LazyLock::new(Mutex::default);

/// The lock of a folder, by any of its paths.
pub(super) fn of(folder: &Path) -> Arc<WriteLock> {
    let path = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mut locks = LOCKS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(lock) = locks.get(&path).and_then(Weak::upgrade) {
        return lock;
    }
    locks.retain(|_, lock| lock.strong_count() > 0);
    let lock = Arc::<WriteLock>::default();
    locks.insert(path, Arc::downgrade(&lock));
    lock
}
