//! System calls that the standard library does not wrap. Each is a thin function that is safe to
//! call; [`crate::jail`] and [`crate::host`] decide how to use them.
#![expect(unsafe_code, reason = "system calls have no safe wrapper in the standard library")]

pub(crate) mod descriptors;
pub(crate) mod heap;
pub(crate) mod limits;
pub(crate) mod mounts;
pub(crate) mod privileges;
pub(crate) mod process;
pub(crate) mod sockets;
pub(crate) mod spawn;

use std::io;

/// The result of a call that returns -1 on failure.
fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The same for calls that are made by number.
fn checked_long(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
