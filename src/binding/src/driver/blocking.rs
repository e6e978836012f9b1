//! Driving a run from a thread that waits for it.

use std::time::Duration;

use antiphon_core::task::TaskId;
use pyo3::intern;
use pyo3::prelude::*;

use crate::driver::coroutine::NodeCoroutine;
use crate::driver::drive_lock::LockTicket;
use crate::driver::handle::Handle;
use crate::driver::mailbox::Answer;
use crate::driver::pool;
use crate::driver::run::{Goal, Run};
use crate::driver::turn::{Next, TimerState};
use crate::driver::wait::SIGNAL_INTERVAL;
use crate::graph::call::{Call, is_awaitable, steppable};
use crate::graph::call_kind::Kind;

/// Who starts calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DriverRole {
    /// The caller's thread, which makes calls itself where it can.
    Caller,
    /// The caller's thread, which must stay free meanwhile.
    Watcher,
    /// A standby driver, while the caller's thread is inside a call.
    Standby,
}

/// Goes on until the goal is reached: an item of the stream, or the end.
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
        match this.with(|core| core.turn(run, goal, done.take()))? {
            Next::Call(call) => done = call_alone(run, call)?,
            Next::Start(calls, timers) => {
                // Items and timers would wait for the call that this thread makes.
                let bound = this.live || goal == Goal::Item || timers == TimerState::Pending;
                let role = if bound { DriverRole::Watcher } else { DriverRole::Caller };
                done = start(run, calls, role)?;
            }
            Next::Cancel(stopped) => cancel(run, stopped)?,
            Next::Wait(limit) => {
                let limit = limit.map_or(SIGNAL_INTERVAL, |limit| limit.min(SIGNAL_INTERVAL));
                this.mailbox.wait(py, limit.max(Duration::from_micros(100)));
            }
            Next::Item(item) => return Ok(Some(item)),
            Next::Rest => {
                interrupted.map_or(Ok(()), Err)?;
                this.raise(py)?;
                return Ok(None);
            }
        }
    }
}

/// Makes a call on this thread unless others must not wait for it. What it
/// came to goes straight into the next turn.
fn call_alone(run: &Bound<'_, Run>, call: Call) -> PyResult<Option<(TaskId, Answer)>> {
    match call.kind {
        // What it tells while it runs is to be seen while it runs.
        Kind::Blocking if run.get().live => start(run, vec![call], DriverRole::Watcher),
        Kind::Timed => start(run, vec![call], DriverRole::Watcher),
        // The run has no other task, so a standby driver would have nothing to do.
        Kind::Blocking | Kind::Inline | Kind::Coroutine | Kind::TimedCoroutine => {
            make(run, call, None).map(|(made, _)| made)
        }
    }
}

/// Makes calls, or sends them where they can be made.
pub(crate) fn start(
    run: &Bound<'_, Run>,
    calls: Vec<Call>,
    role: DriverRole,
) -> PyResult<Option<(TaskId, Answer)>> {
    let mut here = Vec::with_capacity(calls.len());
    let mut pooled = false;
    for call in calls {
        match call.kind {
            Kind::Coroutine | Kind::TimedCoroutine | Kind::Inline => here.push(call),
            Kind::Blocking | Kind::Timed => {
                keep(run, call.cx.id, Handle::Pooled)?;
                run.get().calls.push(call.queued());
                pooled = true;
            }
        }
    }
    if pooled {
        pool::summon(run);
    }
    let (py, this) = (run.py(), run.get());
    let mut done = None;
    let mut undisturbed = true;
    for call in here {
        if !undisturbed && !is_wanted(run, &call)? {
            continue;
        }
        let opened = (role != DriverRole::Standby).then(|| open(run));
        let (made, alone) = make(run, call, opened)?;
        undisturbed &= alone;
        if let Some((id, answer)) = std::mem::replace(&mut done, made) {
            this.with(|core| core.answer(py, id, answer))?;
        }
    }
    if pooled && role == DriverRole::Caller {
        // Whoever stands in for this thread meanwhile finds it there.
        if let Some(answer) = done.take() {
            this.mailbox.post(py, |mail| mail.answers.push(answer));
        }
        work_along(run)?;
    }
    Ok(done)
}

/// Whether the task of a call has not been given up since the call was prepared.
fn is_wanted(run: &Bound<'_, Run>, call: &Call) -> PyResult<bool> {
    run.get().with(|core| Ok(core.machine.is_under_way(call.cx.id)))
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

pub(crate) fn keep(run: &Bound<'_, Run>, id: TaskId, handle: Handle) -> PyResult<()> {
    run.get().with(|core| Ok(core.handles.insert(id, handle))).map(|_| ())
}

/// Tells tasks to stop; each stays known until it has answered.
pub(crate) fn cancel(run: &Bound<'_, Run>, stopped: Vec<(TaskId, Handle)>) -> PyResult<()> {
    for (id, handle) in stopped {
        handle.cancel(run.py())?;
        keep(run, id, handle)?;
    }
    Ok(())
}

/// Calls a node on this thread, for which a standby driver may have been let in; says
/// whether none has come.
fn make(
    run: &Bound<'_, Run>,
    mut call: Call,
    opened: Option<LockTicket>,
) -> PyResult<(Option<(TaskId, Answer)>, bool)> {
    let py = run.py();
    let id = call.cx.id;
    let made = call.make(py);
    let undisturbed = opened.map_or(Ok(true), |opened| close(run, opened))?;
    if let Ok(value) = made.as_ref()
        && is_awaitable(value)
    {
        if undisturbed || is_wanted(run, &call)? {
            await_elsewhere(run, call, value)?;
        } else {
            // A coroutine that was never begun says so unless it is closed.
            let _ = value.call_method0(intern!(py, "close"));
        }
        return Ok((None, undisturbed));
    }
    let answer = call.answer(py, made);
    call.finish(py);
    Ok((Some((id, answer)), undisturbed))
}

/// This thread has no event loop of its own to spare: awaitables go to one
/// that antiphon keeps.
fn await_elsewhere(run: &Bound<'_, Run>, call: Call, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = run.py();
    let id = call.cx.id;
    let event_loop =
        py.import(intern!(py, "antiphon._event_loop"))?.call_method0(intern!(py, "running"))?;
    let coroutine = NodeCoroutine::spawn_elsewhere(&event_loop, call, steppable(value)?)?;
    keep(run, id, Handle::Coroutine(coroutine.into_any()))
}
