//! Calling a node: its argument, its context, and what it may reach.

use std::sync::Arc;

use antiphon_core::task::{Task, TaskId, TaskWork};
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;

use crate::driver::call_queue::QueuedCall;
use crate::driver::mailbox::Answer;
use crate::driver::run::Run;
use crate::driver::run_state::RunState;
use crate::driver::stream_items;
use crate::ffi;
use crate::graph::agent::{self, AgentCallKind, AgentEntry, ModelEntry};
use crate::graph::call_kind::CallKind;
use crate::graph::current_call::CurrentCall;
use crate::graph::engine::Engine;
use crate::graph::node_variables::NodeVariables;
use crate::graph::task_context::{Context, NodeAttempt, TaskContext};
use crate::value::object::Object;

/// Everything needed to call a node, on any thread.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) id: TaskId,
    pub(crate) kind: CallKind,
    stage: CallStage,
    /// What is called, until it is.
    invocation: Option<Invocation>,
}

#[derive(Debug)]
enum CallStage {
    /// Its variables are made when the node is entered: a thousand that wait cost the garbage
    /// collector. Its context is there if the node is given it.
    Due(NodeAttempt, Option<Arc<TaskContext>>),
    Entered(NodeVariables),
    Over,
}

/// A callable and its arguments.
#[derive(Debug)]
struct Invocation {
    callable: Py<PyAny>,
    arguments: Arguments,
}

/// What a callable is given; the first that is missing ends them.
type Arguments = [Option<Py<PyAny>>; 3];

impl Call {
    /// What a task asks Python to do; none for a task that Python has no part in.
    pub(crate) fn new(
        run: &Bound<'_, Run>,
        state: &mut RunState,
        task: &Task<Object>,
    ) -> PyResult<Option<Self>> {
        let py = run.py();
        let Some(engine) = state.engine(py, task.id.scope) else { return Ok(None) };
        let inner = engine.get();
        let Some(entry) = inner.node(task.node) else { return Ok(None) };
        let attempt = NodeAttempt {
            id: task.id,
            node: task.node,
            number: task.attempt,
            supersteps: state.machine.budget().spent().supersteps,
            deadline: task.deadline,
            name: inner.name_of(task.node, py),
        };
        let Some(call) = &entry.call else {
            let Some(agent) = entry.agent.as_deref() else { return Ok(None) };
            return AgentInvocation { run, engine: &engine, task, agent }.call(state, attempt);
        };
        let input = Some(state.input(&engine, task)?.unbind());
        let on_enter = run.get().settings.on_enter.as_ref();
        let (stage, given) = if entry.wants_ctx || on_enter.is_some() {
            let cx = TaskContext::of(run, state, &attempt);
            let context = Context::of(py, &cx)?;
            let stage = match on_enter {
                Some(on_enter) => {
                    let variables = CurrentCall::begin(run, attempt, Some(cx))?;
                    let given = (&context, input.as_ref());
                    enter_node(state, on_enter, variables.context(py), given)
                        .inspect_err(|_| drop(CurrentCall::end(py, &variables)))?;
                    CallStage::Entered(variables)
                }
                None => CallStage::Due(attempt, Some(cx)),
            };
            (stage, entry.wants_ctx.then(|| context.into_any().unbind()))
        } else {
            (CallStage::Due(attempt, None), None)
        };
        let kind = match (entry.asynchronous, entry.inline, state.machine.is_timed(task.id)) {
            (true, _, false) => CallKind::Coroutine,
            (true, _, true) => CallKind::TimedCoroutine,
            (false, _, true) => CallKind::Timed,
            (false, true, false) => CallKind::Inline,
            (false, false, false) => CallKind::Blocking,
        };
        let invocation =
            Invocation { callable: call.clone_ref(py), arguments: [input, given, None] };
        Ok(Some(Self { id: task.id, kind, stage, invocation: Some(invocation) }))
    }

