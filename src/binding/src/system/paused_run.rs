//! A question that waits for a person and is kept in no thread.

use antiphon_systems::PausedRun;
use pyo3::prelude::*;

/// What a result needs to be resumed without a thread, once.
#[pyclass(module = "antiphon._antiphon", name = "PausedRun", frozen)]
#[derive(Debug)]
pub(crate) struct PyPausedRun(pub(crate) PausedRun);

#[pymethods]
impl PyPausedRun {
    /// A copy from a pickle holds nothing: another process has none of the run.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, ()) {
        (slf.py().None().bind(slf.py()).get_type().into_any(), ())
    }
}
