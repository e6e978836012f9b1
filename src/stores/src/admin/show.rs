//! Details of one thread: its runs, its checkpoints, and the last writes.

use std::collections::BTreeMap;

use antiphon_core::checkpoint::WriteSource;
use antiphon_core::{Fault, Time};
use antiphon_runtime::store::{EntryKind, EntryMark, EntryRange};

use super::status::RunStatus;
use super::{ThreadAdmin, ThreadSummary};
use crate::codec::{CommitEvent, CommitSummary, damaged_chain};
use crate::reread::FailedReadings;
use crate::retention::checkpoints;

/// Details of one thread.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadDetail {
    /// The summary as in lists.
    pub listed: ThreadSummary,
    /// Its runs, newest first.
    pub turns: Vec<RunSummary>,
    /// Its checkpoints, newest first.
    pub checkpoints: Vec<CheckpointSummary>,
    /// The last write by channel, for writes since the last snapshot.
    pub written: BTreeMap<String, LastWrite>,
}

/// One run of a thread.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    /// Its id.
    pub run_id: String,
    /// The name of its graph.
    pub graph: String,
    /// The status of the run.
    pub status: RunStatus,
    /// When it began, as far as its entries are left.
    pub began: Time,
    /// When it last wrote.
    pub at: Time,
    /// The number of its checkpoints that are left.
    pub checkpoints: u64,
    /// The size of its entries, in bytes.
    pub size: u64,
}

/// One checkpoint of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointSummary {
    /// Its sequence number, by which it is named.
    pub seq: u64,
    /// The sequence number of the previous checkpoint; 0 if there is none.
    pub parent: u64,
    /// The number of supersteps.
    pub step: u64,
    /// When it was written.
    pub at: Time,
    /// What led to it; `None` if that entry was pruned.
    pub source: Option<WriteSource>,
    /// The nodes that ran in its superstep, as far as known.
    pub ran: Vec<String>,
    /// The nodes that run next.
    pub next: Vec<String>,
    /// The size of the entries that led to it, in bytes.
    pub size: u64,
}

/// The last write to a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastWrite {
    /// The encoded value; `None` if the channel was reset to its default.
    pub value: Option<Vec<u8>>,
    /// Whether the value is all that the channel holds, and not one that a reducer merged into
    /// it.
    pub whole: bool,
}

impl ThreadAdmin {
    /// The details of a thread, with at most the last `limit` checkpoints and runs.
    ///
    /// # Errors
    /// `thread_empty` if there is none, and those of reading entries.
    pub async fn show(&self, thread: &str, limit: usize) -> Result<ThreadDetail, Fault> {
        let mut failed = FailedReadings::default();
        loop {
            match self.detail(thread, limit).await {
                Ok(detail) => return Ok(detail),
                Err(fault) => failed.add(&**self.store(), thread, fault).await?,
            };
        }
    }

    async fn detail(&self, thread: &str, limit: usize) -> Result<ThreadDetail, Fault> {
        let listed = self.listed(thread).await?;
        if matches!(listed.status, RunStatus::Foreign) {
            let (turns, checkpoints) = (Vec::new(), Vec::new());
            return Ok(ThreadDetail { listed, turns, checkpoints, written: BTreeMap::new() });
        }
        let marks = self.sealed_store.marks(thread, EntryRange::ALL, None).await?;
        check_whole(thread, &marks)?;
        Ok(ThreadDetail {
            turns: self.turns(&listed, &marks, limit).await?,
            checkpoints: self.instants(thread, &marks, limit).await?,
            written: self.written(thread, &marks).await?,
            listed,
        })
    }

