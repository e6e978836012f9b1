//! Calls of a node: what is known of them, and what is stored around them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Wake;

use antiphon_core::checkpoint::{Call, CallOutcome, Callee, RaisedByCall, RaisedVerdict};
use antiphon_core::event::EventKind;
use antiphon_core::run::{CallStart, PendingCall};
use antiphon_core::task::TaskId;
use antiphon_core::value::Value;
use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::redact::clean_fault;
use antiphon_runtime::store::StoreFuture;
use antiphon_stores::codec::unstorable;
use antiphon_stores::process;
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::intern;
use pyo3::prelude::*;
use serde_json::{Map, Value as Json};

use crate::driver::run_state::RunState;
use crate::driver::wait::{awaitable_result, block_on_result};
use crate::fault::{known, to_exception};
use crate::graph::call_content::{self, joined};
use crate::graph::call_trace::{callee, digest_within};
use crate::graph::question::{Question, UnansweredQuestion};
use crate::graph::task_context::{Context, ContextOwner};
use crate::value::codec::ObjectCodec;
use crate::value::json;
use crate::value::object::Object;
use crate::value::redact;

/// One call that a node wants to make. Its outcome is returned if it is known; else the
/// call is begun here, and ended with `returned`, `raised` or `left`. Before and after the
/// call, its records may have to be waited for.
#[pyclass(module = "antiphon._antiphon", frozen, weakref)]
#[derive(Debug)]
pub(crate) struct Effect {
    /// The context and not its task context: of that, garbage collection must see one owner alone.
    context: Py<Context>,
    call: Call,
    stage: CallStart<Object>,
    durability: PendingDurability,
    /// It was said what came of it, or that nobody knows.
    settled: AtomicBool,
    question: UnansweredQuestion,
    /// Further fields of the event of its end.
    details: Mutex<Map<String, Json>>,
}

/// What must be durable before the node continues.
#[derive(Default)]
struct PendingDurability(Mutex<Option<StoreFuture<()>>>);

impl PendingDurability {
    fn lock(&self) -> MutexGuard<'_, Option<StoreFuture<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for PendingDurability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PendingDurability").field(&self.lock().is_some()).finish()
    }
}

impl Effect {
    /// Begins a call of a node or a role.
    pub(crate) fn begin(
        context: &Bound<'_, Context>,
        call: Call,
        given: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let py = context.py();
        let (stage, waits) = match &context.get().owner {
            ContextOwner::Node(cx) => {
                let run = cx.run.get();
                let content = if run.with(|state| Ok(state.stream.wants_events()))? {
                    call_content::of_request(call.callee, given)
                } else {
                    Map::new()
                };
                let started =
                    run.with(|state| Ok(state.begin_call(py, cx.id, (&call, content))))?;
                started.map_err(|fault| to_exception(py, &fault))?
            }
            ContextOwner::Role(role) => {
                let content = call_content::of_request(call.callee, given);
                (role.begin_call(py, &call, content)?, None)
            }
        };
        Ok(Self::new(context, call, stage, waits))
    }

    /// A call of a node that was made before; none if it was not.
    pub(crate) fn look_up(context: &Bound<'_, Context>, call: Call) -> PyResult<Option<Self>> {
        let cx = context.get().task()?;
        let py = context.py();
        let known = cx.run.get().with(|state| Ok(state.known_call(py, cx.id, &call)))?;
        let outcome = known.map_err(|fault| to_exception(py, &fault))?;
        Ok(outcome.map(|outcome| Self::new(context, call, CallStart::Known(outcome), None)))
    }

