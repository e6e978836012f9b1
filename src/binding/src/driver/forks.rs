//! Forks of the process, which are told apart from it.

use antiphon_stores::process;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

/// Lets every fork that Python makes tell of itself. Code of other languages that
/// forks has to tell Python so before it calls it.
pub(crate) fn watch(py: Python<'_>) {
    static WATCHED: PyOnceLock<()> = PyOnceLock::new();
    // Where that fails the operating system is asked each time.
    let _ = WATCHED.get_or_try_init(py, || register(py));
}

fn register(py: Python<'_>) -> PyResult<()> {
    // Not there on Windows, where nothing forks.
    if let Some(register) = py.import("os")?.getattr_opt("register_at_fork")? {
        let options = PyDict::new(py);
        options.set_item("after_in_child", wrap_pyfunction!(forked, py)?)?;
        register.call((), Some(&options))?;
    }
    process::entered();
    Ok(())
}

#[pyfunction]
fn forked() {
    process::entered();
}
