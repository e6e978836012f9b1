//! What Python calls of a run.

use std::sync::{PoisonError, Weak};

use antiphon_core::effect::{Ending, Question};
use antiphon_core::graph::NodeId;
use antiphon_runtime::Clock;
use antiphon_stores::history::upcoming_nodes;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use crate::driver::blocking;
use crate::driver::drive::Drive;
use crate::driver::event::Event;
use crate::driver::phase::RunPhase;
use crate::driver::run::{Goal, Run};
use crate::driver::usage::usage_dict;
use crate::fault::to_exception;
use crate::graph::task_context::Context;
use crate::value::object::Object;

#[pymethods]
impl Run {
    /// Waits for the end or a pause, and returns the outcome, as an await does.
    ///
    /// Raises what a node raised, or the `antiphon.errors` class of the failure.
    fn drain<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyString>> {
        blocking::drive(slf, Goal::End)?;
        slf.get().outcome(slf.py())
    }

    fn __await__(slf: &Bound<'_, Self>) -> PyResult<Drive> {
        Drive::new(slf, Goal::End)
    }

    const fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(slf: &Bound<'_, Self>) -> PyResult<Option<Py<PyAny>>> {
        blocking::drive(slf, Goal::Item)
    }

    fn __aiter__(slf: &Bound<'_, Self>) -> PyResult<Drive> {
        Drive::new(slf, Goal::Item)
    }

    /// The run's id.
    #[getter]
    fn run_id(&self) -> &str {
        self.id()
    }

