//! What reaches a run from outside its driver: finished tasks, things to
//! tell, a wish to stop. Safe to use from any thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use antiphon_core::graph::Heartbeat;
use antiphon_core::task::{TaskId, TaskOutcome};
use antiphon_runtime::ReplyChunk;
use pyo3::intern;
use pyo3::prelude::*;

use crate::driver::shape::Item;
use crate::driver::standby::Standby;
use crate::driver::{exit_gate, wait};
use crate::value::object::Object;

/// What came of a task, as the thread that did it knows it.
#[derive(Debug)]
pub(crate) enum Answer {
    Returned(Py<PyAny>),
    Raised(PyErr),
    Native(Box<TaskOutcome<Object>>),
}

impl Answer {
    /// The exception, if there was one.
    pub(crate) const fn raised(&self) -> Option<&PyErr> {
        match self {
            Self::Raised(error) => Some(error),
            Self::Returned(_) | Self::Native(_) => None,
        }
    }
}

/// Something a node tells whoever watches.
#[derive(Debug)]
pub(crate) struct Emitted {
    pub(crate) id: TaskId,
    pub(crate) told: Told,
}

#[derive(Debug)]
pub(crate) enum Told {
    /// Something of its own, perhaps with a name.
    Own(Py<PyAny>, Option<String>),
    /// A token, for one stream.
    Token(Py<PyAny>, Py<PyAny>),
    /// What a run that it started shows, and the way down to where it is from.
    Below(Item, Vec<String>),
}

#[derive(Debug, Default)]
pub(crate) struct Letters {
    pub(crate) answers: Vec<(TaskId, Answer)>,
    pub(crate) emitted: Vec<Emitted>,
    pub(crate) chunks: Vec<(TaskId, ReplyChunk)>,
    /// Calls of tasks that nobody will say any more what came of.
    pub(crate) abandoned: Vec<(TaskId, u32)>,
    /// Signs that tasks are alive.
    pub(crate) signs: Vec<(TaskId, Heartbeat)>,
    pub(crate) cancel: Option<String>,
    /// Something else that the run waits for has happened.
    roused: bool,
    /// How to wake an event loop that waits for letters.
    waker: Option<Waker>,
}

impl Letters {
    pub(crate) fn is_empty(&self) -> bool {
        self.answers.is_empty()
            && self.emitted.is_empty()
            && self.chunks.is_empty()
            && self.signs.is_empty()
            && self.abandoned.is_empty()
            && self.cancel.is_none()
            && !self.roused
    }
}

/// A future of an event loop that is to be completed once.
#[derive(Debug)]
struct Waker {
    event_loop: Py<PyAny>,
    wake: Py<PyAny>,
    thread: std::thread::ThreadId,
}

#[derive(Debug, Default)]
pub(crate) struct Inbox {
    letters: Mutex<Letters>,
    arrived: Condvar,
    /// Whether letters may be there: a look that takes no lock.
    filled: AtomicBool,
    /// Who reads them while the caller's thread is inside a call.
    pub(crate) standby: Standby,
}

impl Inbox {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Letters> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts something in and wakes whoever waits for it.
    pub(crate) fn put(&self, py: Python<'_>, put: impl FnOnce(&mut Letters)) {
        let mut letters = self.lock();
        put(&mut letters);
        // Ordered with the look at who reads it, below.
        self.filled.store(true, Ordering::SeqCst);
        let waker = letters.waker.take();
        drop(letters);
        self.arrived.notify_all();
        if let Some(waker) = waker {
            waker.wake(py);
        }
        self.standby.notice(py);
    }

    /// Whether something may be there.
    pub(crate) fn is_filled(&self) -> bool {
        self.filled.load(Ordering::SeqCst)
    }

    /// Wakes whoever waits, from a thread that need not hold the interpreter.
    pub(crate) fn rouse(&self) {
        let mut letters = self.lock();
        letters.roused = true;
        self.filled.store(true, Ordering::Release);
        let waker = letters.waker.take();
        drop(letters);
        self.arrived.notify_all();
        if let Some(waker) = waker {
            // The interpreter may be going down, and nobody waits any more.
            exit_gate::enter(|py| waker.wake(py));
        }
    }

    /// Takes everything out; none if nothing is there.
    pub(crate) fn take(&self) -> Option<Letters> {
        if !self.filled.load(Ordering::Acquire) {
            return None;
        }
        let mut letters = self.lock();
        self.filled.store(false, Ordering::Release);
        let waker = letters.waker.take();
        Some(std::mem::replace(&mut *letters, Letters { waker, ..Letters::default() }))
    }

    /// Waits on this thread, with the interpreter released, until something
    /// is there or `limit` is over.
    pub(crate) fn wait(&self, py: Python<'_>, limit: Duration) {
        self.wait_unless(py, limit, || false);
    }

    /// The same, but no longer than until `stop` says so; see [`Inbox::wake_waiting`].
    pub(crate) fn wait_unless(
        &self,
        py: Python<'_>,
        limit: Duration,
        stop: impl Fn() -> bool + Send + Sync,
    ) {
        wait::release(py, || {
            let letters = self.lock();
            let waited = self
                .arrived
                .wait_timeout_while(letters, limit, |letters| letters.is_empty() && !stop());
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        });
    }

    /// Wakes the waiting thread, which then checks its `stop` again.
    pub(crate) fn wake_waiting(&self) {
        drop(self.lock());
        self.arrived.notify_all();
    }

    /// Calls `wake` on the event loop as soon as something is there. False if
    /// something is there already.
    pub(crate) fn on_arrival(&self, event_loop: Py<PyAny>, wake: Py<PyAny>) -> bool {
        let mut letters = self.lock();
        if !letters.is_empty() {
            return false;
        }
        letters.waker = Some(Waker { event_loop, wake, thread: std::thread::current().id() });
        true
    }

    pub(crate) fn forget_waker(&self) {
        self.lock().waker = None;
    }
}

impl Waker {
    fn wake(self, py: Python<'_>) {
        // The loop may be closed by now, and then nobody waits any more.
        let _ = if self.thread == std::thread::current().id() {
            self.wake.call0(py)
        } else {
            self.event_loop.call_method1(py, intern!(py, "call_soon_threadsafe"), (self.wake,))
        };
    }
}
