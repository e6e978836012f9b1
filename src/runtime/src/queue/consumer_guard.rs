//! Consumers that a queue knows of.

use std::fmt;

/// A consumer is there until this is dropped.
#[must_use = "the consumer leaves when it is dropped"]
pub struct ConsumerGuard(Option<Box<dyn FnOnce() + Send + Sync>>);

impl ConsumerGuard {
    /// Nobody counts the consumers.
    pub const fn unknown() -> Self {
        Self(None)
    }

    /// `leave` is called at the end.
    pub fn new(leave: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(leave)))
    }
}

impl Drop for ConsumerGuard {
    fn drop(&mut self) {
        if let Some(leave) = self.0.take() {
            leave();
        }
    }
}

impl fmt::Debug for ConsumerGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsumerGuard").field("is_known", &self.0.is_some()).finish()
    }
}
