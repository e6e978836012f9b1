//! Copies of a thread up to a checkpoint.

use antiphon_core::effect::Ending;
use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::store::{Entry, EntryKind, EntryMark, EntryRange};

use super::status::RunStatus;
use super::{ThreadAdmin, empty};
use crate::checkpoint_writer::is_checkpoint;
use crate::codec::{CommitSummary, damaged_chain, end};
use crate::name;
use crate::reread::FailedReadings;
use crate::run_header::RunHeader;
use crate::sealed_store::{OpenedEntry, missing};

/// The reason with which the copy of an unfinished run is ended.
const COPIED: &str = "forked";

type SourceEntries = (Vec<EntryMark>, Vec<OpenedEntry>, Vec<(OpenedEntry, u64)>);

/// A request to copy a thread.
#[derive(Clone, Copy, Debug)]
pub struct CopyRequest<'a> {
    /// The source thread.
    pub from: &'a str,
    /// The checkpoint to copy up to; `None` copies the present state, open questions included.
    pub checkpoint: Option<u64>,
    /// The new thread.
    pub to: &'a str,
    /// The id of the copied run. It differs from the source's, so that the copy repeats calls
    /// instead of taking them for done.
    pub run_id: &'a str,
}

impl ThreadAdmin {
    /// Copies the entries that lead to a checkpoint into a new thread, all or none. Checkpoints
    /// keep their numbers; other branches are left out. A run that is not finished is ended in
    /// the copy.
    ///
    /// # Errors
    /// `thread_invalid` if the new name is not valid, `thread_empty` and `checkpoint_unknown` if
    /// there is nothing to copy, `thread_busy` if a run has not stored its first step yet,
    /// `thread_taken` if the new thread has entries, and those of
    /// reading and writing.
    pub async fn copy(&self, copying: CopyRequest<'_>) -> Result<(), Fault> {
        let CopyRequest { from, to, .. } = copying;
        name::check_new(to)?;
        let mut failed = FailedReadings::default();
        let (way, records, added) = loop {
            match self.read_original(copying).await {
                Ok(read) => break read,
                Err(fault) => failed.add(&**self.store(), from, fault).await?,
            };
        };
        if self.store().head(to).await?.is_some_and(|head| head.last > 0) {
            return Err(thread_taken(to));
        }
        let entries = self.sealed(to, records, &way, added)?;
        let head = self.claim(to).await?;
        if head.last.max(head.stored) > 0 {
            self.release(to).await?;
            return Err(thread_taken(to));
        }
        let batch = self.sealed_store.batch((to.into(), self.owner.as_str().into()), 0, entries);
        let copied = match batch {
            Ok(batch) => self.store().append(batch).await,
            Err(fault) => Err(fault),
        };
        self.release(to).await?;
        if copied.is_err() {
            // The append may have succeeded although its answer was lost. If another owner has
            // the thread by now, it stays.
            let _ = self.store().delete(to).await;
        }
        copied
    }

    /// The entries to copy, and the entries to add behind them.
    async fn read_original(&self, copying: CopyRequest<'_>) -> Result<SourceEntries, Fault> {
        let way = self.marks_to(copying.from, copying.checkpoint).await?;
        let records = self.records(copying.from, &way).await?;
        let added = self.added(copying, &records).await?;
        Ok((way, records, added))
    }

    /// The marks that lead to `seq` from the oldest entry that is left.
    async fn marks_to(&self, thread: &str, seq: Option<u64>) -> Result<Vec<EntryMark>, Fault> {
        let last = self.sealed_store.head(thread).await?.unwrap_or_default();
        if last == 0 {
            self.check_idle(thread).await?;
            return Err(empty(thread));
        }
        let marks = self.sealed_store.marks(thread, EntryRange { from: 1, to: last }, None).await?;
        let is_there = |seq| marks.iter().any(|mark| mark.seq == seq && is_checkpoint(mark.kind));
        if let Some(seq) = seq.filter(|seq| !is_there(*seq)) {
            return Err(missing(thread, seq));
        }
        let (mut way, mut wanted) = (Vec::new(), seq.unwrap_or(last));
        for mark in marks.iter().rev() {
            if mark.seq == wanted {
                wanted = mark.parent;
                way.push(*mark);
            }
        }
        way.reverse();
        // Pruning removes entries only before a snapshot.
        let is_whole =
            way.first().is_some_and(|mark| mark.parent == 0 || mark.kind == EntryKind::Snapshot);
        if is_whole { Ok(way) } else { Err(damaged_chain(thread, wanted)) }
    }

