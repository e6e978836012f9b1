//! Python code that has forked the process and returns in the child, to a run
//! or a thread that continues only in the parent.

use antiphon_stores::process;
use pyo3::exceptions::{PyException, PySystemExit};
use pyo3::intern;
use pyo3::prelude::*;

use crate::fault::to_exception;

/// The exception that the driver of the run raises in the child; what its node has
/// raised is the cause, unless that is to end the process.
pub(crate) fn refusal(py: Python<'_>, owner: u32, raised: Option<PyErr>) -> Option<PyErr> {
    let fault = process::check(owner).err()?;
    match raised {
        Some(error) if !error.is_instance_of::<PyException>(py) => Some(error),
        raised => {
            let refusal = to_exception(py, &fault);
            refusal.set_cause(py, raised);
            Some(refusal)
        }
    }
}

/// A thread of our own that calls Python, in the process where it was started.
/// In a child nobody waits for what it does, and nothing is behind it that would
/// end the process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForkGuard(u32);

impl ForkGuard {
    pub(crate) fn new() -> Self {
        Self(process::id())
    }

    /// Ends the process if it is a child: with the code that the callable asked
    /// for, or else, after saying why, with 1.
    pub(crate) fn check(self, py: Python<'_>, raised: Option<&PyErr>) {
        if let Some(error) = refusal(py, self.0, raised.map(|error| error.clone_ref(py))) {
            end(py, error);
        }
    }

    /// Ends the process if it is a child that has come to this error on an event
    /// loop. The loop is there, but what it waits with is its parent's too: to go
    /// on with it, or to close it, would take away what wakes the parent.
    pub(crate) fn check_loop(self, py: Python<'_>, error: PyErr) -> PyErr {
        if process::check(self.0).is_err() {
            end(py, error.clone_ref(py));
        }
        error
    }
}

/// Says why, and ends the process.
fn end(py: Python<'_>, error: PyErr) {
    let code = exit_code(py, &error);
    if code.is_none() {
        error.print(py);
    }
    let ended = || {
        for stream in [intern!(py, "stdout"), intern!(py, "stderr")] {
            // A stream that is closed has nothing left to say.
            let _ = py.import("sys")?.getattr(stream)?.call_method0("flush");
        }
        py.import("os")?.call_method1("_exit", (code.unwrap_or(1),))
    };
    // It does not return.
    let _: PyResult<Bound<'_, PyAny>> = ended();
}

/// What a `SystemExit` asks for; of other than numbers, what Python makes of it.
fn exit_code(py: Python<'_>, error: &PyErr) -> Option<i32> {
    let exit = error.value(py).cast::<PySystemExit>().ok()?;
    let code = exit.getattr(intern!(py, "code")).ok()?;
    if code.is_none() { Some(0) } else { code.extract().ok() }
}
