//! A run that a node starts, as a part of that node: what it commits is kept in the
//! journal of the node's task, and it goes on from there when the node begins again.
//! The core decides what is known; this hands it to and fro.

use std::sync::{Arc, Weak};

use antiphon_core::checkpoint::{
    Commit, CommitChange, KnownSubrun, RecoveredRun, SubrunCommit, SubrunLog,
};
use antiphon_core::command::Update;
use antiphon_core::effect::Ending;
use antiphon_core::run::{Options, Run as Machine, Subrun as Begun};
use antiphon_core::{Fault, Time};
use antiphon_runtime::store::StoreFuture;
use antiphon_stores::codec::Codec;
use pyo3::prelude::*;

use crate::driver::core::{Core, Phase};
use crate::driver::run::Run;
use crate::fault::to_exception;
use crate::graph::context::{Context, Errand};
use crate::graph::effect::digest_within;
use crate::graph::engine::Engine;
use crate::graph::question::scope_key;
use crate::thread::kept::Awaited;
use crate::value::codec::ObjectCodec;
use crate::value::object::Object;

/// A run's place in the node that has started it.
#[derive(Debug)]
pub(crate) struct Subrun {
    caller: Weak<Errand>,
    index: u32,
    /// How values are stored; none if the run around is kept nowhere.
    values: Option<ObjectCodec>,
    /// What has to be durable before it goes on.
    pub(crate) waiting: Option<Awaited>,
    is_open: bool,
}

/// How a subrun begins.
pub(crate) struct Start {
    pub(crate) subrun: Box<Subrun>,
    known: KnownSubrun<Object>,
}

impl Subrun {
    /// Makes a run that is about to start a part of the node that starts it; none if
    /// it cannot be. `options` become those it has there.
    pub(crate) fn begin(
        errand: &Arc<Errand>,
        engine: &Bound<'_, Engine>,
        (input, registry): (Option<&Bound<'_, PyAny>>, Option<Py<PyAny>>),
        options: &mut Options,
    ) -> PyResult<Option<Start>> {
        let py = engine.py();
        let (run, id) = (errand.run.get(), errand.id);
        let values = registry.map(ObjectCodec::new);
        let digest = match (input, &values) {
            (None, _) => 0,
            (Some(input), Some(values)) => values.digest(input),
            (Some(input), None) => ObjectCodec::shared(py)?.digest(input),
        };
        let within = scope_key(&Context::of(py, errand)?)?;
        let digest = digest_within(digest, within.as_deref());
        let name = engine.get().graph.name();
        let begun = run.with(|core| Ok(core.machine.begin_subrun(id, name, digest)))?;
        let begun = begun.map_err(|fault| to_exception(py, &fault))?;
        let Some(Begun { index, seed, mark, known, intent }) = begun else { return Ok(None) };
        let answer = match intent {
            None => None,
            Some(intent) => {
                let kept = run.with(|core| Ok(core.keep_call(&intent)))?;
                kept.map_err(|fault| to_exception(py, &fault))?
            }
        };
        (options.seed, options.mark) = (seed, mark);
        options.commits = values.is_some();
        let waiting = answer.map(|answer| Awaited { answer, commit: None });
        let caller = Arc::downgrade(errand);
        let subrun = Self { caller, index, values, waiting, is_open: true };
        Ok(Some(Start { subrun: Box::new(subrun), known }))
    }

    /// How values are stored, if they are.
    pub(crate) const fn values(&self) -> Option<&ObjectCodec> {
        self.values.as_ref()
    }

    /// Keeps the run with its node, which may begin again in this process.
    pub(crate) fn park(&self, run: &Bound<'_, Run>) -> PyResult<()> {
        let Some(errand) = self.caller.upgrade().filter(|_| self.values.is_none()) else {
            return Ok(());
        };
        let handle = Object(run.clone().into_any().unbind());
        errand.run.get().with(|core| {
            core.machine.park_subrun(errand.id, self.index, handle);
            Ok(())
        })
    }

    /// Tells the node that the run rests, or is over.
    fn rest(&mut self, came_to: Option<RecoveredRun<Object>>) {
        if !std::mem::take(&mut self.is_open) {
            return;
        }
        let Some(errand) = self.caller.upgrade() else { return };
        let run = errand.run.get();
        let told = run.with(|core| {
            if let Some(memory) = came_to {
                core.machine.finish_subrun(errand.id, self.index, memory);
            }
            core.machine.end_subrun(errand.id, self.index);
            Ok(core.machine.is_ready())
        });
        if told.unwrap_or(true) {
            run.inbox.rouse();
        }
    }

    /// Tells the node that the run goes on after a rest.
    fn go_on(&mut self) {
        if std::mem::replace(&mut self.is_open, true) {
            return;
        }
        if let Some(errand) = self.caller.upgrade() {
            let _ = errand.run.get().with(|core| {
                core.machine.resume_subrun(errand.id, self.index);
                Ok(())
            });
        }
    }
}

impl Drop for Subrun {
    /// Nobody will drive the run again. By letter, because a garbage collection may
    /// find that out while somebody works on the run around.
    fn drop(&mut self) {
        let Some(errand) = self.caller.upgrade().filter(|_| self.is_open) else { return };
        let call = (errand.id, self.index);
        Python::try_attach(|py| {
            errand.run.get().inbox.put(py, |letters| letters.abandoned.push(call));
        });
    }
}

impl Start {
    /// The machine that goes on where it was; none if the run begins.
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
        // What has ended has said so.
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
    let taken = run.get().with(|core| {
        if !matches!(core.phase, Phase::Paused(_)) {
            return Ok(None);
        }
        core.phase = Phase::Ended(Ending::Cancelled("it goes on elsewhere".to_owned()));
        let graph = Arc::clone(core.machine.graph(0).unwrap_or(&core.graph));
        let empty = Machine::new(graph, Update::default(), Options::default(), now);
        Ok(Some(std::mem::replace(&mut core.machine, empty)))
    });
    let mut machine = taken.ok().flatten()?;
    machine.watch(options.events, options.event_options);
    Some(machine)
}

impl Core {
    /// How values are stored, if they are.
    pub(crate) fn values_codec(&self) -> Option<&ObjectCodec> {
        match &self.kept {
            Some(kept) => Some(kept.values()),
            None => self.subrun.as_ref().and_then(|subrun| subrun.values()),
        }
    }

