//! Keeps the events of a run so that they can be read afterwards.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use antiphon_core::event::Event;

use super::Watcher;

/// Keeps the first events of a run and counts the rest. Pieces of replies are
/// neither kept nor counted: the reply follows them.
#[derive(Debug)]
pub struct Recorder {
    limit: usize,
    state: Mutex<RecorderState>,
}

#[derive(Debug, Default)]
struct RecorderState {
    events: Vec<Arc<Event>>,
    dropped: u64,
}

impl Recorder {
    /// Events that are kept unless another limit is given.
    pub const LIMIT: usize = 10_000;

    /// A recorder for [`Recorder::LIMIT`] events.
    pub fn new() -> Arc<Self> {
        Self::with_limit(Self::LIMIT)
    }

    /// A recorder for that many events.
    pub fn with_limit(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, state: Mutex::default() })
    }

    /// The events kept so far, in order.
    pub fn events(&self) -> Vec<Arc<Event>> {
        self.state().events.clone()
    }

    /// How many events came after the limit was reached.
    pub fn dropped(&self) -> u64 {
        self.state().dropped
    }

    fn state(&self) -> MutexGuard<'_, RecorderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watcher for Recorder {
    fn see(&self, event: &Arc<Event>) {
        if event.kind.is_droppable() {
            return;
        }
        let mut state = self.state();
        if state.events.len() < self.limit {
            state.events.push(Arc::clone(event));
        } else {
            state.dropped += 1;
        }
    }

    fn wants_chunks(&self) -> bool {
        false
    }
}
