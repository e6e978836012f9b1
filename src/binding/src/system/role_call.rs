//! What Python code can reach that plays a role, or stands for its model.

use std::sync::{Arc, Mutex, PoisonError};

use antiphon_core::Usage;
use antiphon_core::budget::Charge;
use antiphon_core::checkpoint::Call;
use antiphon_core::event::EventKind;
use antiphon_core::run::{CallStart, PendingCall};
use antiphon_runtime::{CallContext, ReplyChunk, TaskReporter};
use antiphon_systems::{RoleContext, UserContext};
use pyo3::exceptions::{PyBaseException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use serde_json::json;

use crate::driver::cancel_callbacks::CancelCallbacks;
use crate::driver::wait::block_on_native;
use crate::fault::to_exception;
use crate::graph::call_trace::callee;
use crate::graph::effect::Effect;
use crate::system::role_effect::{self, Asking};
use crate::value::codec::ObjectCodec;

/// The detail of a fault that holds the number of its exception.
pub(crate) const RAISED: &str = "raised";

/// What a question carries for the Python code that works on it.
#[derive(Debug)]
pub(crate) struct Carried {
    about: Py<PyAny>,
    /// What that code has raised: faults know their exception by its number.
    raised: Mutex<Vec<Py<PyBaseException>>>,
}

impl Carried {
    pub(crate) fn new(about: Py<PyAny>) -> Self {
        Self { about, raised: Mutex::default() }
    }

    /// Keeps an exception; its number is above 0.
    pub(crate) fn keep(&self, error: Py<PyBaseException>) -> usize {
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        raised.push(error);
        raised.len()
    }

    /// The exception of that number.
    pub(crate) fn raised(&self, py: Python<'_>, number: usize) -> Option<Py<PyBaseException>> {
        let raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        raised.get(number.checked_sub(1)?).map(|error| error.clone_ref(py))
    }

    /// What a question of this binding carries.
    pub(crate) fn of(user_context: Option<&UserContext>) -> Option<Arc<Self>> {
        Arc::clone(user_context?).downcast::<Self>().ok()
    }
}

/// Lets go of what was raised once the question is over: frames hold calls of
/// roles, which hold what is carried, which holds the frames.
pub(crate) struct ExceptionGuard(pub(crate) Arc<Carried>);

impl Drop for ExceptionGuard {
    fn drop(&mut self) {
        self.0.raised.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// One attempt of a role: who it is, and the way back to its question.
#[pyclass(module = "antiphon._antiphon", frozen)]
pub(crate) struct RoleCall {
    cx: RoleContext,
    carried: Option<Arc<Carried>>,
    on_cancel: Arc<CancelCallbacks>,
}

impl RoleCall {
    pub(crate) const fn new(
        cx: RoleContext,
        carried: Option<Arc<Carried>>,
        on_cancel: Arc<CancelCallbacks>,
    ) -> Self {
        Self { cx, carried, on_cancel }
    }
}

#[pymethods]
impl RoleCall {
    /// The run's id.
    #[getter]
    fn run_id(&self) -> &str {
        &self.cx.run_id
    }

    /// The names of the nodes that lead here, the role's own last.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.cx.path.iter().map(|name| &**name))
    }

    /// 1 for the first attempt.
    #[getter]
    const fn attempt(&self) -> u32 {
        self.cx.attempt
    }

    /// Stands for this execution: the same in each attempt, and in no other.
    #[getter]
    fn step(&self) -> u64 {
        self.cx.seed.number()
    }

    /// When the attempt will be given up, in seconds since the Unix epoch.
    #[getter]
    #[expect(clippy::cast_precision_loss, reason = "microseconds fit a double until the year 2255")]
    fn deadline(&self) -> Option<f64> {
        self.cx.deadline.map(|at| at.as_micros() as f64 / 1e6)
    }

    /// Whether somebody wants to see replies piece by piece.
    #[getter]
    const fn watched(&self) -> bool {
        self.cx.watched
    }

    /// What the caller passed as `about` with the question.
    #[getter]
    fn about(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.carried.as_ref().map(|carried| carried.about.clone_ref(py))
    }

    /// Tells whoever watches; `payload` is made of what JSON has.
    #[pyo3(signature = (payload, name=None))]
    fn emit(&self, payload: &Bound<'_, PyAny>, name: Option<&str>) -> PyResult<()> {
        let data = crate::value::json::read(payload)?;
        self.cx.notes.note(EventKind::Custom, name.unwrap_or("custom"), data);
        Ok(())
    }

    /// Shows a piece of a reply that is still being written.
    fn chunk(&self, text: &str) {
        self.cx.notes.note(EventKind::Chunk, "", json!({"text": text}));
    }

    /// Counts what a call of a model cost against the budgets.
    fn charge(&self, input_tokens: u64, output_tokens: u64) {
        self.cx.notes.charge(Usage { input_tokens, output_tokens });
    }

    /// Begins a call, unless it is known what came of it; as `Context.begin_call`. A role's
    /// calls are not told from those within them.
    #[pyo3(signature = (callee, given, repeatable, _within=None))]
    fn begin_call(
        &self,
        callee: (String, String),
        given: &Bound<'_, PyAny>,
        repeatable: bool,
        _within: Option<&str>,
    ) -> PyResult<Effect> {
        let (kind, name) = callee;
        begin_call(&self.cx.notes, (&kind, name), given, repeatable)
    }

    /// Counts a call of a model or tool against the budgets.
    fn request(&self, py: Python<'_>, kind: &str) -> PyResult<()> {
        let intent = match kind {
            "model" => Charge::Model,
            "tool" => Charge::Tool,
            _ => {
                let message = format!("a call is `model` or `tool`, found: {kind}");
                return Err(PyValueError::new_err(message));
            }
        };
        let notes = self.cx.notes.clone();
        let granted = block_on_native(py, async move { notes.request(intent).await })?;
        granted.map_err(|fault| to_exception(py, &fault))
    }

    /// Has `callback` called, on some thread, once nobody waits for the role.
    fn when_cancelled(&self, py: Python<'_>, callback: Py<PyAny>) -> PyResult<()> {
        self.on_cancel.add(py, callback)
    }

    fn __repr__(&self) -> String {
        format!("RoleCall(path={:?}, attempt={})", self.cx.path, self.cx.attempt)
    }
}

/// One request to Python code that stands for a model.
#[pyclass(module = "antiphon._antiphon", frozen)]
pub(crate) struct ModelCall {
    cx: CallContext,
    on_cancel: Arc<CancelCallbacks>,
}

impl ModelCall {
    pub(crate) const fn new(cx: CallContext, on_cancel: Arc<CancelCallbacks>) -> Self {
        Self { cx, on_cancel }
    }
}

#[pymethods]
impl ModelCall {
    /// Whether somebody wants to see the reply piece by piece.
    #[getter]
    const fn watched(&self) -> bool {
        self.cx.chunks.is_some()
    }

    /// Shows a piece of a reply that is still being written.
    fn chunk(&self, text: String) {
        self.cx.emit(ReplyChunk::Text(text));
    }

    /// Has `callback` called, on some thread, once nobody waits for the reply.
    fn when_cancelled(&self, py: Python<'_>, callback: Py<PyAny>) -> PyResult<()> {
        self.on_cancel.add(py, callback)
    }
}

/// Begins a call of a role.
fn begin_call(
    notes: &TaskReporter,
    (kind, name): (&str, String),
    given: &Bound<'_, PyAny>,
    repeatable: bool,
) -> PyResult<Effect> {
    let py = given.py();
    let values = ObjectCodec::shared(py)?;
    let callee = callee(kind)?;
    let call = Call { callee, name, digest: values.digest(given), repeatable };
    let (asks, wanted) = (notes.clone(), call.clone());
    let begun = block_on_native(py, async move { asks.begin_call(wanted).await })?;
    let begun = begun.map_err(|fault| to_exception(py, &fault))?;
    let asking = |stored| Asking { notes: notes.clone(), stored };
    match begun {
        CallStart::Known(came) => {
            let came = role_effect::read(&values, came)?;
            let asking = asking(true);
            asking.note(&call, json!({"ok": came.is_success(), "replayed": true}), true);
            Ok(Effect::known_to(asking, call, came))
        }
        CallStart::Due(PendingCall { index, key, stored, .. }) => {
            let asking = asking(stored);
            asking.note(&call, json!({"call_id": key}), false);
            Ok(Effect::due_to(asking, call, (index, key)))
        }
    }
}
