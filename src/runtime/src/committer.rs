//! Hands the commits of one run to its thread, and the answers of the store to the run.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use antiphon_core::checkpoint::{Commit, CommitChange, GraphSnapshot};
use antiphon_core::effect::Ending;
use antiphon_core::run::Run;
use antiphon_core::value::Value;
use antiphon_core::{Fault, Time};
use serde_json::Value as Json;

use crate::store::StoreFuture;
use crate::thread_ref::{RunOrigin, ThreadLease};

/// Why a run has ended that its driver has abandoned.
const ABANDONED: &str = "its caller has stopped waiting";

/// The commits of one run on their way into its thread.
///
/// A driver calls [`RunCommitter::commit`] for each [`Effect::Commit`], polls
/// [`RunCommitter::poll_durable`] while [`RunCommitter::is_waiting`], and hands the result to
/// [`RunCommitter::acknowledge`]. It shows an end or a pause of the run only after
/// [`RunCommitter::poll_closed`], when the thread has recorded it and is free.
///
/// [`Effect::Commit`]: antiphon_core::effect::Effect::Commit
pub struct RunCommitter<V = Json> {
    /// `None` if the run is kept in no thread, or has left its thread.
    lease: Option<Box<dyn ThreadLease<V>>>,
    /// Accepts commits without storing them: the run was over before it was
    /// resumed, or the store has failed.
    discards: bool,
    has_committed: bool,
    awaited: Option<PendingCommit>,
    closing: Option<StoreFuture<()>>,
    fault: Option<Fault>,
    storage_fault: Option<Fault>,
    checkpoint: u64,
}

/// A commit that must be durable before the run continues.
struct PendingCommit {
    /// `None` for what precedes the first step of the run.
    id: Option<u64>,
    durable: StoreFuture<()>,
}

/// The store's answer to a commit.
#[derive(Debug)]
pub struct CommitAnswer {
    id: Option<u64>,
    stored: Result<(), Fault>,
}

impl<V> RunCommitter<V> {
    /// For a run that is kept nowhere: its commits are accepted at once.
    pub const fn detached() -> Self {
        Self {
            lease: None,
            discards: true,
            has_committed: false,
            awaited: None,
            closing: None,
            fault: None,
            storage_fault: None,
            checkpoint: 0,
        }
    }

    /// For a run that is kept in a thread.
    pub fn new(lease: Box<dyn ThreadLease<V>>) -> Self {
        Self { lease: Some(lease), discards: false, ..Self::detached() }
    }

    /// Whether the store still has to answer to a commit.
    pub const fn is_waiting(&self) -> bool {
        self.awaited.is_some()
    }

    /// Whether the run may take no step before the store has answered: the answers it
    /// is resumed with, or its start, are not durable.
    pub fn is_blocked(&self) -> bool {
        self.awaited.as_ref().is_some_and(|awaited| awaited.id.is_none())
    }

    /// The checkpoint that was written or found last, once the thread was left; 0 if there
    /// is none.
    pub const fn checkpoint(&self) -> u64 {
        self.checkpoint
    }

    /// The store's answer to the commit that is waited for; pending for ever if there is none.
    pub fn poll_durable(&mut self, cx: &mut Context<'_>) -> Poll<CommitAnswer> {
        let Some(PendingCommit { id, durable }) = &mut self.awaited else { return Poll::Pending };
        let stored = ready!(durable.as_mut().poll(cx));
        let answer = CommitAnswer { id: *id, stored };
        self.awaited = None;
        Poll::Ready(answer)
    }

    /// [`RunCommitter::poll_durable`] as a future that can be dropped without losing the answer.
    pub async fn durable(&mut self) -> CommitAnswer {
        poll_fn(|cx| self.poll_durable(cx)).await
    }

