//! Forks of the process: what is made ready for them, and what a child must not count on.

use antiphon_stores::process;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::driver::fork_fence::FENCE;
use crate::driver::{exit_gate, wait};

/// Has every fork that Python makes announce itself. Code of other languages that forks has
/// to tell Python so before it calls it.
///
/// # Errors
/// What Python raises if it knows of forks and takes no callback.
pub(crate) fn install(py: Python<'_>) -> PyResult<()> {
    // Not there on Windows, where nothing forks.
    if let Some(register) = py.import("os")?.getattr_opt("register_at_fork")? {
        let options = PyDict::new(py);
        options.set_item("before", wrap_pyfunction!(prepare_fork, py)?)?;
        options.set_item("after_in_parent", wrap_pyfunction!(leave_fork, py)?)?;
        options.set_item("after_in_child", wrap_pyfunction!(enter_child, py)?)?;
        register.call((), Some(&options))?;
    }
    process::entered();
    Ok(())
}

#[pyfunction]
fn prepare_fork(py: Python<'_>) {
    // A guard may be kept by a thread that waits for the interpreter.
    // After a wait in vain the fork happens all the same, see `ForkFence`.
    wait::release(py, || FENCE.close());
}

#[pyfunction]
fn leave_fork() {
    FENCE.open();
}

#[pyfunction]
fn enter_child() {
    process::entered();
    FENCE.open_in_child();
    exit_gate::open_in_child();
}