    /// A call of what `kind` says; `given` is what it is given.
    pub(crate) fn call(
        context: &Bound<'_, Context>,
        (kind, name): (String, String),
        (given, within): (&Bound<'_, PyAny>, Option<&str>),
        repeatable: bool,
    ) -> PyResult<Call> {
        let shared = || Ok::<_, PyErr>(ObjectCodec::shared(given.py())?.digest(given));
        let callee = callee(&kind)?;
        let digest = match &context.get().owner {
            ContextOwner::Role(_) => shared()?,
            ContextOwner::Node(cx) => {
                let values = cx.run.get().with(|state| Ok(state.values_codec().cloned()))?;
                digest_within(
                    match (values, callee) {
                        (Some(values), _) => values.digest(given),
                        // What a function is given may be anything; elsewhere it is as good as JSON.
                        (None, Callee::Step | Callee::Graph) => 0,
                        (None, Callee::Model | Callee::Tool) => shared()?,
                    },
                    within,
                )
            }
        };
        Ok(Call { callee, name, digest, repeatable })
    }

    fn new(
        context: &Bound<'_, Context>,
        call: Call,
        stage: CallStart<Object>,
        waits: Option<StoreFuture<()>>,
    ) -> Self {
        Self {
            context: context.clone().unbind(),
            call,
            settled: AtomicBool::new(matches!(stage, CallStart::Known(_))),
            stage,
            durability: PendingDurability(Mutex::new(waits)),
            question: UnansweredQuestion::default(),
            details: Mutex::default(),
        }
    }

    fn end(&self, py: Python<'_>, outcome: CallOutcome<Object>) -> PyResult<()> {
        let CallStart::Pending(due) = &self.stage else {
            return Err(PyRuntimeError::new_err("the call was made before"));
        };
        let details = self.details.lock().map(|mut kept| std::mem::take(&mut *kept));
        let details = details.unwrap_or_default();
        let cx = match &self.context.get().owner {
            ContextOwner::Node(cx) => cx,
            ContextOwner::Role(role) => {
                return role.end_call(py, (&self.call, due), outcome, details);
            }
        };
        self.settled.store(true, Ordering::Relaxed);
        let run = cx.run.get();
        let is_ready = run.with(|state| {
            *self.durability.lock() =
                state.end_call(py, cx.id, (&self.call, due), (outcome, details));
            Ok(state.machine.is_ready())
        })?;
        if is_ready {
            // The driver of the run may wait for this call only.
            run.mailbox.wake_by_ref();
        }
        Ok(())
    }

    /// Says that nobody knows what came of the call, and that it is over. By mail:
    /// a garbage collection may say it while somebody works on the run.
    fn abandon(&self, py: Python<'_>) {
        if self.settled.swap(true, Ordering::Relaxed) {
            return;
        }
        if let (ContextOwner::Node(cx), CallStart::Pending(due)) =
            (&self.context.get().owner, &self.stage)
        {
            let call = (cx.id, due.index);
            cx.run.get().mailbox.post(py, |mail| mail.abandoned.push(call));
        }
    }

    /// Why a value cannot be stored, if it is going to be.
    fn problem(&self, py: Python<'_>, value: &Object) -> PyResult<Option<String>> {
        let values = match (&self.context.get().owner, &self.stage) {
            (ContextOwner::Node(cx), _) => {
                cx.run.get().with(|state| Ok(state.values_codec().cloned()))?
            }
            (ContextOwner::Role(_), CallStart::Pending(due)) if due.stored => {
                Some(ObjectCodec::shared(py)?)
            }
            (ContextOwner::Role(_), _) => None,
        };
        Ok(values.and_then(|values| values.problem(value)))
    }
}

#[pymethods]
impl Effect {
    /// Whether it was made before: `result` is what came of it.
    #[getter]
    const fn known(&self) -> bool {
        matches!(self.stage, CallStart::Known(_))
    }

    /// Passed to the callee: the same each time the node makes this call, in each attempt
    /// and after a restart, and different for every other call. Empty if it was made before.
    #[getter]
    fn key(&self) -> &str {
        match &self.stage {
            CallStart::Known(_) => "",
            CallStart::Pending(due) => &due.key,
        }
    }

