//! Calling a node: its argument, its context, and what it may reach.

use std::sync::Arc;

use antiphon_core::task::Task;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::context::{Context, Entered, Errand};
use crate::core::Core;
use crate::object::Object;
use crate::run::Run;

/// Everything needed to call a node, on whatever thread.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) errand: Arc<Errand>,
    pub(crate) kind: Kind,
    callable: Py<PyAny>,
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
    pub(crate) fn new(
        run: &Bound<'_, Run>,
        core: &Core,
        task: &Task<Object>,
    ) -> PyResult<Option<Self>> {
        let py = run.py();
        let Some(engine) = core.engine(py, core.machine.home(task.id.unit)) else {
            return Ok(None);
        };
        let inner = engine.get();
        let Some(entry) = inner.node(task.node) else { return Ok(None) };
        let Some(callable) = &entry.call else { return Ok(None) };
        let Some(node) = inner.graph.node(task.node) else { return Ok(None) };
        let input = core.input(&engine, task)?;
        let mut errand = Errand::new(run.clone().unbind(), task.id, Arc::clone(&node.name));
        errand.attempt = task.attempt;
        errand.deadline = task.deadline;
        errand.answers = core.machine.answers(task.id.unit, task.id.slot).to_vec();
        if entry.wants_ctx {
            errand.path = core.machine.path(task.id);
            errand.step = core.machine.supersteps();
            let handled = core.machine.handled(task.id.unit, task.id.slot);
            errand.handled = handled.map(|(name, fault)| (name, fault.clone()));
        }
        let errand = Arc::new(errand);
        let variables = context_method(py, &COPY, "copy")?.call1((&run.get().variables,))?.unbind();
        let arguments = if entry.wants_ctx {
            let context = Context { errand: Arc::clone(&errand) };
            (&variables, callable, input, context).into_pyobject(py)?
        } else {
            (&variables, callable, input).into_pyobject(py)?
        };
        let kind = match (entry.asynchronous, entry.inline, entry.timed) {
            (true, _, false) => Kind::Coroutine,
            (true, _, true) => Kind::TimedCoroutine,
            (false, _, true) => Kind::Timed,
            (false, true, false) => Kind::Inline,
            (false, false, false) => Kind::Blocking,
        };
        Ok(Some(Self {
            errand,
            kind,
            callable: callable.clone_ref(py),
            arguments: arguments.unbind(),
            variables,
        }))
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

    pub(crate) fn name(&self, py: Python<'_>) -> String {
        let name = self.callable.bind(py).getattr_opt(intern!(py, "__qualname__"));
        name.ok().flatten().map_or_else(|| self.errand.name.to_string(), |name| name.to_string())
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
