//! A run's place in a thread: taking it, keeping there what the run commits, and
//! letting it go before its end or a pause is shown.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use antiphon_core::Fault;
use antiphon_core::checkpoint::{Commit, CommitChange};
use antiphon_core::effect::Ending;
use antiphon_core::run::Options;
use antiphon_runtime::Clock;
use antiphon_runtime::store::StoreFuture;
use antiphon_stores::{CheckpointWriter, Lease, LoadedThread, SealedStore, owner, process};
use pyo3::prelude::*;

use crate::driver::chance;
use crate::driver::core::{Core, Phase};
use crate::driver::run::Run;
use crate::graph::engine::Engine;
use crate::thread::begin::{Begin, Begun};
use crate::thread::place;
use crate::value::codec::ObjectCodec;
use crate::value::object::Object;

/// Why a run has ended that nobody drives any more.
const LEFT: &str = "nobody waits for it any more";

type Thread = CheckpointWriter<Object, ObjectCodec>;
type Opened = Result<(Thread, Option<LoadedThread<Object>>), Fault>;

/// What a run has to do with its thread.
pub(crate) struct Kept {
    place: Option<Place>,
    stage: Stage,
    values: Arc<ObjectCodec>,
    options: Options,
    /// The caller has said what the run is called.
    named: bool,
    lease: Option<Lease>,
    /// Why the run is to be cancelled as soon as there is one.
    cancelled: Option<String>,
    /// Why nothing is kept any more.
    failed: Option<Fault>,
    checkpoint: u64,
    /// Whether the run has found its place in the thread.
    begun: bool,
    /// The process that the run belongs to.
    process: u32,
}

/// Where a thread is, and who writes to it.
struct Place {
    sealed_store: SealedStore,
    thread: String,
    owner: String,
}

enum Stage {
    /// The run has not begun: what the thread holds decides how it does.
    Opening(Pin<Box<dyn Future<Output = Opened> + Send>>, Begin),
    /// What is committed is kept; beside it what has to be waited for, if anything.
    Open(Box<Thread>, Option<Awaited>),
    /// What is committed is not kept: nothing new happens, or it failed.
    Idle(Option<Box<Thread>>),
    /// The run rests as soon as all of it is durable and the thread free.
    Settling(StoreFuture<()>, Option<Phase>),
    /// The thread is free.
    Gone,
}

/// Something that has to be durable before a run goes on.
pub(crate) struct Awaited {
    pub(crate) answer: StoreFuture<()>,
    /// The commit; none for what comes before the run.
    pub(crate) commit: Option<u64>,
}

impl std::fmt::Debug for Awaited {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Awaited").field("commit", &self.commit).finish_non_exhaustive()
    }
}

