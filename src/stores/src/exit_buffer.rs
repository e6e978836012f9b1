//! The commits of a run with durability `exit` that are not yet written.

use antiphon_runtime::store::EntryKind;

/// The kind and the body of an entry.
pub(crate) type BufferedEntry = (EntryKind, Vec<u8>);

/// The commits since the last superstep. They are written as soon as a task asks or the run
/// ends; so is everything that follows in that superstep, because the tasks beside the one that
/// asks continue until they end too.
#[derive(Default)]
pub(crate) struct ExitBuffer {
    parts: Vec<BufferedEntry>,
    /// Whether the superstep that they follow is in the thread.
    stands: bool,
    rests: bool,
    /// The number of supersteps when that one was merged.
    supersteps: u64,
}

impl ExitBuffer {
    /// An empty buffer after a loaded thread. If its last superstep is open, the run may pause
    /// again without new commits: a question that is stored is not stored twice.
    pub(crate) fn after(stands: bool) -> Self {
        Self { stands, rests: stands, ..Self::default() }
    }

    /// An empty buffer after a superstep that is not itself written yet.
    pub(crate) fn merged(supersteps: u64) -> Self {
        Self { supersteps, ..Self::default() }
    }

    pub(crate) fn add(&mut self, part: BufferedEntry, rests: bool) {
        self.parts.push(part);
        self.rests |= rests;
    }

    /// Whether the buffer must be written now.
    pub(crate) const fn is_due(&self) -> bool {
        self.rests
    }

    /// The number of supersteps when the previous one was merged, unless that one is written.
    pub(crate) fn before(&self) -> Option<u64> {
        (!self.stands).then_some(self.supersteps)
    }

    /// Takes all entries, to be written now; so is everything that follows in this superstep.
    pub(crate) fn take(&mut self) -> Vec<BufferedEntry> {
        self.stands = true;
        std::mem::take(&mut self.parts)
    }
}
