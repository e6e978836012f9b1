//! Checkpoints of LangGraph in our stores, as Python reaches them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use antiphon_core::Time;
use antiphon_stores::langgraph_thread::{CheckpointKeys, copied, remove_checkpoints};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::driver::wait::{awaitable, block_on};
use crate::thread::saver::Saver;
use crate::value::codec::ObjectCodec;

mod deed;
mod desk;
mod form;
mod look;
mod slot;

use deed::{Checkpoint, Mutation, Writes};
use desk::{Desk, raised};
use form::Form;
use look::Wanted;

/// The threads of LangGraph have names of their own in a store.
const PREFIX: &str = "langgraph:";

/// Checkpoints that LangGraph makes, in the threads of a saver's store. Each method has a
/// twin that is awaited.
///
/// Args:
///     saver: where they are kept.
///     registry: the types of values beyond Python's own plain ones.
///     serde: a serializer of LangGraph's, to be used for values instead.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct Shelves(Arc<Desk>);

#[pymethods]
impl Shelves {
    #[new]
    #[pyo3(signature = (saver, registry, serde=None))]
    fn new(
        saver: Py<Saver>,
        registry: &Bound<'_, PyAny>,
        serde: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let pickles = saver.get().pickles();
        let registry = if pickles { registry.call_method0("pickling")? } else { registry.clone() };
        let form = Form::new(ObjectCodec::new(registry.unbind()), serde);
        Ok(Self(Arc::new(Desk::new(saver, form))))
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
        contents: Contents,
    ) -> PyResult<()> {
        self.done(py, thread, Mutation::Put(contents.at(place)))
    }

    /// `put`, awaited. What is to be kept has been read when this returns.
    fn aput<'py>(
        &self,
        py: Python<'py>,
        thread: &str,
        place: (String, String, Option<String>),
        contents: Contents,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.under_way(py, thread, Mutation::Put(contents.at(place)))
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
        self.done(py, thread, Mutation::Write(Writes::at(place, writes)))
    }

    /// `put_writes`, awaited.
    fn aput_writes<'py>(
        &self,
        py: Python<'py>,
        thread: &str,
        place: (String, String, String, String),
        writes: Vec<(i64, String, Py<PyAny>)>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.under_way(py, thread, Mutation::Write(Writes::at(place, writes)))
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
        let (space, id) = place;
        let wanted = Wanted { thread: named(thread), space, id, filter: wanted };
        block_on(py, Arc::clone(&self.0).look(wanted))?
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
        let (space, id) = place;
        let wanted = Wanted { thread: named(thread), space, id, filter: wanted };
        awaitable(py, Arc::clone(&self.0).look(wanted))
    }

    /// Namespace, id, parent's id and run's id of all checkpoints of a thread, in the order
    /// of namespaces and ids.
    fn marks(&self, py: Python<'_>, thread: &str) -> PyResult<Vec<Marked>> {
        block_on(py, Arc::clone(&self.0).marks(named(thread)))?
    }

    /// `marks`, awaited.
    fn amarks<'py>(&self, py: Python<'py>, thread: &str) -> PyResult<Bound<'py, PyAny>> {
        awaitable(py, Arc::clone(&self.0).marks(named(thread)))
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
        block_on(py, Arc::clone(&self.0).places(named(thread), chosen, page))?
    }

    /// `places`, awaited.
    fn aplaces<'py>(
        &self,
        py: Python<'py>,
        thread: &str,
        chosen: Chosen,
        page: Page,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaitable(py, Arc::clone(&self.0).places(named(thread), chosen, page))
    }

    /// The ids of all threads and when each was written to, in microseconds since 1970; the
    /// latest first.
    fn threads(&self, py: Python<'_>) -> PyResult<Vec<(String, u64)>> {
        block_on(py, Arc::clone(&self.0).threads())?
    }

    /// `threads`, awaited.
    fn athreads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        awaitable(py, Arc::clone(&self.0).threads())
    }

    /// Removes the checkpoints with these namespaces and ids from a thread, and the thread if
    /// it has no others.
    fn remove(
        &self,
        py: Python<'_>,
        thread: &str,
        keys: BTreeSet<(String, String)>,
    ) -> PyResult<()> {
        block_on(py, remove(Arc::clone(&self.0), named(thread), Arc::new(keys)))?
    }

    /// `remove`, awaited.
    fn aremove<'py>(
        &self,
        py: Python<'py>,
        thread: &str,
        keys: BTreeSet<(String, String)>,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaitable(py, remove(Arc::clone(&self.0), named(thread), Arc::new(keys)))
    }

    /// Adds all checkpoints of a thread to another one.
    fn copy(&self, py: Python<'_>, source: &str, target: &str) -> PyResult<()> {
        block_on(py, copy(Arc::clone(&self.0), named(source), named(target)))?
    }

    /// `copy`, awaited.
    fn acopy<'py>(
        &self,
        py: Python<'py>,
        source: &str,
        target: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaitable(py, copy(Arc::clone(&self.0), named(source), named(target)))
    }

    /// Removes a thread.
    fn delete(&self, py: Python<'_>, thread: &str) -> PyResult<()> {
        block_on(py, delete(Arc::clone(&self.0), named(thread)))?
    }

    /// `delete`, awaited.
    fn adelete<'py>(&self, py: Python<'py>, thread: &str) -> PyResult<Bound<'py, PyAny>> {
        awaitable(py, delete(Arc::clone(&self.0), named(thread)))
    }

    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        self.0.traverse(&visit)
    }
}

