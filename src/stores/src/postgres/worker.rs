//! One connection and its queue of requests.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use antiphon_core::Fault;
use antiphon_runtime::store::{Entry, EntryBatch, EntryMark, EntryTag};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::address::Address;
use super::fault::{self, PostgresFault, PostgresResult};
use super::group::BatchGroup;
use super::link::Connection;
use super::query::{BatchedQuery, DeleteQuery, MarksQuery, QueryGroup, ReadQuery};
use super::retry::RetrySchedule;
use super::work::{RetriableWork, WorkReply};

/// A job for a worker.
pub(super) enum ConnectionJob {
    /// Signals that all earlier jobs are done.
    Pass(oneshot::Sender<()>),
    Work(Box<dyn RetriableWork>),
    Append(EntryBatch, WorkReply<()>),
    Read(ReadQuery, WorkReply<Vec<Entry>>),
    Marks(MarksQuery, WorkReply<Vec<(EntryMark, EntryTag)>>),
    Delete(DeleteQuery, WorkReply<bool>),
}

/// What the workers of a store share.
pub(super) struct PoolState {
    address: Address,
    /// Whether the database has answered before: then it is worth waiting for.
    hopeful: Cell<bool>,
}

/// Carries out jobs in order, over its own connection.
pub(super) struct ConnectionWorker {
    shared: Rc<PoolState>,
    jobs: UnboundedReceiver<ConnectionJob>,
    /// The job after a group, taken from the queue and not yet begun.
    next: Option<ConnectionJob>,
    link: Option<Connection>,
    /// Requests to carry out first once the database is back.
    owed: Vec<Box<dyn RetriableWork>>,
    /// The keys of connections that were lost with a statement pending.
    lost: Vec<i64>,
}

impl PoolState {
    pub(super) const fn new(address: Address) -> Self {
        Self { address, hopeful: Cell::new(true) }
    }
}

impl ConnectionWorker {
    /// A connection that is idle for longer is closed.
    const IDLE: Duration = Duration::from_mins(5);
    /// How long requests are retried when the store is being closed.
    const CLOSING: Duration = Duration::from_secs(5);

    /// A worker, with a connection if one is open.
    pub(super) const fn new(
        shared: Rc<PoolState>,
        jobs: UnboundedReceiver<ConnectionJob>,
        link: Option<Connection>,
    ) -> Self {
        Self { shared, jobs, next: None, link, owed: Vec::new(), lost: Vec::new() }
    }

    /// Carries out jobs until the queue is closed and empty.
    pub(super) async fn serve(mut self) {
        while let Some(job) = self.next_job().await {
            match job {
                ConnectionJob::Pass(done) => drop(done.send(())),
                ConnectionJob::Work(work) => self.carry_out(work).await,
                ConnectionJob::Append(batch, reply) => {
                    let group = self.gather(batch, reply);
                    self.carry_out(Box::new(group)).await;
                }
                ConnectionJob::Read(query, reply) => {
                    let group = self.gather_queries(query, reply, |job| match job {
                        ConnectionJob::Read(query, reply) => Ok((query, reply)),
                        other => Err(other),
                    });
                    self.carry_out(Box::new(group)).await;
                }
                ConnectionJob::Marks(query, reply) => {
                    let group = self.gather_queries(query, reply, |job| match job {
                        ConnectionJob::Marks(query, reply) => Ok((query, reply)),
                        other => Err(other),
                    });
                    self.carry_out(Box::new(group)).await;
                }
                ConnectionJob::Delete(query, reply) => {
                    let group = self.gather_queries(query, reply, |job| match job {
                        ConnectionJob::Delete(query, reply) => Ok((query, reply)),
                        other => Err(other),
                    });
                    self.carry_out(Box::new(group)).await;
                }
            }
        }
        self.leave().await;
    }

    async fn next_job(&mut self) -> Option<ConnectionJob> {
        if let Some(job) = self.next.take() {
            return Some(job);
        }
        if self.link.is_some() {
            if let Ok(job) = timeout(Self::IDLE, self.jobs.recv()).await {
                return job;
            }
            self.leave().await;
        }
        self.jobs.recv().await
    }

    /// Collects a batch and those queued directly behind it.
    fn gather(&mut self, batch: EntryBatch, reply: WorkReply<()>) -> BatchGroup {
        let mut group = BatchGroup::default();
        group.add(batch, reply);
        while !group.is_full() && self.next.is_none() {
            match self.jobs.try_recv() {
                Ok(ConnectionJob::Append(batch, reply)) => {
                    let refused = group.add(batch, reply);
                    self.next = refused.map(|(batch, reply)| ConnectionJob::Append(batch, reply));
                }
                Ok(other) => self.next = Some(other),
                Err(_) => break,
            }
        }
        group
    }

