//! Forks of the process: what a child must not count on.

use antiphon_stores::process;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::driver::worker_pool;

/// Has every fork that Python makes announce itself. Code of other languages that forks has
/// to tell Python so before it calls it.
///
/// # Errors
/// What Python raises if it knows of forks and takes no callback.
pub(crate) fn install(py: Python<'_>) -> PyResult<()> {
    // Not there on Windows, where nothing forks.
    if let Some(register) = py.import("os")?.getattr_opt("register_at_fork")? {
        let options = PyDict::new(py);
        options.set_item("after_in_child", wrap_pyfunction!(enter_child, py)?)?;
        register.call((), Some(&options))?;
    }
    process::entered();
    Ok(())
}

#[pyfunction]
fn enter_child() {
    process::entered();
    worker_pool::forget_threads();
}
