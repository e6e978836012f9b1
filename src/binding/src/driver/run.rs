//! One run of a compiled graph, as Python holds it.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError, Weak};

use antiphon_core::budget::Charge;
use antiphon_core::effect::Ending;
use antiphon_core::task::TaskId;
use antiphon_core::{Category, Fault};
use antiphon_runtime::Clock;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyWeakrefReference};
use pyo3::{PyTraverseError, PyVisit};

use crate::driver::blocking;
use crate::driver::core::{Core, Phase};
use crate::driver::drive::Drive;
use crate::driver::event::Event;
use crate::driver::inbox::{Emitted, Inbox};
use crate::driver::pool::Calls;
use crate::driver::run_id::RunId;
use crate::driver::stream::Below;
use crate::fault::{busy, noted, to_exception};
use crate::graph::context::{Context, Errand};
use crate::graph::node_variables::CallerVariables;
use crate::value::object::Object;

/// What a driver goes on for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// The next item of the stream.
    Item,
    /// The end, or a pause.
    End,
}

/// One run. It can be waited for, awaited and iterated; it is driven by
/// whoever does.
#[pyclass(module = "antiphon._antiphon", frozen, weakref)]
#[derive(Debug)]
pub(crate) struct Run {
    id: RunId,
    thread: Option<String>,
    core: Mutex<Core>,
    /// The thread that works on the core, by its [`here`]; 0 if none does.
    holder: AtomicUsize,
    pub(crate) inbox: Inbox,
    pub(crate) calls: Calls,
    /// Each attempt of a node gets a copy.
    pub(crate) variables: CallerVariables,
    pub(crate) config: Py<PyAny>,
    pub(crate) context: Py<PyAny>,
    /// Called for each node, in the copy of the context variables that is the node's.
    pub(crate) enter: Option<Py<PyAny>>,
    /// What runs that its nodes start are to show in its own stream.
    pub(crate) below: Below,
    /// Whether something can happen in the middle of a superstep: an item of the
    /// stream, or the end of its time.
    pub(crate) live: bool,
    /// The node that has started it.
    caller: Option<Weak<Errand>>,
    pub(crate) kept_in: Option<String>,
    driven: AtomicBool,
}

/// What a run has beside its core from the start.
#[derive(Debug)]
pub(crate) struct Surroundings {
    pub(crate) config: Py<PyAny>,
    pub(crate) context: Py<PyAny>,
    pub(crate) enter: Option<Py<PyAny>>,
    pub(crate) below: Below,
    pub(crate) live: bool,
    /// The thread that it is kept in.
    pub(crate) thread: Option<String>,
    pub(crate) caller: Option<Weak<Errand>>,
    /// The thread that it is kept in by itself, or with the node that has started it.
    pub(crate) kept_in: Option<String>,
}

/// How many runs may be inside one another on one thread. Each takes its part
/// of a stack that Python's own recursion limit does not watch.
const DEPTH: usize = 100;

thread_local! {
    static INSIDE: Cell<usize> = const { Cell::new(0) };
}

/// Marks a run as driven until it is dropped.
pub(crate) struct Driving<'a>(&'a AtomicBool);

impl Drop for Driving<'_> {
    fn drop(&mut self) {
        INSIDE.set(INSIDE.get().saturating_sub(1));
        self.0.store(false, Ordering::Release);
    }
}

/// Says which thread works on a core, until it is dropped.
struct Held<'a>(&'a AtomicUsize);

impl<'a> Held<'a> {
    fn mark(holder: &'a AtomicUsize) -> Self {
        holder.store(here(), Ordering::Relaxed);
        Self(holder)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// What no other thread of the process has: the address of something of its own.
pub(crate) fn here() -> usize {
    thread_local! {
        static PLACE: u8 = const { 0 };
    }
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}

impl Run {
    pub(crate) fn new(
        py: Python<'_>,
        id: RunId,
        core: Core,
        around: Surroundings,
    ) -> PyResult<Bound<'_, Self>> {
        let Surroundings { config, context, enter, below, live, thread, caller, kept_in } = around;
        let run = Self {
            id,
            thread,
            core: Mutex::new(core),
            holder: AtomicUsize::new(0),
            inbox: Inbox::default(),
            calls: Calls::default(),
            variables: CallerVariables::here(py)?,
            config,
            context,
            enter,
            below,
            live,
            caller,
            kept_in,
            driven: AtomicBool::new(false),
        };
        let run = Bound::new(py, run)?;
        // Weak, because the run owns what holds it.
        let weak = PyWeakrefReference::new(&run)?.unbind();
        run.get().inbox.standby.belong_to(weak.clone_ref(py));
        run.get().with(|core| {
            core.host.run = Some(weak);
            Ok(())
        })?;
        Ok(run)
    }

    /// Its id.
    pub(crate) fn id(&self) -> &Arc<str> {
        self.id.get()
    }

    /// Says what its id is, unless somebody knows it already.
    pub(crate) fn call_it(&self, id: &str) {
        self.id.say(id);
    }

    /// Works on the core. Routers, merge rules and what stores values are called
    /// meanwhile: they are turned away, and other threads wait, without the
    /// interpreter.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Core) -> PyResult<T>) -> PyResult<T> {
        loop {
            match self.core.try_lock() {
                Ok(mut core) => {
                    let _held = Held::mark(&self.holder);
                    return work(&mut core);
                }
                Err(TryLockError::WouldBlock) if self.holder.load(Ordering::Relaxed) != here() => {
                    Python::attach(|py| py.detach(|| drop(self.core.lock())));
                }
                Err(_) => return Err(busy()),
            }
        }
    }

