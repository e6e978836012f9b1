//! Stopping runs from outside.

use std::sync::Arc;

use tokio::sync::watch;

/// A handle that cancels every run whose driver was given a clone of it
/// ([`crate::native::Driver::stop_on`]). Once pulled it stays so.
#[derive(Clone, Debug)]
pub struct Stop {
    reason: Arc<watch::Sender<Option<Arc<str>>>>,
}

impl Stop {
    /// A handle that has not been pulled.
    pub fn new() -> Self {
        Self { reason: Arc::new(watch::Sender::new(None)) }
    }

    /// Cancels. The first reason counts.
    pub fn stop(&self, reason: &str) {
        self.reason.send_if_modified(|known| {
            let first = known.is_none();
            known.get_or_insert_with(|| reason.into());
            first
        });
    }

    /// Why, if it has been pulled.
    pub fn reason(&self) -> Option<Arc<str>> {
        self.reason.borrow().clone()
    }

    /// Ends once it has been pulled.
    pub async fn stopped(&self) {
        // The sender lives as long as this handle, so this cannot fail.
        let _ = self.reason.subscribe().wait_for(Option::is_some).await;
    }
}

impl Default for Stop {
    fn default() -> Self {
        Self::new()
    }
}
