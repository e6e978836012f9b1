//! Threads that enter the interpreter to work for runs, of whose type they know nothing.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use antiphon_stores::process::PerProcess;
use pyo3::prelude::*;
use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};

use crate::driver::exit_gate;

/// Threads that make calls of nodes.
pub(crate) static CALLERS: PerProcess<WorkerPool> =
    PerProcess::new(WorkerPool::new(), WorkerPool::new);

/// Threads that drive runs whose callers are inside a call. Beyond the limit of the callers,
/// which may be used up by calls: there is one at most for each thread that drives a run.
pub(crate) static DRIVERS: PerProcess<WorkerPool> =
    PerProcess::new(WorkerPool::new(), WorkerPool::new);

/// What a worker does for a run.
pub(crate) type Work = fn(&Bound<'_, PyAny>);

/// Threads of one kind; those that have nothing to do wait.
pub(crate) struct WorkerPool {
    state: Mutex<State>,
    wanted: Condvar,
    /// A worker has nothing to do.
    rested: Condvar,
}

struct State {
    /// The interpreter is going down: no worker may enter it any more.
    closed: bool,
    /// Runs to work for. Weak, so that a worker on its way keeps no run alive that
    /// nobody wants.
    runs: VecDeque<(Py<PyWeakrefReference>, Work)>,
    idle: usize,
    threads: usize,
    /// Threads inside calls that were given up: they count against no limit, and nothing waits for
    /// them.
    abandoned: usize,
}

impl WorkerPool {
    const fn new() -> Self {
        let state =
            State { closed: false, runs: VecDeque::new(), idle: 0, threads: 0, abandoned: 0 };
        let (wanted, rested) = (Condvar::new(), Condvar::new());
        Self { state: Mutex::new(state), wanted, rested }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a thread to work for a run; says whether one is on its way, and not only
    /// going to be once another run is done with it.
    pub(crate) fn dispatch(
        &'static self,
        run: &Bound<'_, PyWeakrefReference>,
        work: Work,
        most: usize,
    ) -> bool {
        let mut state = self.lock();
        if state.closed {
            return false;
        }
        state.runs.push_back((run.clone().unbind(), work));
        if state.idle >= state.runs.len() {
            drop(state);
            self.wanted.notify_one();
            return true;
        }
        if state.threads.saturating_sub(state.abandoned) >= most {
            return false;
        }
        self.start_thread(state)
    }

    fn start_thread(&'static self, mut state: MutexGuard<'_, State>) -> bool {
        state.threads += 1;
        drop(state);
        let started = std::thread::Builder::new().name("antiphon".into()).spawn(|| self.work());
        if started.is_err() {
            // The threads there are will come to it.
            self.lock().threads -= 1;
        }
        started.is_ok()
    }

    /// One of the threads is inside a call that nobody waits for any more, perhaps for ever; another
    /// one takes its place if it is needed. Returns how many there are of the kind.
    pub(crate) fn abandon_thread(&'static self) -> usize {
        let mut state = self.lock();
        state.abandoned += 1;
        let abandoned = state.abandoned;
        if !state.runs.is_empty() && state.idle == 0 && !state.closed {
            self.start_thread(state);
        }
        abandoned
    }

    /// Such a call has returned.
    pub(crate) fn reclaim_thread(&self) {
        let mut state = self.lock();
        state.abandoned = state.abandoned.saturating_sub(1);
    }

    /// The life of a worker. It stays known to the interpreter throughout, which
    /// makes coming back cheap.
    fn work(&self) {
        exit_gate::enter_or_park(|py| {
            loop {
                let (run, work) = py.detach(|| self.next_run());
                if let Some(run) = run.bind(py).upgrade() {
                    work(&run);
                }
            }
        });
    }

    fn next_run(&self) -> (Py<PyWeakrefReference>, Work) {
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
    fn close(&self, until: Instant) {
        let grace = until.saturating_duration_since(Instant::now());
        let mut state = self.lock();
        state.closed = true;
        state.runs.clear();
        let working = |state: &mut State| state.idle + state.abandoned < state.threads;
        let waited = self.rested.wait_timeout_while(state, grace, working);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

/// Waits until no worker is inside the interpreter, and lets none in again.
pub(crate) fn close(until: Instant) {
    CALLERS.here().close(until);
    DRIVERS.here().close(until);
}
