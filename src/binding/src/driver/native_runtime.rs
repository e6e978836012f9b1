//! The runtime of native work. Its threads belong to the process that started
//! them: in a fork there are none, and whoever waited for them would wait for ever.

use std::sync::atomic::{AtomicU32, Ordering};

use antiphon_core::Fault;
use antiphon_stores::process::{self, forked};
use pyo3::prelude::*;
use tokio::runtime::Runtime;

use crate::fault::to_exception;

/// The process that the runtime belongs to; 0 before it is there.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// The runtime, or why this process cannot use it.
pub(crate) fn native_runtime() -> Result<&'static Runtime, Fault> {
    let own = process::id();
    match OWNER.compare_exchange(0, own, Ordering::AcqRel, Ordering::Acquire) {
        Err(owner) if owner != own => Err(forked(owner)),
        Ok(_) | Err(_) => Ok(pyo3_async_runtimes::tokio::get_runtime()),
    }
}

/// As [`native_runtime`], for code that raises.
pub(crate) fn for_python(py: Python<'_>) -> PyResult<&'static Runtime> {
    native_runtime().map_err(|fault| to_exception(py, &fault))
}
