//! Stopping runs from outside.

use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;

/// A handle that cancels every run whose driver was given a clone of it
/// ([`crate::native::Driver::cancel_on`]). Once pulled it stays so.
#[derive(Clone, Debug, Default)]
pub struct CancellationToken(Arc<CancellationState>);

#[derive(Debug, Default)]
struct CancellationState {
    reason: OnceLock<Arc<str>>,
    notify: Notify,
}

impl CancellationToken {
    /// A handle that has not been pulled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels. The first reason counts.
    pub fn cancel(&self, reason: &str) {
        self.0.reason.get_or_init(|| reason.into());
        self.0.notify.notify_waiters();
    }

    /// Why, if it has been pulled.
    pub fn reason(&self) -> Option<Arc<str>> {
        self.0.reason.get().cloned()
    }

    /// Ends once it has been pulled.
    pub async fn cancelled(&self) {
        // It hears of whatever comes after it was made, and so before the look.
        let notify = self.0.notify.notified();
        if self.0.reason.get().is_none() {
            notify.await;
        }
    }
}
