//! Subruns: runs that a task starts, as they are recorded with the task.
//!
//! A subrun is a separate run, with a graph that the outer run does not know. Its commits are
//! therefore kept as bytes that only the subrun can decode, in the journal of the task that has
//! started it.

use super::RecoveredRun;

/// A commit of a subrun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubrunCommit {
    /// The index of the subrun among the calls of its task.
    pub index: u32,
    /// Whether it must be durable before what follows it. This is not stored.
    pub must_be_durable: bool,
    /// Whether what it records may be done again.
    pub repeatable: bool,
    /// Whether the subrun ends with it, and did not fail.
    pub ended: bool,
    /// The commit, encoded for the subrun's graph.
    pub bytes: Vec<u8>,
}

/// The commits of one subrun, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubrunLog {
    /// Each as [`SubrunCommit::bytes`].
    pub commits: Vec<Vec<u8>>,
    /// As [`SubrunCommit::ended`] of the last.
    pub ended: bool,
}

/// What is known of a subrun when its task runs again.
#[derive(Debug, Default)]
pub enum KnownSubrun<V> {
    /// Nothing: it must be started.
    #[default]
    Nothing,
    /// Its commits.
    Commits(SubrunLog),
    /// The driver's handle of it, from [`crate::run::Run::park_subrun`].
    Parked(V),
    /// Its final state.
    Ended(Box<RecoveredRun<V>>),
}

impl SubrunLog {
    pub(super) fn push(&mut self, commit: SubrunCommit) {
        self.ended = commit.ended;
        self.commits.push(commit.bytes);
    }
}

impl<V> KnownSubrun<V> {
    /// Whether it has ended.
    pub(crate) const fn has_ended(&self) -> bool {
        matches!(self, Self::Ended(_) | Self::Commits(SubrunLog { ended: true, .. }))
    }
}
