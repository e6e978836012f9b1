//! The thread that drives the connections, and the requests to it.

use std::rc::Rc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use antiphon_core::Fault;
use antiphon_runtime::store::{Entry, EntryBatch, EntryMark, EntryTag, StoreFuture};
use futures_util::future::join_all;
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use twox_hash::XxHash3_64;

use super::address::Address;
use super::fault::{self, PostgresFault, PostgresResult};
use super::link::Connection;
use super::query::{DeleteQuery, MarksQuery, ReadQuery};
use super::retry::RetrySchedule;
use super::work::{IdempotentWork, WorkReply, answered};
use super::worker::{ConnectionJob, ConnectionWorker, PoolState};

/// A few connections, each owned by one worker. All requests about one thread go to the same
/// worker, which keeps their order.
pub(super) struct ConnectionPool {
    workers: Vec<UnboundedSender<ConnectionJob>>,
    thread: Option<JoinHandle<()>>,
}

impl ConnectionPool {
    /// Connects once, so that errors are reported at once.
    pub(super) fn start(address: Address, size: usize) -> Result<Self, Fault> {
        let (workers, queues) = (0..size).map(|_| unbounded_channel()).unzip();
        let (opened, answer) = sync_channel(1);
        let work = move || serve(address, queues, &opened);
        let thread = std::thread::Builder::new().name("antiphon-postgres".into()).spawn(work);
        let thread = thread.map_err(|error| fault::thread_not_started(&error))?;
        answer.recv().map_err(|_| fault::gone())??;
        Ok(Self { workers, thread: Some(thread) })
    }

    /// Requests work on a thread. It must be idempotent.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        thread: &str,
        work: impl AsyncFnMut(&Connection) -> PostgresResult<T> + Send + 'static,
    ) -> StoreFuture<T> {
        let (work, answer) = IdempotentWork::of(work, false);
        self.send(self.worker_of(thread), ConnectionJob::Work(work));
        answer
    }

    /// As [`Self::ask`]; if the database is away, the caller receives the fault, and the work is
    /// still done once the database is back.
    pub(super) fn ask_owed<T: Send + 'static>(
        &self,
        thread: &str,
        work: impl AsyncFnMut(&Connection) -> PostgresResult<T> + Send + 'static,
    ) -> StoreFuture<T> {
        let (work, answer) = IdempotentWork::of(work, true);
        self.send(self.worker_of(thread), ConnectionJob::Work(work));
        answer
    }

    /// Requests work on all threads, to be done after all earlier requests.
    pub(super) fn ask_after_all<T: Send + 'static>(
        &self,
        mut work: impl AsyncFnMut(&Connection) -> PostgresResult<T> + Send + 'static,
    ) -> StoreFuture<T> {
        let mut passed: Vec<_> = (1..self.workers.len())
            .map(|worker| {
                let (pass, passed) = oneshot::channel();
                self.send(worker, ConnectionJob::Pass(pass));
                passed
            })
            .collect();
        let work = async move |link: &Connection| {
            // A worker that has ended has nothing left to do.
            join_all(passed.drain(..)).await;
            work(link).await
        };
        let (work, answer) = IdempotentWork::of(work, false);
        self.send(0, ConnectionJob::Work(work));
        answer
    }

    /// Appends a batch, possibly in one statement with others.
    pub(super) fn append(&self, batch: EntryBatch) -> StoreFuture<()> {
        self.queue(self.worker_of(&batch.thread), |reply| ConnectionJob::Append(batch, reply))
    }

    /// Reads entries, possibly in one statement with those of other threads.
    pub(super) fn read(&self, query: ReadQuery) -> StoreFuture<Vec<Entry>> {
        self.queue(self.worker_of(&query.thread), |reply| ConnectionJob::Read(query, reply))
    }

    /// Reads marks, in the same way.
    pub(super) fn marks(&self, query: MarksQuery) -> StoreFuture<Vec<(EntryMark, EntryTag)>> {
        self.queue(self.worker_of(&query.thread), |reply| ConnectionJob::Marks(query, reply))
    }

    /// Deletes a thread, possibly in one statement with others.
    pub(super) fn delete(&self, query: DeleteQuery) -> StoreFuture<bool> {
        self.queue(self.worker_of(&query.thread), |reply| ConnectionJob::Delete(query, reply))
    }

    fn queue<T: Send + 'static>(
        &self,
        worker: usize,
        job: impl FnOnce(WorkReply<T>) -> ConnectionJob,
    ) -> StoreFuture<T> {
        let (reply, answer) = oneshot::channel();
        self.send(worker, job(reply));
        answered(answer)
    }

    fn worker_of(&self, thread: &str) -> usize {
        let hash = XxHash3_64::oneshot(thread.as_bytes());
        usize::try_from(hash % self.workers.len() as u64).unwrap_or_default()
    }

    fn send(&self, worker: usize, job: ConnectionJob) {
        if let Some(worker) = self.workers.get(worker) {
            // If the worker is gone, the reply reports it.
            let _ = worker.send(job);
        }
    }
}

impl Drop for ConnectionPool {
    /// Queued requests are still carried out, unless the database is away.
    fn drop(&mut self) {
        self.workers.clear();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(
    address: Address,
    queues: Vec<UnboundedReceiver<ConnectionJob>>,
    opened: &SyncSender<Result<(), Fault>>,
) {
    // The caller that opened the store may be gone.
    let tell = |result| drop(opened.send(result));
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return tell(Err(fault::thread_not_started(&error))),
    };
    let first = match runtime.block_on(open_first(&address)) {
        Ok(link) => link,
        Err(fault) => return tell(Err(fault)),
    };
    tell(Ok(()));
    let shared = Rc::new(PoolState::new(address));
    let mut links = Some(first).into_iter();
    let workers = queues
        .into_iter()
        .map(|queue| ConnectionWorker::new(Rc::clone(&shared), queue, links.next()).serve());
    runtime.block_on(join_all(workers));
}

/// The connection that proves that the database exists. If no server answers, the caller gets the error
/// at once, because the address is probably wrong.
async fn open_first(address: &Address) -> Result<Connection, Fault> {
    let mut retries = RetrySchedule::within(address.timeout());
    let mut was_there = false;
    loop {
        let fault = match Connection::open(address, retries.left()).await {
            Ok(link) => return Ok(link),
            Err(fault) => fault,
        };
        was_there |= matches!(fault, PostgresFault::Lost(_) | PostgresFault::Undone(_));
        match fault {
            PostgresFault::Failed(fault) => return Err(fault),
            fault if !was_there => return Err(fault.into_fault()),
            fault => retries.pause(fault, None).await?,
        }
    }
}
