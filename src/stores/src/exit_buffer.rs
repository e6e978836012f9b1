//! What a run that is kept only when it rests has done and not written yet.

use antiphon_runtime::store::EntryKind;

/// What an entry is, and what is in it.
pub(crate) type BufferedEntry = (EntryKind, Vec<u8>);

/// What has happened since the last superstep. It is written as soon as a task
/// asks or the run ends, and so is whatever still comes of that superstep: the
/// tasks beside one that asks go on until they have ended too.
#[derive(Default)]
pub(crate) struct ExitBuffer {
    parts: Vec<BufferedEntry>,
    /// Whether the thread holds the superstep that they follow.
    stands: bool,
    rests: bool,
    /// Supersteps that were spent when that one was merged.
    supersteps: u64,
}

impl ExitBuffer {
    /// Nothing, after what a thread holds, if it holds anything. A superstep that
    /// is open there may rest again without anything new: what was asked is not
    /// asked twice.
    pub(crate) fn after(stands: bool) -> Self {
        Self { stands, rests: stands, ..Self::default() }
    }

    /// Nothing, after a superstep that is not written yet itself.
    pub(crate) fn merged(supersteps: u64) -> Self {
        Self { supersteps, ..Self::default() }
    }

    pub(crate) fn add(&mut self, part: BufferedEntry, rests: bool) {
        self.parts.push(part);
        self.rests |= rests;
    }

    /// Whether it is to be written now.
    pub(crate) const fn is_due(&self) -> bool {
        self.rests
    }

    /// The supersteps that were spent when the one before it was merged, unless
    /// that one is written already.
    pub(crate) fn before(&self) -> Option<u64> {
        (!self.stands).then_some(self.supersteps)
    }

    /// All of it: it is written now, and so is what it follows.
    pub(crate) fn take(&mut self) -> Vec<BufferedEntry> {
        self.stands = true;
        std::mem::take(&mut self.parts)
    }
}
