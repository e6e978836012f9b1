//! What a queue in memory knows; time is an argument.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::Time;
use antiphon_runtime::CancellationToken;
use antiphon_runtime::queue::{
    DeadLetter, DeathReason, PublishOutcome, QueueMessage, QueueSettings,
};
use tokio::sync::Notify;

use super::topic::MemoryTopic;

/// Which delivery of which message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LeaseKey {
    number: u64,
    attempt: u32,
}

#[derive(Default)]
pub(super) struct QueueState {
    is_closed: bool,
    topics: BTreeMap<String, MemoryTopic>,
    /// How many consumers topics have; none for a topic without any.
    consumers: BTreeMap<String, usize>,
    messages: BTreeMap<u64, StoredMessage>,
    /// The ids of messages that are in the queue, and of others for the time of the window.
    known: HashMap<String, u64>,
    /// When ids may be forgotten, in the order of time.
    forgotten: BTreeMap<(Time, u64), String>,
    last: u64,
}

struct StoredMessage {
    message: QueueMessage,
    deliveries: u32,
    /// When it is delivered again; none if it never was delivered.
    due: Option<Time>,
    /// What its consumer is told by, while it has one.
    held: Option<CancellationToken>,
}

impl QueueState {
    pub(super) const fn is_closed(&self) -> bool {
        self.is_closed
    }

    pub(super) fn close(&mut self) {
        self.is_closed = true;
        self.topics.values().for_each(MemoryTopic::notify);
    }

    pub(super) fn register_consumer(&mut self, topic: &str) {
        *self.consumers.entry(topic.to_owned()).or_default() += 1;
    }

    pub(super) fn remove_consumer(&mut self, topic: &str) {
        let Some(consumers) = self.consumers.get_mut(topic) else { return };
        *consumers -= 1;
        if *consumers == 0 {
            self.consumers.remove(topic);
        }
    }

    pub(super) fn has_consumer(&self, topic: &str) -> bool {
        self.consumers.contains_key(topic)
    }

    /// None if there is no place for it.
    pub(super) fn publish(
        &mut self,
        message: &QueueMessage,
        now: Time,
        settings: &QueueSettings,
    ) -> Option<PublishOutcome> {
        self.forget(now, settings.window);
        if self.known.contains_key(&message.id) {
            return Some(PublishOutcome::Known);
        }
        let topic = self.topics.get(&message.topic);
        if topic.is_some_and(|topic| topic.len() >= settings.capacity.get()) {
            return None;
        }
        let number = self.remember(&message.id, now + settings.window);
        let message = message.clone();
        self.topics.entry(message.topic.clone()).or_default().add(number);
        let stored = StoredMessage { message, deliveries: 0, due: None, held: None };
        self.messages.insert(number, stored);
        Some(PublishOutcome::Added)
    }

    /// Up to `limit` messages, each with its attempt, its lease, and what its consumer is told by.
    pub(super) fn take(
        &mut self,
        topic: &str,
        limit: usize,
        now: Time,
        settings: &QueueSettings,
    ) -> Vec<(QueueMessage, u32, LeaseKey, CancellationToken)> {
        let mut taken = Vec::new();
        while taken.len() < limit {
            let Some(number) = self.topics.get_mut(topic).and_then(|topic| topic.next(now)) else {
                break;
            };
            let Some(stored) = self.messages.get_mut(&number) else { continue };
            if let Some(reason) = stored.message.death(stored.deliveries, now, settings) {
                self.die(number, now, reason, settings);
                continue;
            }
            let (due, cancellation) = (now + settings.lease, CancellationToken::new());
            stored.deliveries += 1;
            stored.due = Some(due);
            stored.held = Some(cancellation.clone());
            let attempt = stored.deliveries;
            let key = LeaseKey { number, attempt };
            taken.push((stored.message.clone(), attempt, key, cancellation));
            if let Some(topic) = self.topics.get_mut(topic) {
                topic.put_back(number, due);
            }
        }
        taken
    }

    pub(super) fn cancel(&mut self, id: &str, reason: &str, now: Time, settings: &QueueSettings) {
        self.forget(now, settings.window);
        let Some(&number) = self.known.get(id) else {
            self.remember(id, now + settings.window);
            return;
        };
        if let Some(stored) = self.remove(number)
            && let Some(consumer) = stored.held
        {
            consumer.cancel(reason);
        }
    }

