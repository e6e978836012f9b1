//! Threads whose locks are their own, as those of another process are.
//!
//! POSIX locks belong to a table of descriptors, which all threads of a process share. Python's
//! `sqlite3` is another copy of SQLite: if this one closed the same file, or gave its locks up, it
//! would drop those of an open transaction of `sqlite3`, and another process would write into it.
//! Linux lets a thread have a table of its own. Its locks then conflict with those of the process,
//! and closing its descriptors drops only what it has locked itself.

use std::fmt::Display;
use std::path::Path;
use std::thread::{Builder, scope};

/// Runs `work` on a thread that has no descriptor of the process but its standard streams, and
/// returns what it returns. What it opens it must also close.
///
/// # Errors
/// If there is no thread for it, or it panics.
pub(super) fn run<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, String> {
    let failed = |error: &dyn Display| format!("no thread runs the query: {error}");
    scope(|threads| {
        let work = || {
            separation::begin();
            work()
        };
        let thread = Builder::new().name("antiphon-sql".to_owned()).spawn_scoped(threads, work);
        let thread = thread.map_err(|error| failed(&error))?;
        // The caller wakes whoever waits for it: to wake needs descriptors that the thread lacks.
        thread.join().map_err(|_| failed(&"it panicked"))
    })
}

/// Whether a transaction of this process keeps readers out of the file, as far as the system tells.
/// Only for `work` of [`run`].
pub(super) fn is_locked_by_this_process(path: &Path) -> bool {
    separation::is_locked_by_this_process(path)
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[expect(unsafe_code, reason = "system calls and the VFS of SQLite have no safe wrapper")]
mod separation {
    use std::cell::Cell;
    use std::ffi::{c_char, c_int};
    use std::fs::{File, read_dir};
    use std::io;
    use std::mem::{transmute, zeroed};
    use std::path::Path;
    use std::ptr;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use rusqlite::ffi;
    use rustix::process::{Flock, FlockOffsetType, FlockType, fcntl_getlk, getpid};

    /// The bytes that a connection locks to read: `PENDING_BYTE` of SQLite's `os_unix.c`, and 511
    /// more.
    const READING: (u64, u64) = (0x4000_0000, 512);
    /// The first descriptor after the standard streams.
    const FIRST: c_int = 3;

    type StatOfPath = unsafe extern "C" fn(*const c_char, *mut libc::stat) -> c_int;
    type StatOfDescriptor = unsafe extern "C" fn(c_int, *mut libc::stat) -> c_int;

    static NEXT: AtomicU64 = AtomicU64::new(1);

    thread_local! {
        /// The number of a thread with a table of its own; 0 for all others.
        static NUMBER: Cell<u64> = const { Cell::new(0) };
    }

    /// Gives the thread its own table, as far as the system and SQLite let it.
    pub(super) fn begin() {
        static IS_TOLD_APART: OnceLock<bool> = OnceLock::new();
        // A handler of a signal may write to a descriptor that means another file here.
        if block_signals() && *IS_TOLD_APART.get_or_init(tell_threads_apart) && own_table() {
            NUMBER.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
    }

    fn block_signals() -> bool {
        // SAFETY: a set of zeros is valid memory for `sigfillset` to fill, and both outlive the
        // calls.
        unsafe {
            let mut all: libc::sigset_t = zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, ptr::null_mut()) == 0
        }
    }

    /// Leaves the table of the process, without its descriptors.
    fn own_table() -> bool {
        let (first, last) = (FIRST.cast_unsigned(), u32::MAX);
        let how = libc::CLOSE_RANGE_UNSHARE;
        // SAFETY: only this thread uses the new table, and it has used no descriptor yet.
        unsafe {
            libc::syscall(libc::SYS_close_range, first, last, how) == 0
                || libc::unshare(libc::CLONE_FILES) == 0 && {
                    // What stays open is a copy: the table is its own all the same.
                    let _ = close_all();
                    true
                }
        }
    }

    /// The same for kernels before 5.9: otherwise others would not see the process close a pipe.
    fn close_all() -> io::Result<()> {
        let listed = read_dir("/proc/thread-self/fd")?;
        let names = listed.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let open: Vec<c_int> = names.filter_map(|name| name.parse().ok()).collect();
        for descriptor in open.into_iter().filter(|descriptor| *descriptor >= FIRST) {
            // SAFETY: the table is that of this thread, which has opened nothing that is left.
            unsafe { libc::close(descriptor) };
        }
        Ok(())
    }

    /// Makes SQLite take a file for another one in each thread with a table of its own. It keeps
    /// descriptors and locks of a file once for all connections, and knows it by device and inode.
    fn tell_threads_apart() -> bool {
        // SAFETY: the functions have the signatures that SQLite calls them with. It reads their
        // pointers without a lock, but both the old and the new ones can be called at any time.
        unsafe {
            let vfs = ffi::sqlite3_vfs_find(ptr::null());
            let Some(set) = vfs.as_ref().and_then(|vfs| vfs.xSetSystemCall) else { return false };
            let of_path = transmute::<StatOfPath, unsafe extern "C" fn()>(stat);
            let of_descriptor = transmute::<StatOfDescriptor, unsafe extern "C" fn()>(fstat);
            set(vfs, c"stat".as_ptr(), Some(of_path)) == ffi::SQLITE_OK
                && set(vfs, c"fstat".as_ptr(), Some(of_descriptor)) == ffi::SQLITE_OK
        }
    }

    unsafe extern "C" fn stat(path: *const c_char, found: *mut libc::stat) -> c_int {
        // SAFETY: SQLite passes what the system's function takes.
        unsafe { numbered(libc::stat(path, found), found) }
    }

    unsafe extern "C" fn fstat(descriptor: c_int, found: *mut libc::stat) -> c_int {
        // SAFETY: as above.
        unsafe { numbered(libc::fstat(descriptor, found), found) }
    }

    /// # Safety
    /// `found` is what a call has filled that returned `result`.
    unsafe fn numbered(result: c_int, found: *mut libc::stat) -> c_int {
        if result == 0 {
            // SAFETY: it was filled. The kernel's devices have 32 bits.
            unsafe { (*found).st_dev ^= NUMBER.get() << 32 };
        }
        result
    }

    pub(super) fn is_locked_by_this_process(path: &Path) -> bool {
        // With the table of the process, closing the file would drop its locks.
        if NUMBER.get() == 0 {
            return false;
        }
        let (start, length) = READING;
        let wanted = Flock {
            start,
            length,
            offset_type: FlockOffsetType::Set,
            ..Flock::from(FlockType::ReadLock)
        };
        let held = File::open(path).ok().and_then(|file| fcntl_getlk(&file, &wanted).ok());
        held.flatten().and_then(|lock| lock.pid) == Some(getpid())
    }
}

/// Other systems have one table for all threads.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
mod separation {
    use std::path::Path;

    pub(super) fn begin() {}

    pub(super) fn is_locked_by_this_process(_: &Path) -> bool {
        false
    }
}
