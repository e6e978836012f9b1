//! Sees when something is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts how many of its guards are alive.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alive {
    started: Arc<AtomicUsize>,
    ended: Arc<AtomicUsize>,
}

/// Alive until it is dropped.
#[derive(Debug)]
pub(crate) struct Guard(Alive);

impl Alive {
    pub(crate) fn guard(&self) -> Guard {
        self.started.fetch_add(1, Ordering::SeqCst);
        Guard(self.clone())
    }

    pub(crate) fn started(&self) -> usize {
        self.started.load(Ordering::SeqCst)
    }

    pub(crate) fn ended(&self) -> usize {
        self.ended.load(Ordering::SeqCst)
    }

    /// Lets others run until so many have begun.
    pub(crate) async fn until_started(&self, count: usize) {
        while self.started() < count {
            tokio::task::yield_now().await;
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::SeqCst);
    }
}