    /// Summarizes the runs. They follow one another in the order of sequence numbers, on
    /// all branches.
    async fn turns(
        &self,
        listed: &ThreadSummary,
        marks: &[EntryMark],
        limit: usize,
    ) -> Result<Vec<RunSummary>, Fault> {
        let mut turns: Vec<RunSummary> = Vec::new();
        for part in entries_by_run(marks).into_iter().rev() {
            let (Some(first), Some(last)) = (part.first(), part.last()) else { continue };
            let run = part.iter().find(|mark| mark.kind == EntryKind::Run);
            let header = match run {
                Some(run) => Some(self.header(&listed.thread, run.seq).await?),
                None => None,
            };
            let (run_id, graph) = header.map(|run| (run.run_id, run.graph)).unwrap_or_default();
            let size: u64 = part.iter().map(|mark| mark.size).sum();
            let kept = checkpoints(part).count() as u64;
            if let Some(later) = turns.last_mut().filter(|later| later.run_id == run_id) {
                later.began = first.at;
                later.size += size;
                later.checkpoints += kept;
                continue;
            }
            if turns.len() >= limit {
                break;
            }
            let status = if turns.is_empty() {
                listed.status.clone()
            } else {
                self.tail(&listed.thread, last.seq).await?.status
            };
            let (began, at) = (first.at, last.at);
            turns.push(RunSummary { run_id, graph, status, began, at, checkpoints: kept, size });
        }
        Ok(turns)
    }

    async fn instants(
        &self,
        thread: &str,
        marks: &[EntryMark],
        limit: usize,
    ) -> Result<Vec<CheckpointSummary>, Fault> {
        let by_seq: BTreeMap<u64, &EntryMark> = marks.iter().map(|mark| (mark.seq, mark)).collect();
        let shown: BTreeMap<u64, &EntryMark> =
            checkpoints(marks).map(|mark| (mark.seq, mark)).collect();
        let mut instants = Vec::new();
        for mark in shown.values().rev().take(limit) {
            let (mut parent, mut size) = (by_seq.get(&mark.parent), mark.size);
            while let Some(before) = parent
                && !shown.contains_key(&before.seq)
            {
                size += before.size;
                parent = by_seq.get(&before.parent);
            }
            let before = parent.map_or(0, |before| before.seq);
            let (source, next) = self.pending_work(thread, mark).await?;
            instants.push(CheckpointSummary {
                seq: mark.seq,
                parent: before,
                step: mark.step,
                at: mark.at,
                source,
                ran: Vec::new(),
                next,
                size,
            });
        }
        self.name_nodes(thread, &shown, &mut instants).await?;
        Ok(instants)
    }

    /// Fills in the nodes that ran for a checkpoint: the pending nodes of the previous one.
    async fn name_nodes(
        &self,
        thread: &str,
        shown: &BTreeMap<u64, &EntryMark>,
        instants: &mut [CheckpointSummary],
    ) -> Result<(), Fault> {
        let mut next: BTreeMap<u64, Vec<String>> =
            instants.iter().map(|instant| (instant.seq, instant.next.clone())).collect();
        for instant in instants {
            if !matches!(instant.source, None | Some(WriteSource::Step)) {
                continue;
            }
            if let Some(ran) = next.get(&instant.parent) {
                instant.ran.clone_from(ran);
            } else if let Some(before) = shown.get(&instant.parent) {
                let (_, ran) = self.pending_work(thread, before).await?;
                instant.ran.clone_from(&ran);
                next.insert(before.seq, ran);
            }
        }
        Ok(())
    }

    /// What led to a checkpoint, and the nodes that run next.
    async fn pending_work(
        &self,
        thread: &str,
        mark: &EntryMark,
    ) -> Result<(Option<WriteSource>, Vec<String>), Fault> {
        let body = self.body(thread, mark.seq).await?;
        let CommitEvent::Checkpoint { source, next, .. } = note(mark.kind, &body)? else {
            return Ok((None, Vec::new()));
        };
        let next = next.into_iter().map(str::to_owned).collect();
        if mark.kind != EntryKind::Snapshot {
            return Ok((source, next));
        }
        // The superstep that a snapshot repeats has the source.
        let span = EntryRange { from: mark.parent, to: mark.parent };
        let repeated = self.sealed_store.marks(thread, span, Some(EntryKind::Step)).await?;
        let repeated = repeated.first().filter(|step| step.step == mark.step);
        let Some(step) = repeated else { return Ok((None, next)) };
        let body = self.body(thread, step.seq).await?;
        match note(step.kind, &body)? {
            CommitEvent::Checkpoint { source, .. } => Ok((source, next)),
            _ => Ok((None, next)),
        }
    }

