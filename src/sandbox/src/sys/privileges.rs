//! Privileges that a process gives up.

use std::io;

use super::{checked, checked_long};

/// The header of `capset`.
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: libc::c_int,
}

/// Half of the capability sets.
#[repr(C)]
#[derive(Clone, Copy)]
struct CapabilityHalf {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// The version with two halves, from 2008 and still the newest.
const VERSION_3: u32 = 0x2008_0522;
/// Locks the capabilities: neither root nor a change of user brings them back.
const LOCKED: libc::c_ulong = 0b1110_1111;

/// Drops all capabilities, also for programs that are executed later.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    for capability in 0.. {
        // SAFETY: no memory is involved.
        let dropped = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
        match checked(dropped).map_err(|error| error.raw_os_error()) {
            Ok(_) => {}
            // Either the kernel knows no further capability, or the process may not drop them:
            // then no_new_privs locks them instead.
            Err(Some(libc::EINVAL | libc::EPERM)) => break,
            Err(_) => return Err(io::Error::last_os_error()),
        }
    }
    // SAFETY: no memory is involved. Without the right to set the bits there
    // is nothing that they would guard.
    unsafe { libc::prctl(libc::PR_SET_SECUREBITS, LOCKED, 0, 0, 0) };
    // SAFETY: no memory is involved.
    unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) };
    let header = CapabilityHeader { version: VERSION_3, pid: 0 };
    let none = [CapabilityHalf { effective: 0, permitted: 0, inheritable: 0 }; 2];
    // SAFETY: both outlive the call, and version 3 has two halves.
    checked_long(unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) })
        .map(drop)
}

/// Keeps executed programs from gaining privileges.
pub(crate) fn no_new_privileges() -> io::Result<()> {
    // SAFETY: no memory is involved.
    checked(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }).map(drop)
}

/// Keeps other processes of the same user from reading this one's memory.
pub(crate) fn hide_memory() -> io::Result<()> {
    // SAFETY: no memory is involved.
    checked(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) }).map(drop)
}

/// The Landlock ABI version of the kernel; 0 if there is none.
pub(crate) fn landlock_version() -> u32 {
    const ASK_VERSION: libc::c_uint = 1;
    // SAFETY: with this flag no ruleset is read and none is made.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0_usize,
            ASK_VERSION,
        )
    };
    u32::try_from(version).unwrap_or(0)
}

/// User and group id outside of the namespaces that the process will enter.
pub(crate) fn identity() -> (libc::uid_t, libc::gid_t) {
    // SAFETY: neither can fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}
