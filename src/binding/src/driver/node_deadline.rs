//! The run's deadline beside a node that the caller's own task steps. As `asyncio.timeout` does,
//! it cancels that task, and takes the cancellation back once the node has ended.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::{PyTraverseError, PyVisit};

use crate::driver::run::Run;

/// A timer of the event loop, one for all nodes of a wait.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct NodeDeadline {
    run: Py<Run>,
    event_loop: Py<PyAny>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    timer: Option<Py<PyAny>>,
    /// The task that steps a node, while the node waits.
    waiting: Option<Py<PyAny>>,
    cancelled: Option<CancelledTask>,
}

/// The task that was cancelled, and how many others had asked it to leave before.
#[derive(Debug)]
struct CancelledTask {
    task: Py<PyAny>,
    requests: u64,
}

impl NodeDeadline {
    pub(crate) fn new(run: Py<Run>, event_loop: Py<PyAny>) -> Self {
        Self { run, event_loop, state: Mutex::default() }
    }

    /// The present task waits for a node, for so long at most.
    pub(crate) fn watch(this: &Bound<'_, Self>, limit: Duration) -> PyResult<()> {
        let task = current_task(this.py())?;
        // Where no task waits, nothing can be cancelled.
        if task.is_none() {
            return Ok(());
        }
        let mut state = this.get().state();
        state.waiting = Some(task.unbind());
        if state.timer.is_none() {
            state.timer = Some(Self::timer(this, limit)?);
        }
        Ok(())
    }

    /// The node waits no more.
    pub(crate) fn unwatch(&self) {
        self.state().waiting = None;
    }

    /// Whether what was thrown into the task is its own cancellation, and nobody else's.
    pub(crate) fn has_cancelled(&self, py: Python<'_>) -> bool {
        let state = self.state();
        let Some(CancelledTask { task, requests }) = &state.cancelled else { return false };
        cancel_requests(task.bind(py)).is_ok_and(|now| now <= requests + 1)
    }

    /// Takes the cancellation back, if there was one: the node has ended, or the caller leaves.
    pub(crate) fn uncancel(&self, py: Python<'_>) -> PyResult<()> {
        let cancelled = self.state().cancelled.take();
        let Some(CancelledTask { task, .. }) = cancelled else { return Ok(()) };
        task.call_method0(py, intern!(py, "uncancel")).map(drop)
    }

    /// The wait is over.
    pub(crate) fn stop(&self, py: Python<'_>) -> PyResult<()> {
        let State { timer, .. } = std::mem::take(&mut *self.state());
        let Some(timer) = timer else { return Ok(()) };
        timer.call_method0(py, intern!(py, "cancel")).map(drop)
    }

    fn timer(this: &Bound<'_, Self>, limit: Duration) -> PyResult<Py<PyAny>> {
        let py = this.py();
        let arguments = (limit.as_secs_f64(), this);
        let event_loop = this.get().event_loop.bind(py);
        Ok(event_loop.call_method1(intern!(py, "call_later"), arguments)?.unbind())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl NodeDeadline {
    /// The time is over, or the deadline has moved.
    fn __call__(slf: &Bound<'_, Self>) -> PyResult<()> {
        let (py, this) = (slf.py(), slf.get());
        let left = this.run.get().with(|state| Ok(state.remaining()))?;
        let mut state = this.state();
        state.timer = None;
        let Some(left) = left else { return Ok(()) };
        if !left.is_zero() {
            state.timer = Some(Self::timer(slf, left)?);
            return Ok(());
        }
        let Some(task) = state.waiting.take() else { return Ok(()) };
        let requests = cancel_requests(task.bind(py))?;
        state.cancelled = Some(CancelledTask { task: task.clone_ref(py), requests });
        drop(state);
        task.call_method0(py, intern!(py, "cancel")).map(drop)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.run)?;
        visit.call(&self.event_loop)
    }
}

/// The task of the event loop that runs on this thread; `None` where code runs outside of tasks.
pub(crate) fn current_task(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    static CURRENT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    CURRENT.import(py, "asyncio", "current_task")?.call0()
}

fn cancel_requests(task: &Bound<'_, PyAny>) -> PyResult<u64> {
    task.call_method0(intern!(task.py(), "cancelling"))?.extract()
}
