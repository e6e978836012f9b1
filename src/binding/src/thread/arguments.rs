//! What callers pass to a saver, checked before anything is done.

use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use antiphon_stores::name;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDelta, PyInt, PyString};

use crate::fault::to_exception;

/// The name of a thread, as far as one can be looked for under it.
#[derive(Clone, Debug)]
pub(crate) struct ThreadName(pub(crate) String);

impl<'py> FromPyObject<'_, 'py> for ThreadName {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let py = given.py();
        let refuse = |fault: Fault| to_exception(py, &fault);
        let Ok(text) = given.cast::<PyString>() else {
            let kind = given.get_type().name()?.to_string();
            return Err(refuse(name::invalid(&format!(
                "a thread's name must be a string: {kind}"
            ))));
        };
        let Ok(text) = text.to_str() else {
            let shown = given.repr()?.to_string();
            let message =
                format!("a thread's name contains a NUL or an unpaired surrogate: {shown}");
            return Err(refuse(name::invalid(&message)));
        };
        name::check(text).map_err(refuse)?;
        Ok(Self(text.to_owned()))
    }
}

/// A whole number of at least 1.
pub(crate) fn whole(name: &str, given: &Bound<'_, PyAny>) -> PyResult<u64> {
    let number = given.cast::<PyInt>().ok().filter(|_| !given.is_instance_of::<PyBool>());
    let number = number.and_then(|number| number.extract::<i64>().ok());
    match number.and_then(|number| u64::try_from(number).ok()).filter(|number| *number > 0) {
        Some(number) => Ok(number),
        None => Err(refused(name, "must be an integer of at least 1", given)),
    }
}

/// The same, if anything is given.
pub(crate) fn whole_or_none(name: &str, given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
    given.map(|given| whole(name, given)).transpose()
}

/// How many there are to be at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit(pub(crate) usize);

impl<'py> FromPyObject<'_, 'py> for Limit {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(usize::try_from(whole("limit", &given)?).unwrap_or(usize::MAX)))
    }
}

/// A length of time: a `timedelta`, or seconds.
pub(crate) fn span(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Duration> {
    let seconds = match given.cast::<PyDelta>() {
        Ok(delta) => delta.call_method0("total_seconds")?.extract::<f64>(),
        Err(_) => given.extract::<f64>(),
    };
    let seconds = seconds.ok().filter(|_| !given.is_instance_of::<PyBool>());
    match seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
        Some(span) => Ok(span),
        None => Err(refused(name, "must be a timedelta or seconds, at least 0", given)),
    }
}

/// A text, if anything is given.
pub(crate) fn text(name: &str, given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<String>> {
    let Some(given) = given else { return Ok(None) };
    match given.extract::<String>() {
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(refused(name, "must be text", given)),
    }
}

fn refused(name: &str, rule: &str, given: &Bound<'_, PyAny>) -> PyErr {
    let shown = given.repr().map_or_else(|_| "?".to_owned(), |shown| shown.to_string());
    let message = format!("`{name}` {rule}: {shown}");
    let fault = Fault::new(FaultCode::CallInvalid, message).hint("omit it for the default");
    to_exception(given.py(), &fault)
}
