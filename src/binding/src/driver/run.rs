//! One run of a compiled graph, as Python holds it.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError, Weak};

use antiphon_core::task::TaskId;
use antiphon_core::{Fault, FaultCode};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyWeakrefReference;
use pyo3::{PyTraverseError, PyVisit};

use crate::driver::call_queue::CallQueue;
use crate::driver::mailbox::{Emission, Mailbox};
use crate::driver::parent_task::ParentTask;
use crate::driver::phase::RunPhase;
use crate::driver::run_id::RunId;
use crate::driver::run_state::RunState;
use crate::driver::stream::NestedStreams;
use crate::driver::task_handle::TaskHandle;
use crate::driver::thread_id::thread_id;
use crate::driver::worker_pool::Work;
use crate::fault::{busy, noted, to_exception};
use crate::graph::node_variables::CallerVariables;

/// How far a driver runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// The next item of the stream.
    Item,
    /// The end, or a pause.
    End,
}

/// One run. It can be waited for, awaited and iterated; the caller that does so
/// drives it.
#[pyclass(module = "antiphon._antiphon", frozen, weakref)]
#[derive(Debug)]
pub(crate) struct Run {
    id: RunId,
    pub(crate) settings: RunSettings,
    state: Mutex<RunState>,
    /// The thread that works on the state, by its [`thread_id`]; 0 if none does.
    holder: AtomicUsize,
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) calls: CallQueue,
    /// Each attempt of a node gets a copy.
    pub(crate) variables: CallerVariables,
    is_driven: AtomicBool,
}

/// What a run has from its start.
#[derive(Debug)]
pub(crate) struct RunSettings {
    pub(crate) config: Py<PyAny>,
    /// Replaced where the run resumes in this process.
    pub(crate) context: Mutex<Py<PyAny>>,
    /// Called for each node, in the copy of the context variables that is the node's.
    pub(crate) on_enter: Option<Py<PyAny>>,
    /// What runs that its nodes start are to show in its own stream.
    pub(crate) nested_streams: NestedStreams,
    /// Whether something can happen in the middle of a superstep: an item of the
    /// stream, or the end of its time.
    pub(crate) is_live: bool,
    /// The thread that it is kept in.
    pub(crate) thread: Option<String>,
    /// The node that has started it.
    pub(crate) parent: Option<Weak<dyn ParentTask>>,
    /// The thread that it is kept in by itself, or with the node that has started it.
    pub(crate) kept_in: Option<String>,
}

/// How many runs may be inside one another on one thread. Each takes its part
/// of a stack that Python's own recursion limit does not watch.
const MAX_NESTING: usize = 100;

thread_local! {
    static NESTING: Cell<usize> = const { Cell::new(0) };
}

/// Marks a run as driven until it is dropped.
pub(crate) struct DriveGuard<'a>(&'a AtomicBool);

impl Drop for DriveGuard<'_> {
    fn drop(&mut self) {
        NESTING.set(NESTING.get().saturating_sub(1));
        self.0.store(false, Ordering::Release);
    }
}

/// Says which thread works on a state, until it is dropped.
struct HolderGuard<'a>(&'a AtomicUsize);

impl<'a> HolderGuard<'a> {
    fn mark(holder: &'a AtomicUsize) -> Self {
        holder.store(thread_id(), Ordering::Relaxed);
        Self(holder)
    }
}

impl Drop for HolderGuard<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

