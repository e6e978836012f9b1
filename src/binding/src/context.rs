//! What a node can reach while it runs.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use antiphon_core::graph::Sign;
use antiphon_core::task::TaskId;
use antiphon_core::{Fault, Time, Usage};
use antiphon_runtime::Chunk;
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{PyTraverseError, PyVisit};

use crate::effect::Effect;
use crate::fault::to_exception;
use crate::inbox::{Emitted, Told};
use crate::object::Object;
use crate::run::Run;

/// One task under way, as the code that runs for it sees it.
#[derive(Debug)]
pub(crate) struct Errand {
    pub(crate) run: Py<Run>,
    pub(crate) id: TaskId,
    pub(crate) name: Arc<str>,
    pub(crate) path: Vec<Arc<str>>,
    pub(crate) attempt: u32,
    pub(crate) step: u64,
    pub(crate) deadline: Option<Time>,
    pub(crate) answers: Vec<Object>,
    pub(crate) handled: Option<(Arc<str>, Fault)>,
    asked: AtomicUsize,
}

impl Errand {
    pub(crate) fn new(run: Py<Run>, id: TaskId, name: Arc<str>) -> Self {
        Self {
            run,
            id,
            name,
            path: Vec::new(),
            attempt: 1,
            step: 0,
            deadline: None,
            answers: Vec::new(),
            handled: None,
            asked: AtomicUsize::new(0),
        }
    }
}

thread_local! {
    static CURRENT: Cell<Option<Arc<Errand>>> = const { Cell::new(None) };
}

/// Makes an errand the current one of this thread until it is dropped.
pub(crate) struct Entered {
    outer: Option<Arc<Errand>>,
}

impl Entered {
    pub(crate) fn enter(errand: &Arc<Errand>) -> Self {
        Self { outer: CURRENT.replace(Some(Arc::clone(errand))) }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        drop(CURRENT.replace(self.outer.take()));
    }
}

/// The context of the node that runs on this thread.
#[pyfunction]
pub(crate) fn current_context() -> PyResult<Context> {
    let missing =
        || PyRuntimeError::new_err("no node is running here: call this from within a node");
    enclosing_context().ok_or_else(missing)
}

/// The context of the node that runs on this thread, if one does.
#[pyfunction]
pub(crate) fn enclosing_context() -> Option<Context> {
    let errand = CURRENT.take();
    CURRENT.set(errand.clone());
    errand.map(|errand| Context { errand })
}

/// What a node can reach while it runs: who it is, what it was given to do,
/// and the run around it.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) errand: Arc<Errand>,
}

impl Context {
    /// The context of an errand, as an object.
    pub(crate) fn of<'py>(py: Python<'py>, errand: &Arc<Errand>) -> PyResult<Bound<'py, Self>> {
        Bound::new(py, Self { errand: Arc::clone(errand) })
    }

    fn sign(&self, py: Python<'_>, sign: Sign) {
        let id = self.errand.id;
        self.errand.run.get().inbox.put(py, |letters| letters.signs.push((id, sign)));
    }
}

#[pymethods]
impl Context {
    /// The run's id.
    #[getter]
    fn run_id(&self) -> &str {
        self.errand.run.get().id()
    }

    /// The node's name.
    #[getter]
    fn node(&self) -> &str {
        &self.errand.name
    }