    /// Leaves the thread, once all commits are durable.
    ///
    /// # Errors
    /// Why commits were not stored.
    pub fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        if self.closing.is_none() {
            self.closing = self.close();
        }
        let closed = match &mut self.closing {
            Some(closing) => ready!(closing.as_mut().poll(cx)),
            None => Ok(()),
        };
        self.closing = None;
        let closed = self.fault.take().map_or(closed, Err);
        if let Err(fault) = &closed {
            self.storage_fault.get_or_insert_with(|| fault.clone());
        }
        Poll::Ready(closed)
    }

    /// [`RunCommitter::poll_closed`] as a future.
    ///
    /// # Errors
    /// As [`RunCommitter::poll_closed`].
    pub async fn closed(&mut self) -> Result<(), Fault> {
        poll_fn(|cx| self.poll_closed(cx)).await
    }

    /// Why the thread does not have all commits, once it was left.
    pub const fn storage_fault(&self) -> Option<&Fault> {
        self.storage_fault.as_ref()
    }

    /// Leaves the thread without waiting; `None` if it was left before.
    pub fn close(&mut self) -> Option<StoreFuture<()>> {
        self.discards = true;
        self.awaited = None;
        let lease = self.lease.take()?;
        self.checkpoint = lease.checkpoint();
        Some(lease.close())
    }

    /// Lets the run take no step before this is durable.
    pub fn block_on(&mut self, durable: StoreFuture<()>) {
        self.awaited = Some(PendingCommit { id: None, durable });
    }

    pub(crate) fn begin(&mut self, run: &RunOrigin) {
        if let Some(lease) = &mut self.lease {
            lease.begin(run);
        }
    }

    /// Accepts the commits of a run that is over without storing them.
    pub(crate) const fn discard(&mut self) {
        self.discards = true;
    }

    /// Stores the answers that a run is resumed with.
    pub(crate) fn commit_answers(&mut self, commits: &[Commit<V>], now: Time) -> Result<(), Fault> {
        let mut pending = Vec::new();
        for commit in commits {
            pending.extend(self.store(commit, &|| None, now)?);
        }
        if !pending.is_empty() {
            self.block_on(Box::pin(async move {
                for durable in pending {
                    durable.await?;
                }
                Ok(())
            }));
        }
        Ok(())
    }

    fn store(
        &mut self,
        commit: &Commit<V>,
        graph_snapshot: &dyn Fn() -> Option<GraphSnapshot<V>>,
        now: Time,
    ) -> Result<Option<StoreFuture<()>>, Fault> {
        match self.lease.as_mut().filter(|_| !self.discards) {
            None => Ok(None),
            Some(lease) => {
                let durable = lease.keep(commit, graph_snapshot, now)?;
                self.has_committed = true;
                Ok(durable)
            }
        }
    }
}

impl<V: Value> RunCommitter<V> {
    /// Stores the commits of the run.
    pub fn commit(&mut self, run: &mut Run<V>, commit: &Commit<V>, now: Time) {
        match self.store(commit, &|| run.graph_snapshot(), now) {
            Ok(None) => run.committed(commit.id),
            Ok(Some(durable)) => {
                self.awaited = Some(PendingCommit { id: Some(commit.id), durable });
            }
            Err(fault) => self.fail(run, fault, now),
        }
    }

    /// Stores the start or the outcome of a call. A returned future has to finish before
    /// the call is made, or its task continues.
    ///
    /// # Errors
    /// Why nothing can be stored any more; the run is cancelled then.
    pub fn commit_call(
        &mut self,
        run: &mut Run<V>,
        commit: &Commit<V>,
        now: Time,
    ) -> Result<Option<StoreFuture<()>>, Fault> {
        let stored = self.store(commit, &|| None, now);
        stored.inspect_err(|fault| self.fail(run, fault.clone(), now))
    }

    /// Passes the store's answer to the run.
    pub fn acknowledge(&mut self, run: &mut Run<V>, answer: CommitAnswer, now: Time) {
        match answer.stored {
            Ok(()) => run.committed(answer.id.unwrap_or_default()),
            Err(fault) => self.fail(run, fault, now),
        }
    }

    /// Ends a run that nobody will drive any more: its thread says that it was cancelled.
    pub fn abandon(&mut self, run: &Run<V>, now: Time) -> Option<StoreFuture<()>> {
        // Until its first commit the thread belongs to the run before.
        if self.has_committed {
            let (spent, events) = (*run.budget().spent(), run.event_count());
            let change = CommitChange::Ended(Ok(Ending::Cancelled(ABANDONED.to_owned())));
            let commit = Commit { id: 0, within: Vec::new(), spent, events, change };
            // It is queued. If the store refuses it, the thread shows an orphaned run.
            drop(self.store(&commit, &|| run.graph_snapshot(), now));
        }
        self.close()
    }

    /// Cancels the run, because nothing of it can be stored any more.
    fn fail(&mut self, run: &mut Run<V>, fault: Fault, now: Time) {
        self.discards = true;
        run.cancel(fault.code.as_str(), now);
        self.fault.get_or_insert(fault);
        run.abandon_commits();
    }
}

impl<V> std::fmt::Debug for RunCommitter<V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { discards, fault, checkpoint, .. } = self;
        f.debug_struct("RunCommitter")
            .field("discards", discards)
            .field("fault", fault)
            .field("checkpoint", checkpoint)
            .finish_non_exhaustive()
    }
}
