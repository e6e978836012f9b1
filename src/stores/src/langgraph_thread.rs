//! Checkpoints that another engine makes, whole ones, kept as what is different
//! from one to the next.
//!
//! Each thread of a store has namespaces, as graphs inside graphs
//! have, and in each of them checkpoints by id, of which the last is the one
//! with the greatest id. A checkpoint has a head and values by name; all of
//! them are bytes here, and what they mean is the engine's. Beside it stands
//! what tasks have written since.
//!
//! A thread is read by going through the entries since its last snapshot. Once
//! these weigh much more than what is needed to go on, there is another one.

use std::collections::BTreeMap;
use std::sync::Arc;

use antiphon_core::Fault;
use antiphon_runtime::store::{EntryKind, EntryTag};

mod change;
mod diff;
mod entries;
mod rewrite;
mod snapshot;
mod turn;
mod values;
mod wire;

pub use entries::{KnownEntries, OWNER};
pub use rewrite::{CheckpointKeys, copied, remove_checkpoints};
pub use turn::WriteTurn;

use crate::codec::corrupt;
use values::{ValueVersion, ValueVersions};
use wire::{CheckpointDiff, TaskWrites};

/// One thread, and all that is known of it.
#[derive(Debug, Default)]
pub struct LangGraphThread {
    thread: String,
    /// The last entry.
    tip: u64,
    /// The last snapshot.
    base: u64,
    /// That of the last entry, once it is sealed.
    tag: Option<EntryTag>,
    /// What it takes to read the thread, in bytes.
    weight: usize,
    /// What of that a snapshot would hold.
    live: usize,
    spaces: BTreeMap<String, NamespaceCheckpoints>,
    values: ValueVersions,
    drafts: Vec<DraftEntry>,
}

/// A namespace.
#[derive(Debug, Default)]
struct NamespaceCheckpoints {
    marks: BTreeMap<String, CheckpointMark>,
    /// Checkpoints since the last snapshot, and the last before it.
    shots: BTreeMap<String, CheckpointRecord>,
    /// What was written since the last snapshot, and what it holds.
    writes: BTreeMap<String, Vec<TaskWrite>>,
    /// The entries of what was written at checkpoints that have not come yet.
    early: BTreeMap<String, Vec<u64>>,
    live: usize,
}

/// Where a checkpoint is, and what is known of it without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointMark {
    /// Its entry.
    pub seq: u64,
    /// The id of the checkpoint it comes from.
    pub parent: Option<String>,
    /// The run that made it.
    pub run: Option<String>,
    /// The entries of what was written there.
    pub wrote: Vec<u64>,
}

#[derive(Clone, Debug)]
struct CheckpointRecord {
    head: ValueVersion,
    values: BTreeMap<Arc<str>, ValueVersion>,
}

/// What a task wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskWrite {
    /// The task's id.
    pub task: String,
    /// Where the task is, for the order of writes.
    pub path: String,
    /// The write's number within its task. What has a negative one is replaced when
    /// it is written again; anything else stays as it is.
    pub place: i64,
    /// What it is to be merged into.
    pub channel: String,
    /// What was written.
    pub value: Arc<[u8]>,
}

/// A checkpoint to be kept.
#[derive(Clone, Debug)]
pub struct NewCheckpoint {
    /// Its namespace.
    pub space: String,
    /// Its id.
    pub id: String,
    /// The id of the checkpoint it comes from.
    pub parent: Option<String>,
    /// The run that makes it.
    pub run: Option<String>,
    /// Its superstep.
    pub step: u64,
    /// Everything but its values.
    pub head: Vec<u8>,
    /// Its values, each by what is different from [`LangGraphThread::before`].
    pub values: Vec<(String, ValueChange)>,
}

/// What a value is, compared with the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueChange {
    /// The same.
    Same,
    /// These bytes, whatever they share with it.
    Whole(Vec<u8>),
    /// Its first `head` bytes, others, and its last `tail` bytes.
    Spliced {
        /// So many bytes at the beginning.
        head: usize,
        /// What is between.
        middle: Vec<u8>,
        /// So many bytes at the end.
        tail: usize,
    },
}

/// A checkpoint as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FullCheckpoint {
    /// The id of the checkpoint it comes from.
    pub parent: Option<String>,
    /// Everything but its values.
    pub head: Arc<[u8]>,
    /// Its values.
    pub values: Vec<CheckpointValue>,
    /// What was written there, in the order of tasks.
    pub writes: Vec<TaskWrite>,
}

/// One value of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointValue {
    /// Its name.
    pub name: String,
    /// Two values with the same stamp are the same, in one thread.
    pub stamp: u64,
    /// What it is.
    pub bytes: Arc<[u8]>,
}

