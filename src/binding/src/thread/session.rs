//! A run in its thread: polls what the store has under way, and takes over what comes of it.

use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use antiphon_core::Fault;
use antiphon_core::checkpoint::Commit;
use antiphon_core::run::Options;
use antiphon_runtime::store::StoreFuture;
use antiphon_runtime::{Clock, OpenedThread, RunCommitter, StartedRun, ThreadRef as _};
use antiphon_stores::{SealedStore, StoredThread, process};
use pyo3::prelude::*;

use crate::driver::core::{Core, Phase};
use crate::driver::run::Run;
use crate::driver::subrun::Subrun;
use crate::graph::engine::Engine;
use crate::thread::run_input::RunInput;
use crate::thread::thread_ref::ThreadRef;
use crate::value::codec::ObjectCodec;
use crate::value::object::Object;

/// A run in its thread, from opening the thread until the thread is free again.
pub(crate) struct ThreadSession {
    stage: Stage,
    committer: RunCommitter<Object>,
    values: Arc<ObjectCodec>,
    options: Options,
    /// The caller has given the run an id.
    named: bool,
    /// Why the run is to be cancelled as soon as there is one.
    cancelled: Option<String>,
    begun: bool,
    /// The process that the run belongs to.
    process: u32,
    /// Dropped last, with the interpreter released: a store that closes waits for its own
    /// thread, which may wait for the interpreter.
    store: Option<SealedStore>,
}

enum Stage {
    /// The contents of the thread decide how the run starts.
    Opening(StoreFuture<OpenedThread<Object>>, RunInput),
    Running,
    /// The run rests as soon as its commits are durable and the thread is free.
    Closing(Phase),
    Closed,
}

impl ThreadSession {
    /// Opens the thread of a run that is about to start. `named` says that the caller has
    /// given the run an id.
    pub(crate) fn open(
        engine: &Bound<'_, Engine>,
        input: Option<&Bound<'_, PyAny>>,
        place: &ThreadRef,
        (options, named): (&Options, bool),
    ) -> PyResult<Box<Self>> {
        let py = engine.py();
        let input = RunInput::read(engine, input, place.as_node.as_deref())?;
        let (store, values) = (place.sealed_store(py)?, Arc::new(place.values(py)?));
        let thread = StoredThread::new(store.clone(), place.thread.as_str(), place.durability);
        let thread = thread.with_codec(Arc::clone(&values)).at_checkpoint(place.checkpoint);
        let opening = thread.open(Arc::clone(&engine.get().graph));
        Ok(Box::new(Self {
            stage: Stage::Opening(opening, input),
            committer: RunCommitter::detached(),
            values,
            options: options.clone(),
            named,
            cancelled: None,
            begun: false,
            process: process::id(),
            store: Some(store),
        }))
    }

    /// How values are stored.
    pub(crate) fn values(&self) -> &ObjectCodec {
        &self.values
    }

    /// Keeps the wish to cancel for later, if there is no run yet.
    pub(crate) fn defers(&mut self, reason: &str) -> bool {
        let defers = matches!(self.stage, Stage::Opening(..));
        if defers {
            self.cancelled.get_or_insert_with(|| reason.to_owned());
        }
        defers
    }

    /// The checkpoint that was written or found last, once the thread was left; 0 if there is
    /// none.
    pub(crate) const fn checkpoint(&self) -> u64 {
        self.committer.checkpoint()
    }

    /// Whether the run has started: its thread was free and fits.
    pub(crate) const fn has_begun(&self) -> bool {
        self.begun
    }

    /// The process that the run belongs to.
    pub(crate) const fn process(&self) -> u32 {
        self.process
    }
}

impl std::fmt::Debug for ThreadSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ThreadSession")
            .field("committer", &self.committer)
            .field("begun", &self.begun)
            .finish_non_exhaustive()
    }
}

impl Drop for ThreadSession {
    /// Nobody will drive the run again: the thread is free for others.
    fn drop(&mut self) {
        self.stage = Stage::Closed;
        let (closing, store) = (self.committer.close(), self.store.take());
        Python::try_attach(|py| py.detach(|| drop((closing, store))));
    }
}

impl Core {
    /// Polls the store of the run; says whether there is nothing else to do until it answers.
    pub(crate) fn poll_store(&mut self, run: &Bound<'_, Run>) -> bool {
        match self.session.as_deref_mut().map(|session| &mut session.stage) {
            Some(Stage::Opening(opening, _)) => {
                let Some(opened) = poll(run, |cx| opening.as_mut().poll(cx)) else { return true };
                self.opened(run, opened);
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

    fn poll_closing(&mut self, run: &Bound<'_, Run>) -> bool {
        let Some(session) = self.session.as_deref_mut() else { return false };
        let Some(closed) = poll(run, |cx| session.committer.poll_closed(cx)) else { return true };
        let rest = match std::mem::replace(&mut session.stage, Stage::Closed) {
            Stage::Closing(rest) => rest,
            Stage::Opening(..) | Stage::Running | Stage::Closed => return false,
        };
        let store = session.store.take();
        run.py().detach(|| drop(store));
        self.phase = closed.map_or_else(Phase::Failed, |()| rest);
        false
    }

    fn opened(&mut self, run: &Bound<'_, Run>, opened: Result<OpenedThread<Object>, Fault>) {
        let Some(session) = self.session.as_deref_mut() else { return };
        let stage = std::mem::replace(&mut session.stage, Stage::Running);
        let Stage::Opening(_, input) = stage else { return };
        let started = opened.and_then(|opened| {
            let OpenedThread { lease, contents } = opened;
            session.committer = RunCommitter::new(lease);
            if contents.is_none()
                && let Some(error) = input.refusal(run.py())
            {
                return Err(self.host.fault(run.py(), error));
            }
            let mode = input.start_mode(contents.is_none(), session.named);
            let about = (&self.graph, session.options.clone());
            session.committer.start((mode, contents), about, self.now)
        });
        let StartedRun { run: machine, run_id, earlier_supersteps } = match started {
            Ok(started) => started,
            Err(fault) => return session.stage = Stage::Closing(Phase::Failed(fault)),
        };
        let cancelled = session.cancelled.take();
        session.begun = true;
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
            process::check(session.process)?;
        }
        let Some(committer) = committer(&mut self.session, &mut self.subrun) else {
            return Ok(None);
        };
        committer.commit_call(&mut self.machine, commit, self.clock.now())
    }

    /// Nobody will drive the run any more: its thread says so, and is released.
    pub(crate) fn abandon(&mut self) {
        let Some(mut session) = self.session.take() else { return };
        let closing = session.committer.abandon(&self.machine, self.now);
        drop(session);
        Python::try_attach(|py| py.detach(|| drop(closing)));
    }

    /// The run is paused or over, once its thread says so too.
    pub(crate) fn rest(&mut self, phase: Phase) {
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

/// Wakes the driver of a run.
struct WakeRun(Py<Run>);

impl Wake for WakeRun {
    fn wake(self: Arc<Self>) {
        self.0.get().mailbox.wake();
    }
}

fn poll<T>(run: &Bound<'_, Run>, poll: impl FnOnce(&mut Context<'_>) -> Poll<T>) -> Option<T> {
    let waker = Waker::from(Arc::new(WakeRun(run.clone().unbind())));
    match poll(&mut Context::from_waker(&waker)) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}
