//! Where a callable may run.

/// Where a node may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallKind {
    /// A function that may run on the event loop and beside nothing else.
    Inline,
    /// A function that may block.
    Blocking,
    /// A function that must not hold the caller beyond its time-out.
    Timed,
    /// Calling it gives a coroutine.
    Coroutine,
    /// A coroutine that can be stopped on its own.
    TimedCoroutine,
}
