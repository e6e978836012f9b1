//! Threads for functions that block. The lock of the interpreter is handed on
//! rather than fought for: at most one further worker is on its way to it, and
//! it gets there when the function that runs begins to wait.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use antiphon_core::task::TaskId;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyWeakrefReference};

use crate::driver::run::Run;
use crate::driver::standby::DRIVERS;
use crate::driver::stranded::Home;
use crate::driver::worker_pool::WorkerPool;
use crate::graph::call::Call;

/// Calls of one run that wait for a thread.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    waiting: Mutex<VecDeque<Call>>,
    /// Whether a worker has been sent for.
    summoned: AtomicBool,
    /// Whether it is on its way, rather than busy elsewhere.
    coming: AtomicBool,
}

impl Calls {
    pub(crate) fn lock(&self) -> MutexGuard<'_, VecDeque<Call>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next call that fits. If it leaves others, a worker is sent for, who
    /// gets the interpreter when this call waits.
    pub(crate) fn take(&self, run: &Bound<'_, Run>, fits: impl Fn(&Call) -> bool) -> Option<Call> {
        let mut calls = self.lock();
        let place = calls.iter().position(fits)?;
        let call = calls.remove(place);
        let more = !calls.is_empty();
        drop(calls);
        if more {
            summon(run);
        }
        call
    }

    /// Whether a worker is on its way, which will look whether letters wait.
    pub(crate) fn has_help(&self) -> bool {
        self.summoned.load(Ordering::SeqCst) && self.coming.load(Ordering::Acquire)
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

/// Threads that make calls.
static CALLERS: WorkerPool = WorkerPool::new(work);

/// The most threads there will be.
static LIMIT: AtomicUsize = AtomicUsize::new(64);

/// Sets how many threads may run blocking functions at once; 64 by default.
#[pyfunction]
pub(crate) fn set_thread_limit(limit: usize) {
    LIMIT.store(limit.max(1), Ordering::Relaxed);
}

/// Asks for one thread to work for a run, unless one is on its way.
pub(crate) fn summon(run: &Bound<'_, Run>) {
    let calls = &run.get().calls;
    if calls.summoned.swap(true, Ordering::AcqRel) {
        return;
    }
    watch_forks(run.py());
    let Ok(ticket) = PyWeakrefReference::new(run).map(Bound::unbind) else { return };
    let coming = CALLERS.dispatch(ticket, LIMIT.load(Ordering::Relaxed));
    calls.coming.store(coming, Ordering::Release);
}

/// Sees to it that a fork does not count on the threads of its parent.
pub(crate) fn watch_forks(py: Python<'_>) {
    static WATCHED: PyOnceLock<()> = PyOnceLock::new();
    // Where that fails, a fork waits for threads that it does not have.
    let _ = WATCHED.get_or_try_init(py, || {
        let forget = wrap_pyfunction!(forget_threads, py)?;
        let when = PyDict::new(py);
        when.set_item("after_in_child", forget)?;
        py.import("os")?.call_method("register_at_fork", (), Some(&when)).map(|_| ())
    });
}

/// A fork has none of its parent's threads; it starts its own.
#[pyfunction]
fn forget_threads() {
    CALLERS.forget_threads();
    DRIVERS.forget_threads();
}

/// Waits until no worker is inside the interpreter, and lets none in again.
pub(crate) fn close(until: Instant) {
    CALLERS.close(until);
    DRIVERS.close(until);
}

/// Makes the calls of a run until none is left.
fn work(run: &Bound<'_, Run>) {
    let (py, this) = (run.py(), run.get());
    this.calls.summoned.store(false, Ordering::SeqCst);
    // The caller's thread may have counted on this one when it began a call, and the first
    // call here may take long.
    if this.inbox.is_filled() {
        this.inbox.standby.notice(py);
    }
    while let Some(mut call) = this.calls.take(run, |_| true) {
        let home = Home::here();
        let made = call.make(py);
        let answer = call.answer(py, made);
        home.check(py, answer.raised());
        let id = call.errand.id;
        // Whoever reads the answer finds nothing held any more that the call held.
        call.finish(py);
        this.inbox.put(py, |letters| letters.answers.push((id, answer)));
    }
    // The caller's thread may have counted on this one when it began its last call.
    if this.inbox.is_filled() {
        this.inbox.standby.notice(py);
    }
}
