//! Driving a run from a thread that waits for it.

use std::time::Duration;

use antiphon_core::task::Task;
use pyo3::intern;
use pyo3::prelude::*;

use crate::call::{Call, Kind, is_awaitable, steppable};
use crate::core::Next;
use crate::coroutine::NodeCoroutine;
use crate::handle::Handle;
use crate::inbox::Answer;
use crate::object::Object;
use crate::pool;
use crate::run::{Goal, Run};

/// How long a wait may last before Ctrl-C is looked for.
const PATIENCE: Duration = Duration::from_millis(50);

/// Goes on until the goal is reached: an item of the stream, or the end.
pub(crate) fn drive(run: &Bound<'_, Run>, goal: Goal) -> PyResult<Option<Py<PyAny>>> {
    let py = run.py();
    let this = run.get();
    let _driving = this.begin()?;
    let mut interrupted = None;
    loop {
        if let Err(error) = py.check_signals() {
            // A second Ctrl-C does not wait for anything any more.
            if interrupted.is_some() {
                return Err(error);
            }
            interrupted = Some(error);
            this.inbox.put(py, |letters| letters.cancel = Some("interrupted".to_owned()));
        }
        if goal == Goal::Item
            && interrupted.is_none()
            && let Some(item) = this.with(|core| Ok(core.stream.next()))?
        {
            return Ok(Some(item));
        }
        let next = this.with(|core| core.pump(py, &this.id, &this.inbox))?;
        match next {
            Next::Start(tasks) => start(run, &tasks)?,
            Next::Cancel(stopped) => {
                for (id, handle) in stopped {
                    handle.cancel(py)?;
                    this.with(|core| Ok(core.handles.insert(id, handle)))?;
                }
            }
            Next::Wait(limit) => {
                let limit = limit.map_or(PATIENCE, |limit| limit.min(PATIENCE));
                this.inbox.wait(py, limit.max(Duration::from_micros(100)));
            }
            Next::Rest => return rest(this, py, goal, interrupted),
        }
    }
}

fn rest(
    run: &Run,
    py: Python<'_>,
    goal: Goal,
    interrupted: Option<PyErr>,
) -> PyResult<Option<Py<PyAny>>> {
    if let Some(error) = interrupted {
        return Err(error);
    }
    if goal == Goal::Item
        && let Some(item) = run.with(|core| Ok(core.stream.next()))?
    {
        return Ok(Some(item));
    }
    run.raise(py)?;
    Ok(None)
}

fn start(run: &Bound<'_, Run>, tasks: &[Task<Object>]) -> PyResult<()> {
    let alone = tasks.len() == 1 && run.get().with(|core| Ok(core.handles.is_empty()))?;
    let mut here = Vec::new();
    let mut pooled = false;
    for task in tasks {
        let Some(call) = prepare(run, task)? else { continue };
        match call.kind {
            Kind::Coroutine | Kind::TimedCoroutine => start_coroutine(run, call)?,
            Kind::Inline => here.push(call),
            Kind::Blocking if alone => here.push(call),
            Kind::Blocking | Kind::Timed => {
                keep(run, &call, Handle::Pooled)?;
                run.get().calls.lock().push_back(call);
                pooled = true;
            }
        }
    }
    if pooled {
        pool::summon(run);
    }
    for call in here {
        make(run, call)?;
    }
    if pooled {
        pool::work_for(run.py(), run, true);
    }
    Ok(())
}

fn prepare(run: &Bound<'_, Run>, task: &Task<Object>) -> PyResult<Option<Call>> {
    let this = run.get();
    let call = this.with(|core| Ok(Call::new(run, core, task)))?;
    match call {
        Ok(call) => Ok(call),
        Err(error) => {
            let answer = Answer::Raised(error);
            this.with(|core| core.answer(run.py(), task.id, answer))?;
            Ok(None)
        }
    }
}

pub(crate) fn keep(run: &Bound<'_, Run>, call: &Call, handle: Handle) -> PyResult<()> {
    run.get().with(|core| Ok(core.handles.insert(call.errand.id, handle))).map(|_| ())
}

/// Calls a node on this thread.
fn make(run: &Bound<'_, Run>, call: Call) -> PyResult<()> {
    let py = run.py();
    let id = call.errand.id;
    let answer = match call.make(py) {
        Ok(value) if is_awaitable(&value) => return await_elsewhere(run, call, &value),
        Ok(value) => Answer::Returned(value.unbind()),
        Err(error) => Answer::Raised(error),
    };
    run.get().with(|core| core.answer(py, id, answer))
}

fn start_coroutine(run: &Bound<'_, Run>, call: Call) -> PyResult<()> {
    let py = run.py();
    let id = call.errand.id;
    match call.make(py) {
        Ok(value) if is_awaitable(&value) => await_elsewhere(run, call, &value),
        Ok(value) => run.get().with(|core| core.answer(py, id, Answer::Returned(value.unbind()))),
        Err(error) => run.get().with(|core| core.answer(py, id, Answer::Raised(error))),
    }
}

/// This thread has no event loop of its own to spare: awaitables go to one
/// that antiphon keeps.
fn await_elsewhere(run: &Bound<'_, Run>, call: Call, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = run.py();
    let id = call.errand.id;
    let event_loop =
        py.import(intern!(py, "antiphon._loop"))?.call_method0(intern!(py, "running"))?;
    let inner = steppable(value)?;
    let coroutine = NodeCoroutine::spawn_elsewhere(&event_loop, call, inner)?;
    run.get().with(|core| Ok(core.handles.insert(id, Handle::Coroutine(coroutine)))).map(|_| ())
}
