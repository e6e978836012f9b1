//! Snapshots: everything that is needed to load a thread, in one entry.

use std::collections::BTreeMap;

use antiphon_core::Fault;
use antiphon_runtime::store::EntryKind;

use super::values::{ValueVersions, VersionDelta};
use super::wire::{CheckpointLocation, StoredCheckpoint, TaskWrites, ThreadSnapshot};
use super::{CheckpointMark, CheckpointRecord, LangGraphThread, NamespaceCheckpoints, merge};

/// Namespace, checkpoint, name (`None` for the head) and stamp of a value.
type StampedValue = (String, String, Option<String>, u64);

impl LangGraphThread {
    /// Writes a snapshot if the entries since the last one weigh much more than a new one would.
    /// To be called before [`LangGraphThread::put`].
    ///
    /// # Errors
    /// None are known.
    pub fn make_room(&mut self) -> Result<(), Fault> {
        if self.weight <= self.live * 4 + Self::SNAPSHOT {
            return Ok(());
        }
        let stamps = self.stamps();
        let whole = self.whole();
        self.draft(EntryKind::Snapshot, 0, whole.encode());
        self.restore(whole, self.tip)?;
        self.weigh_all();
        for (space, id, name, stamp) in stamps {
            let record = self.record(&space, Some(&id));
            let version = record.and_then(|record| match name {
                Some(name) => record.values.get(name.as_str()).copied(),
                None => Some(record.head),
            });
            if let Some(version) = version {
                self.values.restamp(version, stamp);
            }
        }
        Ok(())
    }

    /// Writes an empty snapshot, so that no earlier entry is needed.
    pub(super) fn clear(&mut self) -> Result<(), Fault> {
        self.draft(EntryKind::Snapshot, 0, ThreadSnapshot::default().encode());
        self.restore(ThreadSnapshot::default(), self.tip)
    }

    fn stamps(&self) -> Vec<StampedValue> {
        let mut stamps = Vec::new();
        for (space, held) in &self.spaces {
            let Some((id, record)) = held.records.last_key_value() else { continue };
            let values = record.values.iter().map(|(name, version)| (Some(name), version));
            stamps.extend(values.chain([(None, &record.head)]).map(|(name, version)| {
                let stamp = self.values.stamp(*version);
                (space.clone(), id.clone(), name.map(ToString::to_string), stamp)
            }));
        }
        stamps
    }

    fn whole(&self) -> ThreadSnapshot {
        let mut whole = ThreadSnapshot::default();
        for (space, held) in &self.spaces {
            whole.marks.extend(held.marks.iter().map(|(id, mark)| mark.location(space, id)));
            let last = held.records.last_key_value();
            whole
                .records
                .extend(last.map(|(id, record)| self.stored_checkpoint(space, id, record)));
            let is_needed =
                |id: &str| last.is_some_and(|(last, _)| last == id) || held.early.contains_key(id);
            let writes = held.writes.iter().filter(|(id, _)| is_needed(id));
            whole.wrote.extend(writes.map(|(id, writes)| TaskWrites {
                space: space.clone(),
                id: id.clone(),
                writes: writes.clone(),
            }));
        }
        whole
    }

    fn stored_checkpoint(
        &self,
        space: &str,
        id: &str,
        record: &CheckpointRecord,
    ) -> StoredCheckpoint {
        let bytes = |version| self.values.bytes(version).to_vec();
        let values = record.values.iter().map(|(name, value)| (name.to_string(), bytes(*value)));
        StoredCheckpoint {
            space: space.to_owned(),
            id: id.to_owned(),
            head: bytes(record.head),
            values: values.collect(),
        }
    }

    /// Replaces what is loaded by the contents of a snapshot.
    pub(super) fn restore(&mut self, whole: ThreadSnapshot, seq: u64) -> Result<(), Fault> {
        let mut values = ValueVersions::default();
        values.stamp_after(&self.values);
        self.values = values;
        self.live = 0;
        self.spaces = BTreeMap::new();
        for CheckpointLocation { space, id, parent, run, seq, wrote } in whole.marks {
            let held = self.spaces.entry(space).or_default();
            held.marks.insert(id, CheckpointMark { seq, parent, run, wrote });
        }
        for checkpoint in whole.records {
            self.load_checkpoint(checkpoint, seq)?;
        }
        for TaskWrites { space, id, writes } in whole.wrote {
            let held = self.spaces.entry(space).or_default();
            match held.marks.get_mut(&id) {
                Some(mark) => mark.wrote = vec![seq],
                None => drop(held.early.insert(id.clone(), vec![seq])),
            }
            merge(held.writes.entry(id).or_default(), writes);
        }
        Ok(())
    }

    fn load_checkpoint(&mut self, checkpoint: StoredCheckpoint, seq: u64) -> Result<(), Fault> {
        let head = self.values.add(VersionDelta::Whole(checkpoint.head), None, &[])?;
        let mut values = BTreeMap::new();
        for (name, bytes) in checkpoint.values {
            values.insert(name.into(), self.values.add(VersionDelta::Whole(bytes), None, &[])?);
        }
        let held: &mut NamespaceCheckpoints = self.spaces.entry(checkpoint.space).or_default();
        if let Some(mark) = held.marks.get_mut(&checkpoint.id) {
            mark.seq = seq;
            mark.wrote.clear();
        }
        held.records.insert(checkpoint.id, CheckpointRecord { step: 0, head, values });
        Ok(())
    }
}

impl CheckpointMark {
    fn location(&self, space: &str, id: &str) -> CheckpointLocation {
        CheckpointLocation {
            space: space.to_owned(),
            id: id.to_owned(),
            parent: self.parent.clone(),
            run: self.run.clone(),
            seq: self.seq,
            wrote: self.wrote.clone(),
        }
    }
}
