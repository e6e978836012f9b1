//! Changes of a thread: a checkpoint, or the writes of a task.

use std::collections::BTreeSet;
use std::sync::Arc;

use antiphon_stores::LangGraphThread;
use antiphon_stores::langgraph_thread::{Mutation, NewCheckpoint, TaskWrite, ValueChange};
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::client::{KnownList, LangGraphClient, ThreadObjects, WrittenItems};
use super::value_format::{EncodedItems, StoredList, ValueFormat};
use crate::fault::to_exception;

/// A change of a thread.
#[derive(Debug)]
pub(super) enum ThreadMutation {
    Put(Checkpoint),
    Write(Writes),
}

impl Mutation<LangGraphClient> for ThreadMutation {
    fn apply(
        &self,
        client: &LangGraphClient,
        thread: &mut LangGraphThread,
        objects: &mut ThreadObjects,
    ) -> PyResult<()> {
        Python::attach(|py| match self {
            Self::Put(checkpoint) => checkpoint.apply(py, &client.format, (thread, objects)),
            Self::Write(writes) => writes.apply(py, &client.format, (thread, objects)),
        })
    }
}

/// A checkpoint as LangGraph makes them.
#[derive(Debug)]
pub(super) struct Checkpoint {
    pub(super) space: String,
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) run: Option<String>,
    pub(super) step: u64,
    /// The checkpoint without its values, and its metadata.
    pub(super) head: Py<PyAny>,
    pub(super) values: Py<PyDict>,
    /// The names of values that are not those of the parent.
    pub(super) new: BTreeSet<String>,
}

/// What a task wrote at a checkpoint: places, channels and values.
#[derive(Debug)]
pub(super) struct Writes {
    pub(super) space: String,
    pub(super) id: String,
    pub(super) task: String,
    pub(super) path: String,
    pub(super) all: Vec<(i64, String, Py<PyAny>)>,
}

/// A value as it is stored, and its items if it is a list.
struct EncodedValue {
    name: String,
    change: ValueChange,
    items: Option<StoredList>,
}

impl Checkpoint {
    fn apply(
        &self,
        py: Python<'_>,
        format: &ValueFormat,
        (thread, objects): (&mut LangGraphThread, &mut ThreadObjects),
    ) -> PyResult<()> {
        let raised = |fault| to_exception(py, &fault);
        thread.make_room().map_err(raised)?;
        let before = thread.before(&self.space, self.parent.as_deref());
        let head = format.encode_head(self.head.bind(py))?;
        let (mut values, mut lists) = (Vec::new(), Vec::new());
        for (name, value) in self.values.bind(py).iter() {
            let named = (name.extract()?, &value);
            let encoded = self.encode(format, (thread, objects), before.as_deref(), named)?;
            let EncodedValue { name, change, items } = encoded;
            lists.extend(items.map(|items| (name.clone(), items)));
            values.push((name, change));
        }
        thread.put(self.stored(head, values)).map_err(raised)?;
        for (name, items) in lists {
            if let Some((stamp, _)) = thread.stamp(&self.space, &self.id, &name) {
                objects.lists.insert((self.space.clone(), name), KnownList { stamp, items });
            }
        }
        if let Some((written, before)) = objects.written.get_mut(&self.space).zip(before) {
            written.retain(|id, _| *id > before);
        }
        Ok(())
    }

    fn stored(&self, head: Vec<u8>, values: Vec<(String, ValueChange)>) -> NewCheckpoint {
        NewCheckpoint {
            space: self.space.clone(),
            id: self.id.clone(),
            parent: self.parent.clone(),
            run: self.run.clone(),
            step: self.step,
            head,
            values,
        }
    }

