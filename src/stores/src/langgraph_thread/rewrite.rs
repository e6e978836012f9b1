//! Rewrites a thread: without some of its checkpoints, or into another thread.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use antiphon_core::Fault;
use antiphon_runtime::store::EntryKind;

use super::entries::tag_of;
use super::values::{ValueVersion, VersionPiece};
use super::wire::{CheckpointDiff, TaskWrites};
use super::{CheckpointRecord, LangGraphThread, NewCheckpoint, ValueChange};
use crate::codec::damaged_chain;
use crate::reread::retry_torn_read;
use crate::sealed_store::{OpenedEntry, SealedStore};

/// The keys of checkpoints: namespaces and ids.
pub type CheckpointKeys = BTreeSet<(String, String)>;

/// Removes checkpoints from a thread; others stay, including those that were added after `gone`
/// was chosen. Returns the sequence number of the first rewritten entry: once that is stored, no
/// earlier entry is needed. `None` if there is nothing to remove.
///
/// # Errors
/// Those of reading the thread.
pub async fn remove_checkpoints(
    sealed_store: &SealedStore,
    langgraph_thread: &mut LangGraphThread,
    gone: &CheckpointKeys,
) -> Result<Option<u64>, Fault> {
    let keys: CheckpointKeys =
        langgraph_thread.marks().map(|(space, id, _)| (space.to_owned(), id.to_owned())).collect();
    if keys.is_disjoint(gone) {
        return Ok(None);
    }
    let keys: CheckpointKeys = keys.difference(gone).cloned().collect();
    let parts = load_parts(sealed_store, &langgraph_thread.thread, Some(&keys)).await?;
    let mut target = LangGraphThread {
        tip: langgraph_thread.tip,
        tag: langgraph_thread.tag.clone(),
        ..LangGraphThread::new(&langgraph_thread.thread)
    };
    target.clear()?;
    let first = target.tip;
    let mut copy = CheckpointCopy { target, keys: Some(&keys), known: BTreeMap::new() };
    parts.iter().try_for_each(|part| copy.add_all(&langgraph_thread.thread, part))?;
    *langgraph_thread = copy.target;
    Ok(Some(first))
}

/// Adds all checkpoints of `thread` to the thread `into`.
///
/// # Errors
/// Those of reading the thread.
pub async fn copied(
    sealed_store: &SealedStore,
    thread: &str,
    into: LangGraphThread,
) -> Result<LangGraphThread, Fault> {
    let parts = load_parts(sealed_store, thread, None).await?;
    let mut copy = CheckpointCopy { target: into, keys: None, known: BTreeMap::new() };
    parts.iter().try_for_each(|part| copy.add_all(thread, part))?;
    Ok(copy.target)
}

/// The entries of a thread in parts that begin with a snapshot, oldest part first, back to the
/// part that has the oldest of these checkpoints; `None` means all.
///
/// # Errors
/// Those of the store, and `checkpoint_corrupt` if a part is missing: what nobody needs any more
/// was removed, and is not looked for.
async fn load_parts(
    sealed_store: &SealedStore,
    thread: &str,
    keys: Option<&CheckpointKeys>,
) -> Result<Vec<Vec<OpenedEntry>>, Fault> {
    retry_torn_read(&**sealed_store.store(), thread, || async {
        let newest = sealed_store.way_to(thread, None).await?;
        let oldest = oldest(&LangGraphThread::replayed(thread, &newest)?, keys);
        let mut parts = vec![newest];
        while let Some(before) = parts.last().and_then(|way| before(way, oldest)) {
            if sealed_store.store().find(thread, before).await?.is_none() {
                return Err(damaged_chain(thread, before));
            }
            parts.push(sealed_store.way_to(thread, Some(before)).await?);
        }
        if let Some(last) = parts.first().and_then(|way| way.last()) {
            // The parts were read one after the other; this proves that the thread was not
            // recreated in between.
            tag_of(sealed_store, thread, last).await?;
        }
        parts.reverse();
        Ok(parts)
    })
    .await
}

/// The sequence number of the oldest of these checkpoints, or of all.
fn oldest(langgraph_thread: &LangGraphThread, keys: Option<&CheckpointKeys>) -> u64 {
    let is_needed = |space: &str, id: &str| {
        keys.is_none_or(|keys| keys.contains(&(space.to_owned(), id.to_owned())))
    };
    let marks = langgraph_thread.marks().filter(|(space, id, _)| is_needed(space, id));
    marks.map(|(_, _, mark)| mark.seq).min().unwrap_or(u64::MAX)
}

/// The sequence number of the entry before a part, if older parts are needed.
fn before(way: &[OpenedEntry], oldest: u64) -> Option<u64> {
    let first = way.first().filter(|first| first.seq > oldest)?;
    Some(first.parent).filter(|parent| *parent > 0)
}

struct CheckpointCopy<'a> {
    target: LangGraphThread,
    /// The checkpoints to copy; `None` copies all.
    keys: Option<&'a CheckpointKeys>,
    /// The stamps of values in the source, and of their copies.
    known: BTreeMap<u64, u64>,
}

