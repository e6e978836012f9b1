//! The messages that a worker has had. A server that crashes may forget that it has delivered a
//! message, or that it was acknowledged: then it comes again as if for the first time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many messages a worker remembers.
const REMEMBERED: usize = 1_000;

/// How a message stands that is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageProgress {
    /// This worker has not had it.
    New,
    /// It is at work on it.
    UnderWay,
    /// It has sent its result.
    Done,
}

/// The latest messages of a worker, by their ids.
#[derive(Debug, Default)]
pub(super) struct HandledIds(Mutex<RecentIds>);

#[derive(Debug, Default)]
struct RecentIds {
    /// Whether the result was sent.
    known: BTreeMap<String, bool>,
    done: VecDeque<String>,
}

impl HandledIds {
    fn recent(&self) -> MutexGuard<'_, RecentIds> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How a message stands; a new one is under way from now on.
    pub(super) fn begin(&self, id: &str) -> MessageProgress {
        let mut recent = self.recent();
        match recent.known.get(id) {
            Some(true) => MessageProgress::Done,
            Some(false) => MessageProgress::UnderWay,
            None => {
                recent.known.insert(id.to_owned(), false);
                MessageProgress::New
            }
        }
    }

    /// Its result was sent.
    pub(super) fn finish(&self, id: &str) {
        let mut recent = self.recent();
        recent.known.insert(id.to_owned(), true);
        recent.done.push_back(id.to_owned());
        if recent.done.len() > REMEMBERED
            && let Some(oldest) = recent.done.pop_front()
        {
            recent.known.remove(&oldest);
        }
    }

    /// It was not finished, and may be begun again.
    pub(super) fn abandon(&self, id: &str) {
        let mut recent = self.recent();
        if recent.known.get(id) == Some(&false) {
            recent.known.remove(id);
        }
    }
}