    pub(crate) fn begin(&self, py: Python<'_>) -> PyResult<Driving<'_>> {
        if INSIDE.get() >= DEPTH {
            let message =
                format!("runs are nested in one another more deeply than allowed: {DEPTH}");
            let fault = Fault::new(Category::Internal, "nesting_too_deep", message)
                .hint("a node seems to run its own graph without end; loop with an edge instead");
            return Err(to_exception(py, &fault));
        }
        if self.driven.swap(true, Ordering::AcqRel) {
            return Err(PyRuntimeError::new_err("the run is driven from somewhere else already"));
        }
        INSIDE.set(INSIDE.get() + 1);
        Ok(Driving(&self.driven))
    }

    /// Lets a node tell something to whoever watches.
    pub(crate) fn tell(&self, py: Python<'_>, emitted: Emitted) {
        self.inbox.put(py, |letters| letters.emitted.push(emitted));
    }

    pub(crate) fn request(&self, py: Python<'_>, id: TaskId, kind: &str) -> PyResult<()> {
        let intent = match kind {
            "model" => Charge::Model,
            "tool" => Charge::Tool,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "a call is `model` or `tool`, found: {kind}"
                )));
            }
        };
        let granted = self.with(|core| Ok(core.machine.request(id, intent)))?;
        granted.map_err(|fault| to_exception(py, &fault))
    }

    /// The user's own exception behind a fault.
    pub(crate) fn kept_error(&self, py: Python<'_>, fault: &Fault) -> Option<PyErr> {
        let number = usize::try_from(fault.foreign?).ok()?;
        let kept = self.with(|core| {
            let error = core.host.errors.get(number.saturating_sub(1));
            Ok(error.map(|error| PyErr::from_value(error.bind(py).clone().into_any())))
        });
        kept.ok().flatten()
    }

    /// Raises what the run failed with, if it did.
    pub(crate) fn raise(&self, py: Python<'_>) -> PyResult<()> {
        let fault = self.with(|core| {
            Ok(match &core.phase {
                Phase::Failed(fault) => Some(fault.clone()),
                Phase::Running | Phase::Paused(_) | Phase::Ended(_) => None,
            })
        })?;
        match fault {
            None => Ok(()),
            Some(fault) => match self.kept_error(py, &fault) {
                Some(error) => Err(noted(py, error, &fault)),
                None => Err(to_exception(py, &fault)),
            },
        }
    }
}

#[pymethods]
impl Run {
    /// Waits for the end or a pause.
    ///
    /// Raises what a node raised, or the `antiphon.errors` class of the failure.
    fn drain(slf: &Bound<'_, Self>) -> PyResult<()> {
        blocking::drive(slf, Goal::End).map(|_| ())
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

    /// `running`, `completed`, `paused`, `budget`, `cancelled` or `failed`.
    #[getter]
    fn outcome(&self) -> PyResult<&'static str> {
        self.with(|core| {
            Ok(match &core.phase {
                Phase::Running => "running",
                Phase::Paused(_) => "paused",
                Phase::Ended(Ending::Completed) => "completed",
                Phase::Ended(Ending::Budget(_)) => "budget",
                Phase::Ended(Ending::Cancelled(_)) => "cancelled",
                Phase::Failed(_) => "failed",
            })
        })
    }

    /// The spent dimension, or the reason of the cancellation.
    #[getter]
    fn detail(&self) -> PyResult<String> {
        self.with(|core| {
            Ok(match &core.phase {
                Phase::Ended(Ending::Budget(dimension)) => dimension.as_str().to_owned(),
                Phase::Ended(Ending::Cancelled(reason)) => reason.clone(),
                Phase::Failed(fault) => fault.message.clone(),
                Phase::Running | Phase::Paused(_) | Phase::Ended(Ending::Completed) => {
                    String::new()
                }
            })
        })
    }

    /// What the run failed with.
    #[getter]
    fn error(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.raise(py).err().map(|error| error.into_value(py).into_any())
    }

