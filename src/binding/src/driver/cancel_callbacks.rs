//! How the cancellation of a native future reaches the Python code it waits for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

use crate::driver::exit_gate;

/// What Python code that a native future waits for wants called when that is cancelled.
#[derive(Debug, Default)]
pub(crate) struct CancelCallbacks {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    cancelled: bool,
    callbacks: Vec<Py<PyAny>>,
}

/// Calls the callbacks when it is dropped, unless it was disarmed before.
pub(crate) struct DropGuard(Option<Arc<CancelCallbacks>>);

impl CancelCallbacks {
    /// An empty set of callbacks, and the guard for the native future to hold.
    pub(crate) fn new() -> (Arc<Self>, DropGuard) {
        let callbacks = Arc::new(Self::default());
        (Arc::clone(&callbacks), DropGuard(Some(callbacks)))
    }

    /// Has `callback` called on some thread once the future is cancelled; at once if it is.
    pub(crate) fn add(&self, py: Python<'_>, callback: Py<PyAny>) -> PyResult<()> {
        let mut state = self.lock();
        if !state.cancelled {
            state.callbacks.push(callback);
            return Ok(());
        }
        drop(state);
        callback.call0(py).map(|_| ())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, cancelled: bool) -> Vec<Py<PyAny>> {
        let mut state = self.lock();
        state.cancelled |= cancelled;
        std::mem::take(&mut state.callbacks)
    }
}

impl DropGuard {
    /// The code is done: there is nothing to cancel.
    pub(crate) fn disarm(mut self) {
        if let Some(callbacks) = self.0.take() {
            drop(callbacks.take(false));
        }
    }
}

impl Drop for DropGuard {
    fn drop(&mut self) {
        let Some(callbacks) = self.0.take() else { return };
        let callbacks = callbacks.take(true);
        if callbacks.is_empty() {
            return;
        }
        // Not here: dropping a future must not wait for the interpreter.
        pyo3_async_runtimes::tokio::get_runtime().spawn_blocking(move || {
            exit_gate::enter(|py| {
                for callback in callbacks {
                    // What it stops may be over by now.
                    let _ = callback.call0(py);
                }
            });
        });
    }
}
