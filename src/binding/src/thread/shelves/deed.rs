//! What is put on a thread: a checkpoint, or what a task wrote.

use std::collections::BTreeSet;
use std::sync::Arc;

use antiphon_stores::langgraph_thread::{NewCheckpoint, TaskWrite, ValueChange};
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::form::{Form, Items, Packed};
use super::slot::{Known, Slot, Wrote};
use crate::fault::to_exception;

/// Something that changes a thread; it can be done again if somebody else was first.
#[derive(Debug)]
pub(super) enum Mutation {
    Put(Checkpoint),
    Write(Writes),
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

/// A value on its way: how it is told, and its items if it is a list.
struct Told {
    name: String,
    change: ValueChange,
    items: Option<Items>,
}

impl Mutation {
    /// Does it to what is known of the thread.
    pub(super) fn apply(&self, py: Python<'_>, slot: &mut Slot, form: &Form) -> PyResult<()> {
        match self {
            Self::Put(checkpoint) => checkpoint.apply(py, slot, form),
            Self::Write(writes) => writes.apply(py, slot, form),
        }
    }
}

impl Checkpoint {
    fn apply(&self, py: Python<'_>, slot: &mut Slot, form: &Form) -> PyResult<()> {
        let raised = |fault| to_exception(py, &fault);
        let Some(langgraph_thread) = &mut slot.langgraph_thread else { return Ok(()) };
        langgraph_thread.make_room().map_err(raised)?;
        let before = langgraph_thread.before(&self.space, self.parent.as_deref());
        let head = form.pack_head(self.head.bind(py))?;
        let mut told = Vec::new();
        for (name, value) in self.values.bind(py).iter() {
            told.push(self.tell(slot, form, before.as_deref(), (name.extract()?, &value))?);
        }
        let Some(langgraph_thread) = &mut slot.langgraph_thread else { return Ok(()) };
        let (mut values, mut lists) = (Vec::new(), Vec::new());
        for Told { name, change, items } in told {
            lists.extend(items.map(|items| (name.clone(), items)));
            values.push((name, change));
        }
        langgraph_thread.put(self.stored(head, values)).map_err(raised)?;
        for (name, items) in lists {
            if let Some((stamp, _)) = langgraph_thread.stamp(&self.space, &self.id, &name) {
                slot.lists.insert((self.space.clone(), name), Known { stamp, items });
            }
        }
        if let Some((wrote, before)) = slot.wrote.get_mut(&self.space).zip(before) {
            wrote.retain(|id, _| *id > before);
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

    fn tell(
        &self,
        slot: &mut Slot,
        form: &Form,
        before: Option<&str>,
        (name, value): (String, &Bound<'_, PyAny>),
    ) -> PyResult<Told> {
        let stored = slot.langgraph_thread.as_ref().zip(before);
        let stored = stored.and_then(|(langgraph_thread, before)| {
            langgraph_thread.stamp(&self.space, before, &name)
        });
        let follows = before.is_some() && before == self.parent.as_deref();
        if follows && stored.is_some() && !self.new.contains(&name) {
            return Ok(Told { name, change: ValueChange::Same, items: None });
        }
        let Ok(list) = value.cast_exact::<PyList>() else {
            let change = ValueChange::Whole(form.pack(&name, value)?);
            return Ok(Told { name, change, items: None });
        };
        let key = (self.space.clone(), name);
        let known = slot.lists.remove(&key);
        let (_, name) = key;
        let wrote = slot.wrote.get(&self.space).zip(before);
        let wrote = wrote.and_then(|(wrote, before)| wrote.get(before)?.get(&name));
        let known = known.filter(|known| Some(known.stamp) == stored.map(|(stamp, _)| stamp));
        let (change, items) = match (known, wrote) {
            (Some(known), Some(wrote)) => spliced(form, &name, list, (known.items, wrote))?,
            _ => whole(form, &name, list)?,
        };
        Ok(Told { name, change, items: Some(items) })
    }
}

fn whole(form: &Form, name: &str, list: &Bound<'_, PyList>) -> PyResult<(ValueChange, Items)> {
    let items: Vec<_> = list.iter().collect();
    let Packed { bytes, ends } = form.pack_items(name, items.iter().cloned(), true)?;
    let items = items.into_iter().map(Bound::unbind).collect();
    Ok((ValueChange::Whole(bytes), Items { items, ends }))
}

/// A list that begins, or ends, with the very objects that were stored of it: what
/// a reducer made of it and of what tasks wrote. What they wrote is stored anew,
/// also where it was there before and was changed.
fn spliced(
    form: &Form,
    name: &str,
    list: &Bound<'_, PyList>,
    (mut known, wrote): (Items, &[Py<PyAny>]),
) -> PyResult<(ValueChange, Items)> {
    let wrote: BTreeSet<_> = wrote.iter().map(Py::as_ptr).collect();
    // A tuple lends its items without counting references.
    let items = list.to_tuple();
    let is_same = |(known, item): &(&Py<PyAny>, Borrowed<'_, '_, PyAny>)| {
        known.is(item) && !wrote.contains(&item.as_ptr())
    };
    let head = known.items.iter().zip(items.iter_borrowed()).take_while(is_same).count();
    let most = known.items.len().min(items.len()) - head;
    let backwards = known.items.iter().rev().zip(items.iter_borrowed().rev());
    let tail = backwards.take(most).take_while(is_same).count();
    let between = items.iter().take(items.len() - tail).skip(head);
    let Packed { bytes, ends } = form.pack_items(name, between, false)?;
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

impl Items {
    /// Where the first so many items end.
    fn end(&self, count: usize) -> usize {
        let last = count.checked_sub(1).and_then(|last| self.ends.get(last));
        last.copied().unwrap_or(1)
    }
}

impl Writes {
    fn apply(&self, py: Python<'_>, slot: &mut Slot, form: &Form) -> PyResult<()> {
        let mut writes = Vec::new();
        for (place, channel, value) in &self.all {
            let value = value.bind(py);
            let bytes = match value.cast_exact::<PyList>() {
                Ok(list) => form.pack_items(channel, list.iter(), true)?.bytes,
                Err(_) => form.pack(channel, value)?,
            };
            writes.push(TaskWrite {
                task: self.task.clone(),
                path: self.path.clone(),
                place: *place,
                channel: channel.clone(),
                value: Arc::from(bytes),
            });
        }
        let Some(langgraph_thread) = &mut slot.langgraph_thread else { return Ok(()) };
        langgraph_thread.put_writes(&self.space, &self.id, writes);
        if langgraph_thread.last(&self.space).is_none_or(|last| last <= self.id.as_str()) {
            let wrote = slot.wrote.entry(self.space.clone()).or_default();
            self.remember(py, wrote.entry(self.id.clone()).or_default());
        }
        Ok(())
    }

    fn remember(&self, py: Python<'_>, wrote: &mut Wrote) {
        for (_, channel, value) in &self.all {
            let items = wrote.entry(channel.clone()).or_default();
            match value.bind(py).cast_exact::<PyList>() {
                Ok(list) => items.extend(list.iter().map(Bound::unbind)),
                Err(_) => items.push(value.clone_ref(py)),
            }
        }
    }
}