    /// Calls the node here and now.
    pub(crate) fn make<'py>(&mut self, run: &Bound<'py, Run>) -> PyResult<Bound<'py, PyAny>> {
        self.start(run, Ok)
    }

    /// Calls an async node: its coroutine, not yet begun.
    pub(crate) fn begin<'py>(&mut self, run: &Bound<'py, Run>) -> PyResult<Bound<'py, PyAny>> {
        let made = self.make(run)?;
        steppable(&made)
    }

    /// Calls the node, and does `work` with what it returns, both in its context variables.
    pub(crate) fn start<'py, T>(
        &mut self,
        run: &Bound<'py, Run>,
        work: impl FnOnce(Bound<'py, PyAny>) -> PyResult<T>,
    ) -> PyResult<T> {
        let py = run.py();
        self.stage = match std::mem::replace(&mut self.stage, CallStage::Over) {
            CallStage::Due(attempt, cx) => {
                CallStage::Entered(CurrentCall::begin(run, attempt, cx)?)
            }
            entered => entered,
        };
        let Some(invocation) = self.invocation.take() else { return Err(not_entered()) };
        let done = self.enter(py, || invocation.call(py).and_then(work));
        invocation.release(py);
        done
    }

    /// Does `work` as the node: in its context variables.
    pub(crate) fn enter<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> PyResult<T>,
    ) -> PyResult<T> {
        match self.variables(py) {
            Some(context) => ffi::within(context, work),
            None => Err(not_entered()),
        }
    }

    /// Ends the call by what the node's code has come to: a question that it has caught stays one.
    pub(crate) fn answer(&self, py: Python<'_>, outcome: PyResult<Bound<'_, PyAny>>) -> Answer {
        let outcome = outcome.map(Bound::unbind);
        let cx = match &self.stage {
            CallStage::Entered(variables) => CurrentCall::end(py, variables),
            CallStage::Due(..) | CallStage::Over => None,
        };
        match cx {
            Some(cx) => cx.question.first_of(py, outcome),
            None => outcome.into(),
        }
    }

    /// Gives the variables of a call that has ended to the next one.
    pub(crate) fn finish(mut self, run: &Bound<'_, Run>) {
        let stage = std::mem::replace(&mut self.stage, CallStage::Over);
        if let CallStage::Entered(variables) = stage {
            variables.give_back(run.py(), &run.get().variables);
        }
    }

    /// The call for the queue of the pool.
    pub(crate) fn queued(mut self, run: Py<Run>) -> QueuedCall {
        let (id, is_timed) = (self.id, self.kind == CallKind::Timed);
        let make = move |py: Python<'_>| {
            let run = run.bind(py);
            let made = self.make(run);
            let answer = self.answer(py, made);
            self.finish(run);
            answer
        };
        QueuedCall { id, is_timed, make: Box::new(make) }
    }

    /// The node's own context variables, once it was entered.
    pub(crate) fn variables<'py>(&self, py: Python<'py>) -> Option<&Bound<'py, PyAny>> {
        match &self.stage {
            CallStage::Entered(variables) => Some(variables.context(py)),
            CallStage::Due(..) | CallStage::Over => None,
        }
    }

    /// The node's name, once it was entered.
    pub(crate) fn name(&self, py: Python<'_>) -> Option<Py<PyString>> {
        match &self.stage {
            CallStage::Entered(variables) => CurrentCall::name(py, variables),
            CallStage::Due(..) | CallStage::Over => None,
        }
    }
}

impl Drop for Call {
    /// If nobody has answered for it, nobody will, though its code may still run.
    fn drop(&mut self) {
        let stage = std::mem::replace(&mut self.stage, CallStage::Over);
        let CallStage::Entered(variables) = stage else { return };
        Python::try_attach(|py| drop((CurrentCall::end(py, &variables), variables)));
    }
}

impl Invocation {
    fn call<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let given = self.arguments.each_ref();
        let given = given.map(|argument| argument.as_ref().map(|given| given.bind(py)));
        ffi::call(self.callable.bind(py), given)
    }

    /// Drops it where the interpreter is known to be held, which `Py` itself would have to find out.
    fn release(self, py: Python<'_>) {
        drop((
            self.callable.into_bound(py),
            self.arguments.map(|it| it.map(|it| it.into_bound(py))),
        ));
    }
}

/// A call is made once, and its variables are entered from then until it ends.
fn not_entered() -> PyErr {
    PyRuntimeError::new_err("the call of the node has not begun, or is over")
}