    /// Collects a query and those of the same kind queued directly behind it.
    fn gather_queries<Q: BatchedQuery>(
        &mut self,
        query: Q,
        reply: WorkReply<Q::Answer>,
        of_kind: impl Fn(ConnectionJob) -> Result<(Q, WorkReply<Q::Answer>), ConnectionJob>,
    ) -> QueryGroup<Q> {
        let mut group = QueryGroup::new(query, reply);
        while !group.is_full() && self.next.is_none() {
            match self.jobs.try_recv().map(&of_kind) {
                Ok(Ok((query, reply))) => group.add(query, reply),
                Ok(Err(other)) => self.next = Some(other),
                Err(_) => break,
            }
        }
        group
    }

    /// Carries out a request, and repeats it after a lost connection until it is done or its
    /// deadline is over.
    async fn carry_out(&mut self, mut work: Box<dyn RetriableWork>) {
        let mut retries = RetrySchedule::within(self.shared.address.timeout());
        let mut again = false;
        loop {
            let fault = match self.connected(&retries).await {
                Ok(link) => match work.run(link, std::mem::replace(&mut again, true)).await {
                    Ok(()) => return,
                    Err(fault) => fault,
                },
                Err(fault) => {
                    self.forget_connection(&fault);
                    if let Some(fault) = self.wait_for_database(&mut retries, fault).await {
                        self.shared.hopeful.set(false);
                        self.put_off(work, &fault);
                        return self.fail_queued(&fault);
                    }
                    continue;
                }
            };
            self.forget_connection(&fault);
            if let Err(fault) = retries.pause(fault, self.closing_deadline()).await {
                return self.put_off(work, &fault);
            }
        }
    }

    /// A usable connection on which no request is owed.
    async fn connected(&mut self, retries: &RetrySchedule) -> PostgresResult<&Connection> {
        let is_well = match &self.link {
            Some(link) => link.is_usable().await,
            None => false,
        };
        if !is_well {
            // No statement was pending on the old connection.
            self.link = None;
            let link = Connection::open(&self.shared.address, retries.left()).await?;
            self.shared.hopeful.set(true);
            while let Some(key) = self.lost.last() {
                link.end_process(*key).await?;
                self.lost.pop();
            }
            self.link = Some(link);
        }
        let link = self.link.as_ref().ok_or_else(fault::gone)?;
        while let Some(owed) = self.owed.first_mut() {
            owed.run(link, true).await?;
            self.owed.remove(0);
        }
        Ok(link)
    }

    /// Waits for a database that refuses connections; returns the failure if it is not waited
    /// for any longer.
    async fn wait_for_database(
        &self,
        retries: &mut RetrySchedule,
        fault: PostgresFault,
    ) -> Option<Fault> {
        match fault {
            PostgresFault::Failed(fault) => Some(fault),
            fault if !self.shared.hopeful.get() => Some(fault.into_fault()),
            // A store that is being closed does not wait until a server is back.
            PostgresFault::Absent(_) if self.jobs.is_closed() => Some(fault.into_fault()),
            fault => retries.pause(fault, self.closing_deadline()).await.err(),
        }
    }

    /// The deadline for jobs of a store that is being closed.
    fn closing_deadline(&self) -> Option<Duration> {
        self.jobs.is_closed().then_some(Self::CLOSING)
    }

    fn forget_connection(&mut self, fault: &PostgresFault) {
        if matches!(fault, PostgresFault::Lost(_) | PostgresFault::Absent(_))
            && let Some(link) = self.link.take()
        {
            self.lost.push(link.key());
        }
    }

    /// Fails the queued jobs too, so that none of them waits as long again.
    fn fail_queued(&mut self, fault: &Fault) {
        while let Some(job) = self.next.take().or_else(|| self.jobs.try_recv().ok()) {
            match job {
                ConnectionJob::Pass(done) => drop(done.send(())),
                ConnectionJob::Work(work) => self.put_off(work, fault),
                ConnectionJob::Append(_, reply) => drop(reply.send(Err(fault.clone()))),
                ConnectionJob::Read(_, reply) => drop(reply.send(Err(fault.clone()))),
                ConnectionJob::Marks(_, reply) => drop(reply.send(Err(fault.clone()))),
                ConnectionJob::Delete(_, reply) => drop(reply.send(Err(fault.clone()))),
            }
        }
    }

    fn put_off(&mut self, mut work: Box<dyn RetriableWork>, fault: &Fault) {
        work.fail(fault);
        if work.is_owed() {
            self.owed.push(work);
        }
    }

    async fn leave(&mut self) {
        if let Some(link) = self.link.take() {
            link.close().await;
        }
    }
}
