//! Exceptions of calls, and what they say about the outcome.

use crate::fault::Category;

/// The properties of an exception that determine the outcome of its call.
#[derive(Clone, Copy, Debug, Default)]
pub struct RaisedByCall {
    /// Its category, if it is one of the engine's own.
    pub category: Option<Category>,
    /// It carries a question or a command of the node.
    pub is_signal: bool,
    /// It ends the process or thread, as Ctrl-C does, and says nothing about the call.
    pub is_exit: bool,
    /// Part of the call has asked a question that has no answer yet.
    pub has_asked: bool,
}

/// The outcome of a call that has raised an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaisedVerdict {
    /// The call did not finish: it is made again.
    Repeat,
    /// The task was stopped during the call: its outcome is unknown.
    Unknown,
    /// The exception is the outcome of the call.
    Settled,
}

impl RaisedByCall {
    /// The outcome of the call. An exhausted budget stops a call before it is made, and a question
    /// before it is finished. A cancellation may hit it at any point, also after its side effects,
    /// so that only a person can say whether it may be made again.
    ///
    /// ```
    /// use antiphon_core::Category;
    /// use antiphon_core::checkpoint::{RaisedByCall, RaisedVerdict};
    ///
    /// let raised = RaisedByCall { category: Some(Category::Tool), ..RaisedByCall::default() };
    /// assert_eq!(raised.verdict(), RaisedVerdict::Settled);
    /// let raised = RaisedByCall { category: Some(Category::Cancelled), ..raised };
    /// assert_eq!(raised.verdict(), RaisedVerdict::Unknown);
    /// let raised = RaisedByCall { is_signal: true, ..raised };
    /// assert_eq!(raised.verdict(), RaisedVerdict::Repeat);
    /// ```
    pub const fn verdict(self) -> RaisedVerdict {
        match self.category {
            Some(Category::Budget) => RaisedVerdict::Repeat,
            _ if self.is_signal => RaisedVerdict::Repeat,
            Some(Category::Cancelled) => RaisedVerdict::Unknown,
            _ if self.is_exit => RaisedVerdict::Unknown,
            _ if self.has_asked => RaisedVerdict::Repeat,
            _ => RaisedVerdict::Settled,
        }
    }
}
