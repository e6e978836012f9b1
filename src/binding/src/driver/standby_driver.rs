//! A second driver for a run whose caller is inside a call: it stores, schedules and
//! cancels until the call is over. It sends calls of nodes to the pool, but for those that
//! are made inline, after which it looks whether the caller is back: that never waits for
//! more than one turn of it, and the inline calls which that begins.

use std::time::Duration;

use pyo3::prelude::*;

use crate::driver::blocking::start;
use crate::driver::fork_guard::ForkGuard;
use crate::driver::run::{Goal, Run};
use crate::driver::turn::{Driver, Next};

/// How long a call may keep mail waiting. Most calls are over by then, and the
/// caller's thread reads all that has arrived in one turn, which costs one commit
/// rather than one for each task.
const GRACE: Duration = Duration::from_millis(2);

/// How long a wait without a timer lasts at most.
const LONGEST: Duration = Duration::from_mins(1);

/// The task of a standby driver.
pub(crate) fn stand_in(run: &Bound<'_, PyAny>) {
    let Ok(run) = run.cast::<Run>() else { return };
    let (py, mailbox) = (run.py(), &run.get().mailbox);
    let standby = &mailbox.standby;
    if standby.lock.is_open() {
        py.detach(|| std::thread::sleep(GRACE));
    }
    // Before the look at what has arrived: what comes after it sends for another.
    standby.arrive();
    if !mailbox.is_filled() || !standby.take_over() {
        return;
    }
    let guard = ForkGuard::new();
    // Routers and merge rules see the caller's context variables, as if the caller's thread called
    // them.
    let driven = run.get().variables.enter(run.py(), || drive_meanwhile(run));
    guard.check(py, driven.as_ref().err());
    match driven {
        Ok(true) => {}
        Ok(false) => standby.lock.resign(None),
        Err(error) => standby.lock.resign(Some(error)),
    }
}

/// Drives until the caller takes the run back, which it says, or nothing is left to do.
fn drive_meanwhile(run: &Bound<'_, Run>) -> PyResult<bool> {
    let (py, this) = (run.py(), run.get());
    let lock = &this.mailbox.standby.lock;
    loop {
        let started =
            match this.with(|state| state.turn(run, (Driver::Standby, Goal::End), None))? {
                Next::Call(call) => vec![call],
                Next::Start(calls) | Next::StartAndHelp(calls) => calls,
                Next::Cancel(stopped) => {
                    this.cancel_tasks(py, stopped)?;
                    Vec::new()
                }
                Next::Wait(limit) => {
                    let opened = lock.stand_by();
                    let limit = limit.unwrap_or(LONGEST).max(Duration::from_micros(100));
                    this.mailbox.wait_unless(py, limit, || lock.is_lost(opened));
                    if !lock.resume(opened) {
                        return Ok(true);
                    }
                    continue;
                }
                // It asks for no items, which stay where the caller finds them.
                Next::Item(_) | Next::Rest => return Ok(false),
            };
        if let Some(answer) = start(run, started, Driver::Standby)? {
            this.mailbox.post(py, |mail| mail.answers.push(answer));
        }
        let opened = lock.stand_by();
        if !lock.resume(opened) {
            return Ok(true);
        }
    }
}
