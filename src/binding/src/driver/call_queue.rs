//! Calls of one run that wait for a thread.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use antiphon_core::task::TaskId;
use pyo3::prelude::*;

use crate::driver::mailbox::Answer;

/// A call of a node, ready for any thread.
pub(crate) struct QueuedCall {
    pub(crate) id: TaskId,
    /// The caller's thread must not make it, because it may have to give it up.
    pub(crate) is_timed: bool,
    /// Makes the call; when it returns, nothing is held any more that the call held.
    pub(crate) make: Box<dyn FnOnce(Python<'_>) -> Answer + Send>,
}

/// The calls of one run that wait for a thread.
#[derive(Default)]
pub(crate) struct CallQueue {
    waiting: Mutex<VecDeque<QueuedCall>>,
    /// Calls that threads of the pool make now, and whether they were given up.
    running: Mutex<Vec<(TaskId, bool)>>,
    /// Whether a worker has been sent for.
    summoned: AtomicBool,
    /// Whether it is on its way, rather than busy elsewhere.
    coming: AtomicBool,
}

impl CallQueue {
    fn lock(&self) -> MutexGuard<'_, VecDeque<QueuedCall>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, call: QueuedCall) {
        self.lock().push_back(call);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Takes the next call that fits, and says whether others are left.
    pub(crate) fn take(&self, fits: impl Fn(&QueuedCall) -> bool) -> Option<(QueuedCall, bool)> {
        let mut calls = self.lock();
        let index = calls.iter().position(fits)?;
        let call = calls.remove(index)?;
        Some((call, !calls.is_empty()))
    }

    /// Takes back calls that no thread has begun; returns which of them these are.
    pub(crate) fn withdraw(&self, ids: &[TaskId]) -> Vec<TaskId> {
        let mut waiting = self.lock();
        let (withdrawn, kept): (VecDeque<_>, _) =
            waiting.drain(..).partition(|call| ids.contains(&call.id));
        *waiting = kept;
        drop(waiting);
        // The calls are dropped with no lock held, because that may run code of a user.
        withdrawn.into_iter().map(|call| call.id).collect()
    }

    fn lock_running(&self) -> MutexGuard<'_, Vec<(TaskId, bool)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A thread of the pool makes this call.
    pub(crate) fn begin(&self, id: TaskId) {
        self.lock_running().push((id, false));
    }

    /// Gives a call up; returns whether a thread of the pool is inside it.
    pub(crate) fn abandon(&self, id: TaskId) -> bool {
        let mut running = self.lock_running();
        let found =
            running.iter_mut().find(|(running, is_abandoned)| *running == id && !is_abandoned);
        found.map(|(_, is_abandoned)| *is_abandoned = true).is_some()
    }

    /// The call has returned; says whether it was given up.
    pub(crate) fn finish(&self, id: TaskId) -> bool {
        let mut running = self.lock_running();
        let position = running.iter().position(|(running, _)| *running == id);
        position.is_some_and(|position| running.swap_remove(position).1)
    }

    /// Drops all calls that no thread has begun.
    pub(crate) fn clear(&self) {
        drop(std::mem::take(&mut *self.lock()));
    }

    /// Notes that a worker is sent for; false if one was before.
    pub(crate) fn summon(&self) -> bool {
        !self.summoned.swap(true, Ordering::AcqRel)
    }

    /// Notes whether the worker is on its way, rather than busy elsewhere.
    pub(crate) fn set_coming(&self, coming: bool) {
        self.coming.store(coming, Ordering::Release);
    }

    /// The worker has come: what is queued from now on sends for another.
    pub(crate) fn arrive(&self) {
        self.summoned.store(false, Ordering::SeqCst);
    }

    /// Whether a worker is on its way, which will look whether mail wait.
    pub(crate) fn has_help(&self) -> bool {
        self.summoned.load(Ordering::SeqCst) && self.coming.load(Ordering::Acquire)
    }
}

impl std::fmt::Debug for CallQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallQueue").field("waiting", &self.lock().len()).finish_non_exhaustive()
    }
}
