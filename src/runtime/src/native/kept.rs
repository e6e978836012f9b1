//! What a drive has to do with the thread of its run.

use antiphon_core::checkpoint::Commit;
use antiphon_core::run::Run;
use antiphon_core::{Fault, Time};
use serde_json::Value as Json;

use super::DriveOutcome;
use crate::store::StoreFuture;
use crate::thread_ref::ThreadLease;

pub(super) struct RunCommitter {
    hold: Option<Box<dyn ThreadLease>>,
    /// The commit that has to be durable before the run goes on.
    awaited: Option<(u64, StoreFuture<()>)>,
    /// Why nothing is kept any more.
    failed: Option<Fault>,
}

impl RunCommitter {
    /// The run is kept nowhere: its commits are accepted at once.
    pub(super) const fn nowhere() -> Self {
        Self::of(None)
    }

    pub(super) const fn of(hold: Option<Box<dyn ThreadLease>>) -> Self {
        Self { hold, awaited: None, failed: None }
    }

    /// Takes over what the run has committed.
    pub(super) fn keep(&mut self, run: &mut Run<Json>, commit: &Commit<Json>, now: Time) {
        let hold = self.hold.as_mut().filter(|_| self.failed.is_none());
        let Some(hold) = hold else { return run.committed(commit.id) };
        match hold.keep(commit, &|| run.graph_snapshot(), now) {
            Ok(None) => run.committed(commit.id),
            Ok(Some(answer)) => self.awaited = Some((commit.id, answer)),
            Err(fault) => self.heed(run, (commit.id, Err(fault)), now),
        }
    }

    /// Takes over what is to be stored of a call; what is returned has to be
    /// waited for before the call is made, or its task goes on.
    pub(super) fn keep_call(
        &mut self,
        run: &mut Run<Json>,
        commit: &Commit<Json>,
        now: Time,
    ) -> Result<Option<StoreFuture<()>>, Fault> {
        let hold = self.hold.as_mut().filter(|_| self.failed.is_none());
        let kept = hold.map_or(Ok(None), |hold| hold.keep(commit, &|| None, now));
        kept.inspect_err(|fault| self.heed(run, (0, Err(fault.clone())), now))
    }

    /// Whether the run cannot go on before the store has answered.
    pub(super) const fn waits(&self) -> bool {
        self.awaited.is_some()
    }

    /// The store's answer to the commit that is waited for. Never ends if
    /// there is none; nothing is lost if the future is dropped.
    pub(super) async fn answered(&mut self) -> (u64, Result<(), Fault>) {
        let Some((commit, answer)) = &mut self.awaited else {
            return std::future::pending().await;
        };
        let answered = (*commit, answer.await);
        self.awaited = None;
        answered
    }

    /// If nothing can be kept any more, nothing more is to happen.
    pub(super) fn heed(
        &mut self,
        run: &mut Run<Json>,
        (commit, answer): (u64, Result<(), Fault>),
        now: Time,
    ) {
        if let Err(fault) = answer {
            run.cancel(fault.code.as_str(), now);
            self.failed = Some(fault);
            return run.abandon_commits();
        }
        run.committed(commit);
    }

    /// Where the run rests, once its thread says so too.
    pub(super) async fn rest(
        &mut self,
        rest: Result<DriveOutcome, Fault>,
    ) -> Result<DriveOutcome, Fault> {
        let closed = match self.hold.take() {
            Some(hold) => hold.close().await,
            None => Ok(()),
        };
        match self.failed.take() {
            Some(fault) => Err(fault),
            None => closed.and(rest),
        }
    }
}
