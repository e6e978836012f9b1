//! The thread that writes to a file, and the callers that need not wait for it.

use std::path::Path;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use antiphon_core::{Fault, Time};
use antiphon_runtime::store::{EntryBatch, StoreFuture};
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::chain::PendingBatch;
use super::file::SqliteFile;
use super::job::{GROUP, JobReply, SqliteJob, WriteJob, in_savepoint};
use super::open_file_guard::OpenFileGuard;
use super::queue::{Consumer, FlushMode, Producer, queue};
use super::{SqliteSettings, SyncLevel, fault};
use crate::process;

/// The most bytes that a caller writes itself, because it may have other things to do.
const AT_ONCE: usize = 64 * 1024;

pub(super) struct WriterThread {
    file: Arc<Mutex<SqliteFile>>,
    jobs: Option<Producer<SqliteJob>>,
    thread: Option<JoinHandle<()>>,
    /// The name of the file in messages.
    name: Arc<str>,
    /// Whether a commit flushes the disk.
    flushes: bool,
    /// A fork has no writer thread, and must not touch the file.
    process: u32,
}

impl WriterThread {
    pub(super) fn start(path: &Path, settings: SqliteSettings) -> Result<Self, Fault> {
        let open_file_guard = OpenFileGuard::begin()?;
        let name: Arc<str> = path.display().to_string().into();
        let (jobs, mut todo) = queue(settings.delay);
        let (opened, answer) = channel();
        let path = path.to_owned();
        let work = move || {
            let file = SqliteFile::open(&path, settings).map(|file| Arc::new(Mutex::new(file)));
            // The caller that opened the store may be gone.
            let _ = opened.send(file.clone());
            if let Ok(file) = file {
                serve(&file, &mut todo);
            }
            drop(open_file_guard);
        };
        let thread = std::thread::Builder::new().name("antiphon-sqlite".into()).spawn(work);
        let thread = thread.map_err(|error| thread_not_started(&error))?;
        let file = answer.recv().unwrap_or_else(|_| Err(fault::gone()));
        let file = file.map_err(|fault| fault::about(fault, &name))?;
        Ok(Self {
            file,
            jobs: Some(jobs),
            thread: Some(thread),
            name,
            flushes: settings.sync == SyncLevel::Power,
            process: process::id(),
        })
    }

    pub(super) fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> StoreFuture<T> {
        let (sender, answer) = oneshot::channel();
        let look = Box::new(move |file: Result<&Connection, Fault>| {
            // The caller may be gone.
            let _ = sender.send(file.and_then(work));
        });
        self.put(SqliteJob::Read(look), FlushMode::Now);
        self.answered(answer)
    }

    pub(super) fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> StoreFuture<T> {
        let (sender, answer) = oneshot::channel();
        let change = Box::new(move |file: Result<&Connection, &Fault>| {
            let done = file.map_err(Fault::clone).and_then(|file| in_savepoint(file, work));
            let reply = move |held: Result<(), Fault>| {
                let _ = sender.send(done.and_then(|done| held.map(|()| done)));
            };
            Box::new(reply) as _
        });
        self.put(SqliteJob::Write(WriteJob::Change(change)), FlushMode::Now);
        self.answered(answer)
    }

