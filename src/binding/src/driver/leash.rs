//! How the end of a native future reaches the Python code it waits for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

use crate::driver::exit_gate;

/// Held by Python code that a native future waits for: it may leave word of
/// how it is to be stopped.
#[derive(Debug, Default)]
pub(crate) struct Leash {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    pulled: bool,
    callbacks: Vec<Py<PyAny>>,
}

/// Pulls the leash when it is dropped, unless it was let go before.
pub(crate) struct Grip(Option<Arc<Leash>>);

impl Leash {
    /// A new leash, and the hand that holds its other end.
    pub(crate) fn new() -> (Arc<Self>, Grip) {
        let leash = Arc::new(Self::default());
        (Arc::clone(&leash), Grip(Some(leash)))
    }

    /// Has `callback` called once nobody waits any more, on some thread; at
    /// once if that is so already.
    pub(crate) fn when_pulled(&self, py: Python<'_>, callback: Py<PyAny>) -> PyResult<()> {
        let mut state = self.lock();
        if !state.pulled {
            state.callbacks.push(callback);
            return Ok(());
        }
        drop(state);
        callback.call0(py).map(|_| ())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, pulled: bool) -> Vec<Py<PyAny>> {
        let mut state = self.lock();
        state.pulled |= pulled;
        std::mem::take(&mut state.callbacks)
    }
}

impl Grip {
    /// The code is done: there is nothing to stop.
    pub(crate) fn let_go(mut self) {
        if let Some(leash) = self.0.take() {
            drop(leash.take(false));
        }
    }
}

impl Drop for Grip {
    fn drop(&mut self) {
        let Some(leash) = self.0.take() else { return };
        let callbacks = leash.take(true);
        if callbacks.is_empty() {
            return;
        }
        // Not here: whoever drops a future must not wait for the interpreter.
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
