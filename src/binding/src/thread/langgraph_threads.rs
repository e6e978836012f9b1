//! Checkpoints of LangGraph in our stores, as Python reaches them.

use std::collections::BTreeSet;
use std::sync::Arc;

use antiphon_stores::langgraph_thread::{
    CheckpointFilter, CheckpointInfo, CheckpointLookup, ThreadCache,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::driver::wait::{awaitable, block_on};
use crate::thread::saver::Saver;
use crate::value::codec::ObjectCodec;

mod client;
mod mutation;
mod value_format;

use client::{CallerClock, KnownList, LangGraphClient, ThreadObjects};
use mutation::{Checkpoint, ThreadMutation, Writes};
use value_format::ValueFormat;

/// The threads of LangGraph have names of their own in a store.
const PREFIX: &str = "langgraph:";

type Cache = ThreadCache<LangGraphClient>;

/// Checkpoints that LangGraph makes, in the threads of a saver's store. Each method has a
/// twin that is awaited.
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
        let format = ValueFormat::new(ObjectCodec::new(registry.unbind()), serde);
        let client = LangGraphClient { saver, format };
        Ok(Self(Arc::new(Cache::new(client, Arc::new(CallerClock::default())))))
    }

    /// Keeps a checkpoint.
    ///
    /// Args:
    ///     thread: the thread's id.
    ///     place: its namespace, its id and that of its parent.
    ///     head: the checkpoint without its values, and its metadata.
    ///     values: its values by name.
    ///     new: the names of those that are not the parent's.
    ///     about: the id of its run and the number of its superstep.
    fn put(
        &self,
        py: Python<'_>,
        thread: &str,
        place: (String, String, Option<String>),
        contents: CheckpointContents,
    ) -> PyResult<()> {
        self.apply(py, thread, ThreadMutation::Put(contents.at(place)))
    }

    /// `put`, awaited. What is to be kept has been read when this returns.
    fn aput<'py>(
        &self,
        py: Python<'py>,
        thread: &str,
        place: (String, String, Option<String>),
        contents: CheckpointContents,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.aapply(py, thread, ThreadMutation::Put(contents.at(place)))
    }

    /// Keeps what a task wrote at a checkpoint.
    ///
    /// Args:
    ///     thread: the thread's id.
    ///     place: the checkpoint's namespace and id, the task's id and path.
    ///     writes: place, channel and value of each write.
    fn put_writes(
        &self,
        py: Python<'_>,
        thread: &str,
        place: (String, String, String, String),
        writes: Vec<(i64, String, Py<PyAny>)>,
    ) -> PyResult<()> {
        self.apply(py, thread, ThreadMutation::Write(Writes::at(place, writes)))
    }

    /// `put_writes`, awaited.
    fn aput_writes<'py>(
        &self,
        py: Python<'py>,
        thread: &str,
        place: (String, String, String, String),
        writes: Vec<(i64, String, Py<PyAny>)>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.aapply(py, thread, ThreadMutation::Write(Writes::at(place, writes)))
    }

    /// The checkpoint of a namespace and an id, or the last one of its namespace if no id is
    /// given: its id, that of its parent, its head, values and writes (task, channel, value).
    /// None if there is none, or if `wanted` does not want what its metadata says.
    #[pyo3(signature = (thread, place, wanted=None))]
    fn get(
        &self,
        py: Python<'_>,
        thread: &str,
        place: (String, Option<String>),
        wanted: Option<Py<PyAny>>,
    ) -> PyResult<Option<Py<PyTuple>>> {
        block_on(py, find(Arc::clone(&self.0), named(thread), place, wanted))?
    }

    /// `get`, awaited.
    #[pyo3(signature = (thread, place, wanted=None))]
    fn aget<'py>(
        &self,
        py: Python<'py>,
        thread: &str,
        place: (String, Option<String>),
        wanted: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaitable(py, find(Arc::clone(&self.0), named(thread), place, wanted))
    }

    /// Namespace, id, parent's id and run's id of all checkpoints of a thread, in the order
    /// of namespaces and ids.
    fn marks(&self, py: Python<'_>, thread: &str) -> PyResult<Vec<CheckpointInfo>> {
        block_on(py, self.0.checkpoints(&named(thread)))?
    }

    /// `marks`, awaited.
    fn amarks<'py>(&self, py: Python<'py>, thread: &str) -> PyResult<Bound<'py, PyAny>> {
        let (cache, thread) = (Arc::clone(&self.0), named(thread));
        awaitable(py, async move { cache.checkpoints(&thread).await })
    }

    /// Namespaces and ids of a thread's checkpoints, newest first.
    ///
    /// Args:
    ///     thread: the thread's id.
    ///     chosen: a namespace, an id, and an id that they are older than, or None for each.
    ///     page: the last of those that were told before, or None, and how many at most.
    fn places(
        &self,
        py: Python<'_>,
        thread: &str,
        chosen: Chosen,
        page: Page,
    ) -> PyResult<Vec<(String, String)>> {
        block_on(py, list(Arc::clone(&self.0), named(thread), chosen, page))?
    }

    /// `places`, awaited.
    fn aplaces<'py>(
        &self,
        py: Python<'py>,
        thread: &str,
        chosen: Chosen,
        page: Page,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaitable(py, list(Arc::clone(&self.0), named(thread), chosen, page))
    }

    /// The ids of all threads and when each was written to, in microseconds since 1970; the
    /// latest first.
    fn threads(&self, py: Python<'_>) -> PyResult<Vec<(String, u64)>> {
        block_on(py, threads(Arc::clone(&self.0)))?
    }

    /// `threads`, awaited.
    fn athreads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        awaitable(py, threads(Arc::clone(&self.0)))
    }

    /// Removes the checkpoints with these namespaces and ids from a thread, and the thread if
    /// it has no others.
    fn remove(
        &self,
        py: Python<'_>,
        thread: &str,
        keys: BTreeSet<(String, String)>,
    ) -> PyResult<()> {
        block_on(py, self.0.remove(&named(thread), &keys))?
    }

    /// `remove`, awaited.
    fn aremove<'py>(
        &self,
        py: Python<'py>,
        thread: &str,
        keys: BTreeSet<(String, String)>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (cache, thread) = (Arc::clone(&self.0), named(thread));
        awaitable(py, async move { cache.remove(&thread, &keys).await })
    }

    /// Adds all checkpoints of a thread to another one.
    fn copy(&self, py: Python<'_>, source: &str, target: &str) -> PyResult<()> {
        block_on(py, self.0.copy(&named(source), &named(target)))?
    }

    /// `copy`, awaited.
    fn acopy<'py>(
        &self,
        py: Python<'py>,
        source: &str,
        target: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (cache, source, target) = (Arc::clone(&self.0), named(source), named(target));
        awaitable(py, async move { cache.copy(&source, &target).await })
    }

    /// Removes a thread.
    fn delete(&self, py: Python<'_>, thread: &str) -> PyResult<()> {
        block_on(py, self.0.delete(&named(thread)))?
    }

    /// `delete`, awaited.
    fn adelete<'py>(&self, py: Python<'py>, thread: &str) -> PyResult<Bound<'py, PyAny>> {
        let (cache, thread) = (Arc::clone(&self.0), named(thread));
        awaitable(py, async move { cache.delete(&thread).await })
    }

    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        let LangGraphClient { saver, format } = self.0.client();
        visit.call(saver)?;
        format.traverse(&visit)?;
        self.0.visit_extras(|objects| objects.traverse(&visit))
    }
}