    /// `running`, `completed`, `paused`, `breakpoint`, `budget`, `cancelled` or `failed`.
    #[getter]
    pub(crate) fn outcome<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.with(|state| Ok(state.phase.name(py).clone()))
    }

    /// The spent dimension, or the reason of the cancellation.
    #[getter]
    fn reason(&self) -> PyResult<String> {
        self.with(|state| {
            Ok(match &state.phase {
                RunPhase::Ended(Ending::Budget(dimension)) => dimension.as_str().to_owned(),
                RunPhase::Ended(Ending::Cancelled(reason)) => reason.clone(),
                RunPhase::Failed(fault) => fault.message.clone(),
                RunPhase::Running
                | RunPhase::Paused(_)
                | RunPhase::Ended(Ending::Completed | Ending::Breakpoint) => String::new(),
            })
        })
    }

    /// What the run failed with.
    #[getter]
    fn error(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.raise(py).err().map(|error| error.into_value(py).into_any())
    }

    /// A copy of the present state, as a dict.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.with(|state| state.values(py))
    }

    /// At a pause: the state with what the finished tasks of its superstep have
    /// written; none if they have written nothing.
    fn preview<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.with(|state| state.preview(py))
    }

    /// The nodes that would run next, after the last superstep.
    #[getter]
    fn upcoming(&self) -> PyResult<Vec<String>> {
        self.with(|state| {
            let Some(snapshot) = state.machine.graph_snapshot() else { return Ok(Vec::new()) };
            let nodes = upcoming_nodes(&state.graph, &snapshot);
            let name = |node: &NodeId| state.graph.node_name(Some(*node)).to_string();
            Ok(nodes.iter().map(name).collect())
        })
    }

    /// The open questions: id, path, value.
    #[getter]
    fn questions<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        self.with(|state| {
            let RunPhase::Paused(questions) = &state.phase else { return Ok(Vec::new()) };
            let tuple = |question: &Question<Object>| {
                let path = PyTuple::new(py, &question.path)?;
                (&question.id, path, &question.value.0).into_pyobject(py)
            };
            questions.iter().map(tuple).collect()
        })
    }

    /// Whether `answer` would take this answer to a question; raises what it would.
    fn check_answer(&self, id: &str, value: Py<PyAny>, py: Python<'_>) -> PyResult<()> {
        let checked = self.with(|state| Ok(state.machine.check_answer(id, &Object(value))))?;
        checked.map_err(|fault| to_exception(py, &fault))
    }

    /// Answers an open question; then wait for the run again. A run that is kept has let its
    /// thread go: start another one there with the answer.
    fn answer(&self, id: &str, value: Py<PyAny>, py: Python<'_>) -> PyResult<()> {
        let answered = self.with(|state| {
            if state.session.is_some() {
                return Err(PyRuntimeError::new_err("the run has let its thread go"));
            }
            let now = state.clock.now();
            let answered = state.machine.answer(id, Object(value), now);
            if answered.is_ok() {
                state.phase = RunPhase::Running;
                state.resume_subrun();
            }
            Ok(answered)
        })?;
        answered.map_err(|fault| to_exception(py, &fault))
    }

    /// Replaces what nodes reach as `Context.context`, before the run resumes.
    fn replace_context(&self, context: Py<PyAny>) {
        let mut held = self.settings.context.lock().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::replace(&mut *held, context);
        drop(held);
        // Its end may run code of Python.
        drop(old);
    }

    /// Stops the run, from any thread; its driver sees it end.
    #[pyo3(signature = (reason="cancelled"))]
    fn cancel(&self, py: Python<'_>, reason: &str) {
        self.mailbox.post(py, |mail| mail.cancel = Some(reason.to_owned()));
    }

    /// Stops what runs for it, from any thread: nobody will drive it any more.
    fn abandon(&self, py: Python<'_>) {
        self.calls.clear();
        let handles = self.with(|state| {
            state.abandon();
            Ok(std::mem::take(&mut state.handles))
        });
        for handle in handles.unwrap_or_default().values() {
            let _ = handle.cancel(py);
        }
    }

    /// What has been spent so far, by the names of `antiphon.Usage`.
    #[getter]
    fn spent<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.with(|state| usage_dict(py, state.machine.budget().spent()))
    }

    /// The recorded events, at most 10,000.
    #[getter]
    fn events(&self, py: Python<'_>) -> PyResult<Vec<Py<Event>>> {
        self.with(|state| Ok(state.stream.events.iter().map(|event| event.clone_ref(py)).collect()))
    }

    /// How many events were not recorded.
    #[getter]
    fn events_dropped(&self) -> PyResult<u64> {
        self.with(|state| Ok(state.stream.dropped))
    }

    /// Supersteps so far.
    #[getter]
    fn steps(&self) -> PyResult<u64> {
        self.with(|state| Ok(state.machine.supersteps().saturating_sub(state.before)))
    }

    /// Whether it has begun: a run that is kept may find its thread taken, or unfit.
    #[getter]
    fn started(&self) -> PyResult<bool> {
        self.with(|state| Ok(state.session.as_ref().is_none_or(|session| session.has_started())))
    }

    /// The thread that it is kept in; none if it is not kept.
    #[getter]
    fn thread(&self) -> Option<&str> {
        self.settings.thread.as_deref()
    }

    /// The thread that it is kept in, by itself or as a part of the node that has started it.
    #[getter]
    fn kept_in(&self) -> Option<&str> {
        self.settings.kept_in.as_deref()
    }

    /// The context of the node that has started it; none if none has, or the node has ended.
    #[getter]
    fn caller<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, Context>>> {
        let task = self.settings.parent.as_ref().and_then(Weak::upgrade);
        let context = task.map_or(Ok(None), |task| task.context(py))?;
        Ok(context.map(Bound::cast_into).transpose()?)
    }

    /// The checkpoint that it has written or found last, once it has let its thread go.
    #[getter]
    fn checkpoint(&self) -> PyResult<Option<u64>> {
        self.with(|state| {
            let written = state.session.as_ref().map(|session| session.checkpoint());
            Ok(written.filter(|seq| *seq > 0))
        })
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let outcome = self.outcome(py).map_or_else(|_| "running".into(), |it| it.to_string());
        format!("Run(run_id={:?}, outcome={outcome:?})", self.id())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.traverse(&visit)
    }
}
