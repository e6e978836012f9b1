//! Reads and writes the entries of a thread.

use antiphon_core::{Fault, Time};
use antiphon_runtime::store::{Entry, EntryBatch, EntryKind, EntryRange, EntryTag};

use super::wire::{CheckpointDiff, TaskWrites, ThreadSnapshot};
use super::{
    CheckpointMark, DraftEntry, FullCheckpoint, LangGraphThread, TaskWrite, merge, sorted_writes,
};
use crate::codec::{corrupt, damaged_chain};
use crate::reread::retry_torn_read;
use crate::sealed_store::{OpenedEntry, SealedStore};

/// The owner of all LangGraph threads. Writers of a thread share its lease under this name and
/// detect conflicts by the last entry: a writer that is late catches up and tries again.
/// [`WriteTurn`] is for writers that were late too often.
///
/// [`WriteTurn`]: super::WriteTurn
pub const OWNER: &str = "langgraph";

/// What is known of a thread at some moment: its entries up to the last one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownEntries {
    last: u64,
    tag: Option<EntryTag>,
}

impl KnownEntries {
    /// All entries up to this one.
    pub(super) fn up_to(entry: &Entry) -> Self {
        Self { last: entry.seq, tag: Some(entry.tag.clone()) }
    }

    /// Whether the store has them. A store answers in order: entries that were sent to it before
    /// are stored by then, or never will be.
    pub(super) async fn are_stored(
        &self,
        sealed_store: &SealedStore,
        thread: &str,
    ) -> Result<bool, Fault> {
        if self.last == 0 {
            return Ok(true);
        }
        let last = sealed_store.store().find(thread, self.last).await?;
        Ok(last.map(|entry| entry.tag) == self.tag)
    }

    /// The range of the last loaded entry and all later ones.
    pub const fn span(&self) -> EntryRange {
        EntryRange { from: self.last, to: u64::MAX }
    }
}

impl LangGraphThread {
    /// Loads a thread.
    ///
    /// # Errors
    /// Those of the store, and `checkpoint_corrupt` if entries are damaged or missing.
    pub async fn load(sealed_store: &SealedStore, thread: &str) -> Result<Self, Fault> {
        retry_torn_read(&**sealed_store.store(), thread, || async {
            let way = sealed_store.way_to(thread, None).await?;
            let mut langgraph_thread = Self::replayed(thread, &way)?;
            if let Some(last) = way.last() {
                langgraph_thread.tag = Some(tag_of(sealed_store, thread, last).await?);
            }
            Ok(langgraph_thread)
        })
        .await
    }

    /// Loads a checkpoint from before the last snapshot, and those around it.
    ///
    /// # Errors
    /// As [`LangGraphThread::load`]; also `checkpoint_corrupt` if others have removed or
    /// rewritten it.
    pub async fn past(
        sealed_store: &SealedStore,
        thread: &str,
        mark: &CheckpointMark,
    ) -> Result<Self, Fault> {
        let way = sealed_store.way_to(thread, Some(mark.seq)).await?;
        Self::replayed(thread, &way)
    }

    /// Loads the writes at a checkpoint, in the order of tasks.
    ///
    /// # Errors
    /// As [`LangGraphThread::load`].
    pub async fn writes_of(
        sealed_store: &SealedStore,
        thread: &str,
        (space, id): (&str, &str),
        mark: &CheckpointMark,
    ) -> Result<Vec<TaskWrite>, Fault> {
        let mut found = Vec::new();
        for seq in &mark.wrote {
            let entry = sealed_store.store().find(thread, *seq).await?;
            let entry = entry.ok_or_else(|| damaged_chain(thread, *seq))?;
            let record = sealed_store.open(thread, entry)?;
            let wrote = match record.kind {
                EntryKind::Part => vec![TaskWrites::decode(&record.body)?],
                EntryKind::Snapshot => ThreadSnapshot::decode(&record.body)?.wrote,
                _ => Vec::new(),
            };
            let here = wrote.into_iter().filter(|wrote| wrote.space == space && wrote.id == id);
            here.for_each(|wrote| merge(&mut found, wrote.writes));
        }
        Ok(sorted_writes(found))
    }

    pub(super) fn replayed(thread: &str, way: &[OpenedEntry]) -> Result<Self, Fault> {
        let mut langgraph_thread = Self::new(thread);
        for record in way {
            langgraph_thread.apply(record)?;
        }
        langgraph_thread.weigh_all();
        Ok(langgraph_thread)
    }

