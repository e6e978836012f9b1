//! Workers that carry out sub-tasks of a system with tools of Python.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use antiphon_core::Fault;
use antiphon_runtime::{CancellationToken, SystemClock, Tool, UserContext};
use antiphon_systems::sub_task::{SubTaskWorker, WorkerNotice, WorkerSettings, WorkerTally};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::driver::exit_gate;
use crate::driver::native_runtime::NativeRuntime;
use crate::driver::wait::block_on_task;
use crate::fault::to_exception;
use crate::graph::options::Keywords;
use crate::system::native_queue::NativeQueue;
use crate::system::native_system::NativeSystem;
use crate::system::user_context::PyUserContext;

/// A worker of a system. It works once.
#[pyclass(module = "antiphon._antiphon", frozen)]
pub(crate) struct NativeWorker {
    worker: Mutex<Option<SubTaskWorker>>,
    /// The names of the tools by role.
    #[pyo3(get)]
    roles: BTreeMap<String, Vec<String>>,
    stop: CancellationToken,
    give_up: CancellationToken,
}

#[pymethods]
impl NativeWorker {
    /// Carries out what `system` would send over `queue`. Options: `roles` (a list of names),
    /// `concurrency` (of each role), `drain` (seconds) and `user_context`.
    #[new]
    #[pyo3(signature = (system, queue, **options))]
    fn new(
        system: &NativeSystem,
        queue: &NativeQueue,
        options: Option<&Bound<'_, PyDict>>,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let options = Keywords::new(options, &["roles", "concurrency", "drain", "user_context"])?;
        let usual = WorkerSettings::default();
        let settings = WorkerSettings {
            concurrency: options.get::<NonZeroUsize>("concurrency")?.unwrap_or(usual.concurrency),
            drain: options.get::<Duration>("drain")?.unwrap_or(usual.drain),
        };
        let about = options.get("user_context")?.unwrap_or_else(|| py.None());
        let about: UserContext = Arc::new(PyUserContext::new(about));
        let bound = |tool: Arc<dyn Tool>| tool.bind(&about).unwrap_or(tool);
        let tools = system.worker_tools().map(bound);
        let named = options.get::<Vec<String>>("roles")?;
        let give_up = CancellationToken::new();
        let worker =
            SubTaskWorker::new(Arc::clone(&queue.0), settings, Arc::new(SystemClock::new()));
        let worker = worker.given_up_by(give_up.clone()).roles(tools, named.as_deref());
        let worker = worker.map_err(|fault| to_exception(py, &fault))?;
        let roles = worker.tool_names();
        let stop = CancellationToken::new();
        Ok(Self { worker: Mutex::new(Some(worker)), roles, stop, give_up })
    }

    /// Works until it is stopped, and returns how many sub-tasks were `completed`, `failed` and
    /// `dropped`. `watch` is called with a dict for each notice. Ctrl-C stops it and is raised
    /// once it has ended; a second one has it give back what it has begun.
    fn run<'py>(&self, py: Python<'py>, watch: Py<PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        let worker = worker.ok_or_else(|| PyRuntimeError::new_err("the worker has run before"))?;
        let (sender, notices) = unbounded_channel();
        let worker = worker.watched_by(Arc::new(move |notice| {
            // Nobody receives once the worker has ended.
            let _ = sender.send(notice);
        }));
        let working = work(worker, self.stop.clone(), NoticeFeed { notices, watch });
        let mut working = NativeRuntime::for_python(py)?.start(working);
        let mut interrupt = None;
        let ended = loop {
            match block_on_task(py, &mut working) {
                Ok(ended) => break ended,
                Err(error) if working.is_finished() => return Err(error),
                Err(error) => {
                    self.stop(interrupt.is_some());
                    interrupt = Some(error);
                }
            }
        };
        if let Some(interrupt) = interrupt {
            return Err(interrupt);
        }
        let tally = ended.map_err(|fault| to_exception(py, &fault))?;
        let dict = PyDict::new(py);
        dict.set_item("completed", tally.completed)?;
        dict.set_item("failed", tally.failed)?;
        dict.set_item("dropped", tally.dropped)?;
        Ok(dict)
    }

    /// Has it take nothing more; `now`: and give back what it has begun.
    fn stop(&self, now: bool) {
        self.stop.cancel("the worker stops");
        if now {
            self.give_up.cancel("the worker stops");
        }
    }
}

/// Notices for a Python callable.
struct NoticeFeed {
    notices: UnboundedReceiver<WorkerNotice>,
    watch: Py<PyAny>,
}

impl NoticeFeed {
    /// An exception of the callable is reported, and the work goes on.
    fn show(&self, notice: &WorkerNotice) {
        exit_gate::enter_or_park(|py| {
            let shown = pythonize::pythonize(py, notice).map_err(PyErr::from);
            if let Err(error) = shown.and_then(|notice| self.watch.call1(py, (notice,))) {
                error.write_unraisable(py, None);
            }
        });
    }
}

async fn work(
    worker: SubTaskWorker,
    stop: CancellationToken,
    mut feed: NoticeFeed,
) -> Result<WorkerTally, Fault> {
    let mut working = pin!(worker.run(stop));
    let ended = loop {
        tokio::select! {
            biased;
            Some(notice) = feed.notices.recv() => feed.show(&notice),
            ended = &mut working => break ended,
        }
    };
    while let Ok(notice) = feed.notices.try_recv() {
        feed.show(&notice);
    }
    ended
}
