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
        system::release(locks, holders);
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn release(_: &Arc<Self>, _: usize) {}
}

#[cfg(target_os = "linux")]
mod system {
    use std::collections::BTreeMap;
    use std::fs::File;
    use std::path::Path;
    use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

    use nix::fcntl::{FcntlArg, fcntl};
    use nix::libc::{F_RDLCK, F_UNLCK, SEEK_SET, c_int, flock};

    use super::super::file_identity::{self, DeviceInode};
    use super::SharedLocks;
    use crate::process::PerProcess;

    /// The bytes that each connection locks, in the file and in the index of its log: `SHARED_FIRST`
    /// with `SHARED_SIZE`, and `UNIX_SHM_DMS`, of SQLite's `os_unix.c`.
    const OF_FILE: ByteRange = ByteRange { start: 0x4000_0002, length: 510 };
    const OF_INDEX: ByteRange = ByteRange { start: 128, length: 1 };

    type OpenLocks = BTreeMap<DeviceInode, Weak<SharedLocks>>;

    static OPEN: PerProcess<Mutex<OpenLocks>> =
        PerProcess::new(Mutex::new(BTreeMap::new()), Mutex::default);

    #[derive(Clone, Copy, Debug)]
    struct ByteRange {
        start: i64,
        length: i64,
    }

    /// A file and the index of its log, opened to be locked.
    #[derive(Debug, Default)]
    pub(super) struct LockedFiles {
        identity: DeviceInode,
        files: Vec<(File, ByteRange)>,
        /// Those of earlier holders, which stay open as long as anybody has the file open.
        earlier: Mutex<Vec<(File, ByteRange)>>,
    }

    impl LockedFiles {
        fn of(path: &Path, identity: DeviceInode) -> Self {
            let index = file_identity::beside(path, "-shm");
            let opened = [(path, OF_FILE), (&index, OF_INDEX)].into_iter();
            let files =
                opened.filter_map(|(path, bytes)| Some((File::open(path).ok()?, bytes))).collect();
            Self { identity, files, earlier: Mutex::default() }
        }

        fn set_all(&self, kind: c_int) {
            for (file, bytes) in &self.files {
                set(file, kind, *bytes);
            }
        }
    }

    impl Drop for LockedFiles {
        fn drop(&mut self) {
            let earlier = self.earlier.get_mut().unwrap_or_else(PoisonError::into_inner);
            earlier.append(&mut self.files);
            let open = open_locks();
            // Another has opened the file since: to close these would drop the locks that its
            // connections hold.
            let other = open.get(&self.identity).and_then(Weak::upgrade);
            if let Some(other) = &other {
                other.0.earlier.lock().unwrap_or_else(PoisonError::into_inner).append(earlier);
            }
            earlier.clear();
            // Before `other`, which may be the last, and locks this again when it is dropped.
            drop(open);
        }
    }

    fn open_locks() -> MutexGuard<'static, OpenLocks> {
        OPEN.here().lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The locks of a file, which it has at most once in this process: to close further ones would
    /// drop what the others' connections hold.
    pub(super) fn share(path: &Path) -> Arc<SharedLocks> {
        let Some(identity) = file_identity::identity(path) else { return Arc::default() };
        let mut open = open_locks();
        let locks = open.get(&identity).and_then(Weak::upgrade).unwrap_or_else(|| {
            open.retain(|_, locks| locks.strong_count() > 0);
            let locks = Arc::new(SharedLocks(LockedFiles::of(path, identity)));
            open.insert(identity, Arc::downgrade(&locks));
            locks
        });
        // Whoever had them may be about to close the file, and have given them up.
        locks.0.set_all(F_RDLCK);
        locks
    }

    pub(super) fn release(locks: &Arc<SharedLocks>, holders: usize) {
        // Nobody can come to share them meanwhile.
        let _open = open_locks();
        if Arc::strong_count(locks) <= holders {
            locks.0.set_all(F_UNLCK);
        }
    }

    /// A failure leaves what SQLite does by itself.
    fn set(file: &File, kind: c_int, bytes: ByteRange) {
        let (Ok(kind), Ok(whence)) = (kind.try_into(), SEEK_SET.try_into()) else { return };
        let wanted = flock {
            l_type: kind,
            l_whence: whence,
            l_start: bytes.start,
            l_len: bytes.length,
            l_pid: 0,
        };
        // The result says whether the file system has such locks.
        let _ = fcntl(file, FcntlArg::F_OFD_SETLK(&wanted));
    }
}
