//! Calling a node: its argument, its context, and what it may reach.

use std::sync::Arc;

use antiphon_core::task::{Task, TaskId, TaskWork};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::driver::call_queue::QueuedCall;
use crate::driver::mailbox::Answer;
use crate::driver::run::Run;
use crate::driver::run_state::RunState;
use crate::driver::stream_items;
use crate::ffi;
use crate::graph::agent::{self, AgentCallKind, AgentEntry, ModelEntry};
use crate::graph::call_kind::CallKind;
use crate::graph::engine::Engine;
use crate::graph::node_variables::NodeVariables;
use crate::graph::task_context::{Context, TaskContext, variables_of};
use crate::value::object::Object;

/// Everything needed to call a node, on any thread.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) cx: Arc<TaskContext>,
    pub(crate) kind: CallKind,
    /// Made when the node is entered: a thousand that wait cost the garbage collector.
    variables: Option<NodeVariables>,
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
        let (Some(entry), Some(node)) = (inner.node(task.node), inner.graph.node(task.node)) else {
            return Ok(None);
        };
        let mut cx = TaskContext::new(run.clone().unbind(), task.id, Arc::clone(&node.name));
        cx.attempt = task.attempt;
        cx.deadline = task.deadline;
        cx.answers = state.machine.answers(task.id.scope, task.id.slot);
        let Some(call) = &entry.call else {
            let Some(agent) = entry.agent.as_deref() else { return Ok(None) };
            return AgentInvocation { engine: &engine, task, agent }.call(state, cx);
        };
        let mut variables = None;
        let input = Some(state.input(&engine, task)?.unbind());
        let on_enter = run.get().settings.on_enter.as_ref();
        let (cx, arguments) = if entry.wants_ctx || on_enter.is_some() {
            let cx = introduce(state, cx);
            let context = Context::of(py, &cx)?;
            if let Some(on_enter) = on_enter {
                let made = variables.insert(variables_of(py, &cx)?);
                enter_node(state, on_enter, made.context(py), (&context, input.as_ref()))?;
            }
            let context = entry.wants_ctx.then(|| context.into_any().unbind());
            (cx, [input, context, None])
        } else {
            (Arc::new(cx), [input, None, None])
        };
        let kind = match (entry.asynchronous, entry.inline, state.machine.is_timed(task.id)) {
            (true, _, false) => CallKind::Coroutine,
            (true, _, true) => CallKind::TimedCoroutine,
            (false, _, true) => CallKind::Timed,
            (false, true, false) => CallKind::Inline,
            (false, false, false) => CallKind::Blocking,
        };
        let callable = call.clone_ref(py);
        Ok(Some(Self { cx, kind, variables, callable, arguments }))
    }

    /// Calls the node here and now.
    pub(crate) fn make<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.enter(py, |call| call.invoke(py))
    }

    /// Calls an async node: its coroutine, not yet begun.
    pub(crate) fn begin<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let made = self.make(py)?;
        steppable(&made)
    }

    /// Does `work` as the node: in its context variables.
    pub(crate) fn enter<T>(
        &mut self,
        py: Python<'_>,
        work: impl FnOnce(&Self) -> PyResult<T>,
    ) -> PyResult<T> {
        let variables = match self.variables.take() {
            Some(variables) => variables,
            None => variables_of(py, &self.cx)?,
        };
        let context = self.variables.insert(variables).context(py).clone();
        ffi::within(&context, || work(self))
    }

    /// Calls the callable with its arguments, in whatever context variables it is.
    pub(crate) fn invoke<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let given = self.arguments.each_ref();
        ffi::call(
            self.callable.bind(py),
            given.map(|argument| argument.as_ref().map(|given| given.bind(py))),
        )
    }

    /// What the node's code has come to: a question that it has caught stays one.
    pub(crate) fn answer(&self, py: Python<'_>, outcome: PyResult<Bound<'_, PyAny>>) -> Answer {
        self.cx.question.first_of(py, outcome.map(Bound::unbind))
    }

    /// The call is over.
    pub(crate) fn finish(self, py: Python<'_>) {
        if let Some(variables) = self.variables {
            variables.give_back(py, &self.cx.run.get().variables);
        }
    }

    /// The call for the queue of the pool.
    pub(crate) fn queued(mut self) -> QueuedCall {
        let (id, is_timed) = (self.cx.id, self.kind == CallKind::Timed);
        let make = move |py: Python<'_>| {
            let made = self.make(py);
            let answer = self.answer(py, made);
            self.finish(py);
            answer
        };
        QueuedCall { id, is_timed, make: Box::new(make) }
    }

    /// The node's own context variables, once it was entered.
    pub(crate) fn variables<'py>(&self, py: Python<'py>) -> Option<&Bound<'py, PyAny>> {
        self.variables.as_ref().map(|variables| variables.context(py))
    }
}

/// Tells a task where it stands, for code that wants to know.
fn introduce(state: &RunState, mut cx: TaskContext) -> Arc<TaskContext> {
    let TaskId { scope, slot, .. } = cx.id;
    cx.path = state.machine.path(cx.id);
    cx.step = state.machine.supersteps();
    cx.supersteps = state.machine.budget().spent().supersteps;
    let handled = state.machine.handled(scope, slot);
    cx.handled = handled.map(|(name, fault)| (name, fault.clone()));
    Arc::new(cx)
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
    engine: &'a Bound<'py, Engine>,
    task: &'a Task<Object>,
    agent: &'a AgentEntry,
}

impl AgentInvocation<'_, '_> {
    fn call(self, state: &mut RunState, cx: TaskContext) -> PyResult<Option<Call>> {
        let py = self.engine.py();
        let cx = introduce(state, cx);
        let context = || Context::of(py, &cx).map(|context| Some(context.into_any().unbind()));
        let given = |given: Bound<'_, PyAny>| Some(given.unbind());
        let (agent_call, kind, callable, arguments) = match &self.task.work {
            TaskWork::Open(_) => {
                let input = state.input(self.engine, self.task)?;
                let arguments = [given(input), context()?, None];
                (AgentCallKind::Open, self.agent.open_kind, &self.agent.open, arguments)
            }
            TaskWork::Close(outcome) => {
                let input = state.input(self.engine, self.task)?;
                let outcome = agent::result_dict(py, outcome)?;
                let arguments = [given(input), given(outcome.into_any()), context()?];
                (AgentCallKind::Close, CallKind::Inline, &self.agent.close, arguments)
            }
            TaskWork::Model(request) => {
                let ModelEntry::Callable(model) = &self.agent.model else { return Ok(None) };
                let request = pythonize::pythonize(py, request)?;
                (
                    AgentCallKind::Model,
                    model.kind(),
                    &model.call,
                    [given(request), context()?, None],
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
        let callable = callable.clone_ref(py);
        Ok(Some(Call { cx, kind, variables: None, callable, arguments }))
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
