//! Who may step the machine of a run that a thread drives. The caller's thread holds
//! the lock, and opens it for the length of each call of a node: while a call takes
//! long, a standby driver may take it over.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;

use crate::driver::thread_id::thread_id;

/// How the lock stands: the two lowest bits of its state. The bits above count how
/// often that has changed, so that nobody mistakes one call for an earlier one.
const MODES: usize = 0b11;
/// Somebody steps the machine, or nobody drives the run.
const HELD: usize = 0;
/// The caller's thread is inside a call.
const IN_CALL: usize = 1;
/// The caller's thread is inside a call, and a standby driver waits for the mailbox.
const STANDBY: usize = 2;
/// What one change of the lock adds to its state.
const CHANGE: usize = 4;

/// What the lock looked like when it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LockTicket(usize);

#[derive(Debug, Default)]
pub(crate) struct DriveLock {
    state: AtomicUsize,
    /// The caller's thread, by its [`thread_id`].
    caller: AtomicUsize,
    /// The caller's thread waits until a standby driver is done with its turn.
    reclaimed: AtomicBool,
    /// The error that ended the standby driver, for the caller to raise.
    failure: Mutex<Option<Box<PyErr>>>,
    released: Condvar,
}

impl DriveLock {
    /// Says that this thread drives the run for its caller.
    pub(crate) fn claim(&self) {
        self.caller.store(thread_id(), Ordering::Relaxed);
    }

    /// Opens the lock for a call; only its holder may. A thread that puts something into
    /// the mailbox from now on sees that it has no reader, so look there afterwards.
    pub(crate) fn open(&self) -> LockTicket {
        let state = Self::after(self.state.load(Ordering::Relaxed)) | IN_CALL;
        // Ordered with the look into the mailbox that follows, as its writers order
        // theirs: one of the two sides sees the other.
        self.state.swap(state, Ordering::SeqCst);
        LockTicket(state)
    }

    /// Closes the lock after a call; false if somebody has taken it over.
    pub(crate) fn close(&self, opened: LockTicket) -> bool {
        let held = opened.0 & !MODES;
        let closed =
            self.state.compare_exchange(opened.0, held, Ordering::AcqRel, Ordering::Relaxed);
        closed.is_ok()
    }

    /// Whether the caller's thread is inside a call and nobody stands in for it.
    pub(crate) fn is_open(&self) -> bool {
        self.state.load(Ordering::SeqCst) & MODES == IN_CALL
    }

    /// Whether this thread is the caller's.
    pub(crate) fn is_callers(&self) -> bool {
        self.caller.load(Ordering::Relaxed) == thread_id()
    }

    /// Takes an open lock over, for a standby driver.
    pub(crate) fn take_over(&self) -> bool {
        let state = self.state.load(Ordering::SeqCst);
        state & MODES == IN_CALL && self.change(state, HELD)
    }

    /// The standby driver waits now, and the caller may take the lock from it.
    pub(crate) fn stand_by(&self) -> LockTicket {
        let state = Self::after(self.state.load(Ordering::Relaxed)) | STANDBY;
        self.state.swap(state, Ordering::SeqCst);
        if self.reclaimed.load(Ordering::SeqCst) {
            // The lock makes sure that a caller who has just looked waits by now.
            drop(self.failure.lock().unwrap_or_else(PoisonError::into_inner));
            self.released.notify_all();
        }
        LockTicket(state)
    }

    /// Whether a standby driver that waits has lost the lock to the caller.
    pub(crate) fn is_lost(&self, opened: LockTicket) -> bool {
        self.state.load(Ordering::SeqCst) != opened.0
    }

    /// The standby driver has waited; false if the caller has taken the lock meanwhile,
    /// or is about to.
    pub(crate) fn resume(&self, opened: LockTicket) -> bool {
        !self.reclaimed.load(Ordering::SeqCst) && self.change(opened.0, HELD)
    }

    /// A standby driver leaves: what has gone wrong is for the caller.
    pub(crate) fn resign(&self, failure: Option<PyErr>) {
        if failure.is_some() {
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = failure.map(Box::new);
        }
        self.stand_by();
    }

    /// Takes the lock back from a standby driver, after the one turn it may be taking.
    /// False after so long a wait that the caller should look around.
    pub(crate) fn reclaim(&self, py: Python<'_>, limit: Duration) -> bool {
        let free = || {
            let state = self.state.load(Ordering::SeqCst);
            state & MODES != HELD && self.change(state, HELD)
        };
        if free() {
            return true;
        }
        self.reclaimed.store(true, Ordering::SeqCst);
        let taken = py.detach(|| {
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            if free() {
                return true;
            }
            failure = self
                .released
                .wait_timeout(failure, limit)
                .map_or_else(|poisoned| poisoned.into_inner().0, |(failure, _)| failure);
            drop(failure);
            free()
        });
        self.reclaimed.store(false, Ordering::SeqCst);
        taken
    }

    /// Why the standby driver left, if it had to.
    pub(crate) fn take_failure(&self) -> Option<PyErr> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        failure.map(|failure| *failure)
    }

    fn change(&self, state: usize, mode: usize) -> bool {
        let next = Self::after(state) | mode;
        self.state.compare_exchange(state, next, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    const fn after(state: usize) -> usize {
        (state & !MODES).wrapping_add(CHANGE)
    }
}
