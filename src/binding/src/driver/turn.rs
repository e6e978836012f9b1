//! The one loop that all drivers of Python share.

use std::time::Duration;

use antiphon_core::effect::Effect;
use antiphon_core::task::{Failure, Task, TaskId, TaskOutcome};
use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::Clock;
use antiphon_stores::process;
use pyo3::exceptions::{PyBaseExceptionGroup, PyKeyboardInterrupt, PySystemExit};
use pyo3::intern;
use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::driver::abandoned_calls;
use crate::driver::fork_guard;
use crate::driver::mailbox::{Answer, Mailbox};
use crate::driver::native;
use crate::driver::phase::RunPhase;
use crate::driver::pool;
use crate::driver::run::{Goal, Run};
use crate::driver::run_state::RunState;
use crate::driver::stream_options::Mode;
use crate::driver::task_handle::TaskHandle;
use crate::fault::{failure, to_exception};
use crate::graph::agent::{self, AgentCallKind};
use crate::graph::call::Call;
use crate::graph::call_kind::CallKind;
use crate::graph::engine::Engine;
use crate::graph::rules::PyRules;
use crate::graph::update;
use crate::value::codec::ObjectCodec;
use crate::value::object::Object;
use crate::value::storable;

/// What a driver is to do next.
pub(crate) enum Next {
    /// Make this call; nothing else of the run is under way.
    Call(Call),
    /// Make these calls, side by side.
    Start(Vec<Call>),
    /// Make these calls, and then some of those that wait for the pool.
    StartAndHelp(Vec<Call>),
    /// Stop these; each still answers.
    Cancel(Vec<(TaskId, TaskHandle)>),
    /// Wait for mail, or for so long.
    Wait(Option<Duration>),
    /// Hand this to the iterating caller.
    Item(Py<PyAny>),
    /// The run is paused or over.
    Rest,
}

/// Who drives a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Driver {
    /// A thread that waits for it, and can make any call itself.
    Thread,
    /// A standby driver, while that thread is inside a call.
    Standby,
    /// An event loop.
    EventLoop,
}

impl RunState {
    /// Takes over what the driver has just done, and steps the machine until the driver has
    /// something to do.
    pub(crate) fn turn(
        &mut self,
        run: &Bound<'_, Run>,
        (driver, goal): (Driver, Goal),
        done: Option<(TaskId, Answer)>,
    ) -> PyResult<Next> {
        let py = run.py();
        // Before anything that a thread which is not here may have locked.
        if let Some(refusal) = self.forked(py, done.as_ref()) {
            return Err(refusal);
        }
        self.now = self.clock.now();
        self.read_mail(py, &run.get().mailbox)?;
        if let Some((id, answer)) = done {
            self.answer(py, id, answer)?;
        }
        loop {
            let shows = goal == Goal::Item && self.stream.has_item();
            if shows && !self.is_storing() {
                return Ok(self.item());
            }
            if !matches!(self.phase, RunPhase::Running) {
                return Ok(Next::Rest);
            }
            // Routers, merge rules and what stores values may fork too.
            if let Some(refusal) = self.forked(py, None) {
                return Err(refusal);
            }
            if (self.session.is_some() || self.subrun.is_some()) && self.poll_store(run) {
                return Ok(Next::Wait(None));
            }
            if !matches!(self.phase, RunPhase::Running) {
                continue;
            }
            let effect = self.effect(py, shows);
            self.show(run)?;
            let Some(effect) = effect else { return Ok(self.item()) };
            match effect {
                Effect::Start(tasks) => {
                    if let Some(next) = self.start(run, tasks, (driver, goal))? {
                        return Ok(next);
                    }
                }
                Effect::Cancel(ids) => {
                    let withdrawn = run.get().calls.withdraw(&ids);
                    let stopped = self.stop(run, ids, &withdrawn);
                    if !stopped.is_empty() {
                        return Ok(Next::Cancel(stopped));
                    }
                }
                Effect::Commit(commit) => self.commit(&commit),
                Effect::Wait(until) => {
                    // Items that were emitted meanwhile are in the stream only since this step.
                    if goal == Goal::Item && self.stream.has_item() && !shows {
                        continue;
                    }
                    return Ok(Next::Wait(until.map(|at| at.since(self.now))));
                }
                Effect::Paused(questions) => self.rest(RunPhase::Paused(questions)),
                Effect::Done(ending) => self.rest(RunPhase::Ended(ending)),
                Effect::Failed(fault) => self.rest(RunPhase::Failed(fault)),
            }
        }
    }

