//! Checkpoints of LangGraph's saver interface, stored as differences between them.
//!
//! Each thread has namespaces, one per nested graph, and each namespace has checkpoints by id;
//! the one with the greatest id is the latest. A checkpoint has a head and named values; both
//! are opaque bytes here. Beside it stand the writes of the tasks that ran after it.
//!
//! A thread is loaded from the entries since its last snapshot. Once these weigh much more than
//! a new snapshot would, one is written.

use std::collections::BTreeMap;
use std::sync::Arc;

use antiphon_core::Fault;
use antiphon_runtime::store::{EntryKind, EntryTag};

mod cache;
mod cached_thread;
mod cached_values;
mod change;
mod client;
mod diff;
mod entries;
mod listing;
mod lookup;
mod mutation;
mod replacement;
mod rewrite;
mod snapshot;
mod turn;
mod value_format;
mod values;
mod wire;

pub use cache::ThreadCache;
pub use cached_thread::PendingWrite;
pub use client::CacheClient;
pub use entries::{KnownEntries, OWNER};
pub use listing::{CheckpointFilter, CheckpointInfo};
pub use lookup::FoundCheckpoint;
pub use mutation::{Mutation, PutCheckpoint, PutWrites};
pub use rewrite::{CheckpointKeys, copied, remove_checkpoints};
pub use turn::WriteTurn;
pub use value_format::Serializer;

use crate::codec::corrupt;
use values::{ValueVersion, ValueVersions};
use wire::{CheckpointDiff, TaskWrites};

/// A thread as loaded, and the entries that are still to be written.
#[derive(Debug, Default)]
pub struct LangGraphThread {
    thread: String,
    /// The sequence number of the last entry.
    tip: u64,
    /// The sequence number of the last snapshot.
    base: u64,
    /// The tag of the last entry, once it is sealed.
    tag: Option<EntryTag>,
    /// The size of the entries that have to be read to load the thread.
    weight: usize,
    /// The size that a snapshot would have.
    live: usize,
    spaces: BTreeMap<String, NamespaceCheckpoints>,
    values: ValueVersions,
    drafts: Vec<DraftEntry>,
}

/// The checkpoints of a namespace.
#[derive(Debug, Default)]
struct NamespaceCheckpoints {
    marks: BTreeMap<String, CheckpointMark>,
    /// The checkpoints since the last snapshot, and the last one before it.
    records: BTreeMap<String, CheckpointRecord>,
    /// The writes since the last snapshot, and those in it.
    writes: BTreeMap<String, Vec<TaskWrite>>,
    /// The entries of writes at checkpoints that are not yet stored.
    early: BTreeMap<String, Vec<u64>>,
    live: usize,
}

/// The location of a checkpoint, known without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointMark {
    /// The sequence number of its entry.
    pub seq: u64,
    /// The id of the parent checkpoint.
    pub parent: Option<String>,
    /// The id of the run that made it.
    pub run: Option<String>,
    /// The sequence numbers of the entries with its writes.
    pub wrote: Vec<u64>,
}

#[derive(Clone, Debug)]
struct CheckpointRecord {
    /// The number of its superstep; 0 if only a snapshot has it.
    step: u64,
    head: ValueVersion,
    values: BTreeMap<Arc<str>, ValueVersion>,
}

/// A write of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskWrite {
    /// The task's id.
    pub task: String,
    /// The path of the task, by which writes are ordered.
    pub path: String,
    /// The index of the write within its task. A write with a negative index replaces the
    /// earlier one; with any other index the first one stays.
    pub place: i64,
    /// The channel that it is merged into.
    pub channel: String,
    /// The encoded value.
    pub value: Arc<[u8]>,
}

/// A checkpoint to store.
#[derive(Clone, Debug)]
pub struct NewCheckpoint {
    /// The namespace.
    pub space: String,
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
    /// Its values, each as a change from [`LangGraphThread::before`].
    pub values: Vec<(String, ValueChange)>,
}

/// A value as a change from the previous one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueChange {
    /// The same.
    Same,
    /// These bytes, even if they share some with the previous value.
    Whole(Vec<u8>),
    /// The first `head` bytes of the previous value, new bytes, and its last `tail` bytes.
    Spliced {
        /// Bytes kept at the beginning.
        head: usize,
        /// The new bytes between them.
        middle: Vec<u8>,
        /// Bytes kept at the end.
        tail: usize,
    },
}

/// A checkpoint with all its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FullCheckpoint {
    /// The id of the parent checkpoint.
    pub parent: Option<String>,
    /// Everything but its values.
    pub head: Arc<[u8]>,
    /// Its values.
    pub values: Vec<CheckpointValue>,
    /// The writes at it, in the order of tasks.
    pub writes: Vec<TaskWrite>,
}

/// A value of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointValue {
    /// Its name.
    pub name: String,
    /// A version number: within one thread, values with equal stamps are equal.
    pub stamp: u64,
    /// The encoded value.
    pub bytes: Arc<[u8]>,
}

