//! Where ids and jitter come from.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU32, Ordering};

use antiphon_core::Seed;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

/// Tells a forked process from its parent and its siblings.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// The seed that was given, or one that nobody can foretell: made of the
/// standard library's keys, which the operating system gives each thread once
/// and which change with each use.
pub(crate) fn seed(py: Python<'_>, given: Option<u64>) -> PyResult<Seed> {
    static WATCHED: PyOnceLock<()> = PyOnceLock::new();
    if let Some(number) = given {
        return Ok(Seed::new(number));
    }
    WATCHED.get_or_try_init(py, || watch_forks(py))?;
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(PROCESS.load(Ordering::Relaxed));
    Ok(Seed::new(hasher.finish()))
}

/// A forked process has its parent's keys, and must not draw what that draws.
fn watch_forks(py: Python<'_>) -> PyResult<()> {
    // Not there on Windows, where nothing forks.
    if let Some(register) = py.import("os")?.getattr_opt("register_at_fork")? {
        let options = PyDict::new(py);
        options.set_item("after_in_child", wrap_pyfunction!(forked, py)?)?;
        register.call((), Some(&options))?;
    }
    Ok(())
}

#[pyfunction]
fn forked() {
    PROCESS.store(std::process::id(), Ordering::Relaxed);
}
