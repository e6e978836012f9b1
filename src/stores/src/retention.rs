//! Which checkpoints of a thread stay when it is pruned.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use antiphon_core::Time;
use antiphon_runtime::store::{EntryKind, EntryMark, EntryRange};

use crate::checkpoint_writer::is_checkpoint;

/// How much of each thread is kept. A checkpoint beyond any of the limits is removed; the last
/// one of a thread stays, with everything that is needed to resume from it.
///
/// The entries that a kept checkpoint is read from stay too: everything back to the snapshot
/// before it. Snapshots are frequent enough for that to be at most 64 KiB, or four times the
/// size of the thread's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// The number of checkpoints, the newest on any branch.
    pub last: Option<u64>,
    /// The greatest age of a checkpoint.
    pub age: Option<Duration>,
    /// The total size of the checkpoints' entries, in bytes.
    pub bytes: Option<u64>,
}

/// The result of planning the pruning of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrunePlan {
    /// The entries that are superfluous.
    pub spans: Vec<EntryRange>,
    /// Their number.
    pub entries: u64,
    /// The size of their bodies, in bytes.
    pub bytes: u64,
}

impl RetentionPolicy {
    /// Whether everything is kept for ever.
    pub const fn is_all(&self) -> bool {
        self.last.is_none() && self.age.is_none() && self.bytes.is_none()
    }

    /// Plans which of these entries to remove at the time `now`. Only threads of runs can be
    /// pruned by it; entries of other engines may be read in other ways.
    pub fn plan(&self, marks: &[EntryMark], now: Time) -> PrunePlan {
        if self.is_all() || marks.iter().all(|mark| mark.kind != EntryKind::Run) {
            return PrunePlan::default();
        }
        let mut needed = RequiredEntries::of(marks);
        needed.add_tip();
        for (rank, checkpoint) in (1_u64..).zip(checkpoints(marks)) {
            let too_many = self.last.is_some_and(|last| rank > last);
            let too_old = self.age.is_some_and(|age| now.since(checkpoint.at) > age);
            // The remaining checkpoints are older, and need at least as much.
            if too_many || too_old || !needed.add(checkpoint.seq, self.bytes) {
                return needed.rest();
            }
        }
        PrunePlan::default()
    }
}

/// The checkpoints among entries, newest first. A snapshot stands for the superstep that it
/// repeats.
pub fn checkpoints(marks: &[EntryMark]) -> impl Iterator<Item = &EntryMark> {
    let repeated = repeated(marks);
    let is_shown =
        move |mark: &&EntryMark| is_checkpoint(mark.kind) && !repeated.contains(&mark.seq);
    marks.iter().rev().filter(is_shown)
}

/// The supersteps that snapshots repeat. A run with durability `exit` leaves snapshots that
/// follow an earlier superstep.
fn repeated(marks: &[EntryMark]) -> BTreeSet<u64> {
    let of = |kind| marks.iter().filter(move |mark| mark.kind == kind);
    let steps: BTreeSet<_> = of(EntryKind::Step).map(|mark| (mark.seq, mark.step)).collect();
    let before = of(EntryKind::Snapshot).map(|mark| (mark.parent, mark.step));
    before.filter(|before| steps.contains(before)).map(|(seq, _)| seq).collect()
}

/// The entries that kept checkpoints are read from.
struct RequiredEntries<'a> {
    marks: BTreeMap<u64, &'a EntryMark>,
    /// By checkpoint: the entries after it, before the next one in lists.
    after: BTreeMap<u64, Vec<u64>>,
    kept: BTreeSet<u64>,
    size: u64,
}

impl<'a> RequiredEntries<'a> {
    fn of(marks: &'a [EntryMark]) -> Self {
        let mut found = Self {
            marks: marks.iter().map(|mark| (mark.seq, mark)).collect(),
            after: BTreeMap::new(),
            kept: BTreeSet::new(),
            size: 0,
        };
        let (repeated, mut of) = (repeated(marks), BTreeMap::new());
        for mark in marks {
            let of_parent = of.get(&mark.parent).copied().unwrap_or_default();
            let begins = is_checkpoint(mark.kind) && !repeated.contains(&mark.seq);
            let own = if begins { mark.seq } else { of_parent };
            of.insert(mark.seq, own);
            found.after.entry(own).or_default().push(mark.seq);
        }
        found
    }

    /// Adds everything that is needed to resume.
    fn add_tip(&mut self) {
        let Some((tip, _)) = self.marks.last_key_value() else { return };
        let way = self.way_to(*tip);
        self.take(&way);
    }

    /// Adds a checkpoint and the entries after it; returns false if they exceed `most`.
    fn add(&mut self, seq: u64, most: Option<u64>) -> bool {
        let mut way = self.way_to(seq);
        let after = self.after.get(&seq).map_or(&[][..], Vec::as_slice);
        way.extend(after.iter().filter(|seq| !self.kept.contains(seq)));
        let more: u64 =
            way.iter().filter_map(|seq| self.marks.get(seq)).map(|mark| mark.size).sum();
        if most.is_some_and(|most| self.size + more > most) {
            return false;
        }
        self.take(&way);
        true
    }

    /// The entries that lead to `seq` from the snapshot before it and are not kept yet.
    fn way_to(&self, seq: u64) -> BTreeSet<u64> {
        let mut way = BTreeSet::new();
        let mut next = self.marks.get(&seq);
        while let Some(mark) = next
            && !self.kept.contains(&mark.seq)
            && way.insert(mark.seq)
            && mark.kind != EntryKind::Snapshot
        {
            next = self.marks.get(&mark.parent);
        }
        way
    }

    fn take(&mut self, way: &BTreeSet<u64>) {
        let sizes = way.iter().filter_map(|seq| self.marks.get(seq)).map(|mark| mark.size);
        self.size += sizes.sum::<u64>();
        self.kept.extend(way);
    }

    /// The plan that removes all others.
    fn rest(&self) -> PrunePlan {
        let mut plan = PrunePlan::default();
        let mut open: Option<EntryRange> = None;
        for (seq, mark) in &self.marks {
            if self.kept.contains(seq) {
                plan.spans.extend(open.take());
                continue;
            }
            plan.entries += 1;
            plan.bytes += mark.size;
            let from = open.map_or(*seq, |span| span.from);
            open = Some(EntryRange { from, to: *seq });
        }
        plan.spans.extend(open);
        plan
    }
}
