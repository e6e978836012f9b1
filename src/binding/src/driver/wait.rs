//! The ways from Python into native work that a thread waits for.

use std::future::Future;
use std::sync::mpsc;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// How long a wait may last before Ctrl-C is looked for.
const PATIENCE: Duration = Duration::from_millis(50);

/// Waits for a future with the interpreter released. Ctrl-C drops the future.
pub(crate) fn blocked<T: Send + 'static>(
    py: Python<'_>,
    future: impl Future<Output = T> + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let task = crate::driver::native_runtime::for_python(py)?.spawn(async move {
        // Whoever waited may have been interrupted.
        let _ = sender.send(future.await);
    });
    received(py, receiver).inspect_err(|_| task.abort())
}

/// Does what blocks on a thread of its own, with the interpreter released. After
/// Ctrl-C nobody waits for it any more.
pub(crate) fn run_on_thread<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::Builder::new().name("antiphon-open".into()).spawn(move || {
        // Whoever waited may have been interrupted.
        let _ = sender.send(work());
    })?;
    received(py, receiver)
}

fn received<T: Send>(py: Python<'_>, receiver: mpsc::Receiver<T>) -> PyResult<T> {
    let receiver = std::sync::Mutex::new(receiver);
    loop {
        let received = py.detach(|| {
            let receiver = receiver.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let received = receiver.recv_timeout(PATIENCE);
            crate::driver::exit_gate::pass();
            received
        });
        match received {
            Ok(value) => return Ok(value),
            Err(mpsc::RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the native task ended without an answer"));
            }
        }
    }
}