    /// What came of a call that was made before, returned or raised.
    fn result(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match &self.stage {
            CallStart::Known(CallOutcome::Value(value)) => Ok(value.fresh_copy().0),
            CallStart::Known(CallOutcome::Raised(error)) => {
                Err(PyErr::from_value(error.0.bind(py).clone()))
            }
            CallStart::Known(CallOutcome::Failed(fault)) => Err(to_exception(py, fault)),
            CallStart::Known(
                CallOutcome::Reply(_) | CallOutcome::Json(_) | CallOutcome::Interrupted,
            )
            | CallStart::Pending(_) => Err(PyRuntimeError::new_err("nothing is known of the call")),
        }
    }

    /// Adds fields to the event of its end: the model that answered, what it cost.
    fn describe(&self, details: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(mut kept) = self.details.lock() {
            *kept = json::read(details)?;
        }
        Ok(())
    }

    /// Whether something must be durable before the node continues.
    #[getter]
    fn pending(&self) -> bool {
        self.durability.lock().is_some()
    }

    /// Waits until it is.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        let waits = self.durability.lock().take();
        waits.map_or(Ok(()), |answer| block_on_result(py, answer))
    }

    /// `wait`, awaited.
    fn arrive<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let waits = self.durability.lock().take();
        let answer = waits.unwrap_or_else(|| Box::pin(std::future::ready(Ok(()))));
        awaitable_result(py, answer, |py, ()| Ok(py.None()))
    }

    /// Whether it is a call of the node that `context` is of.
    fn is_of(&self, context: &Bound<'_, Context>) -> bool {
        match (&self.context.get().owner, &context.get().owner) {
            (ContextOwner::Node(own), ContextOwner::Node(cx)) => Arc::ptr_eq(own, cx),
            // A role's calls are not distinguished from those within them.
            (ContextOwner::Role(_), _) | (_, ContextOwner::Role(_)) => false,
        }
    }

    /// Keeps a question without an answer that part of the call has asked.
    #[pyo3(signature = (question, question_id=None))]
    fn keep_question(&self, py: Python<'_>, question: Py<PyAny>, question_id: Option<String>) {
        self.question.keep(py, &Question { value: question, question_id });
    }

    /// The call has returned a value, which is what the node gets: that of a tool without known
    /// keys of models. If part of it has asked, the question is raised instead, and the call is
    /// made again once that is answered.
    ///
    /// Raises the `antiphon.errors` class of `value_unstorable` if it cannot be stored and
    /// the run is kept.
    fn returned(&self, mut value: Py<PyAny>, py: Python<'_>) -> PyResult<Py<PyAny>> {
        if let Some(question) = self.question.get() {
            let raised = Context::raised(self.context.bind(py), question)?;
            self.end(py, CallOutcome::Interrupted)?;
            return Err(raised);
        }
        if self.call.callee == Callee::Tool
            && let Some(cleaned) = redact::cleaned(value.bind(py))?
        {
            value = cleaned.unbind();
        }
        let returned = value.clone_ref(py);
        let value = Object(value).fresh_copy();
        if let Some(problem) = self.problem(py, &value)? {
            let fault = unstorable(&self.call.name, &problem);
            self.end(py, CallOutcome::Failed(fault.clone()))?;
            return Err(to_exception(py, &fault));
        }
        self.end(py, CallOutcome::Value(value))?;
        Ok(returned)
    }

    /// The call has raised an exception. One that only stops the node, and says nothing about
    /// the call, leaves open what came of it.
    fn raised(&self, error: &Bound<'_, PyAny>, py: Python<'_>) -> PyResult<()> {
        let raised = RaisedByCall {
            category: known(error).map(|(category, _)| category),
            is_signal: error.hasattr(intern!(py, "__antiphon_question__"))?
                || error.hasattr(intern!(py, "__antiphon_command__"))?,
            is_exit: !error.is_instance_of::<PyException>(),
            has_asked: self.question.get().is_some(),
        };
        match raised.verdict() {
            RaisedVerdict::Repeat => return self.end(py, CallOutcome::Interrupted),
            RaisedVerdict::Unknown => {
                self.abandon(py);
                return Ok(());
            }
            RaisedVerdict::Settled => {}
        }
        let raised = Object::of(error);
        let outcome = match self.problem(py, &raised)? {
            // Its text would be stored with it.
            None if self.call.callee != Callee::Tool || !redact::is_tainted(error) => {
                CallOutcome::Raised(raised)
            }
            _ => CallOutcome::Failed(described(error)),
        };
        self.end(py, outcome)
    }

    fn __repr__(&self) -> String {
        format!("Effect({:?}, known={})", self.call.name, self.known())
    }

    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        visit.call(&self.context)?;
        self.question.traverse(&visit)?;
        match &self.stage {
            CallStart::Known(CallOutcome::Value(value) | CallOutcome::Raised(value)) => {
                visit.call(&value.0)
            }
            CallStart::Known(_) | CallStart::Pending(_) => Ok(()),
        }
    }
}

