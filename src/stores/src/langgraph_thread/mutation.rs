//! Changes of a thread: a checkpoint, or the writes of a task.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::cached_values::CachedValues;
use super::value_format::{EncodedItems, ListItems, encode_items, encode_list, encode_one};
use super::{CacheClient, CheckpointMark, LangGraphThread, NewCheckpoint, TaskWrite, ValueChange};

/// A change of a thread. It is applied again if another writer was first.
#[derive(Clone, Debug)]
pub enum Mutation<V> {
    /// Adds a checkpoint.
    Put(PutCheckpoint<V>),
    /// Adds what a task wrote at a checkpoint.
    PutWrites(PutWrites<V>),
}

/// A checkpoint with all its values.
#[derive(Clone, Debug)]
pub struct PutCheckpoint<V> {
    /// The namespace.
    pub namespace: String,
    /// Its id.
    pub id: String,
    /// The id of the parent checkpoint.
    pub parent: Option<String>,
    /// The id of the run that makes it.
    pub run: Option<String>,
    /// The number of its superstep.
    pub step: u64,
    /// Everything but its values.
    pub head: Vec<u8>,
    /// Its values by channel.
    pub values: Vec<(String, V)>,
    /// The channels whose values are not those of the parent.
    pub changed: BTreeSet<String>,
}

/// What a task wrote at a checkpoint.
#[derive(Clone, Debug)]
pub struct PutWrites<V> {
    /// The namespace.
    pub namespace: String,
    /// The id of the checkpoint.
    pub id: String,
    /// The task's id.
    pub task: String,
    /// The path of the task.
    pub path: String,
    /// Index, channel and value of each write.
    pub writes: Vec<(i64, String, V)>,
}

/// A value as it is stored, and its items if it is a list.
type EncodedValue<V> = (ValueChange, Option<ListItems<V>>);

impl<V: Clone> Mutation<V> {
    /// Applies it to the thread as it is known.
    pub(super) fn apply<C: CacheClient<Value = V>>(
        &self,
        client: &C,
        thread: &mut LangGraphThread,
        known: &mut CachedValues<V>,
    ) -> Result<(), C::Error> {
        match self {
            Self::Put(checkpoint) => checkpoint.apply(client, thread, known),
            Self::PutWrites(writes) => writes.apply(client, thread, known),
        }
    }
}

impl<V> PutCheckpoint<V> {
    fn apply<C: CacheClient<Value = V>>(
        &self,
        client: &C,
        thread: &mut LangGraphThread,
        known: &mut CachedValues<V>,
    ) -> Result<(), C::Error> {
        let raised = |fault| client.error(fault);
        thread.make_room().map_err(raised)?;
        let before = thread.before(&self.namespace, self.parent.as_deref());
        let (mut values, mut lists) = (Vec::new(), Vec::new());
        for (name, value) in &self.values {
            let named = (name.as_str(), value);
            let (change, items) =
                self.encode(client, (&*thread, &mut *known), before.as_deref(), named)?;
            lists.extend(items.map(|items| (name.clone(), items)));
            values.push((name.clone(), change));
        }
        thread.put(self.encoded(values)).map_err(raised)?;
        for (name, items) in lists {
            if let Some((stamp, _)) = thread.stamp(&self.namespace, &self.id, &name) {
                known.insert_list(&self.namespace, name, stamp, items);
            }
        }
        if let Some(before) = before.filter(|before| self.parent.as_ref() == Some(before)) {
            known.forget_written(&self.namespace, &before);
        }
        Ok(())
    }

    fn encoded(&self, values: Vec<(String, ValueChange)>) -> NewCheckpoint {
        NewCheckpoint {
            space: self.namespace.clone(),
            id: self.id.clone(),
            parent: self.parent.clone(),
            run: self.run.clone(),
            step: self.step,
            head: self.head.clone(),
            values,
        }
    }

    fn encode<C: CacheClient<Value = V>>(
        &self,
        client: &C,
        (thread, known): (&LangGraphThread, &mut CachedValues<V>),
        before: Option<&str>,
        (name, value): (&str, &V),
    ) -> Result<EncodedValue<V>, C::Error> {
        let namespace = self.namespace.as_str();
        let stored = before.and_then(|before| thread.stamp(namespace, before, name));
        let follows = before.is_some() && before == self.parent.as_deref();
        if follows && stored.is_some() && !self.changed.contains(name) {
            return Ok((ValueChange::Same, None));
        }
        let Some(items) = client.items(value) else {
            return Ok((ValueChange::Whole(encode_one(client, name, value)?), None));
        };
        let list = known.take_list(namespace, name, stored.map(|(stamp, _)| stamp));
        let written = before.and_then(|before| known.written(namespace, before, name));
        let (change, items) = if let Some(known) = list.zip(written) {
            splice(client, name, items, known)?
        } else {
            let EncodedItems { bytes, ends } = encode_list(client, name, &items)?;
            (ValueChange::Whole(bytes), ListItems::new(items, ends))
        };
        Ok((change, Some(items)))
    }
}