    /// Steps the machine; only as far as to store what has ended if the caller is shown an item
    /// next, after which he may read no further.
    fn effect(&mut self, py: Python<'_>, shows: bool) -> Option<Effect<Object>> {
        self.host.supersteps = self.machine.budget().spent().supersteps;
        self.host.step = self.machine.supersteps();
        let mut rules = PyRules { py, host: &mut self.host };
        if shows {
            self.machine.settle(self.now, &mut rules)
        } else {
            Some(self.machine.step(self.now, &mut rules))
        }
    }

    /// The next item, while there is one.
    fn item(&mut self) -> Next {
        match self.stream.next() {
            Some(item) => Next::Item(item),
            None => Next::Wait(None),
        }
    }

    /// Begins tasks. Models go to the native runtime, and what may block to the pool; the
    /// driver gets the other calls, if there are any.
    fn start(
        &mut self,
        run: &Bound<'_, Run>,
        mut tasks: SmallVec<[Task<Object>; 1]>,
        (driver, goal): (Driver, Goal),
    ) -> PyResult<Option<Next>> {
        let is_live = run.get().settings.is_live;
        if tasks.len() == 1 && self.machine.pending_tasks() <= 1 && self.handles.is_empty() {
            let Some(task) = tasks.pop() else { return Ok(None) };
            let Some(call) = self.call(run, task)? else { return Ok(None) };
            // What it tells while it runs is to be seen while it runs. Otherwise the run has
            // nothing to do meanwhile.
            let may_block = driver == Driver::Thread && !is_live;
            if call.kind == CallKind::Timed || (call.kind == CallKind::Blocking && !may_block) {
                self.send_to_pool(run, call);
                pool::summon(run);
                return Ok(None);
            }
            return Ok(Some(Next::Call(call)));
        }
        let mut calls = Vec::with_capacity(tasks.len());
        let mut is_pooled = false;
        for task in tasks {
            let Some(call) = self.call(run, task)? else { continue };
            if matches!(call.kind, CallKind::Blocking | CallKind::Timed) {
                self.send_to_pool(run, call);
                is_pooled = true;
            } else {
                calls.push(call);
            }
        }
        if is_pooled {
            pool::summon(run);
        }
        // Items and timers would wait for the call that the thread makes.
        let helps = is_pooled
            && driver == Driver::Thread
            && !(is_live || goal == Goal::Item || self.has_timers(&calls));
        if helps {
            return Ok(Some(Next::StartAndHelp(calls)));
        }
        Ok((!calls.is_empty()).then_some(Next::Start(calls)))
    }

    fn send_to_pool(&mut self, run: &Bound<'_, Run>, call: Call) {
        self.handles.insert(call.id, TaskHandle::Pooled);
        run.get().calls.push(call.queued(run.clone().unbind()));
    }

    /// Whether a time-out, a retry or a deadline can fall due while these calls are made. What
    /// is on the pool cannot be stopped, so the run's deadline alone does not count.
    fn has_timers(&self, calls: &[Call]) -> bool {
        let stoppable = || {
            let coroutine = |kind| matches!(kind, CallKind::Coroutine | CallKind::TimedCoroutine);
            let pooled = |handle: &TaskHandle| matches!(handle, TaskHandle::Pooled);
            calls.iter().any(|call| coroutine(call.kind)) || !self.handles.values().all(pooled)
        };
        self.machine.has_timer() || (self.machine.remaining(self.now).is_some() && stoppable())
    }

    fn call(&mut self, run: &Bound<'_, Run>, task: Task<Object>) -> PyResult<Option<Call>> {
        let (py, id) = (run.py(), task.id);
        let Some(task) = native::start(self, run, task) else { return Ok(None) };
        match Call::new(run, self, &task) {
            Ok(call) => Ok(call),
            Err(error) => {
                self.answer(py, id, Answer::Raised(error))?;
                Ok(None)
            }
        }
    }

