//! Single steps of a node's coroutine, and what is thrown into it.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::call::Call;
use crate::context::Entered;
use crate::coroutine::returned;
use crate::ffi::{self, Step};

/// One step of a node, in its own copy of the context variables.
pub(crate) fn step<'py>(
    py: Python<'py>,
    call: &Call,
    inner: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<Step<'py>> {
    static ADVANCE: pyo3::sync::PyOnceLock<Py<PyAny>> = pyo3::sync::PyOnceLock::new();
    let advance = ADVANCE.import(py, "antiphon._antiphon", "_advance")?;
    let _entered = Entered::enter(&call.errand);
    let stepped =
        call.variables.bind(py).call_method1(intern!(py, "run"), (advance, inner, value))?;
    let (done, value) = stepped.extract::<(bool, Bound<'py, PyAny>)>()?;
    Ok(if done { Step::Return(value) } else { Step::Yield(value) })
}

/// One step of a coroutine: whether it is done, and what it gave.
#[pyfunction]
#[pyo3(name = "_advance")]
pub(crate) fn advance<'py>(
    inner: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<(bool, Bound<'py, PyAny>)> {
    Ok(match ffi::send(inner, value)? {
        Step::Yield(value) => (false, value),
        Step::Return(value) => (true, value),
    })
}

/// Throws an exception into a node, which may catch it and go on.
pub(crate) fn throw<'py>(
    py: Python<'py>,
    call: &Call,
    inner: &Bound<'py, PyAny>,
    error: &PyErr,
) -> PyResult<Step<'py>> {
    let _entered = Entered::enter(&call.errand);
    let throw = inner.getattr(intern!(py, "throw"))?;
    let run = intern!(py, "run");
    match call.variables.bind(py).call_method1(run, (throw, error.value(py))) {
        Ok(value) => Ok(Step::Yield(value)),
        Err(error) => match returned(py, &error) {
            Some(value) => Ok(Step::Return(value.into_bound(py))),
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
