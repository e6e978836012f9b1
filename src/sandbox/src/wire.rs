//! What host and zygote say to each other. Both are ours; neither ever hands
//! on what a worker said.

use serde::{Deserialize, Serialize};

/// Longest message: a plan with many grants.
pub(crate) const LONGEST: usize = 128 << 10;

/// The requests of a host. Each request brings four descriptors: the
/// worker's channel, its standard output and error, and where to say how it
/// fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkerRequest {
    /// A worker for one job, which waits for it.
    Job,
    /// A worker for one job that nobody has yet.
    Spare,
    /// A worker for many.
    Session,
    /// A worker that tries what must fail, and says what did not.
    Probe,
}

impl WorkerRequest {
    pub(crate) const fn byte(self) -> u8 {
        match self {
            Self::Job => b'j',
            Self::Spare => b'w',
            Self::Session => b's',
            Self::Probe => b'p',
        }
    }

    pub(crate) fn of(byte: u8) -> Option<Self> {
        [Self::Job, Self::Spare, Self::Session, Self::Probe]
            .into_iter()
            .find(|one| one.byte() == byte)
    }
}

/// First message about a worker; with it comes its process descriptor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkerBirth {
    pub(crate) failed: Option<String>,
}

/// Numbers that no two names of this process share.
pub(crate) fn count() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    COUNT.fetch_add(1, Ordering::Relaxed)
}
