//! The head of an output stream: how much is kept, and when it is too much.

use std::io;
use std::os::fd::BorrowedFd;

use crate::sys::descriptors;

/// A worker that writes more bytes than this is killed.
const MOST: u64 = 4 << 20;
/// The bytes of one read.
const CHUNK: usize = 16 << 10;

/// The beginning of a stream, up to a limit.
pub(super) struct OutputHead {
    pub(super) kept: Vec<u8>,
    limit: u64,
    seen: u64,
    is_open: bool,
}

impl OutputHead {
    /// A head of at most `limit` bytes.
    pub(super) fn new(limit: u64) -> Self {
        Self { kept: Vec::new(), limit, seen: 0, is_open: true }
    }

    /// The descriptor to poll, until the stream ends.
    pub(super) fn watch<'a>(&self, from: BorrowedFd<'a>) -> Option<BorrowedFd<'a>> {
        self.is_open.then_some(from)
    }

    /// Whether output was dropped.
    pub(super) fn is_cut(&self) -> bool {
        self.seen > self.limit
    }

    /// Whether there is so much output that the worker must be killed.
    pub(super) fn is_flood(&self) -> bool {
        self.seen > self.limit.max(MOST)
    }

    /// Reads once.
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

    /// Reads everything that is left; at most a pipe's capacity, if no writer is left.
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

/// Whether a later read may succeed.
pub(super) fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
