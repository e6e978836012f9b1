//! The event that follows the last commit of a run.

use std::sync::Arc;

use antiphon_core::Time;
use antiphon_core::event::{Event, EventFields, EventKind};
use antiphon_runtime::{Recorder, Watcher};
use serde_json::Value as Json;

use crate::system::SystemNote;

/// Tells everybody who has seen the run, as the event with that number. A run that was over before
/// has done nothing, and nothing follows.
pub(super) fn publish(
    note: SystemNote,
    (seq, at): (u64, Time),
    recorder: &Recorder,
    watchers: &[Arc<dyn Watcher>],
) {
    let events = recorder.events();
    let did_something = events.iter().any(|event| event.kind == EventKind::NodeFinished);
    let Some(last) = events.last().filter(|_| did_something) else { return };
    let event = Arc::new(Event {
        seq,
        at,
        kind: EventKind::Custom,
        name: Arc::from(note.name),
        data: match note.data {
            Json::Object(fields) => fields.into(),
            _ => EventFields::default(),
        },
        ..Event::clone(last)
    });
    recorder.see(&event);
    for watcher in watchers {
        watcher.see(&event);
    }
}