impl Kept {
    /// Puts a run that is about to start into its thread. `named` says that the
    /// caller has said what the run is called.
    pub(crate) fn begin(
        engine: &Bound<'_, Engine>,
        input: Option<&Bound<'_, PyAny>>,
        place: &place::Place,
        (options, named): (&Options, bool),
    ) -> PyResult<Box<Self>> {
        let py = engine.py();
        let begin = Begin::read(engine, input, place.as_node.as_deref())?;
        let (checkpoint, durability) = (place.checkpoint, place.durability);
        let (sealed_store, thread, owner) =
            (place.sealed_store(py)?, place.thread.clone(), owner::new(chance::seed(None)));
        let values = Arc::new(place.values(py)?);
        let place = Place { sealed_store, thread, owner };
        let graph = Arc::clone(&engine.get().graph);
        let (sealed_store, thread, owner) =
            (place.sealed_store.clone(), place.thread.clone(), place.owner.clone());
        let stored = Arc::clone(&values);
        let opening = Box::pin(async move {
            let (mut checkpoint_writer, mut found) = CheckpointWriter::take(
                (sealed_store, &thread),
                &owner,
                (graph, stored),
                durability,
            )
            .await?;
            if let Some(seq) = checkpoint
                && found.as_ref().is_none_or(|found| found.checkpoint != seq)
            {
                found = checkpoint_writer.go_back(seq).await?;
            }
            Ok((checkpoint_writer, found))
        });
        Ok(Box::new(Self {
            place: Some(place),
            stage: Stage::Opening(opening, begin),
            values,
            options: options.clone(),
            named,
            lease: None,
            cancelled: None,
            failed: None,
            checkpoint: 0,
            begun: false,
            process: process::id(),
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

    /// The checkpoint that was written or found last; 0 if there is none.
    pub(crate) const fn checkpoint(&self) -> u64 {
        self.checkpoint
    }

    /// Whether the run has found its place in the thread.
    pub(crate) const fn has_begun(&self) -> bool {
        self.begun
    }

    /// The process that the run belongs to.
    pub(crate) const fn process(&self) -> u32 {
        self.process
    }

    /// Lets the thread go; what was kept until then is on its way before that.
    fn close(&mut self) -> StoreFuture<()> {
        self.lease = None;
        match std::mem::replace(&mut self.stage, Stage::Gone) {
            Stage::Open(mut checkpoint_writer, _) | Stage::Idle(Some(mut checkpoint_writer)) => {
                self.checkpoint = checkpoint_writer.checkpoint();
                let (settled, closed) = (checkpoint_writer.settle(), checkpoint_writer.close());
                Box::pin(async move {
                    let settled = settled.await;
                    closed.await.and(settled)
                })
            }
            Stage::Opening(..) => release(self.place.as_ref()),
            Stage::Idle(None) | Stage::Settling(..) | Stage::Gone => {
                Box::pin(std::future::ready(Ok(())))
            }
        }
    }
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let thread = self.place.as_ref().map(|place| &place.thread);
        f.debug_struct("Kept").field("thread", &thread).finish_non_exhaustive()
    }
}

impl Drop for Kept {
    /// Nobody will drive the run again: the thread is free for others.
    fn drop(&mut self) {
        let closing = self.close();
        let place = self.place.take();
        // A store may wait for a thread of its own, which may wait for the interpreter.
        Python::try_attach(|py| py.detach(|| drop((closing, place))));
    }
}

impl Core {
    /// Sees to the thread of the run; says whether there is nothing else to do
    /// until its store answers.
    pub(crate) fn attend(&mut self, run: &Bound<'_, Run>) -> bool {
        let Some(kept) = self.kept.as_deref_mut() else { return self.attend_subrun(run) };
        match &mut kept.stage {
            Stage::Opening(opening, _) => {
                let Some(opened) = poll(run, opening) else { return true };
                self.opened(run, opened);
                // A run that could not begin has nothing to do.
                return self.attend(run);
            }
            Stage::Open(_, waiting) => {
                let Some(awaited) = waiting else { return false };
                let commit = awaited.commit;
                let Some(answer) = poll(run, &mut awaited.answer) else {
                    return commit.is_none();
                };
                *waiting = None;
                match answer {
                    Ok(()) => self.machine.committed(commit.unwrap_or_default()),
                    Err(fault) => self.give_up(fault),
                }
            }
            Stage::Settling(answer, phase) => {
                let Some(answer) = poll(run, answer) else { return true };
                let failed = kept.failed.take().or_else(|| answer.err());
                let phase = failed.map(Phase::Failed).or_else(|| phase.take());
                kept.stage = Stage::Gone;
                let place = kept.place.take();
                run.py().detach(|| drop(place));
                self.phase = phase.unwrap_or(Phase::Running);
            }
            Stage::Idle(_) | Stage::Gone => {}
        }
        false
    }

    /// The same for a run that is kept with the node that has started it.
    fn attend_subrun(&mut self, run: &Bound<'_, Run>) -> bool {
        let Some(subrun) = self.subrun.as_deref_mut() else { return false };
        let Some(awaited) = &mut subrun.waiting else { return false };
        let commit = awaited.commit;
        let Some(answer) = poll(run, &mut awaited.answer) else { return commit.is_none() };
        subrun.waiting = None;
        match answer {
            Ok(()) => self.machine.committed(commit.unwrap_or_default()),
            Err(fault) => self.give_up_subrun(commit, &fault),
        }
        false
    }

    /// The store of the run around has failed, and with it that run.
    fn give_up_subrun(&mut self, commit: Option<u64>, fault: &Fault) {
        self.machine.cancel(fault.code.as_str(), self.now);
        self.machine.committed(commit.unwrap_or_default());
    }

    fn keep_with_node(&mut self, commit: &Commit<Object>) {
        let answer = self.relay(commit);
        match (answer, self.subrun.as_deref_mut()) {
            (Ok(Some(answer)), Some(subrun)) => {
                subrun.waiting = Some(Awaited { answer, commit: Some(commit.id) });
            }
            (Ok(_), _) => self.machine.committed(commit.id),
            (Err(fault), _) => self.give_up_subrun(Some(commit.id), &fault),
        }
    }

    fn opened(&mut self, run: &Bound<'_, Run>, opened: Opened) {
        let py = run.py();
        let Some(engine) = self.engine(py, 0) else { return };
        let Some(kept) = self.kept.as_deref_mut() else { return };
        let stage = std::mem::replace(&mut kept.stage, Stage::Idle(None));
        let Stage::Opening(_, begin) = stage else { return };
        let begun = opened.and_then(|(mut checkpoint_writer, found)| {
            if found.is_none()
                && let Some(error) = begin.refusal(py)
            {
                return Err(self.host.fault(py, error));
            }
            let about = (engine.get(), kept.options.clone(), kept.named);
            let begun = begin.on(found, &mut checkpoint_writer, about, self.now);
            begun.map(|begun| (begun, Box::new(checkpoint_writer)))
        });
        let (begun, checkpoint_writer) = match begun {
            Ok(found) => found,
            Err(fault) => {
                let answer = release(kept.place.as_ref());
                kept.stage = Stage::Settling(answer, Some(Phase::Failed(fault)));
                return;
            }
        };
        let Begun { machine, run_id, before, idle, answered } = begun;
        if let Some(Place { sealed_store, thread, owner }) = &kept.place {
            kept.lease = Some(Lease::keep(sealed_store.clone(), thread.clone(), owner.clone()));
        }
        let awaited =
            (!answered.is_empty()).then(|| Awaited { answer: all(answered), commit: None });
        kept.stage = if idle {
            Stage::Idle(Some(checkpoint_writer))
        } else {
            Stage::Open(checkpoint_writer, awaited)
        };
        kept.begun = true;
        run.get().call_it(&run_id);
        self.before = before;
        self.machine = machine;
        self.host.forget();
        if let Some(reason) = self.kept.as_mut().and_then(|kept| kept.cancelled.take()) {
            self.machine.cancel(&reason, self.now);
        }
    }

    /// Takes over what the run has committed.
    pub(crate) fn keep(&mut self, commit: &Commit<Object>) {
        let Some(kept) = self.kept.as_deref_mut() else { return self.keep_with_node(commit) };
        let Stage::Open(checkpoint_writer, waiting) = &mut kept.stage else {
            return self.machine.committed(commit.id);
        };
        match checkpoint_writer.keep(commit, || self.machine.graph_snapshot(), self.now) {
            Ok(None) => self.machine.committed(commit.id),
            Ok(Some(answer)) => *waiting = Some(Awaited { answer, commit: Some(commit.id) }),
            Err(fault) => self.give_up(fault),
        }
    }

    /// Takes over what is to be stored of a call, of whatever thread; says what
    /// that has to wait for.
    ///
    /// # Errors
    /// Why nothing can be kept any more.
    pub(crate) fn keep_call(
        &mut self,
        commit: &Commit<Object>,
    ) -> Result<Option<StoreFuture<()>>, Fault> {
        let Some(kept) = self.kept.as_deref_mut() else { return self.relay(commit) };
        process::check(kept.process)?;
        let Stage::Open(checkpoint_writer, _) = &mut kept.stage else { return Ok(None) };
        let answer = checkpoint_writer.keep(commit, || None, self.clock.now());
        answer.inspect_err(|fault| self.give_up(fault.clone()))
    }

    /// Nothing can be kept any more, so nothing more is to happen.
    fn give_up(&mut self, fault: Fault) {
        let Some(kept) = self.kept.as_deref_mut() else { return };
        if let Stage::Open(checkpoint_writer, _) =
            std::mem::replace(&mut kept.stage, Stage::Idle(None))
        {
            kept.stage = Stage::Idle(Some(checkpoint_writer));
        }
        let reason = fault.code.to_string();
        kept.failed.get_or_insert(fault);
        self.machine.cancel(&reason, self.now);
        self.machine.abandon_commits();
    }

    /// Nobody will drive the run any more: its thread says so, and is let go.
    pub(crate) fn leave(&mut self) {
        let begun = self.kept.as_deref().is_some_and(|kept| match &kept.stage {
            Stage::Open(checkpoint_writer, _) => checkpoint_writer.has_begun(),
            _ => false,
        });
        if begun {
            let (spent, events) = (*self.machine.budget().spent(), self.machine.event_count());
            let change = CommitChange::Ended(Ok(Ending::Cancelled(LEFT.to_owned())));
            self.keep(&Commit { id: 0, within: Vec::new(), spent, events, change });
        }
        self.kept = None;
    }

    /// The run is paused or over, once its thread says so too.
    pub(crate) fn rest(&mut self, phase: Phase) {
        self.rest_subrun(&phase);
        match self.kept.as_deref_mut() {
            None => self.phase = phase,
            Some(kept) => {
                let answer = kept.close();
                kept.stage = Stage::Settling(answer, Some(phase));
            }
        }
    }
}

/// Wakes whoever drives a run.
struct Rouse(Py<Run>);

impl Wake for Rouse {
    fn wake(self: Arc<Self>) {
        self.0.get().inbox.rouse();
    }
}

fn poll<T>(
    run: &Bound<'_, Run>,
    answer: &mut Pin<Box<dyn Future<Output = T> + Send>>,
) -> Option<T> {
    let waker = Waker::from(Arc::new(Rouse(run.clone().unbind())));
    match answer.as_mut().poll(&mut Context::from_waker(&waker)) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

fn release(place: Option<&Place>) -> StoreFuture<()> {
    match place {
        Some(Place { sealed_store, thread, owner }) => sealed_store.release(thread, owner),
        None => Box::pin(std::future::ready(Ok(()))),
    }
}

fn all(answers: Vec<StoreFuture<()>>) -> StoreFuture<()> {
    Box::pin(async move {
        for answer in answers {
            answer.await?;
        }
        Ok(())
    })
}
