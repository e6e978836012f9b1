//! The one way from Python into native futures that a thread waits for.

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
    let task = crate::native_runtime::for_python(py)?.spawn(async move {
        // Whoever waited may have been interrupted.
        let _ = sender.send(future.await);
    });
    let receiver = std::sync::Mutex::new(receiver);
    loop {
        let received = py.detach(|| {
            let receiver = receiver.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            receiver.recv_timeout(PATIENCE)
        });
        match received {
            Ok(value) => return Ok(value),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the native task ended without an answer"));
            }
        }
        if let Err(error) = py.check_signals() {
            task.abort();
            return Err(error);
        }
    }
}