    /// The last writes, since the last snapshot.
    async fn written(
        &self,
        thread: &str,
        marks: &[EntryMark],
    ) -> Result<BTreeMap<String, LastWrite>, Fault> {
        let mut written = BTreeMap::new();
        let by_seq: BTreeMap<u64, &EntryMark> = marks.iter().map(|mark| (mark.seq, mark)).collect();
        let mut way = Vec::new();
        let mut next = by_seq.last_key_value().map(|(_, mark)| *mark);
        while let Some(mark) = next {
            way.push(mark);
            let continues = mark.kind != EntryKind::Snapshot;
            next = continues.then(|| by_seq.get(&mark.parent).copied()).flatten();
        }
        for mark in way.into_iter().rev() {
            if matches!(mark.kind, EntryKind::Step | EntryKind::Snapshot) {
                let body = self.body(thread, mark.seq).await?;
                add_written(note(mark.kind, &body)?, &mut written);
            }
        }
        Ok(written)
    }

    async fn body(&self, thread: &str, seq: u64) -> Result<Vec<u8>, Fault> {
        match self.store().find(thread, seq).await? {
            Some(entry) => Ok(self.sealed_store.open(thread, entry)?.body),
            None => Err(damaged_chain(thread, seq)),
        }
    }
}

/// Checks that no entry is missing. Pruning removes entries only before a snapshot.
fn check_whole(thread: &str, marks: &[EntryMark]) -> Result<(), Fault> {
    let is_there = |seq: u64| seq == 0 || marks.binary_search_by_key(&seq, |mark| mark.seq).is_ok();
    let lost = marks.iter().find(|mark| mark.kind != EntryKind::Snapshot && !is_there(mark.parent));
    lost.map_or(Ok(()), |mark| Err(damaged_chain(thread, mark.parent)))
}

fn note(kind: EntryKind, body: &[u8]) -> Result<CommitEvent<'_>, Fault> {
    let summary = match kind {
        EntryKind::Snapshot => CommitSummary::at_memory(body)?,
        _ => CommitSummary::at_commit(body)?,
    };
    Ok(summary.note)
}

/// The entries of each run, or of each resumption. A snapshot directly before a header belongs
/// to that run.
fn entries_by_run(marks: &[EntryMark]) -> Vec<&[EntryMark]> {
    let begins = |index: usize| {
        let mark = marks.get(index);
        let kind = mark.map(|mark| mark.kind);
        let after = marks.get(index + 1).map(|mark| mark.kind);
        let before = index.checked_sub(1).and_then(|index| marks.get(index)).map(|mark| mark.kind);
        match kind {
            Some(EntryKind::Run) => before != Some(EntryKind::Snapshot),
            Some(EntryKind::Snapshot) => after == Some(EntryKind::Run),
            _ => false,
        }
    };
    let starts: Vec<usize> =
        (0..marks.len()).filter(|index| *index == 0 || begins(*index)).collect();
    let ends = starts.iter().skip(1).copied().chain([marks.len()]);
    starts.iter().zip(ends).filter_map(|(start, end)| marks.get(*start..end)).collect()
}

fn add_written(note: CommitEvent<'_>, all: &mut BTreeMap<String, LastWrite>) {
    let CommitEvent::Checkpoint { written, .. } = note else { return };
    // A value that a reducer of the host returned replaces the writes that went into it.
    let made: Vec<_> = written.iter().filter(|one| one.whole).map(|one| one.channel).collect();
    for one in &written {
        if one.whole || !made.contains(&one.channel) {
            let latest = LastWrite { value: one.value.map(<[u8]>::to_vec), whole: one.whole };
            all.insert(one.channel.to_owned(), latest);
        }
    }
}
