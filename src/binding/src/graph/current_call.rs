//! How the code that runs for a node finds the node: a context variable holds its call.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyWeakrefMethods, PyWeakrefReference};
use pyo3::{PyTraverseError, PyVisit};

use crate::driver::run::Run;
use crate::ffi::{self, GilCell};
use crate::graph::node_variables::{NodeVariables, method};
use crate::graph::task_context::{NodeAttempt, TaskContext};

/// The call of a node, as the node's context variables hold it, and with them
/// all that its code starts: tasks, threads, executors that copy them.
///
/// A task or a connection that outlives the node keeps its variables, and must neither keep
/// the run alive nor act for it.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct CurrentCall {
    run: Py<PyWeakrefReference>,
    attempt: GilCell<Option<NodeAttempt>>,
    cx: GilCell<LazyContext>,
}

/// The context of a call: made when it is first asked for, which most nodes never do, and kept
/// until the call ends.
#[derive(Clone, Debug)]
enum LazyContext {
    Unasked,
    Made(Arc<TaskContext>),
    Over,
}

/// What the context variables of some code say about the node that it runs for.
pub(crate) enum EnclosingTask {
    Nothing,
    Present(Arc<TaskContext>),
    /// The node, by its name, has ended.
    Ended(Py<PyString>),
}

impl CurrentCall {
    /// The context variables of a call that begins.
    pub(crate) fn begin(
        run: &Bound<'_, Run>,
        attempt: NodeAttempt,
        cx: Option<Arc<TaskContext>>,
    ) -> PyResult<NodeVariables> {
        static SET: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = run.py();
        let caller = &run.get().variables;
        let cx = cx.map_or(LazyContext::Unasked, LazyContext::Made);
        if let Some(spare) = caller.spare(py) {
            let this = spare.call(py).cast_exact::<Self>()?.get();
            let former = this.attempt.replace(py, Some(attempt));
            drop(former.map(|former| former.name.into_bound(py)));
            this.cx.replace(py, cx);
            return Ok(spare);
        }
        let context = caller.copy(py)?;
        let call = Self {
            run: PyWeakrefReference::new(run)?.unbind(),
            attempt: GilCell::new(Some(attempt)),
            cx: GilCell::new(cx),
        };
        let (call, variable) = (Bound::new(py, call)?, variable(py)?);
        let set = method(py, &SET, ("ContextVar", "set"))?;
        ffi::within(&context, || ffi::call(set, [Some(variable), Some(call.as_any())]))?;
        Ok(NodeVariables::new(context, call.into_any()))
    }

    /// Ends the call that stands in these variables: nothing acts for it any more. Gives its
    /// context, if anybody has asked for it.
    pub(crate) fn end(py: Python<'_>, variables: &NodeVariables) -> Option<Arc<TaskContext>> {
        let this = variables.call(py).cast_exact::<Self>().ok()?.get();
        match this.cx.replace(py, LazyContext::Over) {
            LazyContext::Made(cx) => Some(cx),
            LazyContext::Unasked | LazyContext::Over => None,
        }
    }

    /// The name of the node whose call stands in these variables.
    pub(crate) fn name(py: Python<'_>, variables: &NodeVariables) -> Option<Py<PyString>> {
        let this = variables.call(py).cast_exact::<Self>().ok()?.get();
        this.attempt(py).map(|attempt| attempt.name)
    }

    pub(crate) fn enclosing(py: Python<'_>) -> PyResult<EnclosingTask> {
        static GET: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let get = method(py, &GET, ("ContextVar", "get"))?;
        let found = ffi::call(get, [Some(variable(py)?)])?;
        let Ok(call) = found.cast_exact::<Self>() else { return Ok(EnclosingTask::Nothing) };
        let this = call.get();
        let Some(attempt) = this.attempt(py) else { return Ok(EnclosingTask::Nothing) };
        let present = this.context(py, &attempt)?;
        Ok(present.map_or(EnclosingTask::Ended(attempt.name), EnclosingTask::Present))
    }

    /// The context of the call, while its attempt is under way.
    fn context(&self, py: Python<'_>, attempt: &NodeAttempt) -> PyResult<Option<Arc<TaskContext>>> {
        match self.cx(py) {
            LazyContext::Unasked => {}
            LazyContext::Made(cx) => return Ok(Some(cx).filter(|cx| cx.is_under_way())),
            LazyContext::Over => return Ok(None),
        }
        let Some(run) = self.run.bind(py).upgrade() else { return Ok(None) };
        let run = run.cast_into::<Run>()?;
        let made = run.get().with(|state| {
            let is_under_way = state.machine.is_under_way(attempt.id);
            Ok(is_under_way.then(|| TaskContext::of(&run, state, attempt)))
        })?;
        let Some(made) = made else { return Ok(None) };
        // Other threads may have run meanwhile; from here on none does.
        Ok(match self.cx(py) {
            LazyContext::Unasked => {
                self.cx.replace(py, LazyContext::Made(Arc::clone(&made)));
                Some(made)
            }
            LazyContext::Made(cx) => Some(cx),
            LazyContext::Over => None,
        })
    }

    fn attempt(&self, py: Python<'_>) -> Option<NodeAttempt> {
        let attempt = self.attempt.replace(py, None);
        let copy = attempt.as_ref().map(|attempt| attempt.clone_ref(py));
        self.attempt.replace(py, attempt);
        copy
    }

    fn cx(&self, py: Python<'_>) -> LazyContext {
        let cx = self.cx.replace(py, LazyContext::Over);
        self.cx.replace(py, cx.clone());
        cx
    }
}

#[pymethods]
impl CurrentCall {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.run)?;
        self.cx.visit(&visit, |cx, visit| match cx {
            LazyContext::Made(cx) => TaskContext::traverse(cx, visit),
            LazyContext::Unasked | LazyContext::Over => Ok(()),
        })
    }
}

/// The context variable that holds the current call; it has no value outside of nodes.
fn variable(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static VARIABLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let made = VARIABLE.get_or_try_init(py, || {
        let options = PyDict::new(py);
        options.set_item("default", py.None())?;
        let kind = py.import("contextvars")?.getattr("ContextVar")?;
        Ok::<_, PyErr>(kind.call(("antiphon_call",), Some(&options))?.unbind())
    })?;
    Ok(made.bind(py))
}
