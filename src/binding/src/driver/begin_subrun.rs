//! How a node starts a run that is a part of it: the run resumes where it was when the node
//! begins again. The core decides what is known; this hands it to and fro.

use std::sync::{Arc, Weak};
use std::task::Wake;

use antiphon_core::checkpoint::{KnownSubrun, RecoveredRun, SubrunCommit, SubrunLog};
use antiphon_core::command::Update;
use antiphon_core::effect::Ending;
use antiphon_core::run::{Options, Run as Machine, Subrun as CoreSubrun};
use antiphon_core::{Fault, Time};
use antiphon_runtime::store::StoreFuture;
use antiphon_stores::codec::Codec;
use pyo3::prelude::*;

use crate::driver::mailbox::{Emission, EmittedItem};
use crate::driver::parent_task::ParentTask;
use crate::driver::phase::RunPhase;
use crate::driver::run::Run;
use crate::driver::stream_options::Item;
use crate::driver::subrun::Subrun;
use crate::fault::to_exception;
use crate::graph::call_trace::digest_within;
use crate::graph::engine::Engine;
use crate::graph::question::scope_key;
use crate::graph::task_context::{Context, TaskContext};
use crate::value::codec::ObjectCodec;
use crate::value::object::Object;

/// A run that is about to start as a part of a node, and what is known of it.
pub(crate) struct SubrunStart {
    pub(crate) subrun: Box<Subrun>,
    known: KnownSubrun<Object>,
}

impl SubrunStart {
    /// Makes a run that is about to start a part of the node that starts it; none if
    /// it cannot be. `options` become those it has there.
    pub(crate) fn begin(
        cx: &Arc<TaskContext>,
        engine: &Bound<'_, Engine>,
        (input, registry): (Option<&Bound<'_, PyAny>>, Option<Py<PyAny>>),
        options: &mut Options,
    ) -> PyResult<Option<Self>> {
        let py = engine.py();
        let (run, id) = (cx.run.get(), cx.id);
        let values = registry.map(ObjectCodec::new);
        let digest = match (input, &values) {
            (None, _) => 0,
            (Some(input), Some(values)) => values.digest(input),
            (Some(input), None) => ObjectCodec::shared(py)?.digest(input),
        };
        let within = scope_key(Context::of(py, cx)?.as_any())?;
        let digest = digest_within(digest, within.as_deref());
        let name = engine.get().graph.name();
        let started = run.with(|state| Ok(state.machine.begin_subrun(id, name, digest)))?;
        let started = started.map_err(|fault| to_exception(py, &fault))?;
        let Some(CoreSubrun { index, seed, key_salt, known, intent }) = started else {
            return Ok(None);
        };
        let answer = match intent {
            None => None,
            Some(intent) => {
                let kept = run.with(|state| Ok(state.commit_call(&intent)))?;
                kept.map_err(|fault| to_exception(py, &fault))?
            }
        };
        (options.seed, options.key_salt) = (seed, key_salt);
        options.commits = values.is_some();
        let parent: Weak<dyn ParentTask> = Arc::<TaskContext>::downgrade(cx);
        let subrun = Subrun::new(parent, index, (&engine.get().graph, values), answer);
        Ok(Some(Self { subrun: Box::new(subrun), known }))
    }

    /// The machine that resumes where it was; none if the run begins.
    pub(crate) fn machine(
        &mut self,
        engine: &Engine,
        options: &mut Options,
        now: Time,
    ) -> Result<Option<Machine<Object>>, Fault> {
        let memory = match std::mem::take(&mut self.known) {
            KnownSubrun::Nothing => return Ok(None),
            KnownSubrun::Parked(handle) => return Ok(parked(&handle, options, now)),
            KnownSubrun::Ended(memory) => *memory,
            KnownSubrun::Commits(log) => match self.recover(engine, &log)? {
                Some(memory) => memory,
                None => return Ok(None),
            },
        };
        // A run that has ended has reported its end.
        options.commits &= !(memory.root.pending_work.tasks() == 0 && memory.ended.is_some());
        let graph = Arc::clone(&engine.graph);
        Ok(Some(Machine::resume(graph, memory, options.clone(), now)))
    }

    fn recover(
        &self,
        engine: &Engine,
        log: &SubrunLog,
    ) -> Result<Option<RecoveredRun<Object>>, Fault> {
        let Some(values) = self.subrun.values() else { return Ok(None) };
        let codec = Codec::new(&engine.graph, values);
        let mut memory = RecoveredRun::new(&engine.graph);
        for bytes in &log.commits {
            memory.fold(&engine.graph, codec.decode(bytes)?)?;
        }
        Ok((!log.commits.is_empty()).then_some(memory))
    }
}

/// The machine of a run that was left at a pause in this process.
fn parked(handle: &Object, options: &Options, now: Time) -> Option<Machine<Object>> {
    let run =
        Python::attach(|py| handle.0.bind(py).cast::<Run>().ok().cloned().map(Bound::unbind))?;
    let taken = run.get().with(|state| {
        if !matches!(state.phase, RunPhase::Paused(_)) {
            return Ok(None);
        }
        state.phase = RunPhase::Ended(Ending::Cancelled("it goes on elsewhere".to_owned()));
        let graph = Arc::clone(state.machine.graph(0).unwrap_or(&state.graph));
        let empty = Machine::new(graph, Update::default(), Options::default(), now);
        Ok(Some(std::mem::replace(&mut state.machine, empty)))
    });
    let mut machine = taken.ok().flatten()?;
    machine.watch(options.events, options.event_options);
    Some(machine)
}

impl ParentTask for TaskContext {
    fn show(&self, py: Python<'_>, item: Item, space: Vec<String>) {
        self.run.get().tell(py, Emission { id: self.id, item: EmittedItem::Nested(item, space) });
    }

    fn commit_subrun(&self, commit: SubrunCommit) -> Result<Option<StoreFuture<()>>, Fault> {
        let kept = self.run.get().with(|state| {
            let commit = state.machine.commit_subrun(self.id, commit);
            Ok(commit
                .and_then(|commit| commit.map_or(Ok(None), |commit| state.commit_call(&commit))))
        });
        // Nobody but a user's code in the middle of the run around could be in the way.
        kept.unwrap_or(Ok(None))
    }

    fn park_subrun(&self, index: u32, run: Object) {
        // As above.
        let _ = self.run.get().with(|state| {
            state.machine.park_subrun(self.id, index, run);
            Ok(())
        });
    }

    fn end_subrun(&self, index: u32, came_to: Option<RecoveredRun<Object>>) {
        let run = self.run.get();
        let ready = run.with(|state| {
            if let Some(came_to) = came_to {
                state.machine.finish_subrun(self.id, index, came_to);
            }
            state.machine.end_subrun(self.id, index);
            Ok(state.machine.is_ready())
        });
        if ready.unwrap_or(true) {
            run.mailbox.wake_by_ref();
        }
    }

    fn resume_subrun(&self, index: u32) {
        let _ = self.run.get().with(|state| {
            state.machine.resume_subrun(self.id, index);
            Ok(())
        });
    }

    /// By mail, because somebody may work on the run around.
    fn abandon_subrun(&self, index: u32) {
        let call = (self.id, index);
        Python::try_attach(|py| {
            self.run.get().mailbox.post(py, |mail| mail.abandoned.push(call));
        });
    }

    fn context(self: Arc<Self>, py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>> {
        let context = self.is_under_way().then(|| Context::of(py, &self)).transpose()?;
        Ok(context.map(Bound::into_any))
    }
}