    pub(super) fn dead_letters(&self, topic: &str) -> Vec<DeadLetter> {
        self.topics.get(topic).map_or_else(Vec::new, MemoryTopic::dead_letters)
    }

    pub(super) fn retire(&mut self, topic: &str) {
        let numbers = self.topics.get(topic).map_or_else(Vec::new, MemoryTopic::numbers);
        for number in numbers {
            self.remove(number);
        }
        if let Some(topic) = self.topics.get_mut(topic) {
            topic.forget_dead_letters();
        }
        self.forget_idle(topic);
    }

    pub(super) fn acknowledge(&mut self, key: LeaseKey, now: Time) -> bool {
        self.is_held(key, now) && self.remove(key.number).is_some()
    }

    pub(super) fn give_back(&mut self, key: LeaseKey, now: Time, delay: Duration) -> bool {
        let is_held = self.is_held(key, now);
        if is_held {
            self.postpone(key.number, now + delay, false);
        }
        is_held
    }

    pub(super) fn extend(&mut self, key: LeaseKey, now: Time, term: Duration) -> bool {
        let is_held = self.is_held(key, now);
        if is_held {
            self.postpone(key.number, now + term, true);
        }
        is_held
    }

    pub(super) fn bury(
        &mut self,
        key: LeaseKey,
        now: Time,
        reason: DeathReason,
        settings: &QueueSettings,
    ) -> bool {
        let is_held = self.is_held(key, now);
        if is_held {
            self.die(key.number, now, reason, settings);
        }
        is_held
    }

    /// The time of the next redelivery in a topic.
    pub(super) fn next_due(&self, topic: &str) -> Option<Time> {
        self.topics.get(topic).and_then(MemoryTopic::next_due)
    }

    /// Tells of changes in a topic, which exists from now on.
    pub(super) fn watch(&mut self, topic: &str) -> Arc<Notify> {
        self.topics.entry(topic.to_owned()).or_default().watch()
    }

    /// Forgets a topic in which nothing is and for which nobody waits.
    pub(super) fn forget_idle(&mut self, topic: &str) {
        if self.topics.get(topic).is_some_and(MemoryTopic::is_idle) {
            self.topics.remove(topic);
        }
    }

    fn is_held(&self, key: LeaseKey, now: Time) -> bool {
        self.messages.get(&key.number).is_some_and(|stored| {
            let is_current = stored.deliveries == key.attempt && stored.held.is_some();
            is_current && stored.due.is_some_and(|due| due > now)
        })
    }

    /// The next redelivery is at that time; `holds` says whether its consumer keeps it till then.
    fn postpone(&mut self, number: u64, due: Time, holds: bool) {
        let Some(stored) = self.messages.get_mut(&number) else { return };
        if let Some(topic) = self.topics.get_mut(&stored.message.topic) {
            topic.remove(number, stored.due);
            topic.put_back(number, due);
            topic.notify();
        }
        stored.due = Some(due);
        if !holds {
            stored.held = None;
        }
    }

    /// Takes a message out, which makes room in its topic.
    fn remove(&mut self, number: u64) -> Option<StoredMessage> {
        let stored = self.messages.remove(&number)?;
        if let Some(topic) = self.topics.get_mut(&stored.message.topic) {
            topic.remove(number, stored.due);
            topic.notify();
        }
        self.forget_idle(&stored.message.topic);
        Some(stored)
    }

    fn die(&mut self, number: u64, now: Time, reason: DeathReason, settings: &QueueSettings) {
        let Some(StoredMessage { message, deliveries, .. }) = self.remove(number) else { return };
        let topic = self.topics.entry(message.topic.clone()).or_default();
        let letter = DeadLetter { message, deliveries, reason, at: now };
        topic.bury(letter, settings.capacity.get());
    }

    fn remember(&mut self, id: &str, until: Time) -> u64 {
        self.last += 1;
        let number = self.last;
        self.known.insert(id.to_owned(), number);
        self.forgotten.insert((until, number), id.to_owned());
        number
    }

    /// Forgets the ids whose time is over, except those of messages that are still here.
    fn forget(&mut self, now: Time, window: Duration) {
        while let Some(oldest) = self.forgotten.first_entry() {
            if oldest.key().0 > now {
                break;
            }
            let ((_, number), id) = oldest.remove_entry();
            if self.messages.contains_key(&number) {
                self.forgotten.insert((now + window.max(Duration::from_micros(1)), number), id);
            } else {
                self.known.remove(&id);
            }
        }
    }
}