impl CheckpointCopy<'_> {
    fn add_all(&mut self, thread: &str, part: &[OpenedEntry]) -> Result<(), Fault> {
        let mut source = LangGraphThread::new(thread);
        self.known.clear();
        for record in part {
            source.apply(record)?;
            match record.kind {
                EntryKind::Step => {
                    let CheckpointDiff { space, id, .. } = CheckpointDiff::decode(&record.body)?;
                    self.add(&source, (&space, &id), record.step)?;
                }
                EntryKind::Part => {
                    let TaskWrites { space, id, writes } = TaskWrites::decode(&record.body)?;
                    if self.wants(&source, &space, &id) {
                        self.target.put_writes(&space, &id, writes);
                    }
                }
                _ => self.add_snapshot(&source)?,
            }
        }
        Ok(())
    }

    /// Adds the checkpoints of a snapshot; most of them were met in the part before it.
    fn add_snapshot(&mut self, source: &LangGraphThread) -> Result<(), Fault> {
        for (space, held) in &source.spaces {
            for (id, record) in &held.records {
                match self.target.record(space, Some(id)) {
                    Some(met) => self.map_stamps(source, record, &met),
                    None => self.add(source, (space, id), 0)?,
                }
            }
            for (id, writes) in &held.writes {
                if self.wants(source, space, id) {
                    self.target.put_writes(space, id, writes.clone());
                }
            }
        }
        Ok(())
    }

    /// Two records of the same checkpoint have the same values: maps their stamps.
    fn map_stamps(
        &mut self,
        source: &LangGraphThread,
        record: &CheckpointRecord,
        met: &CheckpointRecord,
    ) {
        for (name, version) in &record.values {
            if let Some(met) = met.values.get(name) {
                let met = self.target.values.stamp(*met);
                self.known.insert(source.values.stamp(*version), met);
            }
        }
    }

    /// Whether the writes at a checkpoint are copied; those at a checkpoint that is not yet
    /// stored are.
    fn wants(&self, source: &LangGraphThread, space: &str, id: &str) -> bool {
        let is_early = source.mark(space, id).is_none();
        is_early || self.keys.is_none_or(|keys| keys.contains(&(space.to_owned(), id.to_owned())))
    }

    fn add(
        &mut self,
        source: &LangGraphThread,
        (space, id): (&str, &str),
        step: u64,
    ) -> Result<(), Fault> {
        let (Some(mark), Some(record)) = (source.mark(space, id), source.record(space, Some(id)))
        else {
            return Ok(());
        };
        if !self.wants(source, space, id) {
            return Ok(());
        }
        self.target.make_room()?;
        let before = self.target.before(space, mark.parent.as_deref());
        let before = self.target.record(space, before.as_deref());
        let change = |(name, version): (&Arc<str>, &ValueVersion)| {
            let before = before.as_ref().and_then(|record| record.values.get(name)).copied();
            (name.to_string(), self.change(source, *version, before))
        };
        let values = record.values.iter().map(change).collect();
        self.target.put(NewCheckpoint {
            space: space.to_owned(),
            id: id.to_owned(),
            parent: mark.parent.clone(),
            run: mark.run.clone(),
            step,
            head: source.values.bytes(record.head).to_vec(),
            values,
        })?;
        if let Some(met) = self.target.record(space, Some(id)) {
            self.map_stamps(source, &record, &met);
        }
        Ok(())
    }

    /// A value as a splice, as in the source, if its origin is also the previous value here.
    fn change(
        &self,
        source: &LangGraphThread,
        version: ValueVersion,
        before: Option<ValueVersion>,
    ) -> ValueChange {
        let here = before.map(|before| self.target.values.stamp(before));
        let is_here = |version: ValueVersion| {
            here.is_some() && self.known.get(&source.values.stamp(version)).copied() == here
        };
        if is_here(version) {
            return ValueChange::Same;
        }
        let origin = source.values.origin(version).filter(|(origin, _)| is_here(*origin));
        let splice =
            origin.and_then(|(origin, pieces)| to_splice(&pieces, source.values.length(origin)));
        splice.unwrap_or_else(|| ValueChange::Whole(source.values.bytes(version).to_vec()))
    }
}

/// Converts pieces to a splice, if they have its form.
fn to_splice(pieces: &[VersionPiece], length: usize) -> Option<ValueChange> {
    let head = match pieces.first() {
        Some(VersionPiece::Base { from: 0, length }) => Some(*length),
        _ => None,
    };
    let pieces = pieces.get(usize::from(head.is_some())..)?;
    let tail = match pieces.last() {
        Some(VersionPiece::Base { from, length: tail }) if from + tail == length => Some(*tail),
        _ => None,
    };
    let pieces = pieces.get(..pieces.len() - usize::from(tail.is_some()))?;
    let mut middle = Vec::new();
    for piece in pieces {
        let VersionPiece::New(bytes) = piece else { return None };
        middle.extend_from_slice(bytes);
    }
    let (head, tail) = (head.unwrap_or(0), tail.unwrap_or(0));
    (head + tail <= length).then_some(ValueChange::Spliced { head, middle, tail })
}
