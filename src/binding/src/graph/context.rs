//! What a node can reach while it runs.

use std::sync::atomic::Ordering;

use antiphon_core::Usage;
use antiphon_core::event::EventKind;
use antiphon_core::graph::Heartbeat;
use antiphon_runtime::ReplyChunk;
use pyo3::exceptions::{PyBaseException, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use crate::driver::event::Event;
use crate::driver::mailbox::{Emission, EmittedItem};
use crate::driver::run::Run;
use crate::driver::wait::block_on_native;
use crate::fault::to_exception;
use crate::graph::call_trace::charge;
use crate::graph::current_call::{CurrentCall, EnclosingTask};
use crate::graph::effect::Effect;
use crate::graph::limits;
use crate::graph::question::Question;
use crate::graph::task_context::{Context, ContextOwner, TaskContext, node_ended};
use crate::value::json;

/// The context of the node that the caller runs for.
#[pyfunction]
pub(crate) fn current_context(py: Python<'_>) -> PyResult<Context> {
    match CurrentCall::enclosing(py)? {
        EnclosingTask::Present(cx) => Ok(Context { owner: ContextOwner::Node(cx) }),
        EnclosingTask::Ended(node) => Err(to_exception(py, &node_ended(&node.to_string()))),
        EnclosingTask::Nothing => {
            Err(PyRuntimeError::new_err("no node is running here: call this from within a node"))
        }
    }
}

/// The context of the node that the caller runs for, if there is one. A node that
/// has ended is none: what its tasks start after that is nobody's.
#[pyfunction]
pub(crate) fn enclosing_context(py: Python<'_>) -> PyResult<Option<Context>> {
    Ok(match CurrentCall::enclosing(py)? {
        EnclosingTask::Present(cx) => Some(Context { owner: ContextOwner::Node(cx) }),
        EnclosingTask::Ended(_) | EnclosingTask::Nothing => None,
    })
}

/// Raises if the caller runs for a node that has ended: nobody would see its question.
#[pyfunction]
pub(crate) fn check_enclosing_node(py: Python<'_>) -> PyResult<()> {
    match CurrentCall::enclosing(py)? {
        EnclosingTask::Ended(node) => Err(to_exception(py, &node_ended(&node.to_string()))),
        EnclosingTask::Present(_) | EnclosingTask::Nothing => Ok(()),
    }
}

#[pymethods]
impl Context {
    /// The run's id.
    #[getter]
    fn run_id(&self) -> &str {
        match &self.owner {
            ContextOwner::Node(cx) => cx.run.get().id(),
            ContextOwner::Role(role) => &role.cx.run_id,
        }
    }

    /// The name of the node or the role.
    #[getter]
    fn node(&self) -> &str {
        match &self.owner {
            ContextOwner::Node(cx) => &cx.name,
            ContextOwner::Role(role) => role.cx.path.last().map_or("", |name| name),
        }
    }

    /// The names of the nodes that lead here, its own last.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let path = match &self.owner {
            ContextOwner::Node(cx) => &cx.path,
            ContextOwner::Role(role) => &role.cx.path,
        };
        PyTuple::new(py, path.iter().map(|name| &**name))
    }

    /// 1 for the first attempt.
    #[getter]
    fn attempt(&self) -> u32 {
        match &self.owner {
            ContextOwner::Node(cx) => cx.attempt,
            ContextOwner::Role(role) => role.cx.attempt,
        }
    }

    /// The superstep, from 1; of a role a number that is the same in each attempt of one
    /// execution, and in no other.
    #[getter]
    fn step(&self) -> u64 {
        match &self.owner {
            ContextOwner::Node(cx) => cx.step,
            ContextOwner::Role(role) => role.cx.seed.number(),
        }
    }

    /// The supersteps that the run has spent so far, those of nested graphs included.
    #[getter]
    fn supersteps(&self) -> PyResult<u64> {
        Ok(self.task()?.supersteps)
    }

    /// When the attempt will be given up, in seconds since the Unix epoch.
    #[getter]
    #[expect(clippy::cast_precision_loss, reason = "microseconds fit a double until the year 2255")]
    fn deadline(&self) -> Option<f64> {
        let deadline = match &self.owner {
            ContextOwner::Node(cx) => cx.deadline,
            ContextOwner::Role(role) => role.cx.deadline,
        };
        deadline.map(|at| at.as_micros() as f64 / 1e6)
    }

    /// What the caller passed as `config`.
    #[getter]
    fn config(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(self.task()?.run.get().settings.config.clone_ref(py))
    }

    /// What the caller passed as `context`; of a role, with the question.
    #[getter]
    fn context(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        match &self.owner {
            ContextOwner::Node(cx) => Some(cx.run.get().context(py)),
            ContextOwner::Role(role) => Some(role.user_context.as_ref()?.value.clone_ref(py)),
        }
    }

    /// The failure that this node handles in another's place.
    #[getter]
    fn error(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let cx = self.task()?;
        let Some((_, fault)) = &cx.handled else { return Ok(None) };
        let error = cx.run.get().kept_error(py, fault).unwrap_or_else(|| to_exception(py, fault));
        Ok(Some(error.into_value(py).into_any()))
    }

    /// The name of the node whose failure this one handles.
    #[getter]
    fn failed_node(&self) -> PyResult<Option<&str>> {
        Ok(self.task()?.handled.as_ref().map(|(name, _)| &**name))
    }

    /// The answers given to this node so far, in the order it asked.
    #[getter]
    fn answers(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        Ok(self.task()?.answers.iter().map(|answer| answer.0.clone_ref(py)).collect())
    }

    /// The run this node belongs to.
    #[getter]
    fn run(&self, py: Python<'_>) -> PyResult<Py<Run>> {
        Ok(self.task()?.run.clone_ref(py))
    }

    /// Asks the caller of the graph. Returns the answer if there is one; else the
    /// run pauses, and the node begins again once it is answered.
    fn ask(slf: &Bound<'_, Self>, question: Py<PyAny>) -> PyResult<Py<PyAny>> {
        let cx = slf.get().task()?;
        match cx.answers.get(cx.asked.fetch_add(1, Ordering::Relaxed)) {
            Some(answer) => Ok(answer.0.clone_ref(slf.py())),
            None => Err(Self::raised(slf, &Question { value: question, question_id: None })?),
        }
    }

    /// What carries a question out of the node, to be raised; one of a run that the node has
    /// started has its id there. The node pauses for it, and begins again once it is answered.
    #[pyo3(signature = (question, question_id=None))]
    fn pause(
        slf: &Bound<'_, Self>,
        question: Py<PyAny>,
        question_id: Option<String>,
    ) -> PyResult<Py<PyBaseException>> {
        let raised = Self::raised(slf, &Question { value: question, question_id })?;
        Ok(raised.into_value(slf.py()))
    }

    /// The answer to a question of a run that the node has started, by the question's id
    /// there, in a tuple; none if there is no answer yet.
    fn relayed(&self, py: Python<'_>, id: &str) -> PyResult<Option<(Py<PyAny>,)>> {
        let cx = self.task()?;
        cx.run.get().with(|state| {
            let answer = state.machine.relayed_answer(cx.id, id);
            Ok(answer.map(|answer| (answer.0.clone_ref(py),)))
        })
    }

    /// Emits an event to the watchers of the run. Of a role, `payload` is a JSON value.
    #[pyo3(signature = (payload, name=None))]
    fn emit(&self, payload: &Bound<'_, PyAny>, name: Option<String>) -> PyResult<()> {
        match &self.owner {
            ContextOwner::Node(cx) => {
                let item = EmittedItem::Custom(payload.clone().unbind(), name);
                cx.run.get().tell(payload.py(), Emission { id: cx.id, item });
            }
            ContextOwner::Role(role) => {
                let name = name.unwrap_or_else(|| "custom".to_owned());
                role.cx.notes.note(EventKind::Custom, name, json::read(payload)?);
            }
        }
        Ok(())
    }

    /// Adds an event of a run that the node has started to this run's events, below the node.
    fn relay(&self, py: Python<'_>, event: PyRef<'_, Event>) {
        let event = event.inner().clone();
        match &self.owner {
            ContextOwner::Node(cx) => {
                let item = EmittedItem::Relayed(event);
                cx.run.get().tell(py, Emission { id: cx.id, item });
            }
            ContextOwner::Role(role) => role.cx.notes.relay(event),
        }
    }

    /// What the budgets around the node leave in calls, tokens and retries, by the names of
    /// `Limits`.
    fn budget_left<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let left = match &self.owner {
            ContextOwner::Node(cx) => {
                cx.run.get().with(|state| Ok(state.machine.budget_left(cx.id)))?
            }
            ContextOwner::Role(role) => {
                let notes = role.cx.notes.clone();
                let left = block_on_native(py, async move { notes.budget_left().await })?;
                left.map_err(|fault| to_exception(py, &fault))?
            }
        };
        limits::counts(py, &left)
    }

    /// The streams that show tokens of graphs that the node invokes.
    #[getter]
    fn readers(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        let tokens = &self.task()?.run.get().settings.nested_streams.tokens;
        Ok(tokens.iter().map(|tokens| tokens.clone_ref(py)).collect())
    }

    /// Shows a token to the one stream that has `reader` as its `tokens`.
    fn token(&self, py: Python<'_>, reader: Py<PyAny>, payload: Py<PyAny>) -> PyResult<()> {
        let cx = self.task()?;
        cx.run.get().tell(py, Emission { id: cx.id, item: EmittedItem::Token(reader, payload) });
        Ok(())
    }

    /// Whether somebody wants to see events while it runs.
    #[getter]
    fn watched(&self) -> bool {
        match &self.owner {
            ContextOwner::Node(cx) => cx.run.get().settings.is_live,
            ContextOwner::Role(role) => role.cx.watched,
        }
    }

    /// Shows a piece of a reply that is still being written.
    fn chunk(&self, py: Python<'_>, text: String) {
        let chunk = ReplyChunk::Text(text);
        match &self.owner {
            ContextOwner::Node(cx) => {
                cx.run.get().tell(py, Emission { id: cx.id, item: EmittedItem::Chunk(chunk) });
            }
            ContextOwner::Role(role) => {
                let (kind, name, data) = chunk.into_event();
                role.cx.notes.note(kind, name, data);
            }
        }
    }

    /// Says that the node is alive, which puts its idle time-out off.
    fn heartbeat(&self, py: Python<'_>) -> PyResult<()> {
        self.sign(py, Heartbeat::Explicit)
    }

    /// Says that the node gets on with its work, which puts its idle time-out off
    /// unless only heartbeats count for it.
    fn progress(&self, py: Python<'_>) -> PyResult<()> {
        self.sign(py, Heartbeat::Progress)
    }

    /// Counts what a call of a model cost against the budgets.
    fn charge(&self, input_tokens: u64, output_tokens: u64) -> PyResult<()> {
        let usage = Usage { input_tokens, output_tokens };
        match &self.owner {
            ContextOwner::Node(cx) => cx.run.get().with(|state| {
                state.machine.charge(cx.id, usage);
                Ok(())
            }),
            ContextOwner::Role(role) => {
                role.cx.notes.charge(usage);
                Ok(())
            }
        }
    }

    /// Begins a call unless it is known what came of it: of a `tool`, a `model` or a `step`,
    /// and its name.
    /// `given` is what it is given: a node that begins again gives it the same. It counts
    /// against the budgets when it is made. `repeatable` says that it may be made twice, and
    /// `within` is the key of the call of the node that it is part of; a role's calls are not
    /// distinguished from those within them.
    ///
    /// Raises the `antiphon.errors` class of `unknown_outcome` if it was begun before and
    /// nobody knows what came of it; of `replay_diverged` if the node does something else than
    /// it had; and as `request`.
    #[pyo3(signature = (callee, given, repeatable, within=None))]
    fn begin_call(
        slf: &Bound<'_, Self>,
        callee: (String, String),
        given: &Bound<'_, PyAny>,
        repeatable: bool,
        within: Option<&str>,
    ) -> PyResult<Effect> {
        Effect::begin(slf, Effect::call(slf, callee, (given, within), repeatable)?, given)
    }

    /// A call that was made before this node began again, as `begin_call` finds it, which must
    /// not look for it again; none if it is to be made. Nothing begins, and nothing counts.
    #[pyo3(signature = (callee, given, repeatable, within=None))]
    fn known_call(
        slf: &Bound<'_, Self>,
        callee: (String, String),
        given: &Bound<'_, PyAny>,
        repeatable: bool,
        within: Option<&str>,
    ) -> PyResult<Option<Effect>> {
        Effect::look_up(slf, Effect::call(slf, callee, (given, within), repeatable)?)
    }

    /// Counts a call of a model or tool against the budgets.
    fn request(&self, py: Python<'_>, kind: &str) -> PyResult<()> {
        let intent = charge(kind)?;
        let granted = match &self.owner {
            ContextOwner::Node(cx) => {
                cx.run.get().with(|state| Ok(state.machine.request(cx.id, intent)))?
            }
            ContextOwner::Role(role) => {
                let notes = role.cx.notes.clone();
                block_on_native(py, async move { notes.request(intent).await })?
            }
        };
        granted.map_err(|fault| to_exception(py, &fault))
    }

    /// Has `callback` called, on some thread, once nobody waits for the role.
    fn when_cancelled(&self, py: Python<'_>, callback: Py<PyAny>) -> PyResult<()> {
        match &self.owner {
            ContextOwner::Node(_) => Err(PyRuntimeError::new_err("a node is cancelled by its run")),
            ContextOwner::Role(role) => role.on_cancel.add(py, callback),
        }
    }

    fn __repr__(&self) -> String {
        format!("Context(node={:?}, attempt={})", self.node(), self.attempt())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let ContextOwner::Node(cx) = &self.owner else { return Ok(()) };
        // The traceback of a failed node leads to here, and from here to the run that keeps
        // the failure.
        TaskContext::traverse(cx, &visit)
    }
}

impl Context {
    fn sign(&self, py: Python<'_>, sign: Heartbeat) -> PyResult<()> {
        let cx = self.task()?;
        cx.run.get().tell(py, Emission { id: cx.id, item: EmittedItem::Heartbeat(sign) });
        Ok(())
    }
}
