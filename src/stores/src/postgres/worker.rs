//! One connection, and what waits for it.

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
use super::query::{DeleteQuery, MarksQuery, Query, QueryGroup, ReadQuery};
use super::retry::RetrySchedule;
use super::work::{RetriableWork, WorkReply};

/// What is to be done in a worker.
pub(super) enum ConnectionJob {
    /// Says that everything before it is done.
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
    /// The database was there: if it is not, it is likely to come back.
    hopeful: Cell<bool>,
}

/// Does what is asked, in order, over a connection of its own.
pub(super) struct ConnectionWorker {
    shared: Rc<PoolState>,
    jobs: UnboundedReceiver<ConnectionJob>,
    /// The job that ended a group.
    next: Option<ConnectionJob>,
    link: Option<Connection>,
    /// What is done first when the database is there again.
    owed: Vec<Box<dyn RetriableWork>>,
    /// The keys of connections that were lost while something was under way.
    lost: Vec<i64>,
}

impl PoolState {
    pub(super) const fn new(address: Address) -> Self {
        Self { address, hopeful: Cell::new(true) }
    }
}

impl ConnectionWorker {
    /// A connection that is not used for so long is closed.
    const IDLE: Duration = Duration::from_mins(5);
    /// What is left when the store is closed is tried for so long.
    const CLOSING: Duration = Duration::from_secs(5);

    /// A worker with the connection that was opened for it, if one was.
    pub(super) const fn new(
        shared: Rc<PoolState>,
        jobs: UnboundedReceiver<ConnectionJob>,
        link: Option<Connection>,
    ) -> Self {
        Self { shared, jobs, next: None, link, owed: Vec::new(), lost: Vec::new() }
    }

    /// Serves until nobody can ask any more and all is done.
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

    /// A batch, and those that wait behind it.
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

    /// A question, and those of the same kind that wait behind it.
    fn gather_queries<Q: Query>(
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

    /// Does it, and again where a connection was lost, until it is known to be
    /// done or time is up.
    async fn carry_out(&mut self, mut work: Box<dyn RetriableWork>) {
        let mut retries = RetrySchedule::within(self.shared.address.timeout());
        let mut again = false;
        loop {
            let trouble = match self.connected(&retries).await {
                Ok(link) => match work.run(link, std::mem::replace(&mut again, true)).await {
                    Ok(()) => return,
                    Err(trouble) => trouble,
                },
                Err(trouble) => {
                    self.lose(&trouble);
                    if let Some(fault) = self.stays_away(&mut retries, trouble).await {
                        self.shared.hopeful.set(false);
                        self.put_off(work, &fault);
                        return self.give_up(&fault);
                    }
                    continue;
                }
            };
            self.lose(&trouble);
            if let Err(fault) = retries.pause(trouble, self.haste()).await {
                return self.put_off(work, &fault);
            }
        }
    }

    /// A connection that can be used, on which nothing is owed.
    async fn connected(&mut self, retries: &RetrySchedule) -> PostgresResult<&Connection> {
        let is_well = match &self.link {
            Some(link) => link.is_well().await,
            None => false,
        };
        if !is_well {
            // Nothing was under way on it.
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

    /// Waits for a database that does not let us in; says why, if it is not
    /// waited for any longer.
    async fn stays_away(
        &self,
        retries: &mut RetrySchedule,
        trouble: PostgresFault,
    ) -> Option<Fault> {
        match trouble {
            PostgresFault::Failed(fault) => Some(fault),
            trouble if !self.shared.hopeful.get() => Some(trouble.into_fault()),
            // Whoever closes the store waits for no server to come back.
            PostgresFault::Absent(_) if self.jobs.is_closed() => Some(trouble.into_fault()),
            trouble => retries.pause(trouble, self.haste()).await.err(),
        }
    }

    /// How long a job may still be tried if the store is being closed.
    fn haste(&self) -> Option<Duration> {
        self.jobs.is_closed().then_some(Self::CLOSING)
    }

    fn lose(&mut self, trouble: &PostgresFault) {
        if matches!(trouble, PostgresFault::Lost(_) | PostgresFault::Absent(_))
            && let Some(link) = self.link.take()
        {
            self.lost.push(link.key());
        }
    }

    /// Nobody who waits shall wait as long again.
    fn give_up(&mut self, fault: &Fault) {
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
