//! File descriptors: poll, duplicate, close.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use super::{checked, checked_long};

/// A descriptor to poll, and the events to wait for.
#[derive(Clone, Copy)]
pub(crate) struct PolledDescriptor<'a> {
    fd: Option<BorrowedFd<'a>>,
    wanted: libc::c_short,
    seen: libc::c_short,
}

impl<'a> PolledDescriptor<'a> {
    /// Waits until it is readable or the other end is closed.
    pub(crate) fn read(fd: Option<BorrowedFd<'a>>) -> Self {
        Self { fd, wanted: libc::POLLIN, seen: 0 }
    }

    /// Waits until it is writable too.
    pub(crate) fn write_too(mut self) -> Self {
        self.wanted |= libc::POLLOUT;
        self
    }

    /// Whether a read would not block.
    pub(crate) fn is_readable(self) -> bool {
        self.seen & (libc::POLLIN | libc::POLLHUP | libc::POLLERR) != 0
    }
}

/// Waits for an event of any of them, at most for `limit`.
pub(crate) fn wait<const N: usize>(
    watched: &mut [PolledDescriptor<'_>; N],
    limit: Option<Duration>,
) -> io::Result<()> {
    let mut list = watched.map(|one| libc::pollfd {
        fd: one.fd.map_or(-1, |fd| fd.as_raw_fd()),
        events: one.wanted,
        revents: 0,
    });
    let limit = limit.map(|limit| libc::timespec {
        tv_sec: limit.as_secs().try_into().unwrap_or_else(|_| i32::MAX.into()),
        tv_nsec: limit.subsec_nanos().into(),
    });
    let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the list has N entries and outlives the call, as does the limit.
    let found =
        unsafe { libc::ppoll(list.as_mut_ptr(), N as libc::nfds_t, limit, std::ptr::null()) };
    match checked(found) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
        other => drop(other?),
    }
    for (one, entry) in watched.iter_mut().zip(list) {
        one.seen = entry.revents;
    }
    Ok(())
}

/// Makes reads and writes return instead of blocking.
pub(crate) fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the descriptor is open while it is borrowed.
    let flags = checked(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) })?;
    // SAFETY: as above.
    checked(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) })?;
    Ok(())
}

/// Reads the available bytes.
pub(crate) fn read(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the buffer is ours and as long as is said.
    let got = unsafe { libc::read(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
    usize::try_from(got).map_err(|_| io::Error::last_os_error())
}

/// Duplicates `fd` as `to`, which survives an exec.
pub(crate) fn put(fd: BorrowedFd<'_>, to: RawFd) -> io::Result<()> {
    if fd.as_raw_fd() == to {
        // SAFETY: the descriptor is open while it is borrowed.
        return checked(unsafe { libc::fcntl(to, libc::F_SETFD, 0) }).map(drop);
    }
    // SAFETY: a descriptor open as `to` is closed by the kernel; the callers
    // are a sealed worker and a zygote, who own their first four descriptors.
    checked(unsafe { libc::dup2(fd.as_raw_fd(), to) }).map(drop)
}

/// Closes all descriptors from `first` on.
pub(crate) fn close_from(first: libc::c_uint) -> io::Result<()> {
    // SAFETY: only a worker that is about to be sealed calls this; it uses
    // none of its owned descriptors afterwards, and leaves without dropping them.
    checked_long(unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) })
        .map(drop)
}

/// Opens a file in a folder for reading.
pub(crate) fn open_at(folder: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    // SAFETY: the name outlives the call, and the folder is open while it is borrowed.
    let fd = checked(unsafe { libc::openat(folder.as_raw_fd(), name.as_ptr(), flags) })?;
    // SAFETY: it was just opened, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Takes ownership of a descriptor whose number came from outside.
pub(crate) fn adopt(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: asking for flags is harmless for any number.
    checked(unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) })?;
    // SAFETY: it is open, and the caller that passed the number gave up ownership.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Writes to a descriptor by its number.
pub(crate) fn write_number(fd: RawFd, bytes: &[u8]) {
    // SAFETY: the bytes are as many as is said; a number that is not open
    // makes the call fail, which the reader sees.
    unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
}
