//! A run of the engine together with Python's side of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::Time;
use antiphon_core::checkpoint::CallOutcome;
use antiphon_core::effect::Ending;
use antiphon_core::graph::Graph;
use antiphon_core::run::Run as Machine;
use antiphon_core::task::{Task, TaskId, TaskInput, TaskWork};
use antiphon_runtime::{Clock, SystemClock};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::driver::phase::RunPhase;
use crate::driver::stream::Stream;
use crate::driver::subrun::Subrun;
use crate::driver::task_handle::TaskHandle;
use crate::ffi;
use crate::graph::agent::AgentCallKind;
use crate::graph::engine::Engine;
use crate::graph::host::Host;
use crate::thread::session::ThreadSession;
use crate::value::codec::ObjectCodec;
use crate::value::isolation::isolate;
use crate::value::object::Object;

#[derive(Debug)]
pub(crate) struct RunState {
    pub(crate) machine: Machine<Object>,
    pub(crate) host: Host,
    pub(crate) clock: Arc<SystemClock>,
    /// The instant of the present turn.
    pub(crate) now: Time,
    pub(crate) stream: Stream,
    pub(crate) phase: RunPhase,
    /// How to stop what runs elsewhere.
    pub(crate) handles: BTreeMap<TaskId, TaskHandle>,
    pub(crate) isolates: bool,
    /// How the values of an agent's calls are to be read.
    pub(crate) agent_calls: BTreeMap<TaskId, AgentCallKind>,
    /// The run's place in a thread, if it has one.
    pub(crate) session: Option<Box<ThreadSession>>,
    /// Its place in the node that has started it, if it has one.
    pub(crate) subrun: Option<Box<Subrun>>,
    pub(crate) graph: Arc<Graph<Object>>,
    /// The supersteps of earlier runs of that thread.
    pub(crate) before: u64,
}

impl RunState {
    pub(crate) fn engine<'py>(&self, py: Python<'py>, scope: u32) -> Option<Bound<'py, Engine>> {
        if scope == 0 {
            return self.host.engines.first().map(|engine| engine.bind(py).clone());
        }
        let graph = Arc::clone(self.machine.graph(scope)?);
        self.host.engine(py, &graph).ok().cloned()
    }

    /// The node's argument: a copy of the state as a dict, or what was sent.
    pub(crate) fn input<'py>(
        &self,
        engine: &Bound<'py, Engine>,
        task: &Task<Object>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = engine.py();
        if let TaskWork::Node(TaskInput::Sent(value)) | TaskWork::Open(TaskInput::Sent(value)) =
            &task.work
        {
            let sent = value.0.bind(py);
            return if self.isolates { isolate(sent) } else { Ok(sent.clone()) };
        }
        let scope = self.machine.state_scope(task.id.scope);
        let state = self.machine.scope_state(scope);
        let mut dict = self.host.dict(engine, scope, |id| state.and_then(|state| state.get(id)))?;
        if self.isolates {
            dict = isolate(&dict)?.cast_into()?;
        }
        let view = engine.get().node(task.node).and_then(|node| node.view.as_ref());
        match view {
            Some(view) => ffi::call(view.bind(py), [Some(dict.as_any())]),
            None => Ok(dict.into_any()),
        }
    }

    /// The state of the run's own graph as a dict.
    pub(crate) fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Some(engine) = self.engine(py, 0) else { return Ok(PyDict::new(py)) };
        self.host.dict(&engine, 0, |id| self.machine.state().get(id))
    }

    pub(crate) fn traverse(&self, visit: &pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        for engine in &self.host.engines {
            visit.call(engine)?;
        }
        for error in &self.host.errors {
            visit.call(error)?;
        }
        visit.call(&self.host.master)?;
        if let RunPhase::Paused(questions) = &self.phase {
            questions.iter().try_for_each(|question| visit.call(&question.value.0))?;
        }
        self.stream.traverse(visit)?;
        for outcome in self.machine.known_calls() {
            if let CallOutcome::Value(value) | CallOutcome::Raised(value) = outcome {
                visit.call(&value.0)?;
            }
        }
        let mut visited = Ok(());
        self.machine.visit_subruns(&mut |value| {
            if visited.is_ok() {
                visited = visit.call(&value.0);
            }
        });
        visited?;
        let slots = self.machine.state().snapshot();
        slots.iter().flatten().try_for_each(|value| visit.call(&value.0))
    }

    /// The time left until the run's deadline, if it has one.
    pub(crate) fn remaining(&mut self) -> Option<Duration> {
        self.now = self.clock.now();
        self.machine.remaining(self.now)
    }

    /// The run's deadline is over, and a node ends because of it.
    pub(crate) fn expire(&mut self) {
        self.now = self.clock.now();
        self.machine.keep_time(self.now);
    }

    /// How values are stored, if they are.
    pub(crate) fn values_codec(&self) -> Option<&ObjectCodec> {
        match &self.session {
            Some(session) => Some(session.values()),
            None => self.subrun.as_ref().and_then(|subrun| subrun.values()),
        }
    }

    /// The run rests: its node need not wait for it any more.
    pub(crate) fn rest_subrun(&mut self, phase: &RunPhase) {
        let Some(subrun) = self.subrun.as_deref_mut() else { return };
        let is_over =
            matches!(phase, RunPhase::Ended(Ending::Completed)) && subrun.values().is_none();
        let came_to = if is_over { self.machine.recovered_run() } else { None };
        subrun.rest(came_to);
    }

    /// The run continues after a rest.
    pub(crate) fn resume_subrun(&mut self) {
        if let Some(subrun) = self.subrun.as_deref_mut() {
            subrun.resume();
        }
    }
}
