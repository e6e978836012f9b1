//! From a thread to a checkpoint as LangGraph knows it.

use std::sync::Arc;

use antiphon_core::Fault;
use antiphon_stores::SealedStore;
use antiphon_stores::codec::corrupt;
use antiphon_stores::langgraph_thread::{CheckpointMark, FullCheckpoint, LangGraphThread};
use antiphon_stores::retry_torn_read;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::desk::{Desk, Shared, held, raised};
use super::form::Items;
use super::slot::Known;

/// Which checkpoint somebody wants to see.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) thread: String,
    pub(super) space: String,
    pub(super) id: Option<String>,
    /// Whether metadata are of interest.
    pub(super) filter: Option<Py<PyAny>>,
}

/// A list of a value that was read.
type Read = (String, u64, Items);

/// A checkpoint that was found.
struct Seen {
    slot: Shared,
    id: String,
    picture: FullCheckpoint,
}

enum Found {
    Nothing,
    /// It is at hand.
    Here(FullCheckpoint),
    /// It is before the last snapshot.
    There(CheckpointMark),
}

impl Desk {
    /// A checkpoint, unless there is none or nobody wants it.
    pub(super) async fn look(self: Arc<Self>, wanted: Wanted) -> PyResult<Option<Py<PyTuple>>> {
        let sealed_store = self.sealed_store()?;
        // What was found may be rewritten before it is read.
        let seen = retry_torn_read(&**sealed_store.store(), &wanted.thread, || {
            self.see(&sealed_store, &wanted)
        })
        .await;
        let Some(Seen { slot, id, picture }) = seen.map_err(|fault| raised(&fault))?? else {
            return Ok(None);
        };
        Python::attach(|py| {
            let (told, lists) = self.told(py, &id, &picture)?;
            let (space, mut slot) = (wanted.space, held(py, &slot));
            let langgraph_thread = slot.langgraph_thread.as_ref();
            if langgraph_thread.and_then(|langgraph_thread| langgraph_thread.last(&space))
                == Some(&*id)
            {
                for (name, stamp, items) in lists {
                    slot.lists.insert((space.clone(), name), Known { stamp, items });
                }
            }
            Ok(Some(told.unbind()))
        })
    }

    /// Whatever Python says while it looks is not for the store to judge.
    async fn see(
        &self,
        sealed_store: &SealedStore,
        wanted: &Wanted,
    ) -> Result<PyResult<Option<Seen>>, Fault> {
        let Wanted { thread, space, id, filter } = wanted;
        let slot = self.fresh(sealed_store, thread).await?;
        let found = Python::attach(|py| self.find(py, &slot, (space, id.clone()), filter.as_ref()));
        let (id, found) = match found {
            Ok(found) => found,
            Err(error) => return Ok(Err(error)),
        };
        let picture = match found {
            Found::Nothing => return Ok(Ok(None)),
            Found::Here(picture) => picture,
            Found::There(mark) => {
                let past = self.past((sealed_store, thread), &slot, (space, &id), &mark).await?;
                match Python::attach(|py| self.is_wanted(py, &past.head, filter.as_ref())) {
                    Ok(true) => {}
                    Ok(false) => return Ok(Ok(None)),
                    Err(error) => return Ok(Err(error)),
                }
                past.with_writes(
                    LangGraphThread::writes_of(sealed_store, thread, (space, &id), &mark).await?,
                )
            }
        };
        Ok(Ok(Some(Seen { slot, id, picture })))
    }

    fn find(
        &self,
        py: Python<'_>,
        slot: &Shared,
        (space, id): (&str, Option<String>),
        wanted: Option<&Py<PyAny>>,
    ) -> PyResult<(String, Found)> {
        let (id, head, mark) = {
            let slot = held(py, slot);
            let Some(langgraph_thread) = &slot.langgraph_thread else {
                return Ok((String::new(), Found::Nothing));
            };
            let id =
                id.or_else(|| langgraph_thread.last(space).map(str::to_owned)).unwrap_or_default();
            let (mark, head) =
                (langgraph_thread.mark(space, &id).cloned(), langgraph_thread.head(space, &id));
            (id, head, mark)
        };
        let Some(mark) = mark else { return Ok((id, Found::Nothing)) };
        let Some(head) = head else { return Ok((id, Found::There(mark))) };
        // What somebody wants is Python's to say, and takes as long as it takes.
        if !self.is_wanted(py, &head, wanted)? {
            return Ok((id, Found::Nothing));
        }
        let slot = held(py, slot);
        let picture = slot
            .langgraph_thread
            .as_ref()
            .and_then(|langgraph_thread| langgraph_thread.picture(space, &id));
        Ok((id, picture.map_or(Found::There(mark), Found::Here)))
    }

    fn is_wanted(&self, py: Python<'_>, head: &[u8], wanted: Option<&Py<PyAny>>) -> PyResult<bool> {
        let Some(wanted) = wanted else { return Ok(true) };
        let metadata = self.form.unpack_head(py, head)?.get_item(1)?;
        wanted.bind(py).call1((metadata,))?.is_truthy()
    }

    /// A checkpoint from before the last snapshot. Whoever reads a history asks for
    /// those around it next.
    async fn past(
        &self,
        (sealed_store, thread): (&SealedStore, &str),
        slot: &Shared,
        (space, id): (&str, &str),
        mark: &CheckpointMark,
    ) -> Result<FullCheckpoint, Fault> {
        let (age, known) = Python::attach(|py| {
            let slot = held(py, slot);
            let past = slot.past.as_ref();
            let past =
                past.filter(|past| past.mark(space, id).is_some_and(|it| it.seq == mark.seq));
            (slot.age, past.and_then(|past| past.picture(space, id)))
        });
        if let Some(known) = known {
            return Ok(known);
        }
        let past = LangGraphThread::past(sealed_store, thread, mark).await?;
        let picture = past.picture(space, id);
        Python::attach(|py| {
            let mut slot = held(py, slot);
            // Unless it is that of another thread of this name by now.
            if slot.age == age {
                slot.past = Some(past);
            }
        });
        picture.ok_or_else(|| corrupt(&format!("a checkpoint is not where it should be: {id}")))
    }

    fn told<'py>(
        &self,
        py: Python<'py>,
        id: &str,
        picture: &FullCheckpoint,
    ) -> PyResult<(Bound<'py, PyTuple>, Vec<Read>)> {
        let head = self.form.unpack_head(py, &picture.head)?;
        let (values, mut lists) = (PyDict::new(py), Vec::new());
        for value in &picture.values {
            let (object, items) = self.form.unpack(py, &value.bytes)?;
            values.set_item(&value.name, object)?;
            lists.extend(items.map(|items| (value.name.clone(), value.stamp, items)));
        }
        let writes = PyList::empty(py);
        for write in &picture.writes {
            let (value, _) = self.form.unpack(py, &write.value)?;
            writes.append((&write.task, &write.channel, value))?;
        }
        let parent = picture.parent.as_deref();
        let told = (id, parent, head, values, writes).into_pyobject(py)?;
        Ok((told, lists))
    }
}
