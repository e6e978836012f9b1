//! What a node can reach while it runs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use antiphon_core::graph::Heartbeat;
use antiphon_core::task::TaskId;
use antiphon_core::{Category, Fault, Time, Usage};
use antiphon_runtime::ReplyChunk;
use pyo3::exceptions::{PyBaseException, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use crate::driver::inbox::{Emitted, Told};
use crate::driver::run::Run;
use crate::fault::to_exception;
use crate::ffi;
use crate::graph::effect::Effect;
use crate::graph::node_variables;
use crate::graph::question::{Question, UnansweredQuestion};
use crate::value::object::Object;

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
    pub(crate) question: UnansweredQuestion,
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
            question: UnansweredQuestion::default(),
            asked: AtomicUsize::new(0),
        }
    }

    /// Whether the attempt is under way. It may be over while its thread still runs,
    /// or while somebody holds its context.
    pub(crate) fn is_under_way(&self) -> bool {
        let found = self.run.get().with(|core| Ok(core.machine.is_under_way(self.id)));
        // Whoever works on the core right now prepares this very attempt.
        found.unwrap_or(true)
    }
}

/// The call of a node, as the node's context variables hold it, and with them
/// whatever its code starts: tasks, threads, executors that copy them.
///
/// It is weak: a task or a connection that outlives the node keeps its variables,
/// and must neither keep the run alive nor act for it.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct CurrentCall {
    call: Mutex<(Weak<Errand>, Arc<str>)>,
}

/// What the context variables of some code say about the node that it runs for.
enum Enclosing {
    Nothing,
    Present(Arc<Errand>),
    /// The node, by its name, has ended.
    Ended(Arc<str>),
}

impl CurrentCall {
    /// Makes an errand the current one in a node's own context variables.
    pub(crate) fn set<'py>(
        variables: &Bound<'py, PyAny>,
        errand: &Arc<Errand>,
    ) -> PyResult<Bound<'py, Self>> {
        static SET: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = variables.py();
        let (run, set) = (node_variables::run(py)?, method(py, &SET, ("ContextVar", "set"))?);
        let call = Bound::new(py, Self { call: Mutex::new(Self::of(errand)) })?;
        ffi::call(run, [Some(variables), Some(set), Some(variable(py)?), Some(call.as_any())])?;
        Ok(call)
    }

    /// Makes another errand the current one, wherever this is set.
    pub(crate) fn begin(&self, errand: &Arc<Errand>) {
        *self.call.lock().unwrap_or_else(PoisonError::into_inner) = Self::of(errand);
    }

    fn of(errand: &Arc<Errand>) -> (Weak<Errand>, Arc<str>) {
        (Arc::downgrade(errand), Arc::clone(&errand.name))
    }

    fn enclosing(py: Python<'_>) -> PyResult<Enclosing> {
        static GET: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let get = method(py, &GET, ("ContextVar", "get"))?;
        let found = ffi::call(get, [Some(variable(py)?)])?;
        let Ok(call) = found.cast_exact::<Self>() else { return Ok(Enclosing::Nothing) };
        let call = call.get().call.lock().unwrap_or_else(PoisonError::into_inner);
        let (errand, node) = (call.0.upgrade(), Arc::clone(&call.1));
        drop(call);
        let ended = || Enclosing::Ended(Arc::clone(&node));
        let Some(errand) = errand else { return Ok(ended()) };
        Ok(if errand.is_under_way() { Enclosing::Present(errand) } else { ended() })
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

/// A method of `contextvars`, looked up once: calling it unbound spares a method
/// object per call.
pub(crate) fn method<'py>(
    py: Python<'py>,
    method: &'static PyOnceLock<Py<PyAny>>,
    (kind, name): (&str, &str),
) -> PyResult<&'py Bound<'py, PyAny>> {
    let found = method.get_or_try_init(py, || {
        Ok::<_, PyErr>(py.import("contextvars")?.getattr(kind)?.getattr(name)?.unbind())
    })?;
    Ok(found.bind(py))
}

/// The context of the node that the caller runs for.
#[pyfunction]
pub(crate) fn current_context(py: Python<'_>) -> PyResult<Context> {
    match CurrentCall::enclosing(py)? {
        Enclosing::Present(errand) => Ok(Context { errand }),
        Enclosing::Ended(node) => Err(to_exception(py, &node_ended(&node))),
        Enclosing::Nothing => {
            Err(PyRuntimeError::new_err("no node is running here: call this from within a node"))
        }
    }
}