    fn read_mail(&mut self, py: Python<'_>, mailbox: &Mailbox) -> PyResult<()> {
        let Some(mail) = mailbox.take() else { return Ok(()) };
        if let Some(reason) = mail.cancel
            && !self.session.as_mut().is_some_and(|session| session.defers(&reason))
        {
            self.machine.cancel(&reason, self.now);
        }
        for emitted in mail.emitted {
            self.emit(py, emitted)?;
        }
        for (id, answer) in mail.answers {
            self.answer(py, id, answer)?;
        }
        // After the answers: a node that ends with its calls open has not asked for them.
        for (id, index) in mail.abandoned {
            self.machine.abandon_call(id, index);
        }
        Ok(())
    }

    /// What stops the given tasks. A call that a thread makes continues if the run waits for it.
    /// The others are answered for at once, and their own answers are ignored.
    fn stop(
        &mut self,
        run: &Bound<'_, Run>,
        ids: Vec<TaskId>,
        withdrawn: &[TaskId],
    ) -> Vec<(TaskId, TaskHandle)> {
        let mut stopped = Vec::new();
        for id in ids {
            match self.handles.remove(&id) {
                Some(handle) if handle.answers_when_cancelled() => stopped.push((id, handle)),
                Some(pooled @ TaskHandle::Pooled)
                    if !withdrawn.contains(&id) && self.machine.let_finish(id) =>
                {
                    self.handles.insert(id, pooled);
                }
                given_up => {
                    match given_up {
                        Some(TaskHandle::Native(task)) => task.abort(),
                        Some(TaskHandle::Pooled) => abandoned_calls::give_up(self, run, id),
                        _ => {}
                    }
                    let fault = Fault::new(FaultCode::TaskCancelled, "the task was cancelled");
                    self.machine.resolve(id, TaskOutcome::failed(fault), self.now);
                }
            }
        }
        stopped
    }

    /// Takes over what came of a task.
    pub(crate) fn answer(&mut self, py: Python<'_>, id: TaskId, answer: Answer) -> PyResult<()> {
        self.handles.remove(&id);
        let kind = self.agent_calls.remove(&id);
        let Some(engine) = self.engine(py, id.scope) else { return Ok(()) };
        let outcome = match answer {
            Answer::Native(outcome) => *outcome,
            Answer::Returned(value) if kind.is_some_and(|kind| kind != AgentCallKind::Close) => {
                let kind = kind.unwrap_or(AgentCallKind::Tool);
                match agent::outcome(kind, value.bind(py)) {
                    Ok(outcome) => outcome,
                    Err(error) if kind == AgentCallKind::Tool => agent::tool_failed(py, &error),
                    Err(error) => self.failed(py, &engine, id, error),
                }
            }
            Answer::Raised(error)
                if kind == Some(AgentCallKind::Tool)
                    && !ends_program(&error, py)
                    && question_of(&error, py).is_none() =>
            {
                agent::tool_failed(py, &error)
            }
            Answer::Returned(value) => {
                let parent = self.machine.parent(id.scope);
                let outer = parent.and_then(|scope| self.engine(py, scope));
                let read = update::outcome(&engine, outer.as_ref(), &value.into_bound(py));
                let read = read.and_then(|outcome| {
                    let outer = outer.as_ref().unwrap_or(&engine).get();
                    self.storable(py, outcome, (engine.get(), outer))
                });
                match read {
                    Ok(outcome) => outcome,
                    Err(error) => self.failed(py, &engine, id, error),
                }
            }
            Answer::Raised(error) => self.failed(py, &engine, id, error),
        };
        let shown = self.stream.has(Mode::Updates) && !self.stream.wants_tasks();
        if shown && self.machine.accepts(id, &outcome) {
            self.show_outcome(&engine, id, &outcome)?;
        }
        self.machine.resolve(id, outcome, self.now);
        self.show_notices(py)
    }

