//! The status of a run, derived from its entries.

use antiphon_core::checkpoint::WriteSource;
use antiphon_core::effect::Ending;
use antiphon_core::{Fault, Time};
use antiphon_runtime::store::{EntryKind, EntryRange};

use super::ThreadAdmin;
use super::superstep::Superstep;
use crate::codec::{CommitEvent, CommitSummary, damaged_chain};
use crate::owner;
use crate::sealed_store::OpenedEntry;

/// The status of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunStatus {
    /// A live process holds the lease of its thread.
    Running,
    /// It waits for answers, or to be resumed from a breakpoint or an edited state.
    Paused,
    /// It has ended.
    Ended(Ending),
    /// It has failed, and can be resumed from its last checkpoint.
    Failed(Fault),
    /// It has not ended, and its process is gone.
    Orphaned,
    /// The thread has no entries.
    Empty,
    /// The entries cannot be read, at least not with this key.
    Unreadable(Fault),
    /// The thread holds checkpoints of another engine.
    Foreign,
}

impl RunStatus {
    /// All names that [`RunStatus::as_str`] returns.
    pub const NAMES: [&'static str; 8] =
        ["running", "paused", "ended", "failed", "orphaned", "empty", "unreadable", "foreign"];

    /// The name in lists.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Ended(_) => "ended",
            Self::Failed(_) => "failed",
            Self::Orphaned => "orphaned",
            Self::Empty => "empty",
            Self::Unreadable(_) => "unreadable",
            Self::Foreign => "foreign",
        }
    }

    /// The outcome of a run that has ended.
    pub const fn outcome(&self) -> Option<&'static str> {
        match self {
            Self::Ended(ending) => Some(ending_name(ending)),
            Self::Failed(_) => Some(FAILED),
            _ => None,
        }
    }

    /// Why it was cancelled, has failed or cannot be read, or which budget was spent.
    pub fn reason(&self) -> &str {
        match self {
            Self::Ended(ending) => ending_reason(ending),
            Self::Failed(fault) | Self::Unreadable(fault) => &fault.message,
            _ => "",
        }
    }

    /// Why it failed, or cannot be read.
    pub const fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Failed(fault) | Self::Unreadable(fault) => Some(fault),
            _ => None,
        }
    }
}

/// The name of a failed run's outcome.
pub(crate) const FAILED: &str = "failed";

/// The name of an ending, as lists and histories show it.
pub(crate) const fn ending_name(ending: &Ending) -> &'static str {
    match ending {
        Ending::Completed => "completed",
        Ending::Budget(_) => "budget",
        Ending::Cancelled(_) => "cancelled",
        Ending::Breakpoint => "breakpoint",
    }
}

/// Why a run was cancelled, or which budget was spent; empty for a completed run.
pub(crate) fn ending_reason(ending: &Ending) -> &str {
    match ending {
        Ending::Completed | Ending::Breakpoint => "",
        Ending::Budget(dimension) => dimension.as_str(),
        Ending::Cancelled(reason) => reason,
    }
}

/// An open question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenQuestion {
    /// Answers are given by this id.
    pub id: String,
    /// The nodes that lead to the one that asks.
    pub path: Vec<String>,
    /// The encoded value of the question.
    pub value: Vec<u8>,
}

/// The last entries of a run.
#[derive(Clone, Debug)]
pub(super) struct RunTail {
    pub(super) status: RunStatus,
    pub(super) asking: Vec<OpenQuestion>,
}

impl ThreadAdmin {
    /// Reads the status from the entries up to `tip`, for a thread that no live process holds.
    pub(super) async fn tail(&self, thread: &str, tip: u64) -> Result<RunTail, Fault> {
        let records = self.ending(thread, tip).await?;
        Ok(read(&records).unwrap_or_else(unreadable))
    }

    /// Whether a live process holds the lease.
    pub(super) fn is_held(&self, held: Option<&(String, Time)>) -> bool {
        held.is_some_and(|(owner, _)| *owner != self.owner && !owner::is_gone(owner))
    }

    /// The end of a run at `tip`, or the entries since the last superstep. An earlier end is of
    /// a run that was resumed later, with everything that it had not merged.
    async fn ending(&self, thread: &str, tip: u64) -> Result<Vec<OpenedEntry>, Fault> {
        let mut reach = 16;
        let way = loop {
            let from = tip.saturating_sub(reach).max(1);
            let marks = self.sealed_store.marks(thread, EntryRange { from, to: tip }, None).await?;
            let (mut way, mut wanted, mut is_whole) = (Vec::new(), tip, false);
            let (mut has_snapshot, mut is_pruned) = (false, false);
            for mark in marks.iter().rev() {
                if mark.seq != wanted {
                    continue;
                }
                way.push(mark.seq);
                wanted = mark.parent;
                // A snapshot may repeat an edit.
                is_pruned = mark.kind == EntryKind::Snapshot;
                has_snapshot |= is_pruned;
                is_whole = match mark.kind {
                    EntryKind::Step => true,
                    EntryKind::End => has_snapshot || mark.seq == tip,
                    EntryKind::Run | EntryKind::Snapshot | EntryKind::Part => false,
                };
                if is_whole {
                    break;
                }
            }
            if is_whole || wanted == 0 || (wanted >= from && is_pruned) {
                break way;
            }
            if wanted >= from || from == 1 {
                return Err(damaged_chain(thread, wanted));
            }
            reach *= 8;
        };
        let mut records = Vec::with_capacity(way.len());
        for seq in way.into_iter().rev() {
            match self.store().find(thread, seq).await? {
                Some(entry) => records.push(self.sealed_store.open(thread, entry)?),
                None => return Err(damaged_chain(thread, seq)),
            }
        }
        Ok(records)
    }
}

fn unreadable(fault: Fault) -> RunTail {
    RunTail { status: RunStatus::Unreadable(fault), asking: Vec::new() }
}

fn read(records: &[OpenedEntry]) -> Result<RunTail, Fault> {
    let mut superstep = Superstep::default();
    let (mut ended, mut edited) = (None, None);
    for record in records {
        let summary = match record.kind {
            EntryKind::Run => continue,
            EntryKind::Snapshot => CommitSummary::at_memory(&record.body)?,
            EntryKind::Step | EntryKind::Part | EntryKind::End => {
                CommitSummary::at_commit(&record.body)?
            }
        };
        ended = None;
        match &summary.note {
            CommitEvent::Checkpoint { source, next, .. } if record.kind == EntryKind::Step => {
                edited = (*source == Some(WriteSource::Edit)).then_some(!next.is_empty());
            }
            // A snapshot repeats the superstep before it.
            CommitEvent::Checkpoint { .. } if record.kind == EntryKind::Snapshot => {}
            CommitEvent::Ended(how) => {
                edited = None;
                ended = Some(match how {
                    Ok(Ending::Breakpoint) => RunStatus::Paused,
                    Ok(ending) => RunStatus::Ended(ending.clone()),
                    Err(fault) => RunStatus::Failed(fault.clone()),
                });
            }
            _ => edited = None,
        }
        superstep.add(summary);
    }
    let status = match (ended, edited) {
        (Some(ended), _) => ended,
        (None, Some(true)) => RunStatus::Paused,
        (None, Some(false)) => RunStatus::Ended(Ending::Completed),
        (None, None) if superstep.is_paused() => RunStatus::Paused,
        (None, None) => RunStatus::Orphaned,
    };
    Ok(RunTail { status, asking: superstep.into_asking() })
}