impl LangGraphThreads {
    fn apply(&self, py: Python<'_>, thread: &str, mutation: ThreadMutation) -> PyResult<()> {
        let thread = named(thread);
        let pending = self.0.try_apply(&thread, &mutation)?;
        block_on(py, self.0.apply(&thread, &mutation, pending))?
    }

    fn aapply<'py>(
        &self,
        py: Python<'py>,
        thread: &str,
        mutation: ThreadMutation,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (cache, thread) = (Arc::clone(&self.0), named(thread));
        let pending = cache.try_apply(&thread, &mutation)?;
        awaitable(py, async move { cache.apply(&thread, &mutation, pending).await })
    }
}

/// Namespace, id, and the id that others are older than.
type Chosen = (Option<String>, Option<String>, Option<String>);

/// The namespace and the id that a page comes after, and its length.
type Page = (Option<(String, String)>, usize);

/// What is in a checkpoint.
#[derive(Debug, FromPyObject)]
struct CheckpointContents(Py<PyTuple>, Py<PyDict>, BTreeSet<String>, (Option<String>, u64));

impl CheckpointContents {
    fn at(self, (space, id, parent): (String, String, Option<String>)) -> Checkpoint {
        let Self(head, values, new, (run, step)) = self;
        Checkpoint { space, id, parent, run, step, head: head.into_any(), values, new }
    }
}