/// An entry that is still to be stored.
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
    /// A checkpoint's share in what is needed to go on.
    const MARK: usize = 48;
    /// What an entry costs beside its bytes.
    const ENTRY: usize = 64;
    /// No snapshot is made for less.
    const SNAPSHOT: usize = 64 * 1024;

    /// A thread with nothing in it.
    pub fn new(thread: &str) -> Self {
        Self { thread: thread.to_owned(), ..Self::default() }
    }

    /// How many bytes it takes to hold it.
    pub const fn weight(&self) -> usize {
        self.weight
    }

    /// All checkpoints, by namespace and id.
    pub fn marks(&self) -> impl Iterator<Item = (&str, &str, &CheckpointMark)> {
        self.spaces.iter().flat_map(|(space, held)| {
            held.marks.iter().map(|(id, mark)| (space.as_str(), id.as_str(), mark))
        })
    }

    /// Where a checkpoint is.
    pub fn mark(&self, space: &str, id: &str) -> Option<&CheckpointMark> {
        self.spaces.get(space)?.marks.get(id)
    }

    /// The id of the last checkpoint of a namespace.
    pub fn last(&self, space: &str) -> Option<&str> {
        self.spaces.get(space)?.marks.last_key_value().map(|(id, _)| id.as_str())
    }

    /// The checkpoint that the next one is told from: its parent, if that is at hand.
    pub fn before(&self, space: &str, parent: Option<&str>) -> Option<String> {
        let shots = &self.spaces.get(space)?.shots;
        let parent = parent.filter(|parent| shots.contains_key(*parent));
        parent.map(str::to_owned).or_else(|| shots.last_key_value().map(|(id, _)| id.clone()))
    }

    /// The stamp and the length of a value of a checkpoint at hand.
    pub fn stamp(&self, space: &str, id: &str, name: &str) -> Option<(u64, usize)> {
        let version = *self.spaces.get(space)?.shots.get(id)?.values.get(name)?;
        Some((self.values.stamp(version), self.values.length(version)))
    }

    /// Everything but the values of a checkpoint at hand.
    pub fn head(&self, space: &str, id: &str) -> Option<Arc<[u8]>> {
        let shot = self.spaces.get(space)?.shots.get(id)?;
        Some(self.values.bytes(shot.head))
    }

    /// A checkpoint at hand: one since the last snapshot, or the last of its namespace.
    pub fn picture(&self, space: &str, id: &str) -> Option<FullCheckpoint> {
        let held = self.spaces.get(space)?;
        let (mark, shot) = (held.marks.get(id)?, held.shots.get(id)?);
        let valued = |(name, version): (&Arc<str>, &ValueVersion)| CheckpointValue {
            name: name.to_string(),
            stamp: self.values.stamp(*version),
            bytes: self.values.bytes(*version),
        };
        Some(FullCheckpoint {
            parent: mark.parent.clone(),
            head: self.values.bytes(shot.head),
            values: shot.values.iter().map(valued).collect(),
            writes: in_order(held.writes.get(id).cloned().unwrap_or_default()),
        })
    }

    /// Keeps a checkpoint, told from [`LangGraphThread::before`].
    ///
    /// # Errors
    /// `checkpoint_corrupt` if a value shares bytes with one that is not there.
    pub fn put(&mut self, new: NewCheckpoint) -> Result<(), Fault> {
        let base = self.before(&new.space, new.parent.as_deref());
        let step = new.step;
        let (put, flats) = self.told(new, base)?;
        let (space, id) = (put.space.clone(), put.id.clone());
        let before = self.shot(&space, put.base.as_deref());
        self.draft(EntryKind::Step, step, put.encode());
        self.add(put, self.tip)?;
        if let Some(shot) = self.shot(&space, Some(&id)) {
            self.values.keep_all(flats, &shot, before.as_ref());
        }
        self.weigh(&space);
        Ok(())
    }

    /// Keeps what a task wrote at a checkpoint, which may come later itself.
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

    fn shot(&self, space: &str, id: Option<&str>) -> Option<CheckpointRecord> {
        self.spaces.get(space)?.shots.get(id?).cloned()
    }

    /// What was written to a channel at a checkpoint, which the value after it may share.
    fn written(&self, space: &str, id: Option<&str>, channel: &str) -> Vec<Arc<[u8]>> {
        let writes = id.and_then(|id| self.spaces.get(space)?.writes.get(id));
        let here = writes.into_iter().flatten();
        let here = here.filter(|write| write.place >= 0 && write.channel == channel);
        here.map(|write| Arc::clone(&write.value)).collect()
    }

    fn add(&mut self, put: CheckpointDiff, seq: u64) -> Result<(), Fault> {
        let base = put.base.as_deref();
        let shot = self.shot(&put.space, base);
        if base.is_some() && shot.is_none() {
            return Err(corrupt(&format!("a checkpoint comes from none: {}", put.id)));
        }
        let head = self.values.add(put.head, shot.as_ref().map(|shot| shot.head), &[])?;
        let mut values = shot.map_or_else(BTreeMap::new, |shot| shot.values);
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
        held.shots.insert(put.id, CheckpointRecord { head, values });
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

    /// Sums up what of a namespace is needed to go on.
    fn weigh(&mut self, space: &str) {
        let Some(held) = self.spaces.get_mut(space) else { return };
        let mut live = held.marks.len() * Self::MARK;
        if let Some((id, shot)) = held.shots.last_key_value() {
            let values = shot.values.values().chain([&shot.head]);
            live += values.map(|version| self.values.length(*version)).sum::<usize>();
            let writes = held.writes.get(id).into_iter().flatten();
            live += writes.map(|write| write.value.len() + Self::ENTRY).sum::<usize>();
        }
        self.live = self.live - held.live + live;
        held.live = live;
    }
}

/// Adds writes to others of the same checkpoint.
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

fn in_order(mut writes: Vec<TaskWrite>) -> Vec<TaskWrite> {
    writes.sort_by(|a, b| (&a.path, &a.task, a.place).cmp(&(&b.path, &b.task, b.place)));
    writes
}
