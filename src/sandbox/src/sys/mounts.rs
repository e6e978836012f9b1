//! Namespaces and mounts.

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::{checked, checked_long};

const HERE: &CStr = c".";

/// Leaves the host's namespaces; the next child is the first process of a new process namespace.
/// Only for a process with one thread.
pub(crate) fn leave_namespaces() -> io::Result<()> {
    let flags = libc::CLONE_NEWUSER
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWNS;
    // SAFETY: no memory is involved.
    checked(unsafe { libc::unshare(flags) }).map(drop)
}

/// Enters a new mount namespace, with a copy of the present mounts.
pub(crate) fn own_mounts() -> io::Result<()> {
    // SAFETY: no memory is involved.
    checked(unsafe { libc::unshare(libc::CLONE_NEWNS) }).map(drop)
}

/// Keeps later mounts from propagating to other namespaces.
pub(crate) fn make_private() -> io::Result<()> {
    mount(None, c"/", None, libc::MS_REC | libc::MS_PRIVATE, None)
}

/// Mounts an empty tmpfs whose files cannot be executed.
pub(crate) fn mount_memory(at: &Path, options: &str) -> io::Result<()> {
    let options = CString::new(options)?;
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    mount(Some(c"tmpfs"), &c_path(at)?, Some(c"tmpfs"), flags, Some(&options))
}

/// Binds `from`, with everything mounted below it, read-only at `to`.
pub(crate) fn show(from: &Path, to: &Path, devices: bool) -> io::Result<()> {
    let to = c_path(to)?;
    mount(Some(&c_path(from)?), &to, None, libc::MS_BIND | libc::MS_REC, None)?;
    let mut flags = libc::MOUNT_ATTR_NOSUID;
    // A read-only device would refuse writes, and writing to these devices stores nothing.
    flags |= if devices { 0 } else { libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_RDONLY };
    set_flags(&to, flags, true)
}

/// Remounts `at` read-only.
pub(crate) fn make_read_only(at: &Path) -> io::Result<()> {
    set_flags(&c_path(at)?, libc::MOUNT_ATTR_RDONLY, false)
}

/// Makes `root` the root, and detaches the old one.
pub(crate) fn change_root(root: &Path) -> io::Result<()> {
    std::env::set_current_dir(root)?;
    // SAFETY: both strings live as long as the program. The old root is
    // stacked on the new one, from where it is taken off.
    unsafe {
        checked_long(libc::syscall(libc::SYS_pivot_root, HERE.as_ptr(), HERE.as_ptr()))?;
        checked(libc::umount2(HERE.as_ptr(), libc::MNT_DETACH))?;
    }
    std::env::set_current_dir("/")
}

/// Sets the host name.
pub(crate) fn name_host(name: &str) -> io::Result<()> {
    // SAFETY: the text is as long as is said.
    checked(unsafe { libc::sethostname(name.as_ptr().cast(), name.len()) }).map(drop)
}

fn mount(
    from: Option<&CStr>,
    to: &CStr,
    kind: Option<&CStr>,
    flags: libc::c_ulong,
    options: Option<&CStr>,
) -> io::Result<()> {
    let text = |text: Option<&CStr>| text.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: all texts outlive the call, and those that are missing may be.
    checked(unsafe {
        libc::mount(text(from), to.as_ptr(), text(kind), flags, text(options).cast())
    })
    .map(drop)
}

fn set_flags(at: &CStr, flags: u64, below_too: bool) -> io::Result<()> {
    let change = libc::mount_attr { attr_set: flags, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let reach = if below_too { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the change outlives the call and is as long as is said.
    checked_long(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            at.as_ptr(),
            reach,
            &raw const change,
            size_of::<libc::mount_attr>(),
        )
    })
    .map(drop)
}

fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}
