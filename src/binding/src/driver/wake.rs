//! A callable that completes a future, for event loops to call.

use pyo3::intern;
use pyo3::prelude::*;

/// Completes a future unless something else has.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct Wake {
    pub(crate) future: Py<PyAny>,
}

#[pymethods]
impl Wake {
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        let future = self.future.bind(py);
        if !future.call_method0(intern!(py, "done"))?.is_truthy()? {
            future.call_method1(intern!(py, "set_result"), (py.None(),))?;
        }
        Ok(())
    }
}
