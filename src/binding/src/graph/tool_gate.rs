//! The gates of tools whose code is Python.

use std::sync::{Arc, Mutex, PoisonError};

use antiphon_core::breaker::BreakerPolicy;
use antiphon_runtime::{CallNotes, Clock, GatedCall, SystemClock, ToolGate};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::driver::exit_gate;
use crate::driver::wait::{awaitable_result, block_on_result};
use crate::fault::seconds;

/// What all calls of one tool share: how many may be under way at once, and a circuit breaker.
#[pyclass(name = "ToolGate", module = "antiphon._antiphon", frozen)]
pub(crate) struct PyToolGate {
    gate: Arc<ToolGate>,
    clock: Arc<dyn Clock>,
}

#[pymethods]
impl PyToolGate {
    /// A gate for the tool of that name. `timeout` is that of a call, in seconds; `breaker` is the
    /// number of failures in a row that open the circuit, and the seconds for which it stays open.
    #[new]
    #[pyo3(signature = (name, *, timeout=None, breaker=None, max_concurrency=None))]
    fn new(
        name: &str,
        timeout: Option<f64>,
        breaker: Option<(u32, f64)>,
        max_concurrency: Option<u32>,
    ) -> PyResult<Self> {
        let timeout = timeout.map(|given| seconds("timeout", given)).transpose()?;
        let breaker = breaker.map(policy).transpose()?;
        let gate = ToolGate::new(name, timeout, breaker, max_concurrency);
        Ok(Self { gate, clock: Arc::new(SystemClock::new()) })
    }

    /// Waits until a call may be made. `note` is called with a name and a dict for each new phase
    /// of the circuit that this call learns of. Raises `tool_circuit_open`.
    fn enter(&self, py: Python<'_>, note: Py<PyAny>) -> PyResult<PyGatedCall> {
        let entered = self.gate.enter(&self.clock, Some(notes(note)));
        block_on_result(py, entered).map(PyGatedCall::new)
    }

    /// `enter` on the caller's event loop.
    fn aenter<'py>(&self, py: Python<'py>, note: Py<PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (gate, clock) = (Arc::clone(&self.gate), Arc::clone(&self.clock));
        let entered = async move { gate.enter(&clock, Some(notes(note))).await };
        awaitable_result(py, entered, |py, call| Py::new(py, PyGatedCall::new(call)))
    }

    /// The calls under way (`running`), those of them that have exceeded their time-out
    /// (`overdue`), and the `phase` and `failures` of the breaker.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let status = self.gate.status(self.clock.now());
        let dict = PyDict::new(py);
        dict.set_item("running", status.running)?;
        dict.set_item("overdue", status.overdue)?;
        dict.set_item("phase", status.breaker.map(|breaker| breaker.phase.as_str()))?;
        dict.set_item("failures", status.breaker.map(|breaker| breaker.failures))?;
        Ok(dict)
    }
}

impl PyToolGate {
    pub(crate) const fn gate(&self) -> &Arc<ToolGate> {
        &self.gate
    }
}

/// A call that a gate has let through.
#[pyclass(name = "GatedCall", module = "antiphon._antiphon", frozen)]
pub(crate) struct PyGatedCall(Mutex<Option<GatedCall>>);

#[pymethods]
impl PyGatedCall {
    /// The call has ended: `failed` says whether the tool could not be reached.
    fn finish(&self, failed: bool) {
        if let Some(call) = self.take() {
            call.record(failed);
        }
    }

    /// The call was cancelled, which says nothing about the tool.
    fn cancel(&self) {
        drop(self.take());
    }
}

impl PyGatedCall {
    fn new(call: GatedCall) -> Self {
        Self(Mutex::new(Some(call)))
    }

    fn take(&self) -> Option<GatedCall> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Failures in a row, and seconds, as Python gives them.
pub(crate) fn policy((failures, cooldown): (u32, f64)) -> PyResult<BreakerPolicy> {
    Ok(BreakerPolicy { failures, cooldown: seconds("cooldown", cooldown)? })
}

/// A callable that takes notes. What it raises is nobody's concern: the call goes on.
pub(crate) fn notes(callable: Py<PyAny>) -> CallNotes {
    Arc::new(move |name, data| {
        exit_gate::enter(|py| {
            let noted = pythonize::pythonize(py, &data)
                .map_err(PyErr::from)
                .and_then(|data| callable.call1(py, (name, data)));
            if let Err(error) = noted {
                error.write_unraisable(py, None);
            }
        });
    })
}
