//! A failure that a graph goes on after.

use serde::Serialize;

use super::Fault;

/// A failure with where it happened, for the channels that record errors
///. The time is in the event: a state has to be the
/// same whenever its run is played.
#[derive(Clone, Debug, Serialize)]
pub struct FaultRecord<'a> {
    /// What went wrong.
    #[serde(flatten)]
    pub fault: &'a Fault,
    /// The node that failed.
    pub node: &'a str,
    /// The attempt that was its last; the first is 1.
    pub attempt: u32,
    /// Whether the same work may well succeed when it is tried again.
    pub recoverable: bool,
}
