//! Single steps of a node's coroutine, and what is thrown into it.

use pyo3::exceptions::PyStopIteration;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::ffi::{self, Step};
use crate::graph::call::{Call, steppable};

/// What a step of a node came to.
pub(crate) enum StepOutcome<'py> {
    /// Its coroutine waits, and gives this to the event loop.
    Waits(Bound<'py, PyAny>, Bound<'py, PyAny>),
    /// It is done.
    Done(Bound<'py, PyAny>),
}

/// A coroutine that waits, and what it gave, on their way out of the context
/// variables of the node.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
struct SuspendedCoroutine {
    inner: Py<PyAny>,
    value: Py<PyAny>,
}

/// Calls a node and goes as far as it gets, in its own context variables.
pub(crate) fn begin<'py>(py: Python<'py>, call: &mut Call) -> PyResult<StepOutcome<'py>> {
    static BEGIN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let begin = BEGIN.import(py, "antiphon._antiphon", "_begin")?;
    call.prepare(py)?;
    let [one, two, three] = call.arguments(py);
    let outcome = call.enter(py, [Some(begin), Some(call.callable(py)), one, two, three])?;
    Ok(read(outcome))
}

/// Resumes a node's coroutine, in its own context variables.
pub(crate) fn resume<'py>(
    call: &Call,
    inner: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<StepOutcome<'py>> {
    static RESUME: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = inner.py();
    let resume = RESUME.import(py, "antiphon._antiphon", "_resume")?;
    let outcome = call.enter(py, [Some(resume), Some(inner), Some(value), None, None])?;
    Ok(read(outcome))
}

fn read(outcome: Bound<'_, PyAny>) -> StepOutcome<'_> {
    let Ok(suspended) = outcome.cast_exact::<SuspendedCoroutine>() else {
        return StepOutcome::Done(outcome);
    };
    let SuspendedCoroutine { inner, value } = suspended.get();
    StepOutcome::Waits(inner.bind(outcome.py()).clone(), value.bind(outcome.py()).clone())
}

/// Calls a coroutine function and takes the first step.
#[pyfunction]
#[pyo3(name = "_begin", signature = (callable, one, two=None, three=None))]
pub(crate) fn begin_inside<'py>(
    callable: &Bound<'py, PyAny>,
    one: &Bound<'py, PyAny>,
    two: Option<&Bound<'py, PyAny>>,
    three: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let inner = steppable(&ffi::call(callable, [Some(one), two, three])?)?;
    resume_inside(&inner, callable.py().None().bind(callable.py()))
}

/// Takes one step: what the coroutine returned, or a [`SuspendedCoroutine`].
#[pyfunction]
#[pyo3(name = "_resume")]
pub(crate) fn resume_inside<'py>(
    inner: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    match ffi::send(inner, value)? {
        Step::Return(value) => Ok(value),
        Step::Yield(value) => {
            let suspended =
                SuspendedCoroutine { inner: inner.clone().unbind(), value: value.unbind() };
            Ok(Bound::new(inner.py(), suspended)?.into_any())
        }
    }
}

/// Throws an exception into a node, which may catch it and continue.
pub(crate) fn throw<'py>(
    call: &Call,
    inner: &Bound<'py, PyAny>,
    error: &PyErr,
) -> PyResult<StepOutcome<'py>> {
    let py = inner.py();
    let throw = inner.getattr(intern!(py, "throw"))?;
    match call.enter(py, [Some(&throw), Some(error.value(py)), None, None, None]) {
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
