//! Runs that a task starts, as they are kept with the task.
//!
//! A subrun is a run of its own: it has a graph that the run around does not know.
//! What it commits is therefore kept as bytes that only the subrun can read, in
//! the journal of the task that has started it.

use super::RecoveredRun;

/// A commit of a subrun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubrunCommit {
    /// Which call of its task the subrun is.
    pub index: u32,
    /// Whether what follows cannot be taken back: it has to be durable before. This is
    /// not stored.
    pub must_be_durable: bool,
    /// Whether it does no harm to do again what it says was done.
    pub repeatable: bool,
    /// Whether the subrun has come to its end with it, and did not fail.
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

/// What is known of a subrun that a task had started before it began again.
#[derive(Debug, Default)]
pub enum KnownSubrun<V> {
    /// It is to begin.
    #[default]
    Nothing,
    /// What it has committed.
    Commits(SubrunLog),
    /// The driver's own handle on it, from [`crate::run::Run::park_subrun`].
    Parked(V),
    /// What it has come to.
    Ended(Box<RecoveredRun<V>>),
}

impl SubrunLog {
    pub(super) fn push(&mut self, commit: SubrunCommit) {
        self.ended = commit.ended;
        self.commits.push(commit.bytes);
    }
}

impl<V> KnownSubrun<V> {
    /// Whether it has come to its end.
    pub(crate) const fn has_ended(&self) -> bool {
        matches!(self, Self::Ended(_) | Self::Commits(SubrunLog { ended: true, .. }))
    }
}
