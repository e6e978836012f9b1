//! A worker as its host sees it: three streams, a pidfd, and a report of its end.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::zygote_process::ZygoteProcess;
use crate::frame::FrameParser;
use crate::sys::descriptors::{self, PolledDescriptor};
use crate::sys::process::{self, ProcessEnd};
use crate::sys::sockets;
use crate::wire::{WorkerBirth, WorkerRequest};

/// How long a fork may take.
const BIRTH: Duration = Duration::from_secs(30);
/// How long the report of an end may take.
const NEWS: Duration = Duration::from_secs(5);

/// A worker. Dropping it kills it and waits for its end.
pub(super) struct Worker {
    process: u32,
    pub(super) channel: UnixStream,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    status: OwnedFd,
    name: OwnedFd,
    /// Its process id in the host's namespace, where that is visible.
    number: Option<i32>,
    /// Its open `/proc` status file.
    about: Option<File>,
    end: Option<ProcessEnd>,
    pub(super) parser: FrameParser,
    /// Whether it may have read a job; a worker that has not knows nothing about it.
    pub(super) has_started: bool,
    /// Its zygote, which must live as long as the worker.
    pub(super) parent: Option<Arc<ZygoteProcess>>,
}

impl Worker {
    /// Asks a zygote for a worker.
    pub(super) fn ask(control: BorrowedFd<'_>, request: WorkerRequest) -> io::Result<Self> {
        let (channel, theirs) = UnixStream::pair()?;
        let (stdout, out) = io::pipe()?;
        let (stderr, err) = io::pipe()?;
        let (status, news) = sockets::pair()?;
        let given = [theirs.as_fd(), out.as_fd(), err.as_fd(), news.as_fd()];
        sockets::send(control, &[request.byte()], &given)?;
        // After this, only the worker holds the other ends, so that the host sees them close.
        drop((theirs, out, err, news));
        channel.set_nonblocking(true)?;
        for end in [stdout.as_fd(), stderr.as_fd()] {
            descriptors::set_nonblocking(end)?;
        }
        let (birth, mut names) = hear(status.as_fd(), BIRTH)?;
        let birth: WorkerBirth = serde_json::from_slice(&birth).map_err(io::Error::other)?;
        let name = match (birth.failed, names.pop()) {
            (None, Some(name)) => name,
            (failed, _) => return Err(io::Error::other(failed.unwrap_or_default())),
        };
        let number = process::number(name.as_fd());
        Ok(Self {
            process: std::process::id(),
            channel,
            stdout: stdout.into(),
            stderr: stderr.into(),
            status,
            number,
            about: number.and_then(process::status),
            name,
            end: None,
            parser: FrameParser::new(),
            has_started: false,
            parent: None,
        })
    }

    /// Whether it has not ended yet.
    pub(super) fn is_alive(&self) -> bool {
        let mut ended = [PolledDescriptor::read(Some(self.name.as_fd()))];
        let waited = descriptors::wait(&mut ended, Some(Duration::ZERO));
        waited.is_ok() && ended.iter().all(|one| !one.is_readable())
    }

    /// Kills it, and returns how it ended; it may have ended before. `None` if the zygote does
    /// not report it.
    pub(super) fn finish(&mut self) -> Option<ProcessEnd> {
        if self.process != std::process::id() {
            return None;
        }
        if self.end.is_none() {
            process::kill(self.name.as_fd());
            self.end = hear(self.status.as_fd(), NEWS)
                .ok()
                .and_then(|(text, _)| serde_json::from_slice(&text).ok());
        }
        self.end
    }

    /// The peak of its resident memory, if known.
    pub(super) fn memory(&self) -> Option<u64> {
        self.about.as_ref().and_then(process::memory)
    }

    /// Kills it, without waiting for its end.
    pub(super) fn kill(&self) {
        process::kill(self.name.as_fd());
    }

    /// Stops it: it uses no processor time and sends nothing until it is resumed.
    pub(super) fn stop(&self) {
        process::stop(self.name.as_fd());
    }

    /// Resumes it after [`Worker::stop`].
    pub(super) fn resume(&self) {
        process::resume(self.name.as_fd());
    }

    /// Waits briefly for its end, which the closed channel announces.
    pub(super) fn wait_for_end(&self, limit: Duration) {
        let mut ended = [PolledDescriptor::read(Some(self.name.as_fd()))];
        let _ = descriptors::wait(&mut ended, Some(limit));
    }

    /// Whether the kernel may have killed it for its memory.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        self.parent.as_ref().is_some_and(|parent| parent.ran_out_of_memory())
    }

    /// Its processor time, if known.
    pub(super) fn cpu(&self) -> Option<Duration> {
        self.number.and_then(process::cpu)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Receives one message and its descriptors.
fn hear(from: BorrowedFd<'_>, limit: Duration) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let until = Instant::now() + limit;
    let mut text = vec![0; 1_024];
    loop {
        let mut watched = [PolledDescriptor::read(Some(from))];
        let left = until.saturating_duration_since(Instant::now());
        descriptors::wait(&mut watched, Some(left))?;
        if watched.iter().any(|one| one.is_readable()) {
            break;
        }
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
    let (length, fds) = sockets::receive(from, &mut text)?;
    if length == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    text.truncate(length);
    Ok((text, fds))
}
