//! Why a scope ends early, and whether its tasks are waited for.

use crate::budget::BudgetDimension;
use crate::command::Update;
use crate::fault::{Category, Fault};

/// Why a scope ends early.
#[derive(Debug)]
pub(super) enum Termination<V> {
    /// A task has failed and is not retried.
    Fault(Fault),
    /// A budget is spent.
    Budget(BudgetDimension),
    /// The caller has cancelled.
    Cancel(String),
    /// A task ends the graph with an update for its parent.
    Escalate(Update<V>),
    /// The enclosing scope has ended.
    Abandon,
}

/// What happens to cancelled tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CancelMode {
    /// Each is waited for until it has an outcome or its deadline passes.
    Await,
    /// Nothing waits for them.
    Abandon,
}

impl<V> Termination<V> {
    /// Whether the caller wants no more of it, also if that is known by an exception, such as
    /// Python's `KeyboardInterrupt`.
    pub(super) fn is_cancellation(&self) -> bool {
        match self {
            Self::Cancel(_) => true,
            Self::Fault(fault) => fault.category == Category::Cancelled,
            Self::Budget(_) | Self::Escalate(_) | Self::Abandon => false,
        }
    }

    /// Whether it replaces an earlier reason: the first one counts, except that a cancellation from
    /// outside outranks the others.
    pub(super) const fn outranks(&self, earlier: Option<&Self>) -> bool {
        match earlier {
            None => true,
            Some(Self::Cancel(_) | Self::Abandon) => false,
            Some(_) => matches!(self, Self::Cancel(_) | Self::Abandon),
        }
    }
}
