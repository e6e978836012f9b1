//! Storing what a run commits: polls what its store has under way, and takes over what comes
//! of it.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use antiphon_core::Fault;
use antiphon_core::checkpoint::Commit;
use antiphon_runtime::store::StoreFuture;
use antiphon_runtime::{Clock, OpenedThread, RunCommitter, StartedRun};
use antiphon_stores::process;
use pyo3::prelude::*;

use crate::driver::phase::RunPhase;
use crate::driver::run::Run;
use crate::driver::run_state::RunState;
use crate::driver::subrun::Subrun;
use crate::thread::session::{Stage, ThreadSession};
use crate::value::object::Object;

impl RunState {
    /// Polls the store of the run; says whether there is nothing else to do until it answers.
    pub(crate) fn poll_store(&mut self, run: &Bound<'_, Run>) -> bool {
        match self.session.as_deref_mut().map(|session| &mut session.stage) {
            Some(Stage::Opening(opening, _)) => {
                let Some(opened) = poll(run, |cx| opening.as_mut().poll(cx)) else { return true };
                self.start_opened(run, opened);
                // A run that could not begin has nothing to do.
                return self.poll_store(run);
            }
            Some(Stage::Closing(_)) => return self.poll_closing(run),
            Some(Stage::Running | Stage::Closed) | None => {}
        }
        let Some(committer) = committer(&mut self.session, &mut self.subrun) else { return false };
        if !committer.is_waiting() {
            return false;
        }
        let is_blocked = committer.is_blocked();
        let Some(answer) = poll(run, |cx| committer.poll_durable(cx)) else { return is_blocked };
        committer.acknowledge(&mut self.machine, answer, self.now);
        false
    }

    /// Whether what the run does next may have to be stored.
    pub(crate) fn is_storing(&self) -> bool {
        let is_open = |session: &ThreadSession| matches!(session.stage, Stage::Running);
        let is_stored = self.session.as_deref().map_or_else(|| self.subrun.is_some(), is_open);
        is_stored && matches!(self.phase, RunPhase::Running)
    }

    fn poll_closing(&mut self, run: &Bound<'_, Run>) -> bool {
        let Some(session) = self.session.as_deref_mut() else { return false };
        let Some(closed) = poll(run, |cx| session.committer.poll_closed(cx)) else { return true };
        let rest = match std::mem::replace(&mut session.stage, Stage::Closed) {
            Stage::Closing(rest) => rest,
            Stage::Opening(..) | Stage::Running | Stage::Closed => return false,
        };
        let store = session.store.take();
        run.py().detach(|| drop(store));
        self.phase = closed.map_or_else(RunPhase::Failed, |()| rest);
        false
    }

    fn start_opened(&mut self, run: &Bound<'_, Run>, opened: Result<OpenedThread<Object>, Fault>) {
        let Some(session) = self.session.as_deref_mut() else { return };
        let stage = std::mem::replace(&mut session.stage, Stage::Running);
        let Stage::Opening(_, input) = stage else { return };
        let started = opened.and_then(|opened| {
            let OpenedThread { lease, contents } = opened;
            session.committer = RunCommitter::new(lease);
            if let Some(error) = input.refusal(run.py(), contents.is_none()) {
                return Err(self.host.fault(run.py(), error));
            }
            let mode = input.start_mode(contents.is_none(), session.named);
            let about = (&self.graph, session.options.clone());
            session.committer.start((mode, contents), about, self.now)
        });
        let StartedRun { run: machine, run_id, earlier_supersteps } = match started {
            Ok(started) => started,
            Err(fault) => return session.stage = Stage::Closing(RunPhase::Failed(fault)),
        };
        let cancelled = session.cancelled.take();
        session.started = true;
        run.get().call_it(&run_id);
        self.before = earlier_supersteps;
        self.machine = machine;
        self.host.forget();
        if let Some(reason) = cancelled {
            self.machine.cancel(&reason, self.now);
        }
    }

    /// Stores a commit of the run.
    pub(crate) fn commit(&mut self, commit: &Commit<Object>) {
        match committer(&mut self.session, &mut self.subrun) {
            Some(committer) => committer.commit(&mut self.machine, commit, self.now),
            None => self.machine.committed(commit.id),
        }
    }

    /// Stores the start or the outcome of a call, from any thread; returns what the call or
    /// its task has to wait for.
    ///
    /// # Errors
    /// Why nothing can be stored any more.
    pub(crate) fn commit_call(
        &mut self,
        commit: &Commit<Object>,
    ) -> Result<Option<StoreFuture<()>>, Fault> {
        if let Some(session) = &self.session {
            process::check(session.process())?;
        }
        let Some(committer) = committer(&mut self.session, &mut self.subrun) else {
            return Ok(None);
        };
        committer.commit_call(&mut self.machine, commit, self.clock.now())
    }

    /// Marks the thread of a run that will not be driven any more, and releases it.
    pub(crate) fn abandon(&mut self) {
        let Some(mut session) = self.session.take() else { return };
        let closing = session.committer.abandon(&self.machine, self.now);
        drop(session);
        Python::try_attach(|py| py.detach(|| drop(closing)));
    }

    /// The run is paused or over, once its thread has recorded it.
    pub(crate) fn rest(&mut self, phase: RunPhase) {
        self.rest_subrun(&phase);
        match self.session.as_deref_mut() {
            None => self.phase = phase,
            Some(session) => session.stage = Stage::Closing(phase),
        }
    }
}

/// What stores the commits of a run: its own thread, or the node that has started it.
fn committer<'a>(
    session: &'a mut Option<Box<ThreadSession>>,
    subrun: &'a mut Option<Box<Subrun>>,
) -> Option<&'a mut RunCommitter<Object>> {
    let session = session.as_deref_mut().map(|session| &mut session.committer);
    session.or_else(|| subrun.as_deref_mut().map(|subrun| &mut subrun.committer))
}

fn poll<T>(run: &Bound<'_, Run>, poll: impl FnOnce(&mut Context<'_>) -> Poll<T>) -> Option<T> {
    let waker = Waker::from(Arc::clone(&run.get().mailbox));
    match poll(&mut Context::from_waker(&waker)) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}