/// Encodes a list that begins or ends with the very objects that were stored of it: what a
/// reducer made of it and of what tasks wrote. What they wrote is encoded anew, because an item
/// that was there before may have been changed and written again.
fn splice<C: CacheClient>(
    client: &C,
    name: &str,
    items: Vec<C::Value>,
    (known, written): (ListItems<C::Value>, &[C::Value]),
) -> Result<(ValueChange, ListItems<C::Value>), C::Error> {
    let written: BTreeSet<_> = written.iter().map(|item| client.identity(item)).collect();
    let is_same = |(known, item): &(&C::Value, &C::Value)| {
        let item = client.identity(item);
        client.identity(known) == item && !written.contains(&item)
    };
    let head = known.items.iter().zip(&items).take_while(is_same).count();
    let most = known.items.len().min(items.len()) - head;
    let backwards = known.items.iter().rev().zip(items.iter().rev());
    let tail = backwards.take(most).take_while(is_same).count();
    let between = items.get(head..items.len() - tail).unwrap_or_default();
    let encoded = encode_items(client, name, between)?;
    let (first, last) = (known.end(head), known.end(known.items.len() - tail));
    let change = ValueChange::Spliced {
        head: first,
        middle: encoded.bytes,
        tail: known.end(known.items.len()) - last,
    };
    let mut ends = known.ends;
    let kept = ends.split_off(ends.len() - tail);
    ends.truncate(head);
    ends.extend(encoded.ends.iter().map(|end| first + end));
    let now = ends.last().copied().unwrap_or(first);
    ends.extend(kept.iter().map(|end| end - last + now));
    Ok((change, ListItems { items, ends, unchanged: (head, tail) }))
}

impl<V: Clone> PutWrites<V> {
    fn apply<C: CacheClient<Value = V>>(
        &self,
        client: &C,
        thread: &mut LangGraphThread,
        known: &mut CachedValues<V>,
    ) -> Result<(), C::Error> {
        let (mut writes, mut written) = (Vec::new(), Vec::new());
        for (place, channel, value) in &self.writes {
            let (bytes, items) = match client.items(value) {
                Some(items) => (encode_list(client, channel, &items)?.bytes, items),
                None => (encode_one(client, channel, value)?, vec![value.clone()]),
            };
            written.push((channel.clone(), items));
            writes.push(TaskWrite {
                task: self.task.clone(),
                path: self.path.clone(),
                place: *place,
                channel: channel.clone(),
                value: Arc::from(bytes),
            });
        }
        thread.put_writes(&self.namespace, &self.id, writes);
        let last = thread.last(&self.namespace).map(str::to_owned);
        let Some(next) = last.filter(|last| *last > self.id) else {
            known.add_written((&self.namespace, &self.id), written.into_iter());
            return Ok(());
        };
        known.forget_written(&self.namespace, &self.id);
        written.into_iter().try_for_each(|(channel, items)| {
            self.correct(client, (&mut *thread, &mut *known), &next, (&channel, &items))
        })
    }

    /// Corrects the checkpoint after this one if it was put before these writes arrived: of an item
    /// that a task has changed in place and written, it took what was stored before.
    fn correct<C: CacheClient<Value = V>>(
        &self,
        client: &C,
        (thread, known): (&mut LangGraphThread, &mut CachedValues<V>),
        next: &str,
        (channel, written): (&str, &[V]),
    ) -> Result<(), C::Error> {
        let namespace = self.namespace.as_str();
        let written: BTreeSet<_> = written.iter().map(|item| client.identity(item)).collect();
        let is_written = |item: &V| written.contains(&client.identity(item));
        if !known.list(namespace, channel).is_some_and(|list| list.unchanged().any(is_written)) {
            return Ok(());
        }
        let stamp = thread.stamp(namespace, next, channel).map(|(stamp, _)| stamp);
        let list = known.take_list(namespace, channel, stamp);
        let follows = |mark: &CheckpointMark| mark.parent.as_ref() == Some(&self.id);
        let Some(list) = list.filter(|_| thread.mark(namespace, next).is_some_and(follows)) else {
            return Ok(()); // it is encoded whole next time
        };
        let EncodedItems { bytes, ends } = encode_list(client, channel, &list.items)?;
        let again = thread.put_again(namespace, next, (channel, bytes));
        again.map_err(|fault| client.error(fault))?;
        if let Some((stamp, _)) = thread.stamp(namespace, next, channel) {
            let list = ListItems::new(list.items, ends);
            known.insert_list(namespace, channel.to_owned(), stamp, list);
        }
        Ok(())
    }
}
