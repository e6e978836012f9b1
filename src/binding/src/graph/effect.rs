//! Calls of a node: what is known of them, and what is stored around them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use antiphon_core::checkpoint::{Call, CallOutcome, Callee, RaisedByCall, RaisedVerdict};
use antiphon_core::run::CallStart;
use antiphon_core::task::TaskId;
use antiphon_core::value::Value;
use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::store::StoreFuture;
use antiphon_stores::codec::unstorable;
use antiphon_stores::process;
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::intern;
use pyo3::prelude::*;
use serde_json::{Value as Json, json};

use crate::driver::core::Core;
use crate::driver::wait::{awaitable_result, block_on_result};
use crate::fault::{known, to_exception};
use crate::graph::call_trace::{callee, digest_within, shown};
use crate::graph::question::{Question, UnansweredQuestion};
use crate::graph::task_context::Context;
use crate::system::role_effect::Asking;
use crate::value::codec::ObjectCodec;
use crate::value::object::Object;

/// One call that a node wants to make. What is known of it is told; one that is
/// to be made is begun here, and says with `returned`, `raised` or `left` how it
/// came out. Before it is made, and after, what is stored of it may have to be
/// waited for.
#[pyclass(module = "antiphon._antiphon", frozen, weakref)]
#[derive(Debug)]
pub(crate) struct Effect {
    owner: Owner,
    call: Call,
    stage: Stage,
    waits: Waits,
    /// It was said what came of it, or that nobody knows.
    settled: AtomicBool,
    question: UnansweredQuestion,
}

/// Whose call it is.
#[derive(Debug)]
pub(crate) enum Owner {
    /// The context and not its task context: of that, garbage collection must see one owner alone.
    Node(Py<Context>),
    Role(Asking),
}

#[derive(Debug)]
enum Stage {
    Known(CallOutcome<Object>),
    Due { index: u32, key: String },
}

/// What has to be durable before the node goes on.
#[derive(Default)]
struct Waits(Mutex<Option<StoreFuture<()>>>);

impl Waits {
    fn lock(&self) -> MutexGuard<'_, Option<StoreFuture<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Waits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Waits").field(&self.lock().is_some()).finish()
    }
}

impl Effect {
    /// Begins a call of a node.
    pub(crate) fn begin(context: &Bound<'_, Context>, call: Call) -> PyResult<Self> {
        let cx = &context.get().cx;
        let begun = cx.run.get().with(|core| Ok(core.begin_call(cx.id, &call)))?;
        let (stage, waits) = begun.map_err(|fault| to_exception(context.py(), &fault))?;
        let owner = Owner::Node(context.clone().unbind());
        Ok(Self::of((owner, call), stage, Waits(Mutex::new(waits))))
    }

    /// A call of a node that was made before; none if it was not.
    pub(crate) fn look_up(context: &Bound<'_, Context>, call: Call) -> PyResult<Option<Self>> {
        let cx = &context.get().cx;
        let known = cx.run.get().with(|core| Ok(core.known_call(cx.id, &call)))?;
        let came = known.map_err(|fault| to_exception(context.py(), &fault))?;
        let owner = Owner::Node(context.clone().unbind());
        Ok(came.map(|came| Self::of((owner, call), Stage::Known(came), Waits::default())))
    }