    /// The names of the nodes that lead here, the node's own last.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.errand.path.iter().map(|name| &**name))
    }

    /// 1 for the first attempt.
    #[getter]
    fn attempt(&self) -> u32 {
        self.errand.attempt
    }

    /// The superstep, from 1.
    #[getter]
    fn step(&self) -> u64 {
        self.errand.step
    }

    /// When the attempt will be given up, in seconds since the Unix epoch.
    #[getter]
    #[expect(clippy::cast_precision_loss, reason = "microseconds fit a double until the year 2255")]
    fn deadline(&self) -> Option<f64> {
        self.errand.deadline.map(|at| at.as_micros() as f64 / 1e6)
    }

    /// What the caller passed as `config`.
    #[getter]
    fn config(&self, py: Python<'_>) -> Py<PyAny> {
        self.errand.run.get().config.clone_ref(py)
    }

    /// What the caller passed as `context`.
    #[getter]
    fn context(&self, py: Python<'_>) -> Py<PyAny> {
        self.errand.run.get().context.clone_ref(py)
    }

    /// The failure that this node handles in another's place.
    #[getter]
    fn error(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let (_, fault) = self.errand.handled.as_ref()?;
        let kept = self.errand.run.get().kept_error(py, fault);
        Some(kept.unwrap_or_else(|| to_exception(py, fault)).into_value(py).into_any())
    }

    /// The name of the node whose failure this one handles.
    #[getter]
    fn failed_node(&self) -> Option<&str> {
        self.errand.handled.as_ref().map(|(name, _)| &**name)
    }

    /// The answers given to this node so far, in the order it asked.
    #[getter]
    fn answers(&self, py: Python<'_>) -> Vec<Py<PyAny>> {
        self.errand.answers.iter().map(|answer| answer.0.clone_ref(py)).collect()
    }

    /// The run this node belongs to.
    #[getter]
    fn run(&self, py: Python<'_>) -> Py<Run> {
        self.errand.run.clone_ref(py)
    }

    /// The next answer, if this question was asked before and answered.
    fn next_answer(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let index = self.errand.asked.fetch_add(1, Ordering::Relaxed);
        self.errand.answers.get(index).map(|answer| answer.0.clone_ref(py))
    }

    /// Asks whoever runs the graph. Gives the answer if there is one; else the
    /// run pauses, and the node begins again once it is answered.
    fn ask(&self, py: Python<'_>, question: Py<PyAny>) -> PyResult<Py<PyAny>> {
        if let Some(answer) = self.next_answer(py) {
            return Ok(answer);
        }
        let pause =
            py.import(intern!(py, "antiphon._pause"))?.getattr(intern!(py, "Interrupted"))?;
        Err(PyErr::from_value(pause.call1((question,))?))
    }

    /// Tells whoever watches the run.
    #[pyo3(signature = (payload, name=None))]
    fn emit(&self, py: Python<'_>, payload: Py<PyAny>, name: Option<String>) {
        let emitted = Emitted { id: self.errand.id, told: Told::Own(payload, name) };
        self.errand.run.get().tell(py, emitted);
    }

    /// The streams that show tokens of graphs that the node invokes.
    #[getter]
    fn readers(&self, py: Python<'_>) -> Vec<Py<PyAny>> {
        let tokens = &self.errand.run.get().below.tokens;
        tokens.iter().map(|tokens| tokens.clone_ref(py)).collect()
    }

    /// Shows a token to the one stream that has `reader` as its `tokens`.
    fn token(&self, py: Python<'_>, reader: Py<PyAny>, payload: Py<PyAny>) {
        let emitted = Emitted { id: self.errand.id, told: Told::Token(reader, payload) };
        self.errand.run.get().tell(py, emitted);
    }

    /// Whether somebody wants to see events while the node runs.
    #[getter]
    fn watched(&self) -> bool {
        self.errand.run.get().live
    }

    /// Shows a piece of a reply that is still being written.
    fn chunk(&self, py: Python<'_>, text: String) {
        let piece = (self.errand.id, Chunk::Text(text));
        self.errand.run.get().inbox.put(py, |letters| letters.chunks.push(piece));
    }

    /// Says that the node is alive, which puts its idle time-out off.
    fn heartbeat(&self, py: Python<'_>) {
        self.sign(py, Sign::Heartbeat);
    }

    /// Says that the node gets on with its work, which puts its idle time-out off
    /// unless only heartbeats count for it.
    fn progress(&self, py: Python<'_>) {
        self.sign(py, Sign::Progress);
    }

    /// Counts what a call of a model cost against the budgets.
    fn charge(&self, input_tokens: u64, output_tokens: u64) -> PyResult<()> {
        let usage = Usage { input_tokens, output_tokens };
        self.errand.run.get().with(|core| {
            core.machine.charge(self.errand.id, usage);
            Ok(())
        })
    }

    /// Begins a call of a `tool`, a `model` or a `step`, unless it is known what came of it.
    /// `given` is what it is given: a node that begins again gives it the same. It counts
    /// against the budgets when it is made. `repeatable` says that it may be made twice.
    ///
    /// Raises the `antiphon.errors` class of `unknown_outcome` if it was begun before and
    /// nobody knows what came of it; of `replay_diverged` if the node does something else than
    /// it had; and as `request`.
    fn begin_call(
        slf: &Bound<'_, Self>,
        kind: &str,
        name: String,
        given: &Bound<'_, PyAny>,
        repeatable: bool,
    ) -> PyResult<Effect> {
        Effect::begin(slf, (kind, name), given, repeatable)
    }

    /// Counts a call of a model or tool against the budgets.
    fn request(&self, py: Python<'_>, kind: &str) -> PyResult<()> {
        self.errand.run.get().request(py, self.errand.id, kind)
    }

    fn __repr__(&self) -> String {
        format!("Context(node={:?}, attempt={})", self.errand.name, self.errand.attempt)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // The traceback of a failed node leads to here, and from here to the run that keeps
        // the failure. While others share the errand, its references are not ours to count.
        if Arc::strong_count(&self.errand) > 1 {
            return Ok(());
        }
        visit.call(&self.errand.run)?;
        self.errand.answers.iter().try_for_each(|answer| visit.call(&answer.0))
    }
}
