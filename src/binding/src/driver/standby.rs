//! A second driver for a run whose caller is inside a call: it stores, schedules and
//! cancels until the call is over. It sends calls of nodes to the pool, but for those that
//! are made inline, after which it looks whether the caller is back: that never waits for
//! more than one turn of it, and the inline calls which that begins.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use antiphon_stores::process;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyWeakrefReference;

use crate::driver::blocking::{DriverRole, cancel, start};
use crate::driver::core::Next;
use crate::driver::drive_lock::DriveLock;
use crate::driver::run::{Goal, Run};
use crate::driver::stranded::Home;
use crate::driver::worker_pool::WorkerPool;
use crate::fault::to_exception;

/// How long a call may keep letters waiting. Most calls are over by then, and the
/// caller's thread reads all that has arrived in one turn, which costs one commit
/// rather than one for each task.
const GRACE: Duration = Duration::from_millis(2);

/// How long a wait without a timer lasts at most.
const LONGEST: Duration = Duration::from_mins(1);

/// Beyond the limit of the pool, which may be used up by calls: there is one standby
/// driver at most for each thread that drives a run.
pub(crate) static DRIVERS: WorkerPool = WorkerPool::new(stand_in);

/// What a run needs to be driven by somebody else for a while.
#[derive(Debug, Default)]
pub(crate) struct StandbyDriver {
    pub(crate) lock: DriveLock,
    /// A standby driver is on its way.
    requested: AtomicBool,
    /// The process in which a standby driver has driven last.
    process: AtomicU32,
    run: OnceLock<Py<PyWeakrefReference>>,
}

impl StandbyDriver {
    /// Says which run this is a part of.
    pub(crate) fn belong_to(&self, run: Py<PyWeakrefReference>) {
        // There is one run for each.
        let _ = self.run.set(run);
    }

    /// Refuses to wait for a standby driver that only the parent of this process has.
    pub(crate) fn check_process(&self, py: Python<'_>) -> PyResult<()> {
        let checked = process::check(self.process.load(Ordering::SeqCst));
        checked.map_err(|fault| to_exception(py, &fault))
    }

    /// Something is in the inbox: sends for a standby driver if nobody reads it. What
    /// the call itself puts there can wait for its end.
    pub(crate) fn notice(&self, py: Python<'_>) {
        if self.lock.is_open() && !self.lock.is_callers() {
            self.request(py);
        }
    }

    /// Sends for a standby driver, unless one is on its way.
    pub(crate) fn request(&self, py: Python<'_>) {
        let Some(run) = self.run.get() else { return };
        if !self.requested.swap(true, Ordering::SeqCst) {
            crate::driver::pool::watch_forks(py);
            DRIVERS.dispatch(run.clone_ref(py), usize::MAX);
        }
    }
}

/// The task of a standby driver.
fn stand_in(run: &Bound<'_, Run>) {
    let (py, inbox) = (run.py(), &run.get().inbox);
    let standby = &inbox.standby;
    if standby.lock.is_open() {
        py.detach(|| std::thread::sleep(GRACE));
    }
    // Before the look at what has arrived: what comes after it sends for another.
    standby.requested.store(false, Ordering::SeqCst);
    if !inbox.is_filled() {
        return;
    }
    // In place before the caller can find the lock taken.
    standby.process.store(process::id(), Ordering::SeqCst);
    if !standby.lock.take_over() {
        return;
    }
    let home = Home::here();
    let driven = drive_in_variables(run);
    home.check(py, driven.as_ref().err());
    match driven {
        Ok(true) => {}
        Ok(false) => standby.lock.resign(None),
        Err(error) => standby.lock.resign(Some(error)),
    }
}

/// Routers and merge rules see the caller's context variables, as if the caller's
/// thread called them.
fn drive_in_variables(run: &Bound<'_, Run>) -> PyResult<bool> {
    static DRIVE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let drive = DRIVE.import(run.py(), "antiphon._antiphon", "_drive_meanwhile")?;
    run.get().variables.enter(drive, run.as_any())?.extract()
}

/// Drives until the caller takes the run back, which it says, or nothing is left to do.
#[pyfunction]
#[pyo3(name = "_drive_meanwhile")]
pub(crate) fn drive_meanwhile(run: &Bound<'_, Run>) -> PyResult<bool> {
    let (py, this) = (run.py(), run.get());
    let lock = &this.inbox.standby.lock;
    loop {
        let begun = match this.with(|core| core.turn(run, Goal::End, None))? {
            Next::Call(call) => vec![call],
            Next::Start(calls, _) => calls,
            Next::Cancel(stopped) => {
                cancel(run, stopped)?;
                Vec::new()
            }
            Next::Wait(limit) => {
                let opened = lock.stand_by();
                let limit = limit.unwrap_or(LONGEST).max(Duration::from_micros(100));
                this.inbox.wait_unless(py, limit, || lock.is_lost(opened));
                if !lock.resume(opened) {
                    return Ok(true);
                }
                continue;
            }
            // It asks for no items, which stay where the caller finds them.
            Next::Item(_) | Next::Rest => return Ok(false),
        };
        if let Some(answer) = start(run, begun, DriverRole::Standby)? {
            this.inbox.put(py, |letters| letters.answers.push(answer));
        }
        let opened = lock.stand_by();
        if !lock.resume(opened) {
            return Ok(true);
        }
    }
}