    /// The opened entries of these marks.
    async fn records(&self, thread: &str, way: &[EntryMark]) -> Result<Vec<OpenedEntry>, Fault> {
        let (Some(first), Some(last)) = (way.first(), way.last()) else { return Ok(Vec::new()) };
        let span = EntryRange { from: first.seq, to: last.seq };
        let entries = self.store().read(thread, span).await?;
        let mut wanted = way.iter().map(|mark| mark.seq).peekable();
        let mut records = Vec::with_capacity(way.len());
        for entry in entries {
            if wanted.next_if_eq(&entry.seq).is_some() {
                records.push(self.sealed_store.open(thread, entry)?);
            }
        }
        match wanted.next() {
            None => Ok(records),
            Some(gone) => Err(damaged_chain(thread, gone)),
        }
    }

    /// All entries, sealed for the new thread.
    fn sealed(
        &self,
        to: &str,
        records: Vec<OpenedEntry>,
        way: &[EntryMark],
        added: Vec<(OpenedEntry, u64)>,
    ) -> Result<Vec<Entry>, Fault> {
        let mut entries: Vec<Entry> = Vec::with_capacity(records.len() + added.len());
        let bases = way.iter().map(|mark| mark.base);
        for (record, base) in records.into_iter().zip(bases).chain(added) {
            let parent = entries.last().map_or(0, |before| before.seq);
            entries.push(self.sealed_store.close(to, OpenedEntry { parent, ..record }, base)?);
        }
        Ok(entries)
    }

    /// The header of the run under its new id, and the end of a run that is not finished; each
    /// with the snapshot before it.
    async fn added(
        &self,
        copying: CopyRequest<'_>,
        records: &[OpenedEntry],
    ) -> Result<Vec<(OpenedEntry, u64)>, Fault> {
        let header = records.iter().rev().find(|record| record.kind == EntryKind::Run);
        let (Some(last), Some(header)) = (records.last(), header) else { return Ok(Vec::new()) };
        let header = RunHeader::decode(&header.body)?;
        let run = header.copied(copying.run_id);
        let mut bodies = vec![(EntryKind::Run, run.encode())];
        match self.tail(copying.from, last.seq).await?.status {
            RunStatus::Unreadable(fault) => return Err(fault),
            RunStatus::Orphaned => bodies.push((EntryKind::End, end_of_copy(records)?)),
            _ => {}
        }
        let base = records.iter().rev().find(|record| record.kind == EntryKind::Snapshot);
        let base = base.map_or(0, |record| record.seq);
        let (step, at) = (last.step, self.clock.now());
        let added = (last.seq + 1..).zip(bodies);
        let record =
            |(seq, (kind, body))| (OpenedEntry { seq, parent: 0, kind, step, at, body }, base);
        Ok(added.map(record).collect())
    }
}

/// The entry that ends the copy of an unfinished run.
fn end_of_copy(records: &[OpenedEntry]) -> Result<Vec<u8>, Fault> {
    let last = records.iter().rev().find(|record| record.kind != EntryKind::Run);
    let summary = match last {
        Some(record) if record.kind == EntryKind::Snapshot => {
            CommitSummary::at_memory(&record.body)?
        }
        Some(record) => CommitSummary::at_commit(&record.body)?,
        None => return Ok(Vec::new()),
    };
    end((&summary.spent, summary.events), &Ok(Ending::Cancelled(COPIED.to_owned())))
}

fn thread_taken(thread: &str) -> Fault {
    let message = format!("the thread already exists: {thread}");
    Fault::new(FaultCode::ThreadTaken, message)
        .with("thread", thread)
        .hint("choose another name, or delete the thread first")
}
