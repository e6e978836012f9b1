//! What an exception says about the call that raised it.

use crate::fault::Category;

/// An exception that a call has raised, as far as it says what came of the call.
#[derive(Clone, Copy, Debug, Default)]
pub struct RaisedByCall {
    /// Its category, if it is one of the engine's own.
    pub category: Option<Category>,
    /// It carries a question or a command of the node.
    pub is_signal: bool,
    /// It ends whatever it passes through, as Ctrl-C does, and says nothing about the call.
    pub is_exit: bool,
    /// Part of the call has asked a question that has no answer yet.
    pub has_asked: bool,
}

/// What is known of a call that has raised an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaisedVerdict {
    /// The call was not made to its end: it is made again.
    Repeat,
    /// The task was stopped in the middle of the call: nobody knows what came of it.
    Unknown,
    /// The exception is what came of the call.
    Settled,
}

impl RaisedByCall {
    /// What is known of the call. A budget that is spent stops a call before it is made, and a
    /// question before it is over. A cancellation may hit it at any point, after the world has
    /// changed too, so only a person can say whether it may be made again.
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
