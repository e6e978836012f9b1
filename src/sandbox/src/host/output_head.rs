//! The head of a stream: what is kept, and when it is enough.

use std::io;
use std::os::fd::BorrowedFd;

use crate::sys::descriptors;

/// Bytes after which a worker that goes on writing is ended.
const MOST: u64 = 4 << 20;
/// Bytes that are taken at once.
const CHUNK: usize = 16 << 10;

/// What a stream said, cut at its limit.
pub(super) struct OutputHead {
    pub(super) kept: Vec<u8>,
    limit: u64,
    seen: u64,
    is_open: bool,
}

impl OutputHead {
    /// One that keeps `limit` bytes.
    pub(super) fn new(limit: u64) -> Self {
        Self { kept: Vec::new(), limit, seen: 0, is_open: true }
    }

    /// The descriptor, while something may still come.
    pub(super) fn watch<'a>(&self, from: BorrowedFd<'a>) -> Option<BorrowedFd<'a>> {
        self.is_open.then_some(from)
    }

    /// Whether something had to be left out.
    pub(super) fn is_cut(&self) -> bool {
        self.seen > self.limit
    }

    /// Whether nobody should go on reading.
    pub(super) fn is_flood(&self) -> bool {
        self.seen > self.limit.max(MOST)
    }

    /// Takes what is there, once.
    pub(super) fn take(&mut self, from: BorrowedFd<'_>) -> bool {
        let mut chunk = [0; CHUNK];
        match descriptors::read(from, &mut chunk) {
            Ok(0) => self.is_open = false,
            Ok(length) => {
                self.keep(chunk.get(..length).unwrap_or_default());
                return true;
            }
            Err(error) if is_temporary(&error) => {}
            Err(_) => self.is_open = false,
        }
        false
    }

    /// Takes all that is there; less than a pipe holds, if nobody writes any more.
    pub(super) fn drain(&mut self, from: BorrowedFd<'_>) {
        while self.is_open && !self.is_flood() && self.take(from) {}
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.seen += bytes.len() as u64;
        let room = self.limit.saturating_sub(self.kept.len() as u64);
        let room = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
        self.kept.extend_from_slice(bytes.get(..room).unwrap_or_default());
    }
}

/// Whether trying again later may work.
pub(super) fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
