//! A task under way, as the code that runs for it sees it.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use antiphon_core::graph::NodeId;
use antiphon_core::task::TaskId;
use antiphon_core::{Fault, FaultCode, Time};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use pyo3::{PyTraverseError, PyVisit};

use crate::driver::run::Run;
use crate::driver::run_state::RunState;
use crate::fault::to_exception;
use crate::graph::question::{Question, UnansweredQuestion};
use crate::system::role_attempt::RoleAttempt;
use crate::value::object::Object;

/// An attempt of a node: what is known of every call, from which its context is made once
/// somebody asks for it.
#[derive(Debug)]
pub(crate) struct NodeAttempt {
    pub(crate) id: TaskId,
    pub(crate) node: NodeId,
    pub(crate) number: u32,
    /// What the run had spent when the attempt began.
    pub(crate) supersteps: u64,
    pub(crate) deadline: Option<Time>,
    pub(crate) name: Py<PyString>,
}

impl NodeAttempt {
    pub(crate) fn clone_ref(&self, py: Python<'_>) -> Self {
        Self { name: self.name.clone_ref(py), ..*self }
    }
}

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

    /// What the code of an attempt can reach, and where it stands.
    pub(crate) fn of(run: &Bound<'_, Run>, state: &RunState, attempt: &NodeAttempt) -> Arc<Self> {
        let (machine, TaskId { scope, slot, .. }) = (&state.machine, attempt.id);
        let engine = state.engine(run.py(), scope);
        let name = engine.map(|engine| engine.get().graph.node_name(Some(attempt.node)));
        let handled = machine.handled(scope, slot);
        Arc::new(Self {
            path: machine.path(attempt.id),
            attempt: attempt.number,
            step: machine.supersteps(),
            supersteps: attempt.supersteps,
            deadline: attempt.deadline,
            answers: machine.answers(scope, slot),
            handled: handled.map(|(name, fault)| (name, fault.clone())),
            ..Self::new(run.clone().unbind(), attempt.id, name.unwrap_or_default())
        })
    }

    /// Whether the attempt is under way. It may be over while its thread still runs,
    /// or while somebody holds its context.
    pub(crate) fn is_under_way(&self) -> bool {
        let found = self.run.get().with(|state| Ok(state.machine.is_under_way(self.id)));
        // The lock is taken: its holder prepares this very attempt.
        found.unwrap_or(true)
    }

    /// For the garbage collector. While others share the context, its references are not the
    /// caller's to count.
    ///
    /// # Errors
    /// Its own.
    pub(crate) fn traverse(this: &Arc<Self>, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        if Arc::strong_count(this) > 1 {
            return Ok(());
        }
        visit.call(&this.run)?;
        this.question.traverse(visit)?;
        this.answers.iter().try_for_each(|answer| visit.call(&answer.0))
    }
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
