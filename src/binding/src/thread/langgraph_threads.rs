//! Checkpoints of LangGraph in our stores, as Python reaches them.

use std::collections::BTreeSet;
use std::sync::Arc;

use antiphon_stores::langgraph_thread::{
    CheckpointFilter, FoundCheckpoint, Mutation, PutCheckpoint, PutWrites, ThreadCache,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::thread::pending_result::PendingResult;
use crate::thread::saver::Saver;
use crate::value::codec::ObjectCodec;
use crate::value::object::Object;

mod client;

use client::{CallerClock, LangGraphClient};

/// Separates the names of LangGraph's threads from others in a store.
const PREFIX: &str = "langgraph:";

type Cache = ThreadCache<LangGraphClient>;

/// Checkpoints that LangGraph makes, in the threads of a saver's store. Each method returns a
/// `PendingResult`.
///
/// Args:
///     saver: where they are kept.
///     registry: the types of values beyond Python's own plain ones.
///     serde: a serializer of LangGraph's, to be used for values instead.
#[pyclass(module = "antiphon._antiphon", frozen)]
pub(crate) struct LangGraphThreads(Arc<Cache>);

#[pymethods]
impl LangGraphThreads {
    #[new]
    #[pyo3(signature = (saver, registry, serde=None))]
    fn new(
        saver: Py<Saver>,
        registry: &Bound<'_, PyAny>,
        serde: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let pickles = saver.get().pickles();
        let registry = if pickles { registry.call_method0("pickling")? } else { registry.clone() };
        let codec = ObjectCodec::new(registry.unbind());
        let client = LangGraphClient { saver, codec, serde };
        Ok(Self(Arc::new(Cache::new(client, Arc::new(CallerClock::default())))))
    }

    /// Stores a checkpoint.
    ///
    /// Args:
    ///     thread: the thread's id.
    ///     keys: its namespace, its id and that of its parent.
    ///     head: the checkpoint without its values, and its metadata.
    ///     values: its values by channel, and the channels whose values are not the parent's.
    ///     origin: the id of its run and the number of its superstep.
    #[expect(clippy::too_many_arguments, reason = "each is one thing of LangGraph's `put`")]
    fn put(
        &self,
        thread: &str,
        keys: (String, String, Option<String>),
        head: &Bound<'_, PyTuple>,
        values: (Bound<'_, PyDict>, BTreeSet<String>),
        origin: (Option<String>, u64),
    ) -> PyResult<PendingResult> {
        let ((namespace, id, parent), (values, changed), (run, step)) = (keys, values, origin);
        let head = self.0.client().encode_head(Object::of(head.as_any()))?;
        let value = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Ok((name.extract()?, Object(value.unbind())))
        };
        let values = values.iter().map(value).collect::<PyResult<_>>()?;
        let checkpoint = PutCheckpoint { namespace, id, parent, run, step, head, values, changed };
        self.apply(thread, Mutation::Put(checkpoint))
    }

    /// Stores what a task wrote at a checkpoint.
    ///
    /// Args:
    ///     thread: the thread's id.
    ///     keys: the checkpoint's namespace and id, the task's id and path.
    ///     writes: index, channel and value of each write.
    fn put_writes(
        &self,
        thread: &str,
        keys: (String, String, String, String),
        writes: Vec<(i64, String, Py<PyAny>)>,
    ) -> PyResult<PendingResult> {
        let (namespace, id, task, path) = keys;
        let object = |(index, channel, value)| (index, channel, Object(value));
        let writes = writes.into_iter().map(object).collect();
        self.apply(thread, Mutation::PutWrites(PutWrites { namespace, id, task, path, writes }))
    }

    /// The checkpoint of a namespace and an id, or the last one of its namespace if no id is
    /// given: its id, that of its parent, its head, values and writes (task, channel, value).
    /// None if there is none, or if `is_wanted` returns false for its metadata.
    #[pyo3(signature = (thread, key, is_wanted=None))]
    fn get(
        &self,
        thread: &str,
        key: (String, Option<String>),
        is_wanted: Option<Py<PyAny>>,
    ) -> PendingResult {
        PendingResult::new(find(Arc::clone(&self.0), named(thread), key, is_wanted))
    }

    /// Namespace, id, parent's id and run's id of all checkpoints of a thread, in the order
    /// of namespaces and ids.
    fn checkpoints(&self, thread: &str) -> PendingResult {
        let (cache, thread) = (Arc::clone(&self.0), named(thread));
        PendingResult::new(async move { cache.checkpoints(&thread).await })
    }

    /// Namespaces and ids of a thread's checkpoints, newest first.
    ///
    /// Args:
    ///     thread: the thread's id.
    ///     filter: a namespace, an id, and an id that they are older than, or None for each.
    ///     page: the last of the page before, or None, and how many at most.
    fn page(
        &self,
        thread: &str,
        filter: (Option<String>, Option<String>, Option<String>),
        page: (Option<(String, String)>, usize),
    ) -> PendingResult {
        let (cache, thread) = (Arc::clone(&self.0), named(thread));
        let ((space, id, before), (after, limit)) = (filter, page);
        let filter = CheckpointFilter { space, id, before };
        PendingResult::new(
            async move { cache.page(&thread, &filter, (after.as_ref(), limit)).await },
        )
    }

    /// The ids of all threads and when each was written to, in microseconds since 1970; the
    /// latest first.
    fn threads(&self) -> PendingResult {
        let cache = Arc::clone(&self.0);
        PendingResult::new(async move {
            let found = cache.threads(PREFIX).await?.into_iter();
            Ok(found.map(|(name, at)| (name, at.as_micros())).collect::<Vec<_>>())
        })
    }

    /// Removes the checkpoints with these namespaces and ids from a thread, and the thread if
    /// it has no others.
    fn remove(&self, thread: &str, keys: BTreeSet<(String, String)>) -> PendingResult {
        let (cache, thread) = (Arc::clone(&self.0), named(thread));
        PendingResult::new(async move { cache.remove(&thread, &keys).await })
    }

    /// Adds all checkpoints of a thread to another one.
    fn copy(&self, source: &str, target: &str) -> PendingResult {
        let (cache, source, target) = (Arc::clone(&self.0), named(source), named(target));
        PendingResult::new(async move { cache.copy(&source, &target).await })
    }

    /// Removes a thread.
    fn delete(&self, thread: &str) -> PendingResult {
        let (cache, thread) = (Arc::clone(&self.0), named(thread));
        PendingResult::new(async move { cache.delete(&thread).await })
    }

    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        let LangGraphClient { saver, codec, serde } = self.0.client();
        visit.call(saver)?;
        visit.call(codec.registry())?;
        visit.call(serde)?;
        self.0.visit_values(|value| visit.call(&value.0))
    }
}

