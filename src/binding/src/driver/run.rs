//! One run of a compiled graph, as Python holds it.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError, Weak};

use antiphon_core::{Fault, FaultCode};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyWeakrefReference;
use pyo3::{PyTraverseError, PyVisit};

use crate::driver::call_queue::CallQueue;
use crate::driver::core::Core;
use crate::driver::mailbox::{Emission, Mailbox};
use crate::driver::parent_task::ParentTask;
use crate::driver::phase::Phase;
use crate::driver::run_id::RunId;
use crate::driver::stream::NestedStreams;
use crate::driver::thread_id::thread_id;
use crate::driver::worker_pool::Work;
use crate::fault::{busy, noted, to_exception};
use crate::graph::node_variables::CallerVariables;

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
    pub(crate) thread: Option<String>,
    core: Mutex<Core>,
    /// The thread that works on the core, by its [`thread_id`]; 0 if none does.
    holder: AtomicUsize,
    pub(crate) mailbox: Mailbox,
    pub(crate) calls: CallQueue,
    /// Each attempt of a node gets a copy.
    pub(crate) variables: CallerVariables,
    pub(crate) config: Py<PyAny>,
    pub(crate) context: Py<PyAny>,
    /// Called for each node, in the copy of the context variables that is the node's.
    pub(crate) enter: Option<Py<PyAny>>,
    /// What runs that its nodes start are to show in its own stream.
    pub(crate) below: NestedStreams,
    /// Whether something can happen in the middle of a superstep: an item of the
    /// stream, or the end of its time.
    pub(crate) live: bool,
    /// The node that has started it.
    pub(crate) caller: Option<Weak<dyn ParentTask>>,
    pub(crate) kept_in: Option<String>,
    driven: AtomicBool,
}

/// What a run has beside its core from the start.
#[derive(Debug)]
pub(crate) struct RunSettings {
    pub(crate) config: Py<PyAny>,
    pub(crate) context: Py<PyAny>,
    pub(crate) enter: Option<Py<PyAny>>,
    pub(crate) below: NestedStreams,
    pub(crate) live: bool,
    /// The thread that it is kept in.
    pub(crate) thread: Option<String>,
    pub(crate) caller: Option<Weak<dyn ParentTask>>,
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
        holder.store(thread_id(), Ordering::Relaxed);
        Self(holder)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

impl Run {
    pub(crate) fn new(
        py: Python<'_>,
        id: RunId,
        core: Core,
        around: RunSettings,
        standby_driver: Work,
    ) -> PyResult<Bound<'_, Self>> {
        let RunSettings { config, context, enter, below, live, thread, caller, kept_in } = around;
        let run = Self {
            id,
            thread,
            core: Mutex::new(core),
            holder: AtomicUsize::new(0),
            mailbox: Mailbox::default(),
            calls: CallQueue::default(),
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
        run.get().mailbox.standby.belong_to(weak.clone_ref(py), standby_driver);
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
                Err(TryLockError::WouldBlock)
                    if self.holder.load(Ordering::Relaxed) != thread_id() =>
                {
                    Python::attach(|py| py.detach(|| drop(self.core.lock())));
                }
                Err(_) => return Err(busy()),
            }
        }
    }

    pub(crate) fn begin(&self, py: Python<'_>) -> PyResult<Driving<'_>> {
        if INSIDE.get() >= DEPTH {
            let message = format!("runs are nested too deeply, the limit is: {DEPTH}");
            let fault = Fault::new(FaultCode::NestingTooDeep, message)
                .hint("a node probably runs its own graph without end; loop with an edge instead");
            return Err(to_exception(py, &fault));
        }
        if self.driven.swap(true, Ordering::AcqRel) {
            return Err(PyRuntimeError::new_err("the run is driven from somewhere else already"));
        }
        INSIDE.set(INSIDE.get() + 1);
        Ok(Driving(&self.driven))
    }

    /// Lets a node tell something to whoever watches.
    pub(crate) fn tell(&self, py: Python<'_>, emitted: Emission) {
        self.mailbox.post(py, |mail| mail.emitted.push(emitted));
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

    /// For the garbage collector.
    ///
    /// # Errors
    /// Its own.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.config)?;
        visit.call(&self.context)?;
        self.variables.traverse(visit)?;
        visit.call(&self.enter)?;
        self.below.traverse(visit)?;
        let Ok(core) = self.core.try_lock() else { return Ok(()) };
        core.traverse(visit)
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
