//! Driving a run from a thread that waits for it.

use std::time::Duration;

use antiphon_core::task::TaskId;
use pyo3::intern;
use pyo3::prelude::*;

use crate::driver::coroutine::NodeCoroutine;
use crate::driver::drive_lock::LockTicket;
use crate::driver::mailbox::Answer;
use crate::driver::pool;
use crate::driver::run::{Goal, Run};
use crate::driver::task_handle::TaskHandle;
use crate::driver::turn::{Driver, Next};
use crate::driver::wait::SIGNAL_INTERVAL;
use crate::fault::without_stop;
use crate::graph::call::{Call, is_awaitable, steppable};

/// Drives the run until the goal is reached: an item of the stream, or the end.
pub(crate) fn drive(run: &Bound<'_, Run>, goal: Goal) -> PyResult<Option<Py<PyAny>>> {
    let py = run.py();
    let this = run.get();
    let _driving = this.begin(py)?;
    this.mailbox.standby.lock.claim();
    let mut interrupted = None;
    let mut done = None;
    loop {
        if let Err(error) = py.check_signals() {
            // A second Ctrl-C does not wait for anything any more.
            if interrupted.is_some() {
                return Err(error);
            }
            interrupted = Some(error);
            this.mailbox.post(py, |mail| mail.cancel = Some("interrupted".to_owned()));
        }
        let goal = if interrupted.is_some() { Goal::End } else { goal };
        let taken = done.take();
        let turned = this.with(|state| state.turn(run, (Driver::Thread, goal), taken));
        match turned.map_err(|error| without_stop(py, error))? {
            // The run has no other task, so a standby driver would have nothing to do.
            Next::Call(call) => done = make(run, call, None)?.0,
            Next::Start(calls) => done = start(run, calls, Driver::Thread)?,
            Next::StartAndHelp(calls) => {
                // A standby driver that replaces this thread meanwhile finds it there.
                if let Some(answer) = start(run, calls, Driver::Thread)? {
                    this.mailbox.post(py, |mail| mail.answers.push(answer));
                }
                work_along(run)?;
            }
            Next::Cancel(stopped) => this.cancel_tasks(py, stopped)?,
            Next::Wait(limit) => {
                pool::cancel_at_exit(run);
                let limit = limit.map_or(SIGNAL_INTERVAL, |limit| limit.min(SIGNAL_INTERVAL));
                this.mailbox.wait(py, limit.max(Duration::from_micros(100)));
            }
            Next::Item(item) => return Ok(Some(item)),
            Next::Rest => {
                interrupted.map_or(Ok(()), Err)?;
                this.raise(py).map_err(|error| without_stop(py, error))?;
                return Ok(None);
            }
        }
    }
}

/// Makes calls on this thread, the last of which is not yet answered for. A standby driver
/// may come meanwhile, unless this is one.
pub(crate) fn start(
    run: &Bound<'_, Run>,
    calls: Vec<Call>,
    driver: Driver,
) -> PyResult<Option<(TaskId, Answer)>> {
    let (py, this) = (run.py(), run.get());
    let mut done = None;
    let mut undisturbed = true;
    for call in calls {
        if !undisturbed && !is_wanted(run, &call)? {
            continue;
        }
        let opened = (driver == Driver::Thread).then(|| open(run));
        let (made, alone) = make(run, call, opened)?;
        undisturbed &= alone;
        if let Some((id, answer)) = std::mem::replace(&mut done, made) {
            this.with(|state| state.answer(py, id, answer))?;
        }
    }
    Ok(done)
}

/// Whether the task of a call has not been given up since the call was prepared.
fn is_wanted(run: &Bound<'_, Run>, call: &Call) -> PyResult<bool> {
    run.get().with(|state| Ok(state.machine.is_under_way(call.id)))
}

/// Makes calls that wait for the pool on the caller's own thread, until none is left or
/// a standby driver has had to read the answers.
fn work_along(run: &Bound<'_, Run>) -> PyResult<()> {
    let (py, this) = (run.py(), run.get());
    while let Some(call) = pool::take(run, |call| !call.is_timed) {
        let opened = open(run);
        let answer = (call.make)(py);
        let undisturbed = close(run, opened)?;
        this.mailbox.post(py, |mail| mail.answers.push((call.id, answer)));
        if !undisturbed {
            if !this.calls.is_empty() {
                pool::summon(run);
            }
            return Ok(());
        }
    }
    Ok(())
}

/// Lets a standby driver in while the caller's thread is inside a call.
fn open(run: &Bound<'_, Run>) -> LockTicket {
    let this = run.get();
    let opened = this.mailbox.standby.lock.open();
    if this.mailbox.is_filled() && !this.calls.has_help() {
        this.mailbox.standby.request(run.py());
    }
    opened
}

/// Takes the run back after a call; says whether it was never away.
fn close(run: &Bound<'_, Run>, opened: LockTicket) -> PyResult<bool> {
    let (py, mailbox) = (run.py(), &run.get().mailbox);
    let lock = &mailbox.standby.lock;
    if lock.close(opened) {
        return Ok(true);
    }
    while !lock.reclaim(py, SIGNAL_INTERVAL) {
        // In a fork there is nobody who would give it back.
        mailbox.standby.check_process(py)?;
    }
    mailbox.wake_waiting();
    lock.take_failure().map_or(Ok(false), Err)
}

/// Calls a node on this thread, for which a standby driver may have been let in; says
/// whether none has come.
fn make(
    run: &Bound<'_, Run>,
    mut call: Call,
    opened: Option<LockTicket>,
) -> PyResult<(Option<(TaskId, Answer)>, bool)> {
    let py = run.py();
    let id = call.id;
    let made = call.make(run);
    let undisturbed = opened.map_or(Ok(true), |opened| close(run, opened))?;
    if let Ok(value) = made.as_ref()
        && is_awaitable(value)
    {
        if undisturbed || is_wanted(run, &call)? {
            await_elsewhere(run, call, value)?;
        } else {
            // Python warns of a coroutine that was never begun, unless it is closed.
            let _ = value.call_method0(intern!(py, "close"));
        }
        return Ok((None, undisturbed));
    }
    let answer = call.answer(py, made);
    call.finish(run);
    Ok((Some((id, answer)), undisturbed))
}

/// This thread has no event loop to spare: awaitables go to the one of
/// antiphon.
fn await_elsewhere(run: &Bound<'_, Run>, call: Call, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = run.py();
    let id = call.id;
    let event_loop =
        py.import(intern!(py, "antiphon._event_loop"))?.call_method0(intern!(py, "running"))?;
    let coroutine = NodeCoroutine::spawn_elsewhere(&event_loop, run, (call, steppable(value)?))?;
    run.get().keep(id, TaskHandle::Coroutine(coroutine.into_any()))
}