    /// A call of a node: of what `kind` says; `given` is what it is given.
    pub(crate) fn call(
        context: &Bound<'_, Context>,
        (kind, name): (String, String),
        (given, within): (&Bound<'_, PyAny>, Option<&str>),
        repeatable: bool,
    ) -> PyResult<Call> {
        let py = given.py();
        let callee = callee(&kind)?;
        let run = context.get().cx.run.get();
        let values = run.with(|core| Ok(core.values_codec().cloned()))?;
        let digest = match (values, callee) {
            (Some(values), _) => values.digest(given),
            // What a function is given may be anything; elsewhere it is as good as JSON.
            (None, Callee::Step | Callee::Graph) => 0,
            (None, Callee::Model | Callee::Tool) => ObjectCodec::shared(py)?.digest(given),
        };
        Ok(Call { callee, name, digest: digest_within(digest, within), repeatable })
    }

    /// A call of a role that was made before.
    pub(crate) fn known_to(role: Asking, call: Call, came: CallOutcome<Object>) -> Self {
        let (owner, stage) = (Owner::Role(role), Stage::Known(came));
        Self::of((owner, call), stage, Waits::default())
    }

    /// A call of a role that is to be made.
    pub(crate) fn due_to(role: Asking, call: Call, (index, key): (u32, String)) -> Self {
        let (owner, stage) = (Owner::Role(role), Stage::Due { index, key });
        Self::of((owner, call), stage, Waits::default())
    }

    fn of((owner, call): (Owner, Call), stage: Stage, waits: Waits) -> Self {
        let settled = AtomicBool::new(matches!(stage, Stage::Known(_)));
        Self { owner, call, stage, waits, settled, question: UnansweredQuestion::default() }
    }

    fn end(&self, py: Python<'_>, came: CallOutcome<Object>) -> PyResult<()> {
        let Stage::Due { index, key } = &self.stage else {
            return Err(PyRuntimeError::new_err("the call was made before"));
        };
        let cx = match &self.owner {
            Owner::Node(context) => &context.get().cx,
            Owner::Role(role) => return role.end(py, (&self.call, *index, key), came),
        };
        let about = (&self.call, key.as_str());
        self.settled.store(true, Ordering::Relaxed);
        let run = cx.run.get();
        let is_ready = run.with(|core| {
            *self.waits.lock() = core.end_call(cx.id, *index, came, about);
            Ok(core.machine.is_ready())
        })?;
        if is_ready {
            // Whoever drives the run may wait for this call alone.
            run.mailbox.wake();
        }
        Ok(())
    }

    /// Says that nobody knows what came of the call, and that it is over. By letter:
    /// a garbage collection may say it while somebody works on the run.
    fn abandon(&self, py: Python<'_>) {
        if self.settled.swap(true, Ordering::Relaxed) {
            return;
        }
        if let (Owner::Node(context), Stage::Due { index, .. }) = (&self.owner, &self.stage) {
            let cx = &context.get().cx;
            let call = (cx.id, *index);
            cx.run.get().mailbox.post(py, |mail| mail.abandoned.push(call));
        }
    }

    /// Why a value cannot be stored, if it is going to be.
    fn problem(&self, py: Python<'_>, value: &Object) -> PyResult<Option<String>> {
        let values = match &self.owner {
            Owner::Node(context) => {
                let run = context.get().cx.run.get();
                run.with(|core| Ok(core.values_codec().cloned()))?
            }
            Owner::Role(role) => role.values(py)?,
        };
        Ok(values.and_then(|values| values.problem(value)))
    }
}

#[pymethods]
impl Effect {
    /// Whether it was made before: `result` is what came of it.
    #[getter]
    const fn known(&self) -> bool {
        matches!(self.stage, Stage::Known(_))
    }

    /// For whoever is called: the same each time the node makes this call, in each attempt
    /// and after a restart, and that of no other call. Empty if it was made before.
    #[getter]
    fn key(&self) -> &str {
        match &self.stage {
            Stage::Known(_) => "",
            Stage::Due { key, .. } => key,
        }
    }

    /// What came of a call that was made before, returned or raised.
    fn result(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match &self.stage {
            Stage::Known(CallOutcome::Value(value)) => Ok(value.fresh().0),
            Stage::Known(CallOutcome::Raised(error)) => {
                Err(PyErr::from_value(error.0.bind(py).clone()))
            }
            Stage::Known(CallOutcome::Failed(fault)) => Err(to_exception(py, fault)),
            Stage::Known(CallOutcome::Reply(_) | CallOutcome::Json(_) | CallOutcome::Left)
            | Stage::Due { .. } => Err(PyRuntimeError::new_err("nothing is known of the call")),
        }
    }

    /// Whether something has to be durable before the node goes on.
    #[getter]
    fn pending(&self) -> bool {
        self.waits.lock().is_some()
    }

    /// Waits until it is.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        let waits = self.waits.lock().take();
        waits.map_or(Ok(()), |answer| block_on_result(py, answer))
    }

