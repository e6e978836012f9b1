//! A result that Python code waits for or awaits, as it likes.

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::{IntoPyObjectExt, intern};

use crate::driver::exit_gate;
use crate::driver::wait::{awaitable, block_on};

type Conversion = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

type Work = Pin<Box<dyn Future<Output = PyResult<Conversion>> + Send>>;

/// The result of work on a store: `wait` blocks until it is there, `await` suspends the caller.
/// One of the two is done, once.
#[pyclass(module = "antiphon._antiphon", frozen)]
pub(crate) struct PendingResult(Mutex<Option<Work>>);

impl PendingResult {
    pub(crate) fn new<T>(work: impl Future<Output = PyResult<T>> + Send + 'static) -> Self
    where
        T: for<'py> IntoPyObject<'py> + Send + 'static,
    {
        Self(Mutex::new(Some(Box::pin(async move {
            let result = work.await?;
            Ok(Box::new(|py: Python<'_>| result.into_py_any(py)) as Conversion)
        }))))
    }

    fn take(&self) -> PyResult<Work> {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.ok_or_else(|| PyRuntimeError::new_err("this result was waited for already"))
    }
}

#[pymethods]
impl PendingResult {
    /// Blocks until the result is there, and returns it.
    fn wait(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let convert = block_on(py, self.take()?)??;
        convert(py)
    }

    fn __await__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let work = self.take()?;
        let awaited = awaitable(py, async move {
            let convert = work.await?;
            exit_gate::enter_or_park(convert)
        });
        awaited?.call_method0(intern!(py, "__await__"))
    }
}
