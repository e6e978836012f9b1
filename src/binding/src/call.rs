//! Calling a node: its argument, its context, and what it may reach.

use std::sync::Arc;

use antiphon_core::task::{Task, Work};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::agent::{self, AgentEntry, ModelEntry, Purpose};
use crate::context::{Context, Entered, Errand};
use crate::core::Core;
use crate::engine::Engine;
use crate::object::Object;
use crate::run::Run;
use crate::show;

/// Everything needed to call a node, on whatever thread.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) errand: Arc<Errand>,
    pub(crate) kind: Kind,
    arguments: Py<PyTuple>,
    /// A copy of the caller's context variables: what a node sets stays in it.
    pub(crate) variables: Py<PyAny>,
}

/// Where a node may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A function that may run on the event loop and beside nothing else.
    Inline,
    /// A function that may block.
    Blocking,
    /// A function that must not hold the caller beyond its time-out.
    Timed,
    /// Calling it gives a coroutine.
    Coroutine,
    /// A coroutine that can be stopped on its own.
    TimedCoroutine,
}

impl Call {
    /// What a task asks Python to do; none for a task that Python has no part in.
    pub(crate) fn new(
        run: &Bound<'_, Run>,
        core: &mut Core,
        task: &Task<Object>,
    ) -> PyResult<Option<Self>> {
        let py = run.py();
        let Some(engine) = core.engine(py, task.id.unit) else { return Ok(None) };
        let inner = engine.get();
        let (Some(entry), Some(node)) = (inner.node(task.node), inner.graph.node(task.node)) else {
            return Ok(None);
        };
        let mut errand = Errand::new(run.clone().unbind(), task.id, Arc::clone(&node.name));
        errand.attempt = task.attempt;
        errand.deadline = task.deadline;
        let variables = context_method(py, &COPY, "copy")?.call1((&run.get().variables,))?.unbind();
        let Some(call) = &entry.call else {
            let Some(agent) = entry.agent.as_deref() else { return Ok(None) };
            let request = Request { engine: &engine, task, agent, variables };
            return request.call(core, errand);
        };
        errand.answers = core.machine.answers(task.id.unit, task.id.slot).to_vec();
        let input = core.input(&engine, task)?;
        let enter = run.get().enter.as_ref();
        let (errand, arguments) = if entry.wants_ctx || enter.is_some() {
            let errand = core.introduce(errand);
            let context = Bound::new(py, Context { errand: Arc::clone(&errand) })?;
            if let Some(enter) = enter {
                enter_node(core, enter, &variables, &context)?;
            }
            let arguments = if entry.wants_ctx {
                (&variables, call, input, context).into_pyobject(py)?
            } else {
                (&variables, call, input).into_pyobject(py)?
            };
            (errand, arguments)
        } else {
            (Arc::new(errand), (&variables, call, input).into_pyobject(py)?)
        };
        let kind = match (entry.asynchronous, entry.inline, entry.timed) {
            (true, _, false) => Kind::Coroutine,
            (true, _, true) => Kind::TimedCoroutine,
            (false, _, true) => Kind::Timed,
            (false, true, false) => Kind::Inline,
            (false, false, false) => Kind::Blocking,
        };
        Ok(Some(Self { errand, kind, arguments: arguments.unbind(), variables }))
    }

    /// Calls the node here and now.
    pub(crate) fn make<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let _entered = Entered::enter(&self.errand);
        context_method(py, &RUN, "run")?.call1(self.arguments.bind(py))
    }

    /// Calls an async node: its coroutine, not yet begun.
    pub(crate) fn begin<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let made = self.make(py)?;
        steppable(&made)
    }
}

/// Lets whoever started the run prepare the context variables of a node.
fn enter_node(
    core: &Core,
    enter: &Py<PyAny>,
    variables: &Py<PyAny>,
    context: &Bound<'_, Context>,
) -> PyResult<()> {
    let py = context.py();
    let place = core.machine.place_of(context.get().errand.id);
    let about = place.as_ref().map(|place| show::about(py, place)).transpose()?;
    context_method(py, &RUN, "run")?.call1((variables, enter, context, about))?;
    Ok(())
}

/// A call of an agent, on its way to Python.
struct Request<'a, 'py> {
    engine: &'a Bound<'py, Engine>,
    task: &'a Task<Object>,
    agent: &'a AgentEntry,
    variables: Py<PyAny>,
}

impl Request<'_, '_> {
    fn call(self, core: &mut Core, errand: Errand) -> PyResult<Option<Call>> {
        let py = self.engine.py();
        let errand = core.introduce(errand);
        let context = Context { errand: Arc::clone(&errand) };
        let variables = &self.variables;
        let (purpose, kind, arguments) = match &self.task.work {
            Work::Open(_) => {
                let input = core.input(self.engine, self.task)?;
                let arguments = (variables, &self.agent.open, input, context).into_pyobject(py)?;
                (Purpose::Open, Kind::Inline, arguments)
            }
            Work::Close(came) => {
                let state = core.input(self.engine, self.task)?;
                let came = agent::conclusion(py, came)?;
                let arguments = (variables, &self.agent.close, state, came, context);
                (Purpose::Close, Kind::Inline, arguments.into_pyobject(py)?)
            }
            Work::Model(request) => {
                let ModelEntry::Callable(model) = &self.agent.model else { return Ok(None) };
                let request = pythonize::pythonize(py, request)?;
                let arguments = (variables, &model.call, request).into_pyobject(py)?;
                (Purpose::Model, model.kind(), arguments)
            }
            Work::Tool(invocation) => {
                let Some(tool) = self.agent.tool(&invocation.call.name) else { return Ok(None) };
                let given = pythonize::pythonize(py, &invocation.arguments)?;
                let about = agent::about(py, invocation)?;
                let arguments = (variables, &tool.call, given, about).into_pyobject(py)?;
                (Purpose::Tool, tool.kind(), arguments)
            }
            Work::Node(_) => return Ok(None),
        };
        core.purposes.insert(self.task.id, purpose);
        let arguments = arguments.unbind();
        Ok(Some(Call { errand, kind, arguments, variables: self.variables }))
    }
}

/// Methods of context variables, looked up once: calling them unbound spares
/// a method object per call.
static COPY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static RUN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

fn context_method<'py>(
    py: Python<'py>,
    method: &PyOnceLock<Py<PyAny>>,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let found = method.get_or_try_init(py, || {
        Ok::<_, PyErr>(py.import("contextvars")?.getattr("Context")?.getattr(name)?.unbind())
    })?;
    Ok(found.bind(py).clone())
}

/// What can be sent to: a coroutine as it is, another awaitable's iterator.
pub(crate) fn steppable<'py>(awaitable: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = awaitable.py();
    if awaitable.hasattr(intern!(py, "send"))? {
        return Ok(awaitable.clone());
    }
    awaitable.call_method0(intern!(py, "__await__"))
}

/// Whether a value has to be awaited.
pub(crate) fn is_awaitable(value: &Bound<'_, PyAny>) -> bool {
    !value.is_none()
        && !value.is_exact_instance_of::<pyo3::types::PyDict>()
        && value.hasattr(intern!(value.py(), "__await__")).unwrap_or(false)
}
