//! The runtime of native work. Its threads belong to the process that started
//! them: in a fork there are none, and a wait for them would never end.

use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};

use antiphon_core::Fault;
use antiphon_runtime::fork_fence::FencedTask;
use antiphon_stores::process::{self, forked};
use pyo3::prelude::*;
use pyo3_async_runtimes::TaskLocals;
use pyo3_async_runtimes::generic::{ContextExt, Runtime};
use pyo3_async_runtimes::tokio::get_runtime;
use tokio::task::{JoinError, JoinHandle};

use crate::driver::exit_gate;
use crate::driver::fork_fence::FENCE;
use crate::fault::to_exception;

/// The process that the runtime belongs to; 0 before it is there.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// The runtime in the process that it belongs to. No fork happens while it polls a task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NativeRuntime(&'static tokio::runtime::Runtime);

impl NativeRuntime {
    /// The runtime, or why this process cannot use it.
    pub(crate) fn here() -> Result<Self, Fault> {
        let own = process::id();
        match OWNER.compare_exchange(0, own, Ordering::AcqRel, Ordering::Acquire) {
            Err(owner) if owner != own => Err(forked(owner)),
            Ok(_) | Err(_) => Ok(Self(get_runtime())),
        }
    }

    /// The same for code that raises.
    pub(crate) fn for_python(py: Python<'_>) -> PyResult<Self> {
        Self::here().map_err(|fault| to_exception(py, &fault))
    }

    /// Starts a task.
    pub(crate) fn start<F>(self, task: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.0.spawn(FencedTask::new(&FENCE, task))
    }
}

impl Runtime for NativeRuntime {
    type JoinError = JoinError;
    type JoinHandle = JoinHandle<()>;

    fn spawn<F>(task: F) -> JoinHandle<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        get_runtime().spawn(FencedTask::new(&FENCE, task))
    }

    fn spawn_blocking<F>(work: F) -> JoinHandle<()>
    where
        F: FnOnce() + Send + 'static,
    {
        // Entered here, so that the work finds itself inside.
        get_runtime().spawn_blocking(|| {
            exit_gate::enter(|_| work());
        })
    }
}

/// No task here asks for the event loop of the one that awaits it.
impl ContextExt for NativeRuntime {
    fn scope<F, R>(_: TaskLocals, task: F) -> Pin<Box<dyn Future<Output = R> + Send>>
    where
        F: Future<Output = R> + Send + 'static,
    {
        Box::pin(task)
    }

    fn get_task_locals() -> Option<TaskLocals> {
        None
    }
}
