//! JSON from Python's values, with a limit of depth: a walk into a value that
//! contains itself would overflow the stack, and that ends the process.

use antiphon_core::{Fault, FaultCode};
use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyNone, PySequence, PyString, PyTuple,
};
use serde::de::DeserializeOwned;

use crate::fault::to_exception;

/// Levels of nesting that are read; JSON readers stop at 128.
const DEEPEST: u8 = 100;

/// Reads a value of Python's as `T`.
///
/// Raises `invalid_value` if it is nested too deeply or contains itself, and
/// what pythonize raises if it is no `T`.
pub(crate) fn read<T: DeserializeOwned>(value: &Bound<'_, PyAny>) -> PyResult<T> {
    if !is_shallow(value, 0) {
        let kind = value.get_type().qualname()?;
        let message =
            format!("a value is nested in more than {DEEPEST} levels, or contains itself: {kind}");
        let fault = Fault::new(FaultCode::InvalidValue, message);
        return Err(to_exception(value.py(), &fault));
    }
    pythonize::depythonize(value).map_err(|error| {
        let error = PyErr::from(error);
        // What is only a message of serde's, about bytes or numbers out of range.
        if error.get_type(value.py()).is(value.py().get_type::<PyException>()) {
            PyTypeError::new_err(error.value(value.py()).to_string())
        } else {
            error
        }
    })
}

fn is_shallow(value: &Bound<'_, PyAny>, depth: u8) -> bool {
    if is_scalar(value) {
        return true;
    }
    if depth >= DEEPEST {
        return false;
    }
    // What cannot be walked through is not walked into by others either. Asking
    // whether something is a mapping costs more than most values; a class of its
    // own may say other things than its storage, and is asked.
    let items = if let Ok(dict) = value.cast_exact::<PyDict>() {
        Ok(dict.values().into_any())
    } else if value.is_exact_instance_of::<PyList>() || value.is_exact_instance_of::<PyTuple>() {
        Ok(value.clone())
    } else if let Ok(mapping) = value.cast::<PyMapping>() {
        mapping.values().map(Bound::into_any)
    } else if value.cast::<PySequence>().is_ok() {
        Ok(value.clone())
    } else {
        return true;
    };
    let items = items.and_then(|items| items.try_iter());
    items.is_ok_and(|mut items| {
        items.all(|item| item.is_ok_and(|item| is_shallow(&item, depth + 1)))
    })
}

/// Texts are sequences of texts.
fn is_scalar(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyString>()
        || value.is_instance_of::<PyInt>()
        || value.is_instance_of::<PyFloat>()
        || value.is_instance_of::<PyBool>()
        || value.is_instance_of::<PyNone>()
}
