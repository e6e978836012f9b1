//! What Python calls of a compiled graph.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

use crate::driver::run::Run;
use crate::driver::start::StartOptions;
use crate::driver::stream_options::StreamOptions;
use crate::driver::wait::{awaitable_result, block_on_result};
use crate::fault::seconds;
use crate::graph::engine::Engine;
use crate::graph::engine_history::EngineThread;
use crate::graph::limits::Limits;
use crate::graph::task_context::Context;
use crate::thread::history::History;
use crate::thread::thread_ref::ThreadRef;

#[pymethods]
impl Engine {
    /// The graph's name.
    #[getter]
    fn name(&self) -> &str {
        self.graph.name()
    }

    /// Starts a run. Nothing happens before it is waited for, awaited or iterated.
    ///
    /// Args:
    ///     input: the first writes: a dict, a command, or nothing.
    ///     config: what nodes reach as `Context.config`.
    ///     context: what nodes reach as `Context.context`.
    ///     limits: what the run may spend.
    ///     supersteps: in place of the supersteps of `limits`.
    ///     `max_concurrency`: nodes that run at a time; no limit by default.
    ///     `stream_options`: what the caller wants to see by iterating; nothing by default.
    ///     parent: the node that starts it: it is a part of that node, and resumes where it was
    ///         when the node begins again, unless it has its own `thread_ref`. The node's run may
    ///         want to show it too.
    ///     `on_enter`: called for each node before it, in the copy of the context
    ///         variables that is the node's, with its context and where it stands.
    ///     `on_task`: called with a dict when a task begins, and when it ends.
    ///     `step_timeout`: seconds that each superstep may take.
    ///     `breakpoints`: the names of the nodes before which it stops, and after which.
    ///     events: whether events are kept for the result.
    ///     `run_id`: a new one by default.
    ///     `thread_ref`: the thread that keeps it; none by default. Without an input it resumes
    ///         there.
    ///     registry: which types it may hold, if it is a part of a node whose run is kept.
    ///     seed: where ids and jitter come from; drawn by default.
    #[pyo3(signature = (
        input=None, *, config=None, context=None, limits=None, supersteps=None,
        max_concurrency=None, stream_options=None, parent=None, on_enter=None, on_task=None, step_timeout=None, breakpoints=None,
        events=false, thread_ref=None, registry=None, run_id=None, seed=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword options")]
    fn start<'py>(
        slf: &Bound<'py, Self>,
        input: Option<&Bound<'_, PyAny>>,
        config: Option<Py<PyAny>>,
        context: Option<Py<PyAny>>,
        limits: Option<&Bound<'_, Limits>>,
        supersteps: Option<u64>,
        max_concurrency: Option<usize>,
        stream_options: Option<Py<StreamOptions>>,
        parent: Option<&Bound<'_, Context>>,
        on_enter: Option<Py<PyAny>>,
        on_task: Option<Py<PyAny>>,
        step_timeout: Option<f64>,
        breakpoints: Option<(Vec<String>, Vec<String>)>,
        events: bool,
        thread_ref: Option<Py<ThreadRef>>,
        registry: Option<Py<PyAny>>,
        run_id: Option<&str>,
        seed: Option<u64>,
    ) -> PyResult<Bound<'py, Run>> {
        let mut limits = limits.map(|limits| limits.get().0.clone()).unwrap_or_default();
        limits.supersteps = supersteps.or(limits.supersteps);
        let options = StartOptions {
            config,
            context,
            limits,
            max_concurrency,
            stream_options,
            parent: parent.map(|parent| parent.get().task().cloned()).transpose()?,
            on_enter,
            on_task,
            step_timeout: step_timeout.map(|given| seconds("step_timeout", given)).transpose()?,
            breakpoints: breakpoints.map(|names| slf.get().breakpoints(names)),
            events,
            thread_ref,
            registry,
            id: run_id.map(Arc::from),
            seed,
        };
        options.start(slf, input)
    }

    /// What a thread held at its checkpoints, newest first: from the checkpoint of `thread_ref`
    /// back. With `live`, the newest shows what tasks of an open superstep have done.
    #[pyo3(signature = (thread_ref, *, live=false))]
    fn history(
        slf: &Bound<'_, Self>,
        thread_ref: &Bound<'_, ThreadRef>,
        live: bool,
    ) -> PyResult<History> {
        let codec = thread_ref.get().values(thread_ref.py())?;
        History::open(EngineThread { engine: slf.clone().unbind(), codec }, thread_ref, live)
    }

    /// The threads in the store of `thread_ref` whose last run was one of this graph and was
    /// lost: it neither ended nor paused, and nobody drives it.
    fn orphans(&self, py: Python<'_>, thread_ref: &Bound<'_, ThreadRef>) -> PyResult<Vec<String>> {
        block_on_result(
            py,
            thread_ref.get().orphans(py, &self.graph, thread_ref.get().values(py)?)?,
        )
    }

    /// `orphans` on the caller's event loop.
    fn aorphans<'py>(
        &self,
        py: Python<'py>,
        thread_ref: &Bound<'_, ThreadRef>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let orphans = thread_ref.get().orphans(py, &self.graph, thread_ref.get().values(py)?)?;
        awaitable_result(py, orphans, |py, names| names.into_pyobject(py).map(Bound::unbind))
    }

    /// The names of the nodes, in the order in which they were added.
    #[getter]
    fn nodes(&self) -> Vec<&str> {
        self.graph.nodes().iter().skip(1).map(|node| &*node.name).collect()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        for node in &self.nodes {
            visit.call(&node.call)?;
            visit.call(&node.view)?;
            if let Some(agent) = &node.agent {
                agent.traverse(&visit)?;
            }
            for policy in &node.retry {
                visit.call(policy)?;
            }
        }
        for router in &self.routers {
            visit.call(&router.call)?;
            visit.call(&router.ends)?;
            visit.call(&router.view)?;
        }
        for reducer in &self.reducers {
            visit.call(&reducer.call)?;
        }
        for nested in &self.nested {
            visit.call(nested)?;
        }
        visit.call(&self.adapt)
    }
}