/// The context of the node that the caller runs for, if there is one. A node that
/// has ended is none: what its tasks start after that is nobody's.
#[pyfunction]
pub(crate) fn enclosing_context(py: Python<'_>) -> PyResult<Option<Context>> {
    Ok(match CurrentCall::enclosing(py)? {
        Enclosing::Present(errand) => Some(Context { errand }),
        Enclosing::Ended(_) | Enclosing::Nothing => None,
    })
}

/// Raises if the caller runs for a node that has ended: nobody would see its question.
#[pyfunction]
pub(crate) fn check_enclosing_node(py: Python<'_>) -> PyResult<()> {
    match CurrentCall::enclosing(py)? {
        Enclosing::Ended(node) => Err(to_exception(py, &node_ended(&node))),
        Enclosing::Present(_) | Enclosing::Nothing => Ok(()),
    }
}

fn node_ended(node: &str) -> Fault {
    let message = format!("the node has ended, and nothing can act for it any more: {node}");
    Fault::new(Category::State, "node_ended", message)
        .with("node", node)
        .hint("await what the node starts before it returns")
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

    /// What carries a question out of the node, or says that nobody would see it. The node
    /// pauses for it even if its code catches that.
    pub(crate) fn raised(slf: &Bound<'_, Self>, question: &Question) -> PyErr {
        let (py, errand) = (slf.py(), &slf.get().errand);
        if !errand.is_under_way() {
            return to_exception(py, &node_ended(&errand.name));
        }
        errand.question.keep(py, question);
        question.raised_in(slf).unwrap_or_else(|error| error)
    }

    fn sign(&self, py: Python<'_>, sign: Heartbeat) {
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
    fn ask(slf: &Bound<'_, Self>, question: Py<PyAny>) -> PyResult<Py<PyAny>> {
        if let Some(answer) = slf.get().next_answer(slf.py()) {
            return Ok(answer);
        }
        Err(Self::raised(slf, &Question { value: question, asker: None }))
    }

    /// What carries a question out of the node, to be raised; one of a run that the node has
    /// started has its id there. The node pauses for it, and begins again once it is answered.
    #[pyo3(signature = (question, asker=None))]
    fn pause(
        slf: &Bound<'_, Self>,
        question: Py<PyAny>,
        asker: Option<String>,
    ) -> Py<PyBaseException> {
        Self::raised(slf, &Question { value: question, asker }).into_value(slf.py())
    }

    /// The answer to a question of a run that the node has started, by the question's id
    /// there, in a tuple; none if there is no answer yet.
    fn relayed(&self, py: Python<'_>, id: &str) -> PyResult<Option<(Py<PyAny>,)>> {
        let errand = &self.errand;
        errand.run.get().with(|core| {
            let answer = core.machine.relayed_answer(errand.id, id);
            Ok(answer.map(|answer| (answer.0.clone_ref(py),)))
        })
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
        let piece = (self.errand.id, ReplyChunk::Text(text));
        self.errand.run.get().inbox.put(py, |letters| letters.chunks.push(piece));
    }

    /// Says that the node is alive, which puts its idle time-out off.
    fn heartbeat(&self, py: Python<'_>) {
        self.sign(py, Heartbeat::Explicit);
    }

    /// Says that the node gets on with its work, which puts its idle time-out off
    /// unless only heartbeats count for it.
    fn progress(&self, py: Python<'_>) {
        self.sign(py, Heartbeat::Progress);
    }

    /// Counts what a call of a model cost against the budgets.
    fn charge(&self, input_tokens: u64, output_tokens: u64) -> PyResult<()> {
        let usage = Usage { input_tokens, output_tokens };
        self.errand.run.get().with(|core| {
            core.machine.charge(self.errand.id, usage);
            Ok(())
        })
    }

    /// Begins a call unless it is known what came of it: of a `tool`, a `model` or a `step`,
    /// and its name.
    /// `given` is what it is given: a node that begins again gives it the same. It counts
    /// against the budgets when it is made. `repeatable` says that it may be made twice, and
    /// `within` is the key of the call of the node that it is part of.
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
        Effect::begin(slf, Effect::call(slf, callee, (given, within), repeatable)?)
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
        self.errand.question.traverse(&visit)?;
        self.errand.answers.iter().try_for_each(|answer| visit.call(&answer.0))
    }
}