impl Drop for Effect {
    /// Its code was thrown away in the middle of the call.
    fn drop(&mut self) {
        if !*self.settled.get_mut() {
            Python::try_attach(|py| self.abandon(py));
        }
    }
}

/// An exception whose type has no codec.
fn described(error: &Bound<'_, PyAny>) -> Fault {
    let kind = error.get_type().name().map_or_else(|_| "Exception".into(), |it| it.to_string());
    let message = format!("{kind}: {error}");
    let fault = match known(error) {
        Some((category, code)) => Fault::foreign(category, &code, message),
        None => Fault::new(FaultCode::ToolFailed, message),
    };
    clean_fault(fault.with("type", kind))
}

impl RunState {
    fn begin_call(
        &mut self,
        py: Python<'_>,
        id: TaskId,
        (call, content): (&Call, Map<String, Json>),
    ) -> Result<(CallStart<Object>, Option<StoreFuture<()>>), Fault> {
        if let Some(session) = self.session.as_deref() {
            process::check(session.process())?;
        }
        let mut due = match self.machine.begin_call(id, call)? {
            CallStart::Known(outcome) => {
                self.note_end(py, (id, call), (&outcome, None), content);
                return Ok((CallStart::Known(outcome), None));
            }
            CallStart::Pending(due) => due,
        };
        let waits = due.intent.take().map_or(Ok(None), |intent| self.commit_call(&intent));
        let waits = waits.inspect_err(|_| {
            self.machine.end_call(id, due.index, CallOutcome::Interrupted);
        })?;
        self.note_call(id, call, joined(call.start_event(&due.key), content));
        Ok((CallStart::Pending(due), waits))
    }

    fn known_call(
        &mut self,
        py: Python<'_>,
        id: TaskId,
        call: &Call,
    ) -> Result<Option<CallOutcome<Object>>, Fault> {
        let known = self.machine.known_call(id, call)?;
        if let Some(outcome) = &known {
            self.note_end(py, (id, call), (outcome, None), Map::new());
        }
        Ok(known)
    }

    fn end_call(
        &mut self,
        py: Python<'_>,
        id: TaskId,
        (call, due): (&Call, &PendingCall<Object>),
        (outcome, details): (CallOutcome<Object>, Map<String, Json>),
    ) -> Option<StoreFuture<()>> {
        if !matches!(outcome, CallOutcome::Interrupted) {
            self.note_end(py, (id, call), (&outcome, Some(&due.key)), details);
        }
        let commit = self.machine.end_call(id, due.index, outcome);
        // A failure to store it ends the run, and is its error.
        let commit = commit?;
        self.commit_call(&commit).unwrap_or_default()
    }

    /// The event of a call that has ended, or that was made before its node began again.
    fn note_end(
        &mut self,
        py: Python<'_>,
        (id, call): (TaskId, &Call),
        (outcome, key): (&CallOutcome<Object>, Option<&str>),
        details: Map<String, Json>,
    ) {
        let mut content = details;
        if self.stream.wants_events() {
            content.extend(call_content::of_outcome(py, call.callee, outcome));
        }
        self.note_call(id, call, joined(call.end_event(outcome, key), content));
    }

    fn note_call(&mut self, id: TaskId, call: &Call, (kind, data): (EventKind, Json)) {
        self.machine.note(id, kind, &call.name, data);
    }
}
