//! The thread that owns a connection.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;

use antiphon_core::Fault;
use antiphon_runtime::store::Answer;
use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::oneshot;

use super::anchor::Anchor;
use super::backlog::Backlog;
use super::tenure::Tenure;
use super::{Settings, fault, schema};

/// So many changes at most go into one transaction.
const GROUP: usize = 512;

/// Tells whoever asked, once it is known whether the transaction holds.
type Reply = Box<dyn FnOnce(Result<(), Fault>) + Send>;

/// Makes one change, or hears why there is no transaction to make it in.
type Change = Box<dyn FnOnce(Result<&Connection, &Fault>) -> Reply + Send>;

/// Looks something up, or hears why it cannot.
type Look = Box<dyn FnOnce(Result<&Connection, Fault>) + Send>;

enum Job {
    Read(Look),
    Write(Change),
}

pub(super) struct Writer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    /// What the file is called in messages.
    name: Arc<str>,
}

impl Writer {
    pub(super) fn start(path: &Path, settings: Settings) -> Result<Self, Fault> {
        let tenure = Tenure::begin()?;
        let (jobs, queue) = channel();
        let (opened, answer) = channel();
        let name: Arc<str> = path.display().to_string().into();
        let path = path.to_owned();
        let work = move || {
            let file = open(&path, settings);
            let failed = file.as_ref().err().cloned();
            // Nobody listens any more if the opener was interrupted.
            let _ = opened.send(failed.map_or(Ok(()), Err));
            if let Ok((file, anchor, backlog)) = file {
                serve(file, &anchor, &backlog, &queue);
            }
            drop(tenure);
        };
        let thread = std::thread::Builder::new().name("antiphon-sqlite".into()).spawn(work);
        let thread = thread.map_err(|error| unstarted(&error))?;
        let opened = answer.recv().unwrap_or_else(|_| Err(fault::gone()));
        opened.map_err(|fault| fault::about(fault, &name))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), name })
    }

    pub(super) fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Answer<T> {
        let (sender, answer) = oneshot::channel();
        self.send(Job::Read(Box::new(move |file| {
            // Whoever asked may have gone.
            let _ = sender.send(file.and_then(work));
        })));
        self.answered(answer)
    }

    pub(super) fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Answer<T> {
        let (sender, answer) = oneshot::channel();
        self.send(Job::Write(Box::new(move |file| {
            let done = file.map_err(Fault::clone).and_then(|file| in_savepoint(file, work));
            Box::new(move |held| {
                let _ = sender.send(done.and_then(|done| held.map(|()| done)));
            })
        })));
        self.answered(answer)
    }

    fn answered<T: Send + 'static>(
        &self,
        answer: oneshot::Receiver<Result<T, Fault>>,
    ) -> Answer<T> {
        let name = Arc::clone(&self.name);
        Box::pin(async move {
            let answer = answer.await.unwrap_or_else(|_| Err(fault::gone()));
            answer.map_err(|fault| fault::about(fault, &name))
        })
    }

    fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // If the thread is gone, the answer says so.
            let _ = jobs.send(job);
        }
    }
}

impl Drop for Writer {
    /// What was queued is still written.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn open(path: &PathBuf, settings: Settings) -> Result<(Connection, Anchor, Backlog), Fault> {
    let mut file = Connection::open(path).map_err(|error| fault::of(&error))?;
    schema::prepare(&mut file, settings)?;
    let backlog = Backlog::of(&mut file)?;
    Ok((file, Anchor::of(path), backlog))
}

fn serve(mut file: Connection, anchor: &Anchor, backlog: &Backlog, queue: &Receiver<Job>) {
    let mut waiting = None;
    let next = |file: &Connection| match queue.try_recv() {
        Err(TryRecvError::Empty) => {
            backlog.clear(file);
            queue.recv().ok()
        }
        job => job.ok(),
    };
    while let Some(job) = waiting.take().or_else(|| next(&file)) {
        match job {
            Job::Read(work) => work(anchor.check().map(|()| &file)),
            Job::Write(work) => match anchor.check() {
                Ok(()) => waiting = write(&mut file, work, queue),
                Err(fault) => work(Err(&fault))(Ok(())),
            },
        }
    }
}

/// Writes one change and those that are queued behind it; gives back the job
/// that ended the group, if one did.
fn write(file: &mut Connection, first: Change, queue: &Receiver<Job>) -> Option<Job> {
    let group = match file.transaction_with_behavior(TransactionBehavior::Immediate) {
        Ok(group) => group,
        Err(error) => {
            first(Err(&fault::of(&error)))(Ok(()));
            return None;
        }
    };
    let mut replies = vec![first(Ok(&group))];
    let mut next = None;
    // Some failures, such as a full disk, end the whole transaction.
    while replies.len() < GROUP && next.is_none() && !group.is_autocommit() {
        match queue.try_recv() {
            Ok(Job::Write(change)) => replies.push(change(Ok(&group))),
            Ok(other) => next = Some(other),
            Err(_) => break,
        }
    }
    let held = if group.is_autocommit() {
        Err(fault::undone())
    } else {
        group.commit().map_err(|error| fault::of(&error))
    };
    for reply in replies {
        reply(held.clone());
    }
    next
}

/// One change of a group: what fails leaves nothing behind.
fn in_savepoint<T>(
    file: &Connection,
    work: impl FnOnce(&Connection) -> Result<T, Fault>,
) -> Result<T, Fault> {
    said(file, "SAVEPOINT change")?;
    let done = work(file);
    let undone = if done.is_ok() { Ok(()) } else { said(file, "ROLLBACK TO change") };
    let ended = undone.and_then(|()| said(file, "RELEASE change"));
    done.and_then(|done| ended.map(|()| done))
}

/// What is said for every change is understood once.
fn said(file: &Connection, words: &str) -> Result<(), Fault> {
    let said = file.prepare_cached(words).and_then(|mut words| words.execute([]));
    said.map(|_| ()).map_err(|error| fault::of(&error))
}

fn unstarted(error: &std::io::Error) -> Fault {
    let message = format!("a thread for the store could not be started: {error}");
    Fault::new(antiphon_core::Category::State, "store_failed", message)
        .hint("end some of the threads or processes that run")
}