/// An entry that is still to be written.
#[derive(Debug)]
struct DraftEntry {
    seq: u64,
    parent: u64,
    base: u64,
    kind: EntryKind,
    step: u64,
    body: Vec<u8>,
}

impl LangGraphThread {
    /// The share of a checkpoint in the size of a snapshot.
    const MARK: usize = 48;
    /// The overhead of an entry beside its body.
    const ENTRY: usize = 64;
    /// The least size of entries for which a snapshot is worth it.
    const SNAPSHOT: usize = 64 * 1024;

    /// A thread without checkpoints.
    pub fn new(thread: &str) -> Self {
        Self { thread: thread.to_owned(), ..Self::default() }
    }

    /// The size of the entries that the loaded thread was read from.
    pub const fn weight(&self) -> usize {
        self.weight
    }

    /// All checkpoints, by namespace and id.
    pub fn marks(&self) -> impl Iterator<Item = (&str, &str, &CheckpointMark)> {
        self.spaces.iter().flat_map(|(space, held)| {
            held.marks.iter().map(|(id, mark)| (space.as_str(), id.as_str(), mark))
        })
    }

    /// Whether it has neither checkpoints nor writes at checkpoints that are still to come.
    pub(crate) fn is_empty(&self) -> bool {
        self.spaces.values().all(|held| held.marks.is_empty() && held.early.is_empty())
    }

    /// The location of a checkpoint.
    pub fn mark(&self, space: &str, id: &str) -> Option<&CheckpointMark> {
        self.spaces.get(space)?.marks.get(id)
    }

    /// The id of the latest checkpoint of a namespace.
    pub fn last(&self, space: &str) -> Option<&str> {
        self.spaces.get(space)?.marks.last_key_value().map(|(id, _)| id.as_str())
    }

    /// The checkpoint that the next one is stored as a difference from: the parent if it is
    /// loaded, else the latest loaded one.
    pub fn before(&self, space: &str, parent: Option<&str>) -> Option<String> {
        let records = &self.spaces.get(space)?.records;
        let parent = parent.filter(|parent| records.contains_key(*parent));
        parent.map(str::to_owned).or_else(|| records.last_key_value().map(|(id, _)| id.clone()))
    }

    /// The stamp and the length of a value of a loaded checkpoint.
    pub fn stamp(&self, space: &str, id: &str, name: &str) -> Option<(u64, usize)> {
        let version = *self.spaces.get(space)?.records.get(id)?.values.get(name)?;
        Some((self.values.stamp(version), self.values.length(version)))
    }

    /// The head of a loaded checkpoint.
    pub fn head(&self, space: &str, id: &str) -> Option<Arc<[u8]>> {
        let record = self.spaces.get(space)?.records.get(id)?;
        Some(self.values.bytes(record.head))
    }

    /// A loaded checkpoint: one since the last snapshot, or the last one before it.
    pub fn full_checkpoint(&self, space: &str, id: &str) -> Option<FullCheckpoint> {
        let held = self.spaces.get(space)?;
        let (mark, record) = (held.marks.get(id)?, held.records.get(id)?);
        let valued = |(name, version): (&Arc<str>, &ValueVersion)| CheckpointValue {
            name: name.to_string(),
            stamp: self.values.stamp(*version),
            bytes: self.values.bytes(*version),
        };
        Some(FullCheckpoint {
            parent: mark.parent.clone(),
            head: self.values.bytes(record.head),
            values: record.values.iter().map(valued).collect(),
            writes: sorted_writes(held.writes.get(id).cloned().unwrap_or_default()),
        })
    }

    /// Stores a checkpoint as a difference from [`LangGraphThread::before`].
    ///
    /// # Errors
    /// `checkpoint_corrupt` if a value shares bytes with one that does not exist.
    pub fn put(&mut self, new: NewCheckpoint) -> Result<(), Fault> {
        let base = self.before(&new.space, new.parent.as_deref());
        let step = new.step;
        let (put, flats) = self.difference(new, base)?;
        let (space, id) = (put.space.clone(), put.id.clone());
        let before = self.record(&space, put.base.as_deref());
        self.draft(EntryKind::Step, step, put.encode());
        self.add(put, self.tip, step)?;
        if let Some(record) = self.record(&space, Some(&id)) {
            self.values.cache_all(flats, &record, before.as_ref());
        }
        self.weigh(&space);
        Ok(())
    }

    /// Stores the writes of tasks at a checkpoint, which may itself be stored later.
    pub fn put_writes(&mut self, space: &str, id: &str, writes: Vec<TaskWrite>) {
        let known = self.spaces.get(space).and_then(|held| held.writes.get(id));
        let is_new = |write: &TaskWrite| {
            let same = |known: &TaskWrite| known.task == write.task && known.place == write.place;
            write.place < 0 || !known.is_some_and(|known| known.iter().any(same))
        };
        let writes: Vec<_> = writes.into_iter().filter(is_new).collect();
        if writes.is_empty() {
            return;
        }
        let wrote = TaskWrites { space: space.to_owned(), id: id.to_owned(), writes };
        self.draft(EntryKind::Part, 0, wrote.encode());
        self.add_writes(wrote, self.tip);
        self.weigh(space);
    }

