//! Threads for functions that block. The lock of the interpreter is handed on
//! rather than fought for: at most one further worker is on its way to it, and
//! it gets there when the function that runs begins to wait.

use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyWeakrefReference;

use crate::driver::call_queue::QueuedCall;
use crate::driver::exit_gate;
use crate::driver::fork_guard::ForkGuard;
use crate::driver::run::Run;
use crate::driver::worker_pool::CALLERS;

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
    if !calls.summon() {
        return;
    }
    let Ok(ticket) = PyWeakrefReference::new(run) else { return };
    calls.set_coming(CALLERS.here().dispatch(&ticket, work, LIMIT.load(Ordering::Relaxed)));
}

/// Takes the next call that fits. If it leaves others, a worker is sent for, who
/// gets the interpreter when this call waits.
pub(crate) fn take(run: &Bound<'_, Run>, fits: impl Fn(&QueuedCall) -> bool) -> Option<QueuedCall> {
    let (call, more) = run.get().calls.take(fits)?;
    if more {
        summon(run);
    }
    Some(call)
}

/// Cancels a run that is about to wait for calls of the pool while the interpreter exits: no
/// worker would come.
pub(crate) fn cancel_at_exit(run: &Bound<'_, Run>) {
    let this = run.get();
    if exit_gate::is_exiting_here() && !this.calls.is_empty() {
        this.mailbox.post(run.py(), |mail| mail.cancel = Some(exit_gate::REASON.to_owned()));
    }
}

/// Makes the calls of a run until none is left.
fn work(run: &Bound<'_, PyAny>) {
    let Ok(run) = run.cast::<Run>() else { return };
    let (py, this) = (run.py(), run.get());
    this.calls.arrive();
    // The caller's thread may have counted on this one when it began a call, and the first
    // call here may take long.
    if this.mailbox.is_filled() {
        this.mailbox.standby.notice(py);
    }
    while let Some(call) = take(run, |_| true) {
        let guard = ForkGuard::new();
        this.calls.begin(call.id);
        let answer = (call.make)(py);
        if this.calls.finish(call.id) {
            CALLERS.here().reclaim_thread();
        }
        guard.check(py, answer.raised());
        this.mailbox.post(py, |mail| mail.answers.push((call.id, answer)));
    }
    // The caller's thread may have counted on this one when it began its last call.
    if this.mailbox.is_filled() {
        this.mailbox.standby.notice(py);
    }
}