    /// The state as it is now, as a dict of its own.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.with(|core| core.values(py))
    }

    /// At a pause: the state with what the finished tasks of its superstep have
    /// written; none if they have written nothing.
    fn preview<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.with(|core| core.preview(py))
    }

    /// The open questions: id, path, value.
    #[getter]
    fn questions<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        self.with(|core| {
            let Phase::Paused(questions) = &core.phase else { return Ok(Vec::new()) };
            let tuple = |question: &antiphon_core::effect::Question<Object>| {
                let path = PyTuple::new(py, &question.path)?;
                (&question.id, path, &question.value.0).into_pyobject(py)
            };
            questions.iter().map(tuple).collect()
        })
    }

    /// Whether `answer` would take this answer to a question; raises what it would.
    fn check_answer(&self, id: &str, value: Py<PyAny>, py: Python<'_>) -> PyResult<()> {
        let checked = self.with(|core| Ok(core.machine.check_answer(id, &Object(value))))?;
        checked.map_err(|fault| to_exception(py, &fault))
    }

    /// Answers an open question; then wait for the run again. A run that is kept has let its
    /// thread go: start another one there with the answer.
    fn answer(&self, id: &str, value: Py<PyAny>, py: Python<'_>) -> PyResult<()> {
        let answered = self.with(|core| {
            if core.kept.is_some() {
                return Err(PyRuntimeError::new_err("the run has let its thread go"));
            }
            let now = core.clock.now();
            let answered = core.machine.answer(id, Object(value), now);
            if answered.is_ok() {
                core.phase = Phase::Running;
                core.resume_subrun();
            }
            Ok(answered)
        })?;
        answered.map_err(|fault| to_exception(py, &fault))
    }

    /// Stops the run, from any thread; whoever drives it sees it end.
    #[pyo3(signature = (reason="cancelled"))]
    fn cancel(&self, py: Python<'_>, reason: &str) {
        self.inbox.put(py, |letters| letters.cancel = Some(reason.to_owned()));
    }

    /// Stops what runs for it, from any thread: nobody will drive it any more.
    fn abandon(&self, py: Python<'_>) {
        drop(std::mem::take(&mut *self.calls.lock()));
        let handles = self.with(|core| {
            core.leave();
            Ok(std::mem::take(&mut core.handles))
        });
        for handle in handles.unwrap_or_default().values() {
            let _ = handle.cancel(py);
        }
    }

    /// What has been spent so far, by dimension.
    #[getter]
    fn spent<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.with(|core| {
            let spent = core.machine.budget().spent();
            let dict = PyDict::new(py);
            for (name, count) in [
                ("supersteps", spent.supersteps),
                ("model_calls", spent.model_calls),
                ("tool_calls", spent.tool_calls),
                ("retries", spent.retries),
                ("input_tokens", spent.usage.input_tokens),
                ("output_tokens", spent.usage.output_tokens),
            ] {
                dict.set_item(name, count)?;
            }
            Ok(dict)
        })
    }

    /// The recorded events, at most 10,000.
    #[getter]
    fn events(&self, py: Python<'_>) -> PyResult<Vec<Py<Event>>> {
        self.with(|core| Ok(core.stream.events.iter().map(|event| event.clone_ref(py)).collect()))
    }

    /// How many events were not recorded.
    #[getter]
    fn events_dropped(&self) -> PyResult<u64> {
        self.with(|core| Ok(core.stream.dropped))
    }

    /// How many events there were, recorded or not.
    #[getter]
    fn event_count(&self) -> PyResult<u64> {
        self.with(|core| Ok(core.machine.event_count()))
    }

    /// Supersteps so far.
    #[getter]
    fn steps(&self) -> PyResult<u64> {
        self.with(|core| Ok(core.machine.supersteps().saturating_sub(core.before)))
    }

    /// Whether it has begun: a run that is kept may find its thread taken, or unfit.
    #[getter]
    fn begun(&self) -> PyResult<bool> {
        self.with(|core| Ok(core.kept.as_ref().is_none_or(|kept| kept.has_begun())))
    }

    /// The thread that it is kept in; none if it is not kept.
    #[getter]
    fn thread(&self) -> Option<&str> {
        self.thread.as_deref()
    }

    /// The thread that it is kept in, by itself or as a part of the node that has started it.
    #[getter]
    fn kept_in(&self) -> Option<&str> {
        self.kept_in.as_deref()
    }

    /// The context of the node that has started it; none if none has, or the node has ended.
    #[getter]
    fn caller(&self) -> Option<Context> {
        let errand = self.caller.as_ref()?.upgrade()?;
        errand.is_under_way().then_some(Context { errand })
    }

    /// The checkpoint that it has written or found last, once it has let its thread go.
    #[getter]
    fn checkpoint(&self) -> PyResult<Option<u64>> {
        self.with(|core| {
            let written = core.kept.as_ref().map(|kept| kept.checkpoint());
            Ok(written.filter(|seq| *seq > 0))
        })
    }

    fn __repr__(&self) -> String {
        format!("Run(run_id={:?}, outcome={:?})", self.id(), self.outcome().unwrap_or("running"))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.config)?;
        visit.call(&self.context)?;
        self.variables.traverse(&visit)?;
        visit.call(&self.enter)?;
        self.below.traverse(&visit)?;
        let Ok(core) = self.core.try_lock() else { return Ok(()) };
        core.traverse(&visit)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let core = self.core.get_mut().unwrap_or_else(PoisonError::into_inner);
        if core.handles.is_empty() {
            return;
        }
        // Nobody will ever drive it again: what still runs for it is stopped.
        Python::attach(|py| {
            for handle in core.handles.values() {
                let _ = handle.cancel(py);
            }
        });
    }
}
