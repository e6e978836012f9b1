//! Who watches a run: events are handed out as they happen, and no watcher
//! can hold the run up.

use std::sync::Arc;

use antiphon_core::event::Event;

mod feed;
mod recorder;

pub use feed::{Feed, Subscription, subscribe};
pub use recorder::Recorder;

/// Takes the events of a run, in order. A run builds events only if
/// [`antiphon_core::run::Options::events`] is set.
pub trait Watcher: Send + Sync {
    /// Called on the thread that drives the run: must return at once.
    fn see(&self, event: &Arc<Event>);

    /// Whether replies should be handed out piece by piece while models write.
    fn wants_chunks(&self) -> bool {
        true
    }
}
