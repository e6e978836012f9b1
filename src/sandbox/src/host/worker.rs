//! A worker, as its host sees it: three streams, a name, and news of its end.

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
/// How long the news of an end may take.
const NEWS: Duration = Duration::from_secs(5);

/// A worker. Dropping it kills it, and waits until it is gone.
pub(super) struct Worker {
    process: u32,
    pub(super) channel: UnixStream,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    status: OwnedFd,
    name: OwnedFd,
    /// Its number among the host's processes, where those can be seen.
    number: Option<i32>,
    /// What the system says of it, as long as it is there.
    about: Option<File>,
    end: Option<ProcessEnd>,
    pub(super) parser: FrameParser,
    /// Whether it may have read one to its end: it knows nothing of it before.
    pub(super) has_begun: bool,
    /// Where it came from, which is not given up before it.
    pub(super) parent: Option<Arc<ZygoteProcess>>,
}

impl Worker {
    /// Asks a zygote for one.
    pub(super) fn ask(control: BorrowedFd<'_>, request: WorkerRequest) -> io::Result<Self> {
        let (channel, theirs) = UnixStream::pair()?;
        let (stdout, out) = io::pipe()?;
        let (stderr, err) = io::pipe()?;
        let (status, news) = sockets::pair()?;
        let given = [theirs.as_fd(), out.as_fd(), err.as_fd(), news.as_fd()];
        sockets::send(control, &[request.byte()], &given)?;
        // Only theirs are left, so that their end is seen here.
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
            has_begun: false,
            parent: None,
        })
    }

    /// Whether it has not ended yet.
    pub(super) fn is_alive(&self) -> bool {
        let mut ended = [PolledDescriptor::read(Some(self.name.as_fd()))];
        let waited = descriptors::wait(&mut ended, Some(Duration::ZERO));
        waited.is_ok() && ended.iter().all(|one| !one.is_readable())
    }

    /// Kills it, and says how it ended: by that, or before it by something
    /// else. Nothing if the zygote does not say.
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

    /// Most bytes that were resident at once, as far as the system tells.
    pub(super) fn memory(&self) -> Option<u64> {
        self.about.as_ref().and_then(process::memory)
    }

    /// Kills it, and leaves it to whoever drops it to wait until it is gone.
    pub(super) fn kill(&self) {
        process::kill(self.name.as_fd());
    }

    /// Stops it where it is: it takes no processor time and says nothing until it is resumed.
    pub(super) fn stop(&self) {
        process::stop(self.name.as_fd());
    }

    /// Lets it go on.
    pub(super) fn resume(&self) {
        process::resume(self.name.as_fd());
    }

    /// Waits a moment for its own end, which its closed channel announces.
    pub(super) fn wait_for_end(&self, limit: Duration) {
        let mut ended = [PolledDescriptor::read(Some(self.name.as_fd()))];
        let _ = descriptors::wait(&mut ended, Some(limit));
    }

    /// Whether want of memory may have ended it.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        self.parent.as_ref().is_some_and(|parent| parent.ran_out_of_memory())
    }

    /// Processor time so far, as far as the system tells.
    pub(super) fn cpu(&self) -> Option<Duration> {
        self.number.and_then(process::cpu)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.finish();
    }
}

/// One message, with the descriptors that came with it.
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