impl Writes {
    fn at(
        (space, id, task, path): (String, String, String, String),
        writes: Vec<(i64, String, Py<PyAny>)>,
    ) -> Self {
        Self { space, id, task, path, all: writes }
    }
}

async fn list(
    cache: Arc<Cache>,
    thread: String,
    (space, id, before): Chosen,
    (after, limit): Page,
) -> PyResult<Vec<(String, String)>> {
    let filter = CheckpointFilter { space, id, before };
    cache.page(&thread, &filter, (after.as_ref(), limit)).await
}

async fn threads(cache: Arc<Cache>) -> PyResult<Vec<(String, u64)>> {
    let found = cache.threads(PREFIX).await?.into_iter();
    Ok(found.map(|(name, at)| (name, at.as_micros())).collect())
}

async fn find(
    cache: Arc<Cache>,
    thread: String,
    (space, id): (String, Option<String>),
    wanted: Option<Py<PyAny>>,
) -> PyResult<Option<Py<PyTuple>>> {
    let format = &cache.client().format;
    let is_wanted = |head: &[u8]| {
        let Some(wanted) = &wanted else { return Ok(true) };
        Python::attach(|py| {
            let metadata = format.decode_head(py, head)?.get_item(1)?;
            wanted.bind(py).call1((metadata,))?.is_truthy()
        })
    };
    let Some(found) = cache.find(&thread, (&space, id.as_deref()), is_wanted).await? else {
        return Ok(None);
    };
    Python::attach(|py| {
        let (tuple, lists) = decoded(py, format, &found)?;
        cache.update_extra(&found, |objects| {
            let known = lists.into_iter().map(|(name, list)| ((space.clone(), name), list));
            objects.lists.extend(known);
        });
        Ok(Some(tuple.unbind()))
    })
}

type NamedLists = Vec<(String, KnownList)>;

/// A checkpoint as Python reads it, and its lists by name.
fn decoded<'py>(
    py: Python<'py>,
    format: &ValueFormat,
    found: &CheckpointLookup<ThreadObjects>,
) -> PyResult<(Bound<'py, PyTuple>, NamedLists)> {
    let checkpoint = &found.checkpoint;
    let head = format.decode_head(py, &checkpoint.head)?;
    let (values, mut lists) = (PyDict::new(py), Vec::new());
    for value in &checkpoint.values {
        let (object, items) = format.decode(py, &value.bytes)?;
        values.set_item(&value.name, object)?;
        let known = items.map(|items| KnownList { stamp: value.stamp, items });
        lists.extend(known.map(|known| (value.name.clone(), known)));
    }
    let writes = PyList::empty(py);
    for write in &checkpoint.writes {
        let (value, _) = format.decode(py, &write.value)?;
        writes.append((&write.task, &write.channel, value))?;
    }
    let parent = checkpoint.parent.as_deref();
    Ok(((&found.id, parent, head, values, writes).into_pyobject(py)?, lists))
}

fn named(thread: &str) -> String {
    format!("{PREFIX}{thread}")
}
