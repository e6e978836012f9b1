//! How a run asks for a second driver while its caller is inside a call.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use antiphon_stores::process;
use pyo3::prelude::*;
use pyo3::types::PyWeakrefReference;

use crate::driver::drive_lock::DriveLock;
use crate::driver::worker_pool::{DRIVERS, Work};
use crate::fault::to_exception;

/// What a run needs to be driven by somebody else for a while.
#[derive(Debug, Default)]
pub(crate) struct StandbyHandle {
    pub(crate) lock: DriveLock,
    /// A standby driver is on its way.
    requested: AtomicBool,
    /// The process in which a standby driver has driven last.
    process: AtomicU32,
    run: Mutex<Option<(Py<PyWeakrefReference>, Work)>>,
}

impl StandbyHandle {
    /// Sets the run that this is a part of, and what drives it.
    pub(crate) fn belong_to(&self, run: Py<PyWeakrefReference>, drive: Work) {
        *self.run.lock().unwrap_or_else(PoisonError::into_inner) = Some((run, drive));
    }

    /// Takes back what [`StandbyHandle::belong_to`] has set.
    pub(crate) fn forget_run(&self) -> Option<(Py<PyWeakrefReference>, Work)> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Refuses to wait for a standby driver that only the parent of this process has.
    pub(crate) fn check_process(&self, py: Python<'_>) -> PyResult<()> {
        let checked = process::check(self.process.load(Ordering::SeqCst));
        checked.map_err(|fault| to_exception(py, &fault))
    }

    /// Something is in the mailbox: sends for a standby driver if nobody reads it. What
    /// the call itself puts there can wait for its end.
    pub(crate) fn notice(&self, py: Python<'_>) {
        if self.lock.is_open() && !self.lock.is_callers() {
            self.request(py);
        }
    }

    /// Sends for a standby driver, unless one is on its way.
    pub(crate) fn request(&self, py: Python<'_>) {
        let run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((run, drive)) = &*run else { return };
        if !self.requested.swap(true, Ordering::SeqCst) {
            DRIVERS.here().dispatch(run.bind(py), *drive, usize::MAX);
        }
    }

    /// The standby driver has come: what arrives from now on sends for another.
    pub(crate) fn arrive(&self) {
        self.requested.store(false, Ordering::SeqCst);
    }

    /// Takes the run over from its caller's thread; false if that has returned.
    pub(crate) fn take_over(&self) -> bool {
        // In place before the caller can find the lock taken.
        self.process.store(process::id(), Ordering::SeqCst);
        self.lock.take_over()
    }
}