impl Shelves {
    fn done(&self, py: Python<'_>, thread: &str, deed: Mutation) -> PyResult<()> {
        let thread = named(thread);
        let sent = self.0.attempt(&thread, &deed, None)?;
        block_on(py, Arc::clone(&self.0).work(thread, deed, sent))?
    }

    fn under_way<'py>(
        &self,
        py: Python<'py>,
        thread: &str,
        deed: Mutation,
    ) -> PyResult<Bound<'py, PyAny>> {
        let thread = named(thread);
        let sent = self.0.attempt(&thread, &deed, None)?;
        awaitable(py, Arc::clone(&self.0).work(thread, deed, sent))
    }
}

/// Namespace, id, and the id that others are older than.
type Chosen = (Option<String>, Option<String>, Option<String>);

/// The namespace and the id that a page comes after, and its length.
type Page = (Option<(String, String)>, usize);

/// Namespace, id, parent and run of a checkpoint.
type Marked = (String, String, Option<String>, Option<String>);

/// What is in a checkpoint.
#[derive(Debug, FromPyObject)]
struct Contents(Py<PyTuple>, Py<PyDict>, BTreeSet<String>, (Option<String>, u64));

impl Contents {
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

async fn remove(desk: Arc<Desk>, thread: String, gone: Arc<CheckpointKeys>) -> PyResult<()> {
    let is_empty = Arc::new(AtomicBool::new(false));
    let changed = desk.replace(&thread, |sealed_store, mut langgraph_thread| {
        let (gone, is_empty) = (Arc::clone(&gone), Arc::clone(&is_empty));
        async move {
            let first = remove_checkpoints(&sealed_store, &mut langgraph_thread, &gone).await?;
            is_empty.store(langgraph_thread.marks().next().is_none(), Ordering::Relaxed);
            Ok((langgraph_thread, first))
        }
    });
    changed.await?;
    if is_empty.load(Ordering::Relaxed) { desk.delete_empty(&thread).await } else { Ok(()) }
}

async fn copy(desk: Arc<Desk>, source: String, target: String) -> PyResult<()> {
    let changed = desk.replace(&target, |sealed_store, langgraph_thread| {
        let source = source.clone();
        async move { Ok((copied(&sealed_store, &source, langgraph_thread).await?, None)) }
    });
    changed.await
}

async fn delete(desk: Arc<Desk>, thread: String) -> PyResult<()> {
    desk.delete(&thread).await
}

impl Desk {
    async fn marks(self: Arc<Self>, thread: String) -> PyResult<Vec<Marked>> {
        let slot =
            self.fresh(&self.sealed_store()?, &thread).await.map_err(|fault| raised(&fault))?;
        Ok(Python::attach(|py| {
            let slot = desk::held(py, &slot);
            let marks =
                slot.langgraph_thread.iter().flat_map(antiphon_stores::LangGraphThread::marks);
            let told = marks.map(|(space, id, mark)| {
                (space.to_owned(), id.to_owned(), mark.parent.clone(), mark.run.clone())
            });
            told.collect()
        }))
    }

    async fn places(
        self: Arc<Self>,
        thread: String,
        (space, id, before): Chosen,
        (after, limit): Page,
    ) -> PyResult<Vec<(String, String)>> {
        let slot =
            self.fresh(&self.sealed_store()?, &thread).await.map_err(|fault| raised(&fault))?;
        let is_chosen = |(id_here, space_here): &(&str, &str)| {
            space.as_ref().is_none_or(|space| space == space_here)
                && id.as_ref().is_none_or(|id| id == id_here)
                && before.as_ref().is_none_or(|before| *id_here < before.as_str())
                && after.as_ref().is_none_or(|(space, id)| {
                    (*id_here, *space_here) < (id.as_str(), space.as_str())
                })
        };
        Ok(Python::attach(|py| {
            let slot = desk::held(py, &slot);
            let marks =
                slot.langgraph_thread.iter().flat_map(antiphon_stores::LangGraphThread::marks);
            let found = marks.map(|(space, id, _)| (id, space)).filter(is_chosen);
            let mut found: Vec<_> = found.collect();
            found.sort_unstable_by(|one, other| other.cmp(one));
            let found = found.into_iter().take(limit);
            found.map(|(id, space)| (space.to_owned(), id.to_owned())).collect()
        }))
    }

    async fn threads(self: Arc<Self>) -> PyResult<Vec<(String, u64)>> {
        let sealed_store = self.sealed_store()?;
        let found = sealed_store.store().recent(PREFIX).await.map_err(|fault| raised(&fault))?;
        let ours = |(name, at): (String, Time)| {
            name.strip_prefix(PREFIX).map(|name| (name.to_owned(), at.as_micros()))
        };
        Ok(found.into_iter().filter_map(ours).collect())
    }
}

fn named(thread: &str) -> String {
    format!("{PREFIX}{thread}")
}
