//! One connection, and what waits for it.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use antiphon_core::Fault;
use antiphon_runtime::store::Batch;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

use super::address::Address;
use super::fault::{self, Trouble};
use super::group::Group;
use super::link::Link;
use super::work::{Reply, Work};

/// What is to be done in a lane.
pub(super) enum Job {
    /// Says that everything before it is done.
    Pass(oneshot::Sender<()>),
    Work(Box<dyn Work>),
    Append(Batch, Reply<()>),
}

/// What the lanes of a store share.
pub(super) struct Shared {
    address: Address,
    /// The database was there: if it is not, it is likely to come back.
    hopeful: Cell<bool>,
}

/// Does what is asked, in order, over a connection of its own.
pub(super) struct Lane {
    shared: Rc<Shared>,
    jobs: UnboundedReceiver<Job>,
    /// The job that ended a group.
    next: Option<Job>,
    link: Option<Link>,
    /// What is done first when the database is there again.
    owed: Vec<Box<dyn Work>>,
}

impl Shared {
    pub(super) const fn new(address: Address) -> Self {
        Self { address, hopeful: Cell::new(true) }
    }
}

impl Lane {
    /// A connection that is not used for so long is closed.
    const IDLE: Duration = Duration::from_mins(5);
    /// A server that fails over may cut two connections in a row.
    const TRIES: u32 = 3;

    /// A lane with the connection that was opened for it, if one was.
    pub(super) const fn new(
        shared: Rc<Shared>,
        jobs: UnboundedReceiver<Job>,
        link: Option<Link>,
    ) -> Self {
        Self { shared, jobs, next: None, link, owed: Vec::new() }
    }

    /// Serves until nobody can ask any more and all is done.
    pub(super) async fn serve(mut self) {
        while let Some(job) = self.next_job().await {
            match job {
                Job::Pass(done) => drop(done.send(())),
                Job::Work(work) => self.carry_out(work).await,
                Job::Append(batch, reply) => {
                    let group = self.gather(batch, reply);
                    self.carry_out(Box::new(group)).await;
                }
            }
        }
        self.leave().await;
    }

    async fn next_job(&mut self) -> Option<Job> {
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
    fn gather(&mut self, batch: Batch, reply: Reply<()>) -> Group {
        let mut group = Group::default();
        group.add(batch, reply);
        while !group.is_full() && self.next.is_none() {
            match self.jobs.try_recv() {
                Ok(Job::Append(batch, reply)) => {
                    let refused = group.add(batch, reply);
                    self.next = refused.map(|(batch, reply)| Job::Append(batch, reply));
                }
                Ok(other) => self.next = Some(other),
                Err(_) => break,
            }
        }
        group
    }

    /// Does it; once more, and once again, if that may help.
    async fn carry_out(&mut self, mut work: Box<dyn Work>) {
        for tries in 1.. {
            let link = match self.connected().await {
                Ok(link) => link,
                Err(fault) => {
                    self.put_off(work, &fault);
                    return self.give_up(&fault);
                }
            };
            match work.run(link, tries > 1).await {
                Ok(()) => return,
                Err(Trouble::Undone(_)) if tries < Self::TRIES => {}
                Err(Trouble::Lost(_)) if tries < Self::TRIES => self.link = None,
                Err(trouble) => {
                    if matches!(trouble, Trouble::Lost(_)) {
                        self.link = None;
                    }
                    return self.put_off(work, &trouble.into_fault());
                }
            }
        }
    }

    async fn connected(&mut self) -> Result<&Link, Fault> {
        let is_well = match &self.link {
            Some(link) => link.is_well().await,
            None => false,
        };
        if !is_well {
            self.link = None;
            let link = self.connect().await?;
            while let Some(owed) = self.owed.first_mut() {
                if let Err(trouble) = owed.run(&link, true).await {
                    return Err(trouble.into_fault());
                }
                self.owed.remove(0);
            }
            self.link = Some(link);
        }
        self.link.as_ref().ok_or_else(fault::gone)
    }

    /// A new connection, as soon as there can be one.
    async fn connect(&self) -> Result<Link, Fault> {
        let Shared { address, hopeful } = &*self.shared;
        let until = Instant::now() + address.timeout();
        let mut pause = Duration::from_millis(20);
        loop {
            match Link::open(address).await {
                Ok(link) => {
                    hopeful.set(true);
                    return Ok(link);
                }
                Err(Trouble::Lost(_) | Trouble::Undone(_))
                    if hopeful.get()
                        && !self.jobs.is_closed()
                        && Instant::now() + pause < until =>
                {
                    sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_secs(1));
                }
                Err(trouble) => {
                    hopeful.set(false);
                    return Err(trouble.into_fault());
                }
            }
        }
    }

    /// Nobody who waits shall wait as long again.
    fn give_up(&mut self, fault: &Fault) {
        while let Some(job) = self.next.take().or_else(|| self.jobs.try_recv().ok()) {
            match job {
                Job::Pass(done) => drop(done.send(())),
                Job::Work(work) => self.put_off(work, fault),
                Job::Append(_, reply) => drop(reply.send(Err(fault.clone()))),
            }
        }
    }

    fn put_off(&mut self, mut work: Box<dyn Work>, fault: &Fault) {
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