    /// What is loaded of the thread now.
    pub fn seen(&self) -> KnownEntries {
        KnownEntries { last: self.tip, tag: self.tag.clone() }
    }

    /// Applies the entries that others have written since `seen`. Returns false if the thread
    /// must be loaded anew: it was deleted, recreated or pruned, or its next entries conflict
    /// with those that this process is writing.
    ///
    /// # Errors
    /// Those of opening and decoding entries.
    pub fn catch_up(
        &mut self,
        sealed_store: &SealedStore,
        seen: &KnownEntries,
        entries: Vec<Entry>,
    ) -> Result<bool, Fault> {
        let first = entries.first().filter(|entry| entry.seq == seen.last);
        if seen.last > 0 && first.map(|entry| &entry.tag) != seen.tag.as_ref() {
            return Ok(false);
        }
        let known = self.tip;
        for entry in entries {
            if entry.seq < known {
                continue;
            }
            if entry.seq == known {
                if self.tag.as_ref() != Some(&entry.tag) {
                    return Ok(false);
                }
                continue;
            }
            if entry.parent != self.tip {
                return Ok(false);
            }
            let tag = entry.tag.clone();
            self.apply(&sealed_store.open(&self.thread, entry)?)?;
            self.tag = Some(tag);
        }
        if self.tip > known {
            self.weigh_all();
        }
        Ok(true)
    }

    pub(super) fn apply(&mut self, record: &OpenedEntry) -> Result<(), Fault> {
        let (seq, body) = (record.seq, &record.body);
        self.advance(seq, record.kind, body);
        match record.kind {
            EntryKind::Snapshot => self.restore(ThreadSnapshot::decode(body)?, seq),
            EntryKind::Step => self.add(CheckpointDiff::decode(body)?, seq, record.step),
            EntryKind::Part => {
                self.add_writes(TaskWrites::decode(body)?, seq);
                Ok(())
            }
            EntryKind::Run | EntryKind::End => Err(corrupt("an entry of no shelf")),
        }
    }

    pub(super) fn draft(&mut self, kind: EntryKind, step: u64, body: Vec<u8>) {
        let (seq, parent) = (self.tip + 1, self.tip);
        self.advance(seq, kind, &body);
        self.drafts.push(DraftEntry { seq, parent, base: self.base, kind, step, body });
    }

    fn advance(&mut self, seq: u64, kind: EntryKind, body: &[u8]) {
        if kind == EntryKind::Snapshot {
            self.base = seq;
            self.weight = 0;
        }
        self.tip = seq;
        self.weight += body.len() + Self::ENTRY;
    }

    /// Takes the new entries as one batch for `owner`, who holds the lease; `None` if there are
    /// none.
    ///
    /// # Errors
    /// Those of sealing.
    pub fn batch(
        &mut self,
        sealed_store: &SealedStore,
        owner: &str,
        at: Time,
    ) -> Result<Option<EntryBatch>, Fault> {
        let drafts = std::mem::take(&mut self.drafts);
        let Some(first) = drafts.first() else { return Ok(None) };
        let after = first.seq - 1;
        let entries = drafts.into_iter().map(|draft| {
            let DraftEntry { seq, parent, base, kind, step, body } = draft;
            sealed_store.close(
                &self.thread,
                OpenedEntry { seq, parent, kind, step, at, body },
                base,
            )
        });
        let entries = entries.collect::<Result<Vec<_>, Fault>>()?;
        let tag = entries.last().map(|entry| entry.tag.clone());
        let batch =
            sealed_store.batch((self.thread.as_str().into(), owner.into()), after, entries)?;
        let expected = std::mem::replace(&mut self.tag, tag);
        Ok(Some(EntryBatch { expected, ..batch }))
    }
}

impl FullCheckpoint {
    /// The same with other writes, as when they were loaded separately.
    #[must_use]
    pub fn with_writes(self, writes: Vec<TaskWrite>) -> Self {
        Self { writes, ..self }
    }
}

/// The tag of an entry that was just read, if it is still the same entry.
pub(super) async fn tag_of(
    sealed_store: &SealedStore,
    thread: &str,
    read: &OpenedEntry,
) -> Result<EntryTag, Fault> {
    let entry = sealed_store.store().find(thread, read.seq).await?;
    let entry = entry.ok_or_else(|| damaged_chain(thread, read.seq))?;
    let tag = entry.tag.clone();
    let is_same = sealed_store.open(thread, entry)? == *read;
    if is_same { Ok(tag) } else { Err(damaged_chain(thread, read.seq)) }
}
