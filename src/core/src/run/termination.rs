//! Why a scope ends before its time, and how long its tasks are waited for.

use crate::budget::BudgetDimension;
use crate::command::Update;
use crate::fault::Fault;

/// Why a scope ends before its time.
#[derive(Debug)]
pub(super) enum Termination<V> {
    /// A task has failed for good.
    Fault(Fault),
    /// A budget is spent.
    Budget(BudgetDimension),
    /// The caller has cancelled.
    Cancel(String),
    /// A task speaks for the whole graph.
    Escalate(Update<V>),
    /// Whoever asked for it no longer wants it.
    Abandon,
}

/// What becomes of tasks that are told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CancelMode {
    /// Each is waited for until it answers or its own time is up.
    Await,
    /// Time is up: nobody waits for them any more.
    Abandon,
}

impl<V> Termination<V> {
    /// The first reason counts, but nothing outranks whoever is outside.
    pub(super) const fn outranks(&self, earlier: Option<&Self>) -> bool {
        match earlier {
            None => true,
            Some(Self::Cancel(_) | Self::Abandon) => false,
            Some(_) => matches!(self, Self::Cancel(_) | Self::Abandon),
        }
    }
}
