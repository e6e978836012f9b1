//! Threads for functions that block. The lock of the interpreter is handed on
//! rather than fought for: at most one further worker is on its way to it, and
//! it gets there when the function that runs begins to wait.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use antiphon_core::task::TaskId;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyWeakrefMethods, PyWeakrefReference};

use crate::call::Call;
use crate::inbox::Answer;
use crate::run::Run;
use crate::stranded::Home;

/// Calls of one run that wait for a thread.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    waiting: Mutex<VecDeque<Call>>,
    /// Whether a worker is on its way.
    summoned: AtomicBool,
}

impl Calls {
    pub(crate) fn lock(&self) -> MutexGuard<'_, VecDeque<Call>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes back calls that no thread has begun.
    pub(crate) fn withdraw(&self, ids: &[TaskId]) {
        let mut waiting = self.lock();
        let (withdrawn, kept): (VecDeque<_>, _) =
            waiting.drain(..).partition(|call| ids.contains(&call.errand.id));
        *waiting = kept;
        drop(waiting);
        // Dropping objects may run code of a user, which must find no lock held.
        drop(withdrawn);
    }
}

struct Pool {
    state: Mutex<State>,
    wanted: Condvar,
    /// A worker has nothing to do.
    rested: Condvar,
}

struct State {
    /// The interpreter is going down: no worker may enter it any more.
    closed: bool,
    /// Runs with calls that wait.
    runs: VecDeque<Py<PyWeakrefReference>>,
    idle: usize,
    threads: usize,
}

static POOL: Pool = Pool {
    state: Mutex::new(State { closed: false, runs: VecDeque::new(), idle: 0, threads: 0 }),
    wanted: Condvar::new(),
    rested: Condvar::new(),
};

/// The most threads there will be.
static LIMIT: AtomicUsize = AtomicUsize::new(64);

/// Sets how many threads may run blocking functions at once; 64 by default.
#[pyfunction]
pub(crate) fn set_thread_limit(limit: usize) {
    LIMIT.store(limit.max(1), Ordering::Relaxed);
}

/// Asks for one thread to work for a run, unless one is on its way.
pub(crate) fn summon(run: &Bound<'_, Run>) {
    if run.get().calls.summoned.swap(true, Ordering::AcqRel) {
        return;
    }
    // Weak, so that a worker on its way keeps no run alive that nobody wants.
    let Ok(ticket) = PyWeakrefReference::new(run).map(Bound::unbind) else { return };
    let mut state = POOL.state.lock().unwrap_or_else(PoisonError::into_inner);
    if state.threads == 0 {
        close_at_exit(run.py());
    }
    state.runs.push_back(ticket);
    let missing = state.idle < state.runs.len();
    if missing && state.threads < LIMIT.load(Ordering::Relaxed) {
        state.threads += 1;
        drop(state);
        let started = std::thread::Builder::new().name("antiphon".into()).spawn(work);
        if started.is_err() {
            // The threads there are will come to it.
            POOL.state.lock().unwrap_or_else(PoisonError::into_inner).threads -= 1;
        }
        return;
    }
    drop(state);
    POOL.wanted.notify_one();
}

/// How long the end of the process waits for functions that still run.
const GRACE: Duration = Duration::from_secs(5);

fn close_at_exit(py: Python<'_>) {
    // Without the hooks, the worst is what would happen anyway: a worker that
    // comes back to an interpreter that is no longer there, and a fork that
    // waits for threads it does not have.
    let _ = py.import("atexit").and_then(|atexit| {
        let close = wrap_pyfunction!(close, py)?;
        atexit.call_method1("register", (close,))
    });
    let _ = py.import("os").and_then(|os| {
        let forget = wrap_pyfunction!(forget_threads, py)?;
        let when = PyDict::new(py);
        when.set_item("after_in_child", forget)?;
        os.call_method("register_at_fork", (), Some(&when))
    });
}

/// A fork has none of its parent's threads; it starts its own.
#[pyfunction]
fn forget_threads() {
    // Held by a thread that is not there, it would never be given back.
    let Ok(mut state) = POOL.state.try_lock() else { return };
    state.runs.clear();
    state.idle = 0;
    state.threads = 0;
}

/// Waits until no worker is inside the interpreter, and lets none in again.
#[pyfunction]
fn close(py: Python<'_>) {
    py.detach(|| {
        let mut state = POOL.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.closed = true;
        state.runs.clear();
        let working = |state: &mut State| state.idle < state.threads;
        let waited = POOL.rested.wait_timeout_while(state, GRACE, working);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    });
}

/// The life of a worker. It stays known to the interpreter throughout, which
/// makes coming back cheap.
fn work() {
    Python::attach(|py| {
        loop {
            let ticket = py.detach(next_run);
            let Some(run) = ticket.bind(py).upgrade() else { continue };
            if let Ok(run) = run.cast_into::<Run>() {
                run.get().calls.summoned.store(false, Ordering::Release);
                work_for(py, &run, false);
            }
        }
    });
}

fn next_run() -> Py<PyWeakrefReference> {
    let mut state = POOL.state.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if !state.closed
            && let Some(run) = state.runs.pop_front()
        {
            return run;
        }
        state.idle += 1;
        POOL.rested.notify_all();
        state = POOL.wanted.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.idle -= 1;
    }
}

/// Makes the calls of a run until none is left. The run's own thread passes
/// `owner` and stops between calls to read what has arrived.
pub(crate) fn work_for(py: Python<'_>, run: &Bound<'_, Run>, owner: bool) {
    loop {
        let mut calls = run.get().calls.lock();
        let next = if owner {
            let own = calls.iter().position(|call| call.kind != crate::call::Kind::Timed);
            own.and_then(|place| calls.remove(place))
        } else {
            calls.pop_front()
        };
        let more = !calls.is_empty();
        drop(calls);
        let Some(call) = next else { return };
        if more {
            // Whoever comes next gets the interpreter when this call waits.
            summon(run);
        }
        let home = Home::here();
        let answer = match call.make(py) {
            Ok(value) => Answer::Returned(value.unbind()),
            Err(error) => Answer::Raised(error),
        };
        if !owner {
            home.check(py, answer.raised());
        }
        let id = call.errand.id;
        // Whoever reads the answer finds nothing held any more that the call held.
        drop(call);
        run.get().inbox.put(py, |letters| letters.answers.push((id, answer)));
    }
}