impl LangGraphThreads {
    /// Of a thread that is in memory, the change is read and on its way when this returns.
    fn apply(&self, thread: &str, mutation: Mutation<Object>) -> PyResult<PendingResult> {
        let (cache, thread) = (Arc::clone(&self.0), named(thread));
        let pending = cache.try_apply(&thread, &mutation)?;
        Ok(PendingResult::new(async move { cache.apply(&thread, &mutation, pending).await }))
    }
}

async fn find(
    cache: Arc<Cache>,
    thread: String,
    (namespace, id): (String, Option<String>),
    is_wanted: Option<Py<PyAny>>,
) -> PyResult<Option<Py<PyTuple>>> {
    let client = cache.client();
    let has_wanted_head = |head: &[u8]| {
        let Some(is_wanted) = &is_wanted else { return Ok(true) };
        Python::attach(|py| {
            let metadata = client.decode_head(py, head)?.get_item(1)?;
            is_wanted.bind(py).call1((metadata,))?.is_truthy()
        })
    };
    let found = cache.find(&thread, (&namespace, id.as_deref()), has_wanted_head).await?;
    let Some(found) = found else { return Ok(None) };
    Python::attach(|py| as_py_tuple(py, client, found).map(|tuple| Some(tuple.unbind())))
}

fn as_py_tuple<'py>(
    py: Python<'py>,
    client: &LangGraphClient,
    found: FoundCheckpoint<Object>,
) -> PyResult<Bound<'py, PyTuple>> {
    let head = client.decode_head(py, &found.head)?;
    let values = PyDict::new(py);
    for (name, value) in found.values {
        values.set_item(name, value.0)?;
    }
    let writes = found.writes.into_iter();
    let writes = PyList::new(py, writes.map(|(task, channel, value)| (task, channel, value.0)))?;
    (found.id, found.parent, head, values, writes).into_pyobject(py)
}

fn named(thread: &str) -> String {
    format!("{PREFIX}{thread}")
}
