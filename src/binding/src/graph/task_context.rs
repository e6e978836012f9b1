//! A task under way, and how the code that runs for it finds it.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use antiphon_core::task::TaskId;
use antiphon_core::{Fault, FaultCode, Time};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use crate::driver::run::Run;
use crate::fault::to_exception;
use crate::ffi;
use crate::graph::node_variables::{NodeVariables, method};
use crate::graph::question::{Question, UnansweredQuestion};
use crate::system::role_attempt::RoleAttempt;
use crate::value::object::Object;

/// One task under way, as the code that runs for it sees it.
#[derive(Debug)]
pub(crate) struct TaskContext {
    pub(crate) run: Py<Run>,
    pub(crate) id: TaskId,
    pub(crate) name: Arc<str>,
    pub(crate) path: Vec<Arc<str>>,
    pub(crate) attempt: u32,
    pub(crate) step: u64,
    /// The supersteps that the run has spent, those of nested graphs included.
    pub(crate) supersteps: u64,
    pub(crate) deadline: Option<Time>,
    pub(crate) answers: Vec<Object>,
    pub(crate) handled: Option<(Arc<str>, Fault)>,
    pub(crate) question: UnansweredQuestion,
    /// The questions that it has asked so far.
    pub(crate) asked: AtomicUsize,
}

impl TaskContext {
    pub(crate) fn new(run: Py<Run>, id: TaskId, name: Arc<str>) -> Self {
        Self {
            run,
            id,
            name,
            path: Vec::new(),
            attempt: 1,
            step: 0,
            supersteps: 0,
            deadline: None,
            answers: Vec::new(),
            handled: None,
            question: UnansweredQuestion::default(),
            asked: AtomicUsize::new(0),
        }
    }

    /// Whether the attempt is under way. It may be over while its thread still runs,
    /// or while somebody holds its context.
    pub(crate) fn is_under_way(&self) -> bool {
        let found = self.run.get().with(|state| Ok(state.machine.is_under_way(self.id)));
        // The lock is taken: its holder prepares this very attempt.
        found.unwrap_or(true)
    }
}

/// The call of a node, as the node's context variables hold it, and with them
/// all that its code starts: tasks, threads, executors that copy them.
///
/// It is weak: a task or a connection that outlives the node keeps its variables,
/// and must neither keep the run alive nor act for it.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct CurrentCall {
    call: Mutex<(Weak<TaskContext>, Arc<str>)>,
}

/// What the context variables of some code say about the node that it runs for.
pub(crate) enum EnclosingTask {
    Nothing,
    Present(Arc<TaskContext>),
    /// The node, by its name, has ended.
    Ended(Arc<str>),
}

impl CurrentCall {
    /// Makes a task the current one in a node's own context variables.
    pub(crate) fn set<'py>(
        variables: &Bound<'py, PyAny>,
        cx: &Arc<TaskContext>,
    ) -> PyResult<Bound<'py, Self>> {
        static SET: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = variables.py();
        let set = method(py, &SET, ("ContextVar", "set"))?;
        let call = Bound::new(py, Self { call: Mutex::new(Self::of(cx)) })?;
        let variable = variable(py)?;
        ffi::within(variables, || ffi::call(set, [Some(variable), Some(call.as_any())]))?;
        Ok(call)
    }

    /// Makes another task the current one, wherever this is set.
    pub(crate) fn begin(&self, cx: &Arc<TaskContext>) {
        *self.call.lock().unwrap_or_else(PoisonError::into_inner) = Self::of(cx);
    }

    fn of(cx: &Arc<TaskContext>) -> (Weak<TaskContext>, Arc<str>) {
        (Arc::downgrade(cx), Arc::clone(&cx.name))
    }

    pub(crate) fn enclosing(py: Python<'_>) -> PyResult<EnclosingTask> {
        static GET: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let get = method(py, &GET, ("ContextVar", "get"))?;
        let found = ffi::call(get, [Some(variable(py)?)])?;
        let Ok(call) = found.cast_exact::<Self>() else { return Ok(EnclosingTask::Nothing) };
        let call = call.get().call.lock().unwrap_or_else(PoisonError::into_inner);
        let (cx, node) = (call.0.upgrade(), Arc::clone(&call.1));
        drop(call);
        let ended = || EnclosingTask::Ended(Arc::clone(&node));
        let Some(cx) = cx else { return Ok(ended()) };
        Ok(if cx.is_under_way() { EnclosingTask::Present(cx) } else { ended() })
    }
}

/// The context variable that holds the current call; it has no value outside of nodes.
fn variable(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static VARIABLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let made = VARIABLE.get_or_try_init(py, || {
        let options = PyDict::new(py);
        options.set_item("default", py.None())?;
        let kind = py.import("contextvars")?.getattr("ContextVar")?;
        Ok::<_, PyErr>(kind.call(("antiphon_call",), Some(&options))?.unbind())
    })?;
    Ok(made.bind(py))
}

/// Why nothing can act for a node.
pub(crate) fn node_ended(node: &str) -> Fault {
    let message = format!("the node has already ended: {node}");
    Fault::new(FaultCode::NodeEnded, message)
        .with("node", node)
        .hint("await everything that the node starts before it returns")
}

/// The context of a node of a graph, or of a role of a ready system, while it runs. A role
/// has no run that Python drives: what belongs to that raises a `RuntimeError` there.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) owner: ContextOwner,
}

/// Whose context it is.
#[derive(Debug)]
pub(crate) enum ContextOwner {
    Node(Arc<TaskContext>),
    Role(Box<RoleAttempt>),
}

impl Context {
    /// The context of a task, as an object.
    pub(crate) fn of<'py>(py: Python<'py>, cx: &Arc<TaskContext>) -> PyResult<Bound<'py, Self>> {
        Bound::new(py, Self { owner: ContextOwner::Node(Arc::clone(cx)) })
    }

    /// The context of a role.
    pub(crate) fn of_role(role: RoleAttempt) -> Self {
        Self { owner: ContextOwner::Role(Box::new(role)) }
    }

    /// The task of a node.
    pub(crate) fn task(&self) -> PyResult<&Arc<TaskContext>> {
        match &self.owner {
            ContextOwner::Node(cx) => Ok(cx),
            ContextOwner::Role(_) => Err(PyRuntimeError::new_err("a role has no run")),
        }
    }

    /// What carries a question out of the node, or says that nobody would see it. The node
    /// pauses for it even if its code catches that.
    pub(crate) fn raised(slf: &Bound<'_, Self>, question: &Question) -> PyResult<PyErr> {
        let (py, cx) = (slf.py(), slf.get().task()?);
        if !cx.is_under_way() {
            return Ok(to_exception(py, &node_ended(&cx.name)));
        }
        cx.question.keep(py, question);
        question.raised_in(slf)
    }
}

/// The context variables of a call that begins.
pub(crate) fn variables_of(py: Python<'_>, cx: &Arc<TaskContext>) -> PyResult<NodeVariables> {
    let caller = &cx.run.get().variables;
    if let Some(spare) = caller.spare() {
        spare.call(py).cast::<CurrentCall>()?.get().begin(cx);
        return Ok(spare);
    }
    let context = caller.copy(py)?;
    let call = CurrentCall::set(&context, cx)?;
    Ok(NodeVariables::new(context, call.into_any()))
}
