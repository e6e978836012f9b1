//! From a shelf to the entries of its thread, and back.

use antiphon_core::{Fault, Time};
use antiphon_runtime::store::{Batch, Entry, EntryKind, Span};
use twox_hash::XxHash3_128;

use super::wire::{Put, Whole, Wrote};
use super::{Draft, Mark, Picture, Shelf, Write, in_order, merge};
use crate::codec::corrupt;
use crate::log::{Record, Vault};

/// All who write to shelves hold them under one name: they find out by the number
/// of the last entry who was first, and whoever was not goes on from there.
pub const OWNER: &str = "langgraph";

/// What was known of a thread when its newer entries were asked for.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    last: u64,
    print: u128,
}

impl Seen {
    /// The last entry that is known, and all after it.
    pub const fn span(&self) -> Span {
        Span { from: self.last, to: u64::MAX }
    }
}

impl Shelf {
    /// Reads a thread.
    ///
    /// # Errors
    /// Those of the store, and `checkpoint_corrupt` if entries are damaged or missing.
    pub async fn load(vault: &Vault, thread: &str) -> Result<Self, Fault> {
        let way = match vault.way_to(thread, None).await {
            // Whoever prunes takes away what a reader was about to read.
            Err(fault) if fault.code == "checkpoint_corrupt" => vault.way_to(thread, None).await?,
            way => way?,
        };
        Self::replayed(thread, &way)
    }

    /// A checkpoint that was made before the last snapshot; none if it was pruned.
    ///
    /// # Errors
    /// As [`Shelf::load`].
    pub async fn past(vault: &Vault, thread: &str, mark: &Mark) -> Result<Option<Self>, Fault> {
        if vault.store().find(thread, mark.seq).await?.is_none() {
            return Ok(None);
        }
        let way = vault.way_to(thread, Some(mark.seq)).await?;
        Self::replayed(thread, &way).map(Some)
    }

    /// What was written at a checkpoint, in the order of tasks.
    ///
    /// # Errors
    /// As [`Shelf::load`].
    pub async fn writes_of(
        vault: &Vault,
        thread: &str,
        (space, id): (&str, &str),
        mark: &Mark,
    ) -> Result<Vec<Write>, Fault> {
        let mut found = Vec::new();
        for seq in &mark.wrote {
            let Some(entry) = vault.store().find(thread, *seq).await? else { continue };
            let record = vault.open(thread, entry)?;
            let wrote = match record.kind {
                EntryKind::Part => vec![Wrote::decode(&record.body)?],
                EntryKind::Snapshot => Whole::decode(&record.body)?.wrote,
                _ => Vec::new(),
            };
            let here = wrote.into_iter().filter(|wrote| wrote.space == space && wrote.id == id);
            here.for_each(|wrote| merge(&mut found, wrote.writes));
        }
        Ok(in_order(found))
    }

    pub(super) fn replayed(thread: &str, way: &[Record]) -> Result<Self, Fault> {
        let mut shelf = Self::new(thread);
        for record in way {
            shelf.apply(record)?;
        }
        shelf.settle(way.last());
        Ok(shelf)
    }

    /// What is known of the thread now.
    pub const fn seen(&self) -> Seen {
        Seen { last: self.tip, print: self.print }
    }

    /// Adds what others have written since; says whether this is still the thread
    /// that was `seen`, and not another one of its name, or one that was pruned.
    ///
    /// # Errors
    /// Those of reading entries.
    pub fn catch_up(
        &mut self,
        vault: &Vault,
        seen: Seen,
        entries: Vec<Entry>,
    ) -> Result<bool, Fault> {
        let mut entries = entries.into_iter();
        if seen.last > 0 {
            let Some(entry) = entries.next().filter(|entry| entry.seq == seen.last) else {
                return Ok(false);
            };
            if print(&vault.open(&self.thread, entry)?.body) != seen.print {
                return Ok(false);
            }
        }
        let mut last = None;
        for entry in entries {
            if entry.seq <= self.tip {
                continue;
            }
            if entry.parent != self.tip {
                return Ok(false);
            }
            let record = vault.open(&self.thread, entry)?;
            self.apply(&record)?;
            last = Some(record);
        }
        if last.is_some() {
            self.settle(last.as_ref());
        }
        Ok(true)
    }

    /// Sums up after entries were applied, of which this is the last.
    fn settle(&mut self, last: Option<&Record>) {
        self.print = last.map_or(0, |record| print(&record.body));
        self.weigh_all();
    }

    pub(super) fn apply(&mut self, record: &Record) -> Result<(), Fault> {
        let (seq, body) = (record.seq, &record.body);
        self.advance(seq, record.kind, body);
        match record.kind {
            EntryKind::Snapshot => self.restore(Whole::decode(body)?, seq),
            EntryKind::Step => self.add(Put::decode(body)?, seq),
            EntryKind::Part => {
                self.add_writes(Wrote::decode(body)?, seq);
                Ok(())
            }
            EntryKind::Run | EntryKind::End => Err(corrupt("an entry of no shelf")),
        }
    }

    pub(super) fn draft(&mut self, kind: EntryKind, step: u64, body: Vec<u8>) {
        let (seq, parent) = (self.tip + 1, self.tip);
        self.advance(seq, kind, &body);
        self.print = print(&body);
        self.drafts.push(Draft { seq, parent, base: self.base, kind, step, body });
    }

    fn advance(&mut self, seq: u64, kind: EntryKind, body: &[u8]) {
        if kind == EntryKind::Snapshot {
            self.base = seq;
            self.weight = 0;
        }
        self.tip = seq;
        self.weight += body.len() + Self::ENTRY;
    }

    /// What is new, to be stored together; nothing if nothing is.
    ///
    /// # Errors
    /// Those of sealing.
    pub fn batch(&mut self, vault: &Vault, at: Time) -> Result<Option<Batch>, Fault> {
        let drafts = std::mem::take(&mut self.drafts);
        let Some(first) = drafts.first() else { return Ok(None) };
        let after = first.seq - 1;
        let entries = drafts.into_iter().map(|draft| {
            let Draft { seq, parent, base, kind, step, body } = draft;
            vault.close(&self.thread, Record { seq, parent, kind, step, at, body }, base)
        });
        let entries = entries.collect::<Result<_, Fault>>()?;
        vault.batch((self.thread.as_str().into(), OWNER.into()), after, entries).map(Some)
    }
}

impl Picture {
    /// The same with what was written there, where that is known better.
    #[must_use]
    pub fn with_writes(self, writes: Vec<Write>) -> Self {
        Self { writes, ..self }
    }
}

fn print(body: &[u8]) -> u128 {
    XxHash3_128::oneshot(body)
}
