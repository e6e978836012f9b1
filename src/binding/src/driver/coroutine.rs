//! An async node in a separate task: a coroutine around the user's, which
//! hands the outcome to the run instead of to the awaiter of the task.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyStopIteration;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use crate::driver::fork_guard::ForkGuard;
use crate::driver::lost_failure;
use crate::driver::run::Run;
use crate::driver::step::{raised_by, returned};
use crate::ffi::{self, Step};
use crate::graph::call::Call;

/// Steps a node's coroutine for an asyncio task.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct NodeCoroutine {
    run: Py<Run>,
    call: Call,
    inner: Py<PyAny>,
    state: Mutex<State>,
    /// Ends a forked child, if it runs on a loop of ours.
    guard: Option<ForkGuard>,
}

#[derive(Debug, Default)]
struct State {
    task: Option<Py<PyAny>>,
    cancelled: bool,
    answered: bool,
    /// The cancellation, once the node has received it: what it returns then is not its work.
    stopped: Option<PyErr>,
}

impl NodeCoroutine {
    /// Puts the coroutine of `call` into a task of `event_loop`, which runs on
    /// this thread.
    pub(crate) fn spawn(
        event_loop: &Bound<'_, PyAny>,
        run: &Bound<'_, Run>,
        started: (Call, Bound<'_, PyAny>),
    ) -> PyResult<Py<Self>> {
        let py = event_loop.py();
        let this = Self::allocate(run, started, None)?;
        this.bind(py).get().enter_loop(py, this.bind(py), event_loop)?;
        Ok(this)
    }

    /// The same for a loop that runs on another thread.
    pub(crate) fn spawn_elsewhere(
        event_loop: &Bound<'_, PyAny>,
        run: &Bound<'_, Run>,
        started: (Call, Bound<'_, PyAny>),
    ) -> PyResult<Py<Self>> {
        let py = event_loop.py();
        let this = Self::allocate(run, started, Some(ForkGuard::new()))?;
        let launch = this.getattr(py, intern!(py, "launch"))?;
        event_loop.call_method1(intern!(py, "call_soon_threadsafe"), (launch, event_loop))?;
        Ok(this)
    }

    fn allocate(
        run: &Bound<'_, Run>,
        (call, inner): (Call, Bound<'_, PyAny>),
        guard: Option<ForkGuard>,
    ) -> PyResult<Py<Self>> {
        let (py, run, inner) = (run.py(), run.clone().unbind(), inner.unbind());
        Py::new(py, Self { run, call, inner, state: Mutex::default(), guard })
    }

    fn enter_loop(
        &self,
        py: Python<'_>,
        this: &Bound<'_, Self>,
        event_loop: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let options = PyDict::new(py);
        options.set_item(intern!(py, "context"), self.call.variables(py))?;
        options.set_item(intern!(py, "name"), self.call.name(py))?;
        let task = event_loop.call_method(intern!(py, "create_task"), (this,), Some(&options))?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.task = Some(task.clone().unbind());
        let cancelled = state.cancelled;
        drop(state);
        if cancelled {
            task.call_method0(intern!(py, "cancel"))?;
        }
        Ok(())
    }

    fn advance(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> Option<Py<PyAny>> {
        let stepped = ffi::send(self.inner.bind(py), value);
        if let Some(guard) = self.guard {
            guard.check(py, stepped.as_ref().err());
        }
        match stepped {
            Ok(Step::Yield(value)) => Some(value.unbind()),
            Ok(Step::Return(value)) => self.ended(py, Ok(value)),
            Err(error) => self.ended(py, Err(error)),
        }
    }

    fn ended(&self, py: Python<'_>, outcome: PyResult<Bound<'_, PyAny>>) -> Option<Py<PyAny>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.task = None;
        let first = !std::mem::replace(&mut state.answered, true);
        let cancelled = state.cancelled;
        let outcome = match state.stopped.take() {
            Some(stopped) if outcome.is_ok() => Err(stopped),
            _ => outcome,
        };
        drop(state);
        if first {
            if let Some(error) = outcome.as_ref().err().filter(|_| cancelled) {
                lost_failure::log(py, self.call.name(py), error);
            }
            let (id, answer) = (self.call.id, self.call.answer(py, outcome));
            self.run.get().mailbox.post(py, |mail| mail.answers.push((id, answer)));
        }
        None
    }
}

#[pymethods]
impl NodeCoroutine {
    const fn __await__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    const fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.advance(py, py.None().bind(py))
    }

    fn send(&self, value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.advance(value.py(), value).ok_or_else(|| PyStopIteration::new_err(()))
    }

    #[pyo3(signature = (*error))]
    fn throw(&self, py: Python<'_>, error: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.cancelled {
            state.stopped = Some(raised_by(error)?);
        }
        drop(state);
        let thrown = self.inner.bind(py).call_method1(intern!(py, "throw"), error);
        let over = match thrown {
            Ok(value) => return Ok(value.unbind()),
            Err(error) => match returned(py, &error) {
                Some(value) => self.ended(py, Ok(value.into_bound(py))),
                None => self.ended(py, Err(error)),
            },
        };
        over.ok_or_else(|| PyStopIteration::new_err(()))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.inner.call_method0(py, intern!(py, "close"))?;
        Ok(())
    }

    /// Begins, on the thread of the loop.
    fn launch(slf: &Bound<'_, Self>, event_loop: &Bound<'_, PyAny>) -> PyResult<()> {
        slf.get().enter_loop(slf.py(), slf, event_loop)
    }

    /// Stops, from any thread.
    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.cancelled = true;
        let task = state.task.as_ref().map(|task| task.clone_ref(py));
        drop(state);
        let Some(task) = task else { return Ok(()) };
        let event_loop = task.call_method0(py, intern!(py, "get_loop"))?;
        let cancel = task.getattr(py, intern!(py, "cancel"))?;
        event_loop.call_method1(py, intern!(py, "call_soon_threadsafe"), (cancel,))?;
        Ok(())
    }

    #[getter]
    fn __name__(&self, py: Python<'_>) -> Option<Py<PyString>> {
        self.call.name(py)
    }

    #[getter]
    fn __qualname__(&self, py: Python<'_>) -> Option<Py<PyString>> {
        self.call.name(py)
    }

    #[getter]
    fn cr_await(&self, py: Python<'_>) -> Py<PyAny> {
        self.inner.clone_ref(py)
    }

    #[getter]
    fn cr_frame(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.inner.getattr(py, intern!(py, "cr_frame")).ok()
    }

    #[getter]
    fn cr_code(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.inner.getattr(py, intern!(py, "cr_code")).ok()
    }

    #[getter]
    fn cr_running(&self, py: Python<'_>) -> bool {
        let running = self.inner.getattr(py, intern!(py, "cr_running"));
        running.and_then(|running| running.extract(py)).unwrap_or(false)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.run)?;
        visit.call(&self.inner)
    }
}
