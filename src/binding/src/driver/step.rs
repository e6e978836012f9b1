//! Single steps of a node's coroutine, and what is thrown into it.

use pyo3::exceptions::PyStopIteration;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::driver::run::Run;
use crate::ffi::{self, Step};
use crate::graph::call::{Call, steppable};

/// What a step of a node came to.
pub(crate) enum StepOutcome<'py> {
    /// Its coroutine waits, and gives this to the event loop.
    Waits(Bound<'py, PyAny>, Bound<'py, PyAny>),
    /// It is done.
    Done(Bound<'py, PyAny>),
}

/// Calls a node and goes as far as it gets, in its own context variables.
pub(crate) fn begin<'py>(run: &Bound<'py, Run>, call: &mut Call) -> PyResult<StepOutcome<'py>> {
    call.start(run, |made| advance(steppable(&made)?, run.py().None().bind(run.py())))
}

/// Resumes a node's coroutine, in its own context variables.
pub(crate) fn resume<'py>(
    call: &Call,
    inner: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<StepOutcome<'py>> {
    call.enter(inner.py(), || advance(inner.clone(), value))
}

fn advance<'py>(inner: Bound<'py, PyAny>, value: &Bound<'py, PyAny>) -> PyResult<StepOutcome<'py>> {
    Ok(match ffi::send(&inner, value)? {
        Step::Return(value) => StepOutcome::Done(value),
        Step::Yield(value) => StepOutcome::Waits(inner, value),
    })
}

/// Throws an exception into a node, which may catch it and continue.
pub(crate) fn throw<'py>(
    call: &Call,
    inner: &Bound<'py, PyAny>,
    error: &PyErr,
) -> PyResult<StepOutcome<'py>> {
    let py = inner.py();
    let throw = inner.getattr(intern!(py, "throw"))?;
    match call.enter(py, || throw.call1((error.value(py),))) {
        Ok(value) => Ok(StepOutcome::Waits(inner.clone(), value)),
        Err(error) => match returned(py, &error) {
            Some(value) => Ok(StepOutcome::Done(value.into_bound(py))),
            None => Err(error),
        },
    }
}

/// The exception that `throw` was given, in any of its forms.
pub(crate) fn raised_by(error: &Bound<'_, PyTuple>) -> PyResult<PyErr> {
    let first = error.get_item(0)?;
    if first.is_instance_of::<pyo3::types::PyType>() {
        let value = error.get_item(1).ok().filter(|value| !value.is_none());
        let value = match value {
            Some(value) if value.is_instance(&first)? => value,
            Some(value) => first.call1((value,))?,
            None => first.call0()?,
        };
        return Ok(PyErr::from_value(value));
    }
    Ok(PyErr::from_value(first))
}

/// The value a coroutine returned, if that is what the exception says.
pub(crate) fn returned(py: Python<'_>, error: &PyErr) -> Option<Py<PyAny>> {
    let stop = error.value(py).cast::<PyStopIteration>().ok()?;
    stop.getattr(intern!(py, "value")).ok().map(Bound::unbind)
}