    fn failed(
        &mut self,
        py: Python<'_>,
        engine: &Bound<'_, Engine>,
        id: TaskId,
        error: PyErr,
    ) -> TaskOutcome<Object> {
        let node = self.machine.node_of(id);
        let name = node.map(|node| engine.get().graph.node_name(Some(node)));
        if let Some(question) = question_of(&error, py) {
            let question = Object(question.unbind());
            let asking_node = name.as_deref().unwrap_or_default();
            let fits =
                |values: &ObjectCodec| storable::question_fits(values, &question, asking_node);
            return match self.values_codec().map(fits) {
                Some(Err(fault)) => TaskOutcome::failed(fault),
                _ => match question_id_of(&error, py) {
                    Some(question_id) => TaskOutcome::Relay(question_id, question),
                    None => TaskOutcome::Ask(question),
                },
            };
        }
        let command = error.value(py).getattr_opt(intern!(py, "__antiphon_command__"));
        if let Ok(Some(command)) = command {
            match update::outcome(engine, None, &command) {
                Ok(outcome) => return outcome,
                Err(error) => {
                    return failed(failure(py, error, &[], None, &mut self.host.errors));
                }
            }
        }
        let retry =
            node.and_then(|node| engine.get().node(node)).map_or(&[][..], |node| &node.retry);
        let attempt = self.machine.attempt(id);
        let at = name.as_deref().map(|name| (name, attempt));
        failed(failure(py, error, retry, at, &mut self.host.errors))
    }

    /// Brings the dict up to date and shows what the superstep changed.
    fn show(&mut self, run: &Bound<'_, Run>) -> PyResult<()> {
        let py = run.py();
        let Self { machine, host, .. } = self;
        let mut changed = false;
        let behind = host.is_behind(machine.state().revision());
        machine.take_changes(0, |channel, value| {
            changed = true;
            if behind {
                host.note(py, channel, value);
            }
        });
        self.show_notices(py)?;
        if changed && self.stream.has(Mode::Values) && !self.stream.within {
            self.show_values(py)?;
        }
        if self.stream.wants_events() {
            let events = self.machine.take_events();
            self.stream.take_events(py, run.get().id(), events)?;
        }
        Ok(())
    }

    /// Why this process cannot continue the run; none if it can. A run that
    /// is not stored can: in a fork it is a different one.
    fn forked(&self, py: Python<'_>, done: Option<&(TaskId, Answer)>) -> Option<PyErr> {
        let session = self.session.as_deref()?;
        process::check(session.process()).err()?;
        let raised = done.and_then(|(_, answer)| answer.raised());
        fork_guard::refusal(py, session.process(), raised.map(|error| error.clone_ref(py)))
    }

    /// An outcome whose values can be stored, if they are going to be.
    fn storable(
        &self,
        py: Python<'_>,
        outcome: TaskOutcome<Object>,
        engines: (&Engine, &Engine),
    ) -> PyResult<TaskOutcome<Object>> {
        let Some(values) = self.values_codec() else { return Ok(outcome) };
        let checked = storable::check(values, &outcome, engines);
        checked.map(|()| outcome).map_err(|fault| to_exception(py, &fault))
    }
}

/// Whether an exception is not for a model to read: it is to end the program.
fn ends_program(error: &PyErr, py: Python<'_>) -> bool {
    error.is_instance_of::<PySystemExit>(py) || error.is_instance_of::<PyKeyboardInterrupt>(py)
}

fn failed(failure: Failure) -> TaskOutcome<Object> {
    TaskOutcome::Failed(Box::new(failure))
}

/// The id of the question that an exception carries, if a run that the node has
/// started asks it.
fn question_id_of(error: &PyErr, py: Python<'_>) -> Option<String> {
    let pause = py.import(intern!(py, "antiphon._pause")).ok()?;
    let found = pause.call_method1(intern!(py, "question_in"), (error.value(py),)).ok()?;
    let question_id = found.getattr_opt(intern!(py, "__antiphon_question_id__")).ok().flatten()?;
    question_id.extract::<String>().ok().filter(|question_id| !question_id.is_empty())
}

/// What an exception asks, if it pauses the run: also if a group of tasks brings
/// it, and nothing else beside.
fn question_of<'py>(error: &PyErr, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
    let value = error.value(py);
    let question = value.getattr_opt(intern!(py, "__antiphon_question__")).ok().flatten();
    if question.is_some() || !value.is_instance_of::<PyBaseExceptionGroup>() {
        return question;
    }
    let pause = py.import(intern!(py, "antiphon._pause")).ok()?;
    let found = pause.call_method1(intern!(py, "question_in"), (value,)).ok()?;
    found.getattr_opt(intern!(py, "__antiphon_question__")).ok().flatten()
}