    fn encode(
        &self,
        format: &ValueFormat,
        (thread, objects): (&LangGraphThread, &mut ThreadObjects),
        before: Option<&str>,
        (name, value): (String, &Bound<'_, PyAny>),
    ) -> PyResult<EncodedValue> {
        let stored = before.and_then(|before| thread.stamp(&self.space, before, &name));
        let follows = before.is_some() && before == self.parent.as_deref();
        if follows && stored.is_some() && !self.new.contains(&name) {
            return Ok(EncodedValue { name, change: ValueChange::Same, items: None });
        }
        let Ok(list) = value.cast_exact::<PyList>() else {
            let change = ValueChange::Whole(format.encode(&name, value)?);
            return Ok(EncodedValue { name, change, items: None });
        };
        let key = (self.space.clone(), name);
        let known = objects.lists.remove(&key);
        let (_, name) = key;
        let written = objects.written.get(&self.space).zip(before);
        let written = written.and_then(|(written, before)| written.get(before)?.get(&name));
        let known = known.filter(|known| Some(known.stamp) == stored.map(|(stamp, _)| stamp));
        let (change, items) = match (known, written) {
            (Some(known), Some(written)) => spliced(format, &name, list, (known.items, written))?,
            _ => whole(format, &name, list)?,
        };
        Ok(EncodedValue { name, change, items: Some(items) })
    }
}

fn whole(
    format: &ValueFormat,
    name: &str,
    list: &Bound<'_, PyList>,
) -> PyResult<(ValueChange, StoredList)> {
    let items: Vec<_> = list.iter().collect();
    let EncodedItems { bytes, ends } = format.encode_items(name, items.iter().cloned(), true)?;
    let items = items.into_iter().map(Bound::unbind).collect();
    Ok((ValueChange::Whole(bytes), StoredList { items, ends }))
}

/// A list that begins, or ends, with the very objects that were stored of it: what
/// a reducer made of it and of what tasks wrote. What they wrote is stored anew,
/// also where it was there before and was changed.
fn spliced(
    format: &ValueFormat,
    name: &str,
    list: &Bound<'_, PyList>,
    (mut known, written): (StoredList, &[Py<PyAny>]),
) -> PyResult<(ValueChange, StoredList)> {
    let written: BTreeSet<_> = written.iter().map(Py::as_ptr).collect();
    // A tuple lends its items without counting references.
    let items = list.to_tuple();
    let is_same = |(known, item): &(&Py<PyAny>, Borrowed<'_, '_, PyAny>)| {
        known.is(item) && !written.contains(&item.as_ptr())
    };
    let head = known.items.iter().zip(items.iter_borrowed()).take_while(is_same).count();
    let most = known.items.len().min(items.len()) - head;
    let backwards = known.items.iter().rev().zip(items.iter_borrowed().rev());
    let tail = backwards.take(most).take_while(is_same).count();
    let between = items.iter().take(items.len() - tail).skip(head);
    let EncodedItems { bytes, ends } = format.encode_items(name, between, false)?;
    let (first, last) = (known.end(head), known.end(known.items.len() - tail));
    let whole = known.end(known.items.len());
    let change = ValueChange::Spliced { head: first, middle: bytes, tail: whole - last };
    let kept = known.ends.split_off(known.ends.len() - tail);
    known.items.truncate(head);
    known.ends.truncate(head);
    known.ends.extend(ends.iter().map(|end| first + end));
    let now = known.ends.last().copied().unwrap_or(first);
    known.ends.extend(kept.iter().map(|end| end - last + now));
    known.items.extend(items.iter().skip(head).map(Bound::unbind));
    Ok((change, known))
}

impl StoredList {
    /// Where the first so many items end.
    fn end(&self, count: usize) -> usize {
        let last = count.checked_sub(1).and_then(|last| self.ends.get(last));
        last.copied().unwrap_or(1)
    }
}

impl Writes {
    fn apply(
        &self,
        py: Python<'_>,
        format: &ValueFormat,
        (thread, objects): (&mut LangGraphThread, &mut ThreadObjects),
    ) -> PyResult<()> {
        let mut writes = Vec::new();
        for (place, channel, value) in &self.all {
            let value = value.bind(py);
            let bytes = match value.cast_exact::<PyList>() {
                Ok(list) => format.encode_items(channel, list.iter(), true)?.bytes,
                Err(_) => format.encode(channel, value)?,
            };
            writes.push(TaskWrite {
                task: self.task.clone(),
                path: self.path.clone(),
                place: *place,
                channel: channel.clone(),
                value: Arc::from(bytes),
            });
        }
        thread.put_writes(&self.space, &self.id, writes);
        if thread.last(&self.space).is_none_or(|last| last <= self.id.as_str()) {
            let written = objects.written.entry(self.space.clone()).or_default();
            self.remember(py, written.entry(self.id.clone()).or_default());
        }
        Ok(())
    }

    fn remember(&self, py: Python<'_>, written: &mut WrittenItems) {
        for (_, channel, value) in &self.all {
            let items = written.entry(channel.clone()).or_default();
            match value.bind(py).cast_exact::<PyList>() {
                Ok(list) => items.extend(list.iter().map(Bound::unbind)),
                Err(_) => items.push(value.clone_ref(py)),
            }
        }
    }
}