    /// [`WriterThread::write`] for changes that take less time than waking the thread.
    pub(super) fn write_little<T: Send + 'static>(
        &self,
        work: impl Fn(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> StoreFuture<T> {
        match self.at_once(&work) {
            Some(done) => self.answer(done),
            None => self.write(work),
        }
    }

    pub(super) fn append(
        &self,
        batch: EntryBatch,
        now: Time,
        flush_mode: FlushMode,
    ) -> StoreFuture<()> {
        let size: usize = batch.entries.iter().map(|entry| entry.body.len()).sum();
        if flush_mode == FlushMode::Now
            && size <= AT_ONCE
            && let Some(done) =
                self.at_once(&|file| super::statements::append(file, &[&batch], now))
        {
            return self.answer(done);
        }
        let (sender, answer) = oneshot::channel();
        self.put(
            SqliteJob::Write(WriteJob::Append(PendingBatch { batch, now, reply: sender })),
            flush_mode,
        );
        let name = Arc::clone(&self.name);
        Box::pin(async move {
            let held = answer.await.map_or_else(|_| Err(fault::gone()), |(held, _)| held);
            held.map_err(|fault| fault::about(fault, &name))
        })
    }

    /// Makes a change on the calling thread, if it need not wait for another change, another
    /// process or the disk.
    fn at_once<T>(
        &self,
        work: &dyn Fn(&Connection) -> Result<T, Fault>,
    ) -> Option<Result<T, Fault>> {
        if self.flushes || !self.is_own() {
            return None;
        }
        let jobs = self.jobs.as_ref()?;
        let mut file = self.file.try_lock().ok()?;
        if !jobs.is_idle() {
            return None;
        }
        let done = file.at_once(|change| {
            let done = work(&change)?;
            change.commit().map_err(|error| fault::of(&error)).map(|()| done)
        });
        let wants_rest = file.wants_rest();
        drop(file);
        if wants_rest {
            jobs.request_rest();
        }
        done.unwrap_or_else(|fault| Some(Err(fault)))
    }

    fn is_own(&self) -> bool {
        self.process == process::id()
    }

    fn answer<T: Send + 'static>(&self, done: Result<T, Fault>) -> StoreFuture<T> {
        let done = done.map_err(|fault| fault::about(fault, &self.name));
        Box::pin(std::future::ready(done))
    }

    fn answered<T: Send + 'static>(
        &self,
        answer: oneshot::Receiver<Result<T, Fault>>,
    ) -> StoreFuture<T> {
        let name = Arc::clone(&self.name);
        Box::pin(async move {
            let answer = answer.await.unwrap_or_else(|_| Err(fault::gone()));
            answer.map_err(|fault| fault::about(fault, &name))
        })
    }

    fn put(&self, job: SqliteJob, flush_mode: FlushMode) {
        // If there is no thread, the reply reports it.
        if let Some(jobs) = self.jobs.as_ref().filter(|_| self.is_own()) {
            jobs.put(job, flush_mode);
        }
    }
}

impl Drop for WriterThread {
    /// Queued changes are still written.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(file: &Mutex<SqliteFile>, queue: &mut Consumer<SqliteJob>) {
    let backlog = lock(file).backlog();
    let mut waiting = None;
    while let Some(job) = waiting.take().or_else(|| queue.next(|| backlog.clear())) {
        match job {
            SqliteJob::Read(work) => work(lock(file).look()),
            SqliteJob::Write(first) => waiting = write(file, first, queue),
        }
    }
}

fn lock(file: &Mutex<SqliteFile>) -> MutexGuard<'_, SqliteFile> {
    file.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes one change and the queued ones that can be combined with it; returns the job that
/// ended the group, if one did.
fn write(
    file: &Mutex<SqliteFile>,
    first: WriteJob,
    queue: &mut Consumer<SqliteJob>,
) -> Option<SqliteJob> {
    let mut file = lock(file);
    let group = match file.begin() {
        Ok(group) => group,
        Err(fault) => {
            first.refuse(&fault);
            return None;
        }
    };
    let (replies, next) = carry_out(&group, first, queue);
    let held = if group.is_autocommit() {
        drop(group);
        Err(fault::undone())
    } else {
        group.commit().map_err(|error| fault::of(&error))
    };
    // Unlocked before the answers: callers that continue may write again.
    drop(file);
    for reply in replies {
        reply(held.clone());
    }
    next
}

fn carry_out(
    file: &Connection,
    first: WriteJob,
    queue: &mut Consumer<SqliteJob>,
) -> (Vec<JobReply>, Option<SqliteJob>) {
    let (mut replies, mut size) = (Vec::new(), 0);
    let mut next = Some(SqliteJob::Write(first));
    // Some failures, such as a full disk, roll back the whole transaction.
    while size < GROUP && !file.is_autocommit() {
        match next.take().or_else(|| queue.more()) {
            Some(SqliteJob::Write(write)) => {
                let (reply, changes, behind) = write.carry_out(file, queue);
                replies.push(reply);
                (size, next) = (size + changes, behind);
            }
            other => return (replies, other),
        }
    }
    (replies, next)
}

fn thread_not_started(error: &std::io::Error) -> Fault {
    let message = format!("a thread for the store could not be started: {error}");
    Fault::new(antiphon_core::FaultCode::StoreFailed, message)
        .hint("stop some threads or processes")
}
