//! What reaches a run from outside its driver: finished tasks, things to
//! tell, a wish to stop. Safe to use from any thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Wake;
use std::time::Duration;

use antiphon_core::event::Event as CoreEvent;
use antiphon_core::graph::Heartbeat;
use antiphon_core::task::{TaskId, TaskOutcome};
use antiphon_runtime::ReplyChunk;
use pyo3::intern;
use pyo3::prelude::*;

use crate::driver::standby::StandbyHandle;
use crate::driver::stream_options::Item;
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

impl From<PyResult<Py<PyAny>>> for Answer {
    fn from(outcome: PyResult<Py<PyAny>>) -> Self {
        outcome.map_or_else(Self::Raised, Self::Returned)
    }
}

/// Something that a node tells while it runs.
#[derive(Debug)]
pub(crate) struct Emission {
    pub(crate) id: TaskId,
    pub(crate) item: EmittedItem,
}

#[derive(Debug)]
pub(crate) enum EmittedItem {
    /// A value of the node, perhaps with a name.
    Custom(Py<PyAny>, Option<String>),
    /// An event of a run that the node has started.
    Relayed(CoreEvent),
    /// A token, for one stream.
    Token(Py<PyAny>, Py<PyAny>),
    /// What a run that it started shows, and the way down to where it is from.
    Nested(Item, Vec<String>),
    /// A piece of a reply that is still being written.
    Chunk(ReplyChunk),
    /// An event, by its name.
    Event(&'static str, serde_json::Value),
    /// A sign that it is alive.
    Heartbeat(Heartbeat),
}

#[derive(Debug, Default)]
pub(crate) struct MailboxContent {
    pub(crate) answers: Vec<(TaskId, Answer)>,
    /// In the order in which it was told.
    pub(crate) emitted: Vec<Emission>,
    /// Calls of tasks that nobody will say any more what came of.
    pub(crate) abandoned: Vec<(TaskId, u32)>,
    pub(crate) cancel: Option<String>,
    /// Something else that the run waits for has happened.
    woken: bool,
    /// How to wake an event loop that waits for mail.
    waker: Option<Waker>,
}

impl MailboxContent {
    pub(crate) fn is_empty(&self) -> bool {
        self.answers.is_empty()
            && self.emitted.is_empty()
            && self.abandoned.is_empty()
            && self.cancel.is_none()
            && !self.woken
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
pub(crate) struct Mailbox {
    content: Mutex<MailboxContent>,
    arrived: Condvar,
    /// Whether mail may be there: a look that takes no lock.
    filled: AtomicBool,
    /// Who reads them while the caller's thread is inside a call.
    pub(crate) standby: StandbyHandle,
}

impl Mailbox {
    pub(crate) fn lock(&self) -> MutexGuard<'_, MailboxContent> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts something in and wakes the waiting reader.
    pub(crate) fn post(&self, py: Python<'_>, write: impl FnOnce(&mut MailboxContent)) {
        let mut content = self.lock();
        write(&mut content);
        // Ordered with the look at who reads it, below.
        self.filled.store(true, Ordering::SeqCst);
        let waker = content.waker.take();
        drop(content);
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

    /// Takes everything out; none if nothing is there.
    pub(crate) fn take(&self) -> Option<MailboxContent> {
        if !self.filled.load(Ordering::Acquire) {
            return None;
        }
        let mut content = self.lock();
        self.filled.store(false, Ordering::Release);
        let waker = content.waker.take();
        Some(std::mem::replace(
            &mut *content,
            MailboxContent { waker, ..MailboxContent::default() },
        ))
    }

    /// Waits on this thread, with the interpreter released, until something
    /// is there or `limit` is over.
    pub(crate) fn wait(&self, py: Python<'_>, limit: Duration) {
        self.wait_unless(py, limit, || false);
    }

    /// The same, but no longer than until `stop` returns true; see [`Mailbox::wake_waiting`].
    pub(crate) fn wait_unless(
        &self,
        py: Python<'_>,
        limit: Duration,
        stop: impl Fn() -> bool + Send + Sync,
    ) {
        wait::release(py, || {
            let content = self.lock();
            let waited = self
                .arrived
                .wait_timeout_while(content, limit, |content| content.is_empty() && !stop());
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
        let mut content = self.lock();
        if !content.is_empty() {
            return false;
        }
        content.waker = Some(Waker { event_loop, wake, thread: std::thread::current().id() });
        true
    }

    pub(crate) fn forget_waker(&self) {
        self.lock().waker = None;
    }

    /// The run is gone: drops what belongs to Python, since the last to hold the mailbox may
    /// be a thread without the interpreter.
    pub(crate) fn abandon(&self, _: Python<'_>) {
        let content = std::mem::take(&mut *self.lock());
        drop((content, self.standby.forget_run()));
    }
}

/// Wakes the driver of the run. Any thread may call it, attached to the interpreter or not.
impl Wake for Mailbox {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut content = self.lock();
        content.woken = true;
        self.filled.store(true, Ordering::Release);
        let waker = content.waker.take();
        drop(content);
        self.arrived.notify_all();
        if let Some(waker) = waker {
            // The interpreter may be going down, and nobody waits any more.
            exit_gate::enter(|py| waker.wake(py));
        }
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