/// Lets the starter of the run prepare the context variables of a node.
fn enter_node(
    state: &RunState,
    on_enter: &Py<PyAny>,
    variables: &Bound<'_, PyAny>,
    (context, input): (&Bound<'_, Context>, Option<&Py<PyAny>>),
) -> PyResult<()> {
    let py = context.py();
    let place = state.machine.location_of(context.get().task()?.id);
    let about = place.as_ref().map(|place| stream_items::about(py, place)).transpose()?;
    ffi::within(variables, || on_enter.bind(py).call1((context, about, input))).map(drop)
}

/// A call of an agent, on its way to Python.
struct AgentInvocation<'a, 'py> {
    run: &'a Bound<'py, Run>,
    engine: &'a Bound<'py, Engine>,
    task: &'a Task<Object>,
    agent: &'a AgentEntry,
}

impl AgentInvocation<'_, '_> {
    fn call(self, state: &mut RunState, attempt: NodeAttempt) -> PyResult<Option<Call>> {
        let py = self.engine.py();
        let mut cx = None;
        let mut context = |state: &RunState| {
            let cx = cx.insert(TaskContext::of(self.run, state, &attempt));
            Context::of(py, cx).map(|context| Some(context.into_any().unbind()))
        };
        let given = |given: Bound<'_, PyAny>| Some(given.unbind());
        let (agent_call, kind, callable, arguments) = match &self.task.work {
            TaskWork::Open(_) => {
                let input = state.input(self.engine, self.task)?;
                let arguments = [given(input), context(state)?, None];
                (AgentCallKind::Open, self.agent.open_kind, &self.agent.open, arguments)
            }
            TaskWork::Close(outcome) => {
                let input = state.input(self.engine, self.task)?;
                let outcome = agent::result_dict(py, outcome)?;
                let arguments = [given(input), given(outcome.into_any()), context(state)?];
                (AgentCallKind::Close, CallKind::Inline, &self.agent.close, arguments)
            }
            TaskWork::Model(request) => {
                let ModelEntry::Callable(model) = &self.agent.model else { return Ok(None) };
                let request = pythonize::pythonize(py, request)?;
                (
                    AgentCallKind::Model,
                    model.kind(),
                    &model.call,
                    [given(request), context(state)?, None],
                )
            }
            TaskWork::Approve(invocation) => {
                let Some(approve) = self.agent.approve(&invocation.call.name) else {
                    return Ok(None);
                };
                let asked = pythonize::pythonize(py, &invocation.arguments)?;
                let about = agent::about(py, invocation)?;
                let arguments = [given(asked), given(about.into_any()), None];
                (AgentCallKind::Approve, approve.kind(), &approve.call, arguments)
            }
            TaskWork::Tool(invocation) => {
                let Some(tool) = self.agent.tool(&invocation.call.name) else { return Ok(None) };
                let asked = pythonize::pythonize(py, &invocation.arguments)?;
                let about = agent::about(py, invocation)?;
                let arguments = [given(asked), given(about.into_any()), None];
                (AgentCallKind::Tool, tool.kind(), &tool.call, arguments)
            }
            TaskWork::Node(_) => return Ok(None),
        };
        state.agent_calls.insert(self.task.id, agent_call);
        let invocation = Some(Invocation { callable: callable.clone_ref(py), arguments });
        let stage = CallStage::Due(attempt, cx);
        Ok(Some(Call { id: self.task.id, kind, stage, invocation }))
    }
}

/// What can be sent to: a coroutine as it is, another awaitable's iterator.
pub(crate) fn steppable<'py>(awaitable: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    static COROUTINE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = awaitable.py();
    let coroutine = COROUTINE.import(py, "types", "CoroutineType")?;
    if awaitable.get_type().is(coroutine) {
        return Ok(awaitable.clone());
    }
    if awaitable.hasattr(intern!(py, "send"))? {
        return Ok(awaitable.clone());
    }
    awaitable.call_method0(intern!(py, "__await__"))
}

/// Whether a value must be awaited.
pub(crate) fn is_awaitable(value: &Bound<'_, PyAny>) -> bool {
    !value.is_none()
        && !value.is_exact_instance_of::<pyo3::types::PyDict>()
        && value.hasattr(intern!(value.py(), "__await__")).unwrap_or(false)
}