    /// Stores a loaded checkpoint again, with other bytes of one value.
    ///
    /// # Errors
    /// As [`LangGraphThread::put`].
    pub(crate) fn put_again(
        &mut self,
        space: &str,
        id: &str,
        (name, bytes): (&str, Vec<u8>),
    ) -> Result<(), Fault> {
        let (Some(mark), Some(record)) = (self.mark(space, id), self.record(space, Some(id)))
        else {
            return Ok(());
        };
        let whole = |(known, version): (&Arc<str>, &ValueVersion)| {
            let is_other = **known != *name;
            let whole = if is_other { self.values.bytes(*version).to_vec() } else { bytes.clone() };
            (known.to_string(), ValueChange::Whole(whole))
        };
        self.put(NewCheckpoint {
            space: space.to_owned(),
            id: id.to_owned(),
            parent: mark.parent.clone(),
            run: mark.run.clone(),
            step: record.step,
            head: self.values.bytes(record.head).to_vec(),
            values: record.values.iter().map(whole).collect(),
        })
    }

    fn record(&self, space: &str, id: Option<&str>) -> Option<CheckpointRecord> {
        self.spaces.get(space)?.records.get(id?).cloned()
    }

    /// The values that tasks wrote to a channel at a checkpoint: the next value of the channel
    /// often contains them.
    fn written(&self, space: &str, id: Option<&str>, channel: &str) -> Vec<Arc<[u8]>> {
        let writes = id.and_then(|id| self.spaces.get(space)?.writes.get(id));
        let here = writes.into_iter().flatten();
        let here = here.filter(|write| write.place >= 0 && write.channel == channel);
        here.map(|write| Arc::clone(&write.value)).collect()
    }

    fn add(&mut self, put: CheckpointDiff, seq: u64, step: u64) -> Result<(), Fault> {
        let base = put.base.as_deref();
        let record = self.record(&put.space, base);
        if base.is_some() && record.is_none() {
            return Err(corrupt(&format!("the base of a checkpoint is missing: {}", put.id)));
        }
        let head = self.values.add(put.head, record.as_ref().map(|record| record.head), &[])?;
        let mut values = record.map_or_else(BTreeMap::new, |record| record.values);
        for (name, delta) in put.changed {
            let written = self.written(&put.space, base, &name);
            let before = values.get(name.as_str()).copied();
            let version = self.values.add(delta, before, &written)?;
            values.insert(name.into(), version);
        }
        for name in put.gone {
            values.remove(name.as_str());
        }
        let held = self.spaces.entry(put.space.clone()).or_default();
        let known = held.marks.remove(&put.id).map(|mark| mark.wrote);
        let wrote = known.or_else(|| held.early.remove(&put.id)).unwrap_or_default();
        let mark = CheckpointMark { seq, parent: put.parent, run: put.run, wrote };
        held.marks.insert(put.id.clone(), mark);
        held.records.insert(put.id, CheckpointRecord { step, head, values });
        Ok(())
    }

    fn add_writes(&mut self, wrote: TaskWrites, seq: u64) {
        let held = self.spaces.entry(wrote.space.clone()).or_default();
        match held.marks.get_mut(&wrote.id) {
            Some(mark) => mark.wrote.push(seq),
            None => held.early.entry(wrote.id.clone()).or_default().push(seq),
        }
        merge(held.writes.entry(wrote.id).or_default(), wrote.writes);
    }

    fn weigh_all(&mut self) {
        let spaces: Vec<_> = self.spaces.keys().cloned().collect();
        for space in &spaces {
            self.weigh(space);
        }
    }

    /// Updates the size that a namespace has in a snapshot.
    fn weigh(&mut self, space: &str) {
        let Some(held) = self.spaces.get_mut(space) else { return };
        let mut live = held.marks.len() * Self::MARK;
        if let Some((id, record)) = held.records.last_key_value() {
            let values = record.values.values().chain([&record.head]);
            live += values.map(|version| self.values.length(*version)).sum::<usize>();
            let writes = held.writes.get(id).into_iter().flatten();
            live += writes.map(|write| write.value.len() + Self::ENTRY).sum::<usize>();
        }
        self.live = self.live - held.live + live;
        held.live = live;
    }
}

/// Adds writes to the earlier ones of the same checkpoint.
fn merge(known: &mut Vec<TaskWrite>, writes: Vec<TaskWrite>) {
    for write in writes {
        let same = |known: &&mut TaskWrite| known.task == write.task && known.place == write.place;
        match known.iter_mut().find(same) {
            None => known.push(write),
            Some(known) if write.place < 0 => *known = write,
            Some(_) => {}
        }
    }
}

fn sorted_writes(mut writes: Vec<TaskWrite>) -> Vec<TaskWrite> {
    writes.sort_by(|a, b| (&a.path, &a.task, a.place).cmp(&(&b.path, &b.task, b.place)));
    writes
}
