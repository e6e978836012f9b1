//! Recorded failures.

use serde::Serialize;

use super::Fault;

/// A failure with its node and attempt, for channels that record errors. It has no time, because
/// replaying a run must give the same state.
#[derive(Clone, Debug, Serialize)]
pub struct FaultRecord<'a> {
    /// What went wrong.
    #[serde(flatten)]
    pub fault: &'a Fault,
    /// The node that failed.
    pub node: &'a str,
    /// The attempt that was its last; the first is 1.
    pub attempt: u32,
    /// Whether a retry may succeed.
    pub recoverable: bool,
}
