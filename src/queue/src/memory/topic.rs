//! The messages of one topic, by number.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use antiphon_core::Time;
use antiphon_runtime::queue::DeadLetter;
use tokio::sync::Notify;

/// The messages of one topic, by number, and who waits for them.
#[derive(Default)]
pub(super) struct MemoryTopic {
    /// Never delivered, in the order in which they came.
    fresh: BTreeSet<u64>,
    /// Delivered again from that time on: leases that end then, and delays.
    due: BTreeSet<(Time, u64)>,
    dead: VecDeque<DeadLetter>,
    changed: Arc<Notify>,
}

impl MemoryTopic {
    /// Messages that are neither acknowledged nor dead.
    pub(super) fn len(&self) -> usize {
        self.fresh.len() + self.due.len()
    }

    pub(super) fn add(&mut self, number: u64) {
        self.fresh.insert(number);
        self.changed.notify_waiters();
    }

    /// Takes out what is to be delivered next; whether again, or for the first time.
    pub(super) fn next(&mut self, now: Time) -> Option<u64> {
        if self.due.first().is_some_and(|(due, _)| *due <= now) {
            return self.due.pop_first().map(|(_, number)| number);
        }
        self.fresh.pop_first()
    }

    /// It is delivered again from that time on.
    pub(super) fn put_back(&mut self, number: u64, due: Time) {
        self.due.insert((due, number));
    }

    /// It is not delivered any more.
    pub(super) fn remove(&mut self, number: u64, due: Option<Time>) {
        match due {
            Some(due) => self.due.remove(&(due, number)),
            None => self.fresh.remove(&number),
        };
    }

    /// The time of the next redelivery.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.due.first().map(|(due, _)| *due)
    }

    /// Keeps a dead letter, and of the older ones the latest: `capacity` in all.
    pub(super) fn bury(&mut self, letter: DeadLetter, capacity: usize) {
        while self.dead.len() >= capacity {
            self.dead.pop_front();
        }
        self.dead.push_back(letter);
    }

    pub(super) fn dead_letters(&self) -> Vec<DeadLetter> {
        self.dead.iter().cloned().collect()
    }

    pub(super) fn forget_dead_letters(&mut self) {
        self.dead.clear();
    }

    /// All messages that it has.
    pub(super) fn numbers(&self) -> Vec<u64> {
        self.fresh.iter().copied().chain(self.due.iter().map(|(_, number)| *number)).collect()
    }

    pub(super) fn watch(&self) -> Arc<Notify> {
        self.changed.clone()
    }

    pub(super) fn notify(&self) {
        self.changed.notify_waiters();
    }

    /// Whether nothing is in it and nobody waits.
    pub(super) fn is_idle(&self) -> bool {
        self.len() == 0 && self.dead.is_empty() && Arc::strong_count(&self.changed) == 1
    }
}
