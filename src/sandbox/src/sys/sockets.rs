//! Sockets that preserve message boundaries and pass descriptors.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use super::checked;

/// The most descriptors in a message.
pub(crate) const MOST: usize = 4;
/// The size of a control message with that many, in words for the alignment.
const WORDS: u32 = 8;

/// A pair of connected sockets.
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends: [RawFd; 2] = [-1; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: there is room for two numbers.
    checked(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) })?;
    let [one, other] = ends;
    // SAFETY: both were just made, and nobody else knows them.
    Ok(unsafe { (OwnedFd::from_raw_fd(one), OwnedFd::from_raw_fd(other)) })
}

/// Sends one message.
pub(crate) fn send(to: BorrowedFd<'_>, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut room = [0_u64; WORDS as usize];
    let raw: Vec<RawFd> = fds.iter().take(MOST).map(AsRawFd::as_raw_fd).collect();
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: a header of zeros is a valid, empty one.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    if !raw.is_empty() {
        let length = raw.len() * size_of::<RawFd>();
        let length = libc::c_uint::try_from(length).map_err(io::Error::other)?;
        header.msg_control = room.as_mut_ptr().cast();
        // SAFETY: both only compute sizes; `room` holds MOST descriptors, and
        // the first control header lies at its aligned start.
        unsafe {
            header.msg_controllen = libc::CMSG_SPACE(length) as _;
            let control = libc::CMSG_FIRSTHDR(&raw const header);
            (*control).cmsg_level = libc::SOL_SOCKET;
            (*control).cmsg_type = libc::SCM_RIGHTS;
            (*control).cmsg_len = libc::CMSG_LEN(length) as _;
            std::ptr::copy_nonoverlapping(
                raw.as_ptr().cast::<u8>(),
                libc::CMSG_DATA(control),
                length as usize,
            );
        }
    }
    loop {
        // SAFETY: everything the header points to outlives the call.
        let sent = unsafe { libc::sendmsg(to.as_raw_fd(), &raw const header, libc::MSG_NOSIGNAL) };
        if sent >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Shuts a connection down, for all processes that share this end.
pub(crate) fn shut(end: BorrowedFd<'_>) {
    // SAFETY: no memory is involved; an end that is alone already is no error.
    unsafe { libc::shutdown(end.as_raw_fd(), libc::SHUT_RDWR) };
}

/// Receives one message; no bytes and no descriptors mean that the other end is closed.
pub(crate) fn receive(
    from: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut room = [0_u64; WORDS as usize];
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: as in `send`.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = room.as_mut_ptr().cast();
    header.msg_controllen = (WORDS * u64::BITS / 8) as _;
    let flags = libc::MSG_CMSG_CLOEXEC;
    let got = loop {
        // SAFETY: everything the header points to outlives the call.
        let got = unsafe { libc::recvmsg(from.as_raw_fd(), &raw mut header, flags) };
        if let Ok(got) = usize::try_from(got) {
            break got;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    };
    Ok((got, descriptors(&header)))
}

/// Takes ownership of the descriptors in a message.
fn descriptors(header: &libc::msghdr) -> Vec<OwnedFd> {
    let mut found = Vec::new();
    // SAFETY: the kernel filled in the header, and its control messages lie in
    // a buffer that the caller still holds; each descriptor is ours alone.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(std::ptr::from_ref(header));
        while !control.is_null() {
            if (*control).cmsg_level == libc::SOL_SOCKET && (*control).cmsg_type == libc::SCM_RIGHTS
            {
                let start = libc::CMSG_DATA(control);
                let bytes = (*control).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
                for place in 0..bytes / size_of::<RawFd>() {
                    found.push(OwnedFd::from_raw_fd(read_number(
                        start.add(place * size_of::<RawFd>()),
                    )));
                }
            }
            control = libc::CMSG_NXTHDR(std::ptr::from_ref(header), control);
        }
    }
    found
}

/// The number at `start`, wherever that is.
///
/// # Safety
/// There must be a number.
unsafe fn read_number(start: *const u8) -> RawFd {
    // SAFETY: the caller says that there is one.
    RawFd::from_ne_bytes(unsafe { start.cast::<[u8; 4]>().read() })
}
