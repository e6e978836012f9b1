//! The few calls of the C interface that PyO3 does not wrap.
#![expect(unsafe_code, reason = "reference counts and generator steps have no safe wrapper")]

use pyo3::ffi;
use pyo3::prelude::*;

/// Whether nobody but `object` holds the object, so that it may be changed in place.
pub(crate) fn is_sole(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: the pointer is valid for as long as `object` is borrowed, and
    // the interpreter lock that a `Bound` implies keeps the count still.
    unsafe { ffi::Py_REFCNT(object.as_ptr()) == 1 }
}

/// What one step of a coroutine came to.
pub(crate) enum Step<'py> {
    /// It waits, and gives this to the event loop.
    Yield(Bound<'py, PyAny>),
    /// It is done.
    Return(Bound<'py, PyAny>),
}

/// Goes one step further in a coroutine, generator or iterator.
pub(crate) fn send<'py>(
    coroutine: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<Step<'py>> {
    let py = coroutine.py();
    let mut result = std::ptr::null_mut();
    // SAFETY: both pointers are valid while borrowed; on success `result` is a
    // new reference, which `from_owned_ptr_or_err` takes over, and on failure
    // it is null with an exception set, which the same call turns into an error.
    let (status, result) = unsafe {
        let status = ffi::PyIter_Send(coroutine.as_ptr(), value.as_ptr(), &raw mut result);
        (status, Bound::from_owned_ptr_or_err(py, result))
    };
    let result = result?;
    Ok(match status {
        ffi::PySendResult::PYGEN_NEXT => Step::Yield(result),
        _ => Step::Return(result),
    })
}