impl Run {
    pub(crate) fn new(
        py: Python<'_>,
        id: RunId,
        state: RunState,
        settings: RunSettings,
        standby_driver: Work,
    ) -> PyResult<Bound<'_, Self>> {
        let run = Self {
            id,
            settings,
            state: Mutex::new(state),
            holder: AtomicUsize::new(0),
            mailbox: Arc::default(),
            calls: CallQueue::default(),
            variables: CallerVariables::here(py)?,
            is_driven: AtomicBool::new(false),
        };
        let run = Bound::new(py, run)?;
        // Weak, because the run owns what holds it.
        let weak = PyWeakrefReference::new(&run)?.unbind();
        run.get().mailbox.standby.belong_to(weak.clone_ref(py), standby_driver);
        run.get().with(|state| {
            state.host.run = Some(weak);
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

    /// Works on the state. Routers, merge rules and what stores values are called
    /// meanwhile: they are turned away, and other threads wait, without the
    /// interpreter.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut RunState) -> PyResult<T>) -> PyResult<T> {
        loop {
            match self.state.try_lock() {
                Ok(mut state) => {
                    let _held = HolderGuard::mark(&self.holder);
                    return work(&mut state);
                }
                Err(TryLockError::WouldBlock)
                    if self.holder.load(Ordering::Relaxed) != thread_id() =>
                {
                    Python::attach(|py| py.detach(|| drop(self.state.lock())));
                }
                Err(_) => return Err(busy()),
            }
        }
    }

    pub(crate) fn begin(&self, py: Python<'_>) -> PyResult<DriveGuard<'_>> {
        if NESTING.get() >= MAX_NESTING {
            let message = format!("runs are nested too deeply, the limit is: {MAX_NESTING}");
            let fault = Fault::new(FaultCode::NestingTooDeep, message)
                .hint("a node probably runs its own graph without end; loop with an edge instead");
            return Err(to_exception(py, &fault));
        }
        if self.is_driven.swap(true, Ordering::AcqRel) {
            return Err(PyRuntimeError::new_err("the run is driven from somewhere else already"));
        }
        NESTING.set(NESTING.get() + 1);
        Ok(DriveGuard(&self.is_driven))
    }

    /// Notes how to stop a task that runs somewhere else.
    pub(crate) fn keep(&self, id: TaskId, handle: TaskHandle) -> PyResult<()> {
        self.with(|state| Ok(state.handles.insert(id, handle))).map(|_| ())
    }

    /// Tells tasks to stop; each stays known until it has answered.
    pub(crate) fn cancel_tasks(
        &self,
        py: Python<'_>,
        stopped: Vec<(TaskId, TaskHandle)>,
    ) -> PyResult<()> {
        for (id, handle) in stopped {
            handle.cancel(py)?;
            self.keep(id, handle)?;
        }
        Ok(())
    }

    /// Emits something of a node to the watchers.
    pub(crate) fn tell(&self, py: Python<'_>, emitted: Emission) {
        self.mailbox.post(py, |mail| mail.emitted.push(emitted));
    }

    /// The user's own exception behind a fault.
    pub(crate) fn kept_error(&self, py: Python<'_>, fault: &Fault) -> Option<PyErr> {
        let kept = self.with(|state| {
            let error = state.host.raised(fault);
            Ok(error.map(|error| PyErr::from_value(error.bind(py).clone().into_any())))
        });
        kept.ok().flatten()
    }

    /// What nodes reach as `Context.context`.
    pub(crate) fn context(&self, py: Python<'_>) -> Py<PyAny> {
        // Nothing of Python runs while it is locked.
        let context = self.settings.context.lock().unwrap_or_else(PoisonError::into_inner);
        context.clone_ref(py)
    }

    /// For the garbage collector.
    ///
    /// # Errors
    /// Its own.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        let RunSettings { config, context, on_enter, nested_streams, .. } = &self.settings;
        visit.call(config)?;
        if let Ok(context) = context.try_lock() {
            visit.call(&*context)?;
        }
        visit.call(on_enter)?;
        nested_streams.traverse(visit)?;
        self.variables.traverse(visit)?;
        let Ok(state) = self.state.try_lock() else { return Ok(()) };
        state.traverse(visit)
    }

    /// Raises what the run failed with, if it did.
    pub(crate) fn raise(&self, py: Python<'_>) -> PyResult<()> {
        let fault = self.with(|state| {
            Ok(match &state.phase {
                RunPhase::Failed(fault) => Some(fault.clone()),
                RunPhase::Running | RunPhase::Paused(_) | RunPhase::Ended(_) => None,
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
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        // Nobody will ever drive it again: what still runs for it is stopped.
        Python::attach(|py| {
            self.mailbox.abandon(py);
            for handle in state.handles.values() {
                let _ = handle.cancel(py);
            }
        });
    }
}
