//! Cancelling runs from outside.

use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;

/// A handle that cancels every run whose driver was given a clone of it
/// ([`crate::native::Driver::cancel_on`]). It cannot be reset.
#[derive(Clone, Debug, Default)]
pub struct CancellationToken(Arc<CancellationState>);

#[derive(Debug, Default)]
struct CancellationState {
    reason: OnceLock<Arc<str>>,
    notify: Notify,
}

impl CancellationToken {
    /// A token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels. The first reason counts.
    pub fn cancel(&self, reason: &str) {
        self.0.reason.get_or_init(|| reason.into());
        self.0.notify.notify_waiters();
    }

    /// The reason, once it is cancelled.
    pub fn reason(&self) -> Option<Arc<str>> {
        self.0.reason.get().cloned()
    }

    /// Completes once it is cancelled.
    pub async fn cancelled(&self) {
        // Registered before the check: a cancellation between the two would be missed otherwise.
        let notify = self.0.notify.notified();
        if self.0.reason.get().is_none() {
            notify.await;
        }
    }
}
