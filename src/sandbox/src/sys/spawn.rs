//! Starts a program with exactly one inherited descriptor.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use super::{checked, checked_long, process};

/// Starts `command`, which inherits the standard streams and `given`, and dies with the calling
/// thread.
pub(crate) fn start(command: &mut Command, given: BorrowedFd<'_>) -> io::Result<Child> {
    let given = given.as_raw_fd();
    let prepare = move || {
        let flags = libc::CLOSE_RANGE_CLOEXEC;
        // SAFETY: no memory is involved. What is marked here is closed by the
        // exec and not before: the standard library still needs one of them.
        unsafe {
            checked_long(libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, flags))?;
            checked(libc::fcntl(given, libc::F_SETFD, 0))?;
        }
        process::own_session()?;
        process::die_with_parent()
    };
    // SAFETY: between fork and exec it only makes system calls.
    unsafe { command.pre_exec(prepare) };
    command.spawn()
}
