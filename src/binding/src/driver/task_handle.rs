//! How to stop a task that runs somewhere else.

use pyo3::intern;
use pyo3::prelude::*;

#[derive(Debug)]
pub(crate) enum TaskHandle {
    /// A `NodeCoroutine` in a task of an event loop.
    Coroutine(Py<PyAny>),
    /// A native task.
    Native(tokio::task::AbortHandle),
    /// A call on the pool: it cannot be stopped, only given up.
    Pooled,
}

impl TaskHandle {
    /// Whether the task will answer once it is asked to stop.
    pub(crate) const fn answers_when_cancelled(&self) -> bool {
        matches!(self, Self::Coroutine(_))
    }

    pub(crate) fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        match self {
            Self::Coroutine(coroutine) => {
                coroutine.call_method0(py, intern!(py, "cancel"))?;
            }
            Self::Native(task) => task.abort(),
            Self::Pooled => {}
        }
        Ok(())
    }
}
