//! Nodes before or after which a run stops between two supersteps.

use crate::graph::NodeId;

/// The nodes of the run's own graph before or after which it ends with [`Ending::Breakpoint`](crate::effect::Ending::Breakpoint).
/// A resumed run does not stop before its first superstep.
#[derive(Clone, Debug, Default)]
pub struct Breakpoints {
    /// Stops before a superstep in which one of them would run.
    pub before: Vec<NodeId>,
    /// Stops after a superstep in which one of them has run.
    pub after: Vec<NodeId>,
}
