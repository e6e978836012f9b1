//! Locks that say to other processes: the file is open here.
//!
//! SQLite says so by locks of the process, all of which the system drops as soon as anything in the
//! process closes the file: another copy of SQLite, such as that of Python's `sqlite3`, or a backup.
//! Another process that closes the file then believes that nobody has it open, and deletes the log
//! into which this process continues to write. Locks of an open file description hold the same bytes
//! and stay. Only Linux has them.

use std::path::Path;
use std::sync::Arc;

/// The locks of an open file, shared by all that have it open in this process.
#[derive(Debug, Default)]
pub(super) struct SharedLocks(#[cfg(target_os = "linux")] system::LockedFiles);

impl SharedLocks {
    /// Takes the locks, as far as the file system has them.
    #[cfg(target_os = "linux")]
    pub(super) fn of(path: &Path) -> Arc<Self> {
        system::share(path)
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn of(_: &Path) -> Arc<Self> {
        Arc::default()
    }

    /// Gives the locks up, so that the last connection can delete the log, if only `holders` have
    /// them. Their files are closed later, after that connection: to close them drops its own.
    #[cfg(target_os = "linux")]
    pub(super) fn release(locks: &Arc<Self>, holders: usize) {
        if Arc::strong_count(locks) <= holders {
            locks.0.unlock();
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn release(_: &Arc<Self>, _: usize) {}
}

#[cfg(target_os = "linux")]
mod system {
    use std::collections::BTreeMap;
    use std::fs::File;
    use std::path::Path;
    use std::sync::{Arc, Mutex, PoisonError, Weak};

    use nix::fcntl::{FcntlArg, fcntl};
    use nix::libc::{F_RDLCK, F_UNLCK, SEEK_SET, c_int, flock};

    use super::super::file_identity::{self, DeviceInode};
    use super::SharedLocks;
    use crate::process::PerProcess;

    /// The bytes that each connection locks, in the file and in the index of its log: `SHARED_FIRST`
    /// with `SHARED_SIZE`, and `UNIX_SHM_DMS`, of SQLite's `os_unix.c`.
    const OF_FILE: (i64, i64) = (0x4000_0002, 510);
    const OF_INDEX: (i64, i64) = (128, 1);

    type OpenLocks = BTreeMap<DeviceInode, Weak<SharedLocks>>;

    static OPEN: PerProcess<Mutex<OpenLocks>> =
        PerProcess::new(Mutex::new(BTreeMap::new()), Mutex::default);

    #[derive(Debug, Default)]
    pub(super) struct LockedFiles(Vec<(File, (i64, i64))>);

    impl LockedFiles {
        fn of(path: &Path) -> Self {
            let index = file_identity::beside(path, "-shm");
            let opened = [(path, OF_FILE), (&index, OF_INDEX)];
            let opened = opened.into_iter();
            let files: Vec<_> =
                opened.filter_map(|(path, bytes)| Some((File::open(path).ok()?, bytes))).collect();
            Self(files)
        }

        fn lock(&self) {
            for (file, bytes) in &self.0 {
                set(file, F_RDLCK, *bytes);
            }
        }

        pub(super) fn unlock(&self) {
            for (file, bytes) in &self.0 {
                set(file, F_UNLCK, *bytes);
            }
        }
    }

    /// The locks of a file, which it has at most once in this process: to close further ones would
    /// drop what the others' connections hold.
    pub(super) fn share(path: &Path) -> Arc<SharedLocks> {
        let Some(identity) = file_identity::identity(path) else { return Arc::default() };
        let mut open = OPEN.here().lock().unwrap_or_else(PoisonError::into_inner);
        let locks = open.get(&identity).and_then(Weak::upgrade).unwrap_or_else(|| {
            open.retain(|_, locks| locks.strong_count() > 0);
            let locks = Arc::new(SharedLocks(LockedFiles::of(path)));
            open.insert(identity, Arc::downgrade(&locks));
            locks
        });
        // Whoever had them may be about to close the file, and have given them up.
        locks.0.lock();
        locks
    }

    /// A failure leaves what SQLite does by itself.
    fn set(file: &File, kind: c_int, (start, length): (i64, i64)) {
        let (Ok(kind), Ok(whence)) = (kind.try_into(), SEEK_SET.try_into()) else { return };
        let wanted =
            flock { l_type: kind, l_whence: whence, l_start: start, l_len: length, l_pid: 0 };
        // The result says whether the file system has such locks.
        let _ = fcntl(file, FcntlArg::F_OFD_SETLK(&wanted));
    }
}