    /// Has what the run commits kept with the node that has started it; says what that
    /// has to wait for. Once the node has ended nothing of it is kept any more.
    pub(crate) fn relay(&self, commit: &Commit<Object>) -> Result<Option<StoreFuture<()>>, Fault> {
        let Some(subrun) = self.subrun.as_deref() else { return Ok(None) };
        let (Some(values), Some(graph)) = (subrun.values(), self.machine.graph(0)) else {
            return Ok(None);
        };
        let Some(errand) = subrun.caller.upgrade() else { return Ok(None) };
        let bytes = Codec::new(graph, values).encode(commit)?;
        let ended = matches!(commit.change, CommitChange::Ended(Ok(Ending::Completed)));
        let change = &commit.change;
        let commit = SubrunCommit {
            index: subrun.index,
            must_be_durable: change.must_be_durable(),
            repeatable: change.is_repeatable(),
            ended,
            bytes,
        };
        let kept = errand.run.get().with(|core| {
            let commit = core.machine.keep_subrun(errand.id, commit);
            Ok(commit.and_then(|commit| commit.map_or(Ok(None), |commit| core.keep_call(&commit))))
        });
        // Nobody but a user's code in the middle of the run around could be in the way.
        kept.unwrap_or(Ok(None))
    }

    /// The run rests: its node need not wait for it any more.
    pub(crate) fn rest_subrun(&mut self, phase: &Phase) {
        let Some(subrun) = self.subrun.as_deref_mut() else { return };
        let is_over = matches!(phase, Phase::Ended(Ending::Completed)) && subrun.values.is_none();
        let came_to = if is_over { self.machine.memory() } else { None };
        subrun.rest(came_to);
    }

    /// The run goes on after a rest.
    pub(crate) fn resume_subrun(&mut self) {
        if let Some(subrun) = self.subrun.as_deref_mut() {
            subrun.go_on();
        }
    }
}