    /// `wait`, awaited.
    fn arrive<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let waits = self.waits.lock().take();
        let answer = waits.unwrap_or_else(|| Box::pin(std::future::ready(Ok(()))));
        awaitable_result(py, answer, |py, ()| Ok(py.None()))
    }

    /// Whether it is a call of the node that `context` is of.
    fn is_of(&self, context: &Bound<'_, PyAny>) -> bool {
        // A role has another kind of context.
        let Ok(context) = context.cast::<Context>() else { return false };
        let cx = &context.get().cx;
        matches!(&self.owner, Owner::Node(own) if Arc::ptr_eq(&own.get().cx, cx))
    }

    /// Keeps a question without an answer that part of the call has asked.
    #[pyo3(signature = (question, asker=None))]
    fn keep_question(&self, py: Python<'_>, question: Py<PyAny>, asker: Option<String>) {
        self.question.keep(py, &Question { value: question, asker });
    }

    /// The call has returned a value. If part of it has asked, the question is raised
    /// instead, and the call is made again once that is answered.
    ///
    /// Raises the `antiphon.errors` class of `value_unstorable` if it cannot be stored and
    /// the run is kept.
    fn returned(&self, value: Py<PyAny>, py: Python<'_>) -> PyResult<()> {
        if let (Owner::Node(context), Some(question)) = (&self.owner, self.question.get()) {
            let raised = Context::raised(context.bind(py), question);
            self.end(py, CallOutcome::Left)?;
            return Err(raised);
        }
        let value = Object(value).fresh();
        if let Some(problem) = self.problem(py, &value)? {
            let fault = unstorable(&self.call.name, &problem);
            self.end(py, CallOutcome::Failed(fault.clone()))?;
            return Err(to_exception(py, &fault));
        }
        self.end(py, CallOutcome::Value(value))
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
            RaisedVerdict::Repeat => return self.end(py, CallOutcome::Left),
            RaisedVerdict::Unknown => {
                self.abandon(py);
                return Ok(());
            }
            RaisedVerdict::Settled => {}
        }
        let raised = Object::of(error);
        let came = match self.problem(py, &raised)? {
            None => CallOutcome::Raised(raised),
            Some(_) => CallOutcome::Failed(described(error)),
        };
        self.end(py, came)
    }

    fn __repr__(&self) -> String {
        format!("Effect({:?}, known={})", self.call.name, self.known())
    }

    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        if let Owner::Node(context) = &self.owner {
            visit.call(context)?;
        }
        self.question.traverse(&visit)?;
        match &self.stage {
            Stage::Known(CallOutcome::Value(value) | CallOutcome::Raised(value)) => {
                visit.call(&value.0)
            }
            Stage::Known(_) | Stage::Due { .. } => Ok(()),
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

/// An exception that has no stored form of its own.
fn described(error: &Bound<'_, PyAny>) -> Fault {
    let kind = error.get_type().name().map_or_else(|_| "Exception".into(), |it| it.to_string());
    let message = format!("{kind}: {error}");
    let fault = match known(error) {
        Some((category, code)) => Fault::foreign(category, &code, message),
        None => Fault::new(FaultCode::ToolFailed, message),
    };
    fault.with("type", kind)
}

impl Core {
    fn begin_call(
        &mut self,
        id: TaskId,
        call: &Call,
    ) -> Result<(Stage, Option<StoreFuture<()>>), Fault> {
        if let Some(session) = self.session.as_deref() {
            process::check(session.process())?;
        }
        let due = match self.machine.begin_call(id, call)? {
            CallStart::Known(came) => {
                self.note_known(id, call, &came);
                return Ok((Stage::Known(came), None));
            }
            CallStart::Due(due) => due,
        };
        let waits = due.intent.map_or(Ok(None), |intent| self.commit_call(&intent));
        let waits = waits.inspect_err(|_| {
            self.machine.end_call(id, due.index, CallOutcome::Left);
        })?;
        self.note_call(id, call, json!({"call_id": due.key}), false);
        Ok((Stage::Due { index: due.index, key: due.key }, waits))
    }

    fn known_call(
        &mut self,
        id: TaskId,
        call: &Call,
    ) -> Result<Option<CallOutcome<Object>>, Fault> {
        let known = self.machine.known_call(id, call)?;
        if let Some(came) = &known {
            self.note_known(id, call, came);
        }
        Ok(known)
    }

    fn end_call(
        &mut self,
        id: TaskId,
        index: u32,
        came: CallOutcome<Object>,
        (call, key): (&Call, &str),
    ) -> Option<StoreFuture<()>> {
        let (ok, left) = (came.is_success(), matches!(came, CallOutcome::Left));
        let commit = self.machine.end_call(id, index, came);
        if !left {
            self.note_call(id, call, json!({"call_id": key, "ok": ok}), true);
        }
        // Why it could not be stored ends the run, and says so there.
        let commit = commit?;
        self.commit_call(&commit).unwrap_or_default()
    }

    fn note_known(&mut self, id: TaskId, call: &Call, came: &CallOutcome<Object>) {
        self.note_call(id, call, json!({"ok": came.is_success(), "replayed": true}), true);
    }

    fn note_call(&mut self, id: TaskId, call: &Call, data: Json, ended: bool) {
        let (kind, data) = shown(call, data, ended);
        self.machine.note(id, kind, &call.name, data);
    }
}
