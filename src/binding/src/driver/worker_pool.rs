//! Threads that enter the interpreter to work for runs.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};

use crate::driver::run::Run;

/// Threads of one kind; those that have nothing to do wait.
pub(crate) struct WorkerPool {
    state: Mutex<State>,
    wanted: Condvar,
    /// A worker has nothing to do.
    rested: Condvar,
    work: fn(&Bound<'_, Run>),
}

struct State {
    /// The interpreter is going down: no worker may enter it any more.
    closed: bool,
    /// Runs to work for. Weak, so that a worker on its way keeps no run alive that
    /// nobody wants.
    runs: VecDeque<Py<PyWeakrefReference>>,
    idle: usize,
    threads: usize,
}

impl WorkerPool {
    pub(crate) const fn new(work: fn(&Bound<'_, Run>)) -> Self {
        let state = State { closed: false, runs: VecDeque::new(), idle: 0, threads: 0 };
        let (wanted, rested) = (Condvar::new(), Condvar::new());
        Self { state: Mutex::new(state), wanted, rested, work }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a thread to work for a run; says whether one is on its way, and not only
    /// going to be once another run is done with it.
    pub(crate) fn dispatch(&'static self, run: Py<PyWeakrefReference>, most: usize) -> bool {
        let mut state = self.lock();
        state.runs.push_back(run);
        if state.idle >= state.runs.len() {
            drop(state);
            self.wanted.notify_one();
            return true;
        }
        if state.threads >= most {
            return false;
        }
        state.threads += 1;
        drop(state);
        let started = std::thread::Builder::new().name("antiphon".into()).spawn(|| self.work());
        if started.is_err() {
            // The threads there are will come to it.
            self.lock().threads -= 1;
        }
        started.is_ok()
    }

    /// The life of a worker. It stays known to the interpreter throughout, which
    /// makes coming back cheap.
    fn work(&self) {
        Python::attach(|py| {
            loop {
                let ticket = py.detach(|| self.next_run());
                let Some(run) = ticket.bind(py).upgrade() else { continue };
                if let Ok(run) = run.cast_into::<Run>() {
                    (self.work)(&run);
                }
            }
        });
    }

    fn next_run(&self) -> Py<PyWeakrefReference> {
        let mut state = self.lock();
        loop {
            if !state.closed
                && let Some(run) = state.runs.pop_front()
            {
                return run;
            }
            state.idle += 1;
            self.rested.notify_all();
            state = self.wanted.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    /// Waits until no worker is inside the interpreter, and lets none in again.
    pub(crate) fn close(&self, until: Instant) {
        let grace = until.saturating_duration_since(Instant::now());
        let mut state = self.lock();
        state.closed = true;
        state.runs.clear();
        let working = |state: &mut State| state.idle < state.threads;
        let waited = self.rested.wait_timeout_while(state, grace, working);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// A fork has none of its parent's threads; it starts its own.
    pub(crate) fn forget_threads(&self) {
        // Held by a thread that is not there, it would never be given back.
        let Ok(mut state) = self.state.try_lock() else { return };
        state.runs.clear();
        state.idle = 0;
        state.threads = 0;
    }
}
