//! Where a run is kept: a thread of a store.

use std::sync::Arc;

use antiphon_core::Fault;
use antiphon_core::graph::Graph;
use antiphon_core::value::Value;
use antiphon_runtime::ThreadRef as ThreadPort;
use antiphon_stores::{Durability, SealedStore, StoredThread, ThreadAdmin, ValueCodec};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::driver::wait::{awaitable_result, block_on_result};
use crate::thread::admin;
use crate::thread::arguments::ThreadName;
use crate::thread::saver::Saver;
use crate::value::codec::ObjectCodec;

/// A thread of a store, and how a run is kept there.
///
/// Args:
///     saver: the store.
///     thread: the thread's name.
///     registry: the types of stored values; by default those registered for all.
///     checkpoint: where to begin in the thread; at its end by default.
///     durability: `sync`, `async` or `exit`; `async` by default.
///     `as_node`: the node in whose name the input is written; nothing runs then.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct ThreadRef {
    saver: Py<Saver>,
    #[pyo3(get)]
    pub(crate) thread: String,
    registry: Option<Py<PyAny>>,
    pub(crate) checkpoint: Option<u64>,
    pub(crate) durability: Durability,
    pub(crate) as_node: Option<String>,
}

#[pymethods]
impl ThreadRef {
    #[new]
    #[pyo3(signature = (saver, thread, *, registry=None, checkpoint=None, durability=None, as_node=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword options")]
    fn new(
        saver: Py<Saver>,
        thread: String,
        registry: Option<Py<PyAny>>,
        checkpoint: Option<u64>,
        durability: Option<&str>,
        as_node: Option<String>,
    ) -> PyResult<Self> {
        let durability = read(durability)?;
        Ok(Self { saver, thread, registry, checkpoint, durability, as_node })
    }

    /// Makes the thread `to` out of the way to the checkpoint, or out of all that the thread
    /// holds. A run that continues there is called `run_id`.
    #[pyo3(signature = (to: "str", run_id: "str"))]
    fn fork(&self, py: Python<'_>, to: ThreadName, run_id: String) -> PyResult<()> {
        block_on_result(py, self.copy_to(py, to, run_id)?)
    }

    /// `fork` on the caller's event loop.
    #[pyo3(signature = (to: "str", run_id: "str"))]
    fn afork<'py>(
        &self,
        py: Python<'py>,
        to: ThreadName,
        run_id: String,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaitable_result(py, self.copy_to(py, to, run_id)?, |_, ()| Ok(()))
    }

    /// Fails with `thread_busy` while a run writes to the thread.
    fn check_idle(&self, py: Python<'_>) -> PyResult<()> {
        let (admin, thread) = (self.admin(py)?, self.thread.clone());
        block_on_result(py, async move { admin.check_idle(&thread).await })
    }

    /// `check_idle` on the caller's event loop.
    fn acheck_idle<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (admin, thread) = (self.admin(py)?, self.thread.clone());
        awaitable_result(py, async move { admin.check_idle(&thread).await }, |_, ()| Ok(()))
    }

    fn __repr__(&self) -> String {
        format!("ThreadRef({:?})", self.thread)
    }

    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        visit.call(&self.registry)
    }
}

impl ThreadRef {
    /// The store.
    pub(crate) fn sealed_store(&self, py: Python<'_>) -> PyResult<SealedStore> {
        self.saver.get().sealed_store(py)
    }

    /// The thread for a native system, whose values are JSON.
    pub(crate) fn stored_thread(&self, py: Python<'_>) -> PyResult<Arc<dyn ThreadPort>> {
        let thread = StoredThread::new(self.sealed_store(py)?, &*self.thread, self.durability);
        Ok(Arc::new(thread.at_checkpoint(self.checkpoint)))
    }

    /// An administrator of the threads of the store.
    pub(crate) fn admin(&self, py: Python<'_>) -> PyResult<ThreadAdmin> {
        self.sealed_store(py).map(admin::open)
    }

    /// The threads of the store whose last run was one of `graph` and was lost.
    pub(crate) fn orphans<V: Value + Send + Sync + 'static>(
        &self,
        py: Python<'_>,
        graph: &Arc<Graph<V>>,
        values: impl ValueCodec<V> + 'static,
    ) -> PyResult<impl Future<Output = Result<Vec<String>, Fault>> + Send + 'static> {
        let (admin, graph) = (self.admin(py)?, Arc::clone(graph));
        Ok(async move { admin.orphans(&graph, &values).await })
    }

    fn copy_to(
        &self,
        py: Python<'_>,
        to: ThreadName,
        run_id: String,
    ) -> PyResult<impl Future<Output = Result<(), Fault>> + Send + 'static> {
        let names = (self.thread.clone(), to);
        Ok(admin::copy(self.admin(py)?, names, self.checkpoint, Some(run_id)))
    }

    /// How values are stored.
    pub(crate) fn values(&self, py: Python<'_>) -> PyResult<ObjectCodec> {
        let registry = match &self.registry {
            Some(registry) => registry.clone_ref(py),
            None => py.import("antiphon._serialization.registry")?.getattr("GLOBAL")?.unbind(),
        };
        if !self.saver.get().pickles() {
            return Ok(ObjectCodec::new(registry));
        }
        Ok(ObjectCodec::new(registry.bind(py).call_method0("pickling")?.unbind()))
    }
}

fn read(durability: Option<&str>) -> PyResult<Durability> {
    match durability {
        None | Some("async") => Ok(Durability::Async),
        Some("sync") => Ok(Durability::Sync),
        Some("exit") => Ok(Durability::Exit),
        Some(other) => {
            Err(PyValueError::new_err(format!("`durability` must be sync, async or exit: {other}")))
        }
    }
}
