//! The trace of a run: every event is counted, and built only for a watcher.

use crate::event::Event;
use crate::event::content::ContentRoom;
use crate::time::Time;

#[derive(Debug, Default)]
pub(super) struct EventLog {
    pub(super) seq: u64,
    pub(super) now: Time,
    pub(super) recording: bool,
    pub(super) events: Vec<Event>,
    room: ContentRoom,
}

impl EventLog {
    #[inline]
    pub(super) fn emit(&mut self, build: impl FnOnce() -> Event) {
        self.seq += 1;
        if self.recording {
            self.record(build());
        }
    }

    /// Adds an event that has its time already.
    pub(super) fn relay(&mut self, event: Event) {
        self.seq += 1;
        if self.recording {
            let mut event = Event { seq: self.seq, ..event };
            self.room.bound(event.kind, &mut event.data);
            self.events.push(event);
        }
    }

    #[cold]
    fn record(&mut self, mut event: Event) {
        self.room.bound(event.kind, &mut event.data);
        self.events.push(Event { seq: self.seq, at: self.now, ..event });
    }
}
