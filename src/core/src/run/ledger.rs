//! What one task has called, while it lasts.

use crate::checkpoint::{Call, Came, Journal, Made};

/// The calls of the present attempt of a task, and those that are known from
/// before it began again.
#[derive(Debug)]
pub(super) struct Ledger<V> {
    attempt: u32,
    /// An earlier drive of the run has failed: this attempt may go another way.
    failed: bool,
    /// In the order they were begun first.
    entries: Vec<Entry<V>>,
    /// What was answered about calls before the attempt began again, by their keys.
    answered: Vec<(u64, V)>,
    /// Before this place all have been begun.
    first: usize,
    /// How many are under way.
    open: u32,
}

#[derive(Debug)]
struct Entry<V> {
    made: Made<V>,
    /// The attempt has come to it since it began, the last time it did.
    begun: bool,
}

/// What is known of a call that a task wants to make.
#[derive(Debug)]
pub(super) enum Known<V> {
    /// What came of it.
    Came(Came<V>),
    /// It was begun, and may not be made twice.
    Begun,
    /// Nothing: it is to be made.
    Nothing,
    /// The task had called this instead, and does not come to it.
    Other(Call),
}

impl<V: Clone> Ledger<V> {
    pub(super) const fn new(attempt: u32) -> Self {
        Self {
            attempt,
            failed: false,
            entries: Vec::new(),
            answered: Vec::new(),
            first: 0,
            open: 0,
        }
    }

    /// What an earlier drive of the run has left.
    pub(super) fn of(journal: Journal<V>) -> Self {
        let entries = journal.made.into_iter().map(|made| Entry { made, begun: false }).collect();
        let Journal { attempt, answered, failed, .. } = journal;
        Self { failed, entries, answered, ..Self::new(attempt) }
    }

    pub(super) const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// An earlier drive of the run has failed.
    pub(super) const fn has_failed(&self) -> bool {
        self.failed
    }

    /// What was answered about calls before the attempt began again, by their keys.
    pub(super) fn answered(&self) -> &[(u64, V)] {
        &self.answered
    }

    /// Whether a call like this one was begun before and not since.
    pub(super) fn has(&self, call: &Call) -> bool {
        self.waiting(call).is_some()
    }

    /// An attempt begins, or begins again; another one than before knows nothing.
    pub(super) fn begin(&mut self, attempt: u32) {
        if attempt != self.attempt {
            *self = Self::new(attempt);
        }
        self.entries.iter_mut().for_each(|entry| entry.begun = false);
        self.first = 0;
        self.open = 0;
    }

    /// What is known of a call. One that is known counts as begun with this.
    pub(super) fn look_up(&mut self, call: &Call) -> Known<V> {
        let Some(place) = self.waiting(call) else { return self.missing() };
        let Some(entry) = self.entries.get_mut(place) else { return Known::Nothing };
        let known = match &entry.made.came {
            Some(came) => Known::Came(came.clone()),
            None if call.repeatable => return Known::Nothing,
            None => Known::Begun,
        };
        entry.begun = true;
        self.skip_begun();
        known
    }

    /// Begins a call of which nothing is known.
    pub(super) fn open(&mut self, call: &Call) -> Made<V> {
        let alone = self.open == 0;
        self.open += 1;
        if let Some(entry) = self.waiting(call).and_then(|place| self.entries.get_mut(place)) {
            entry.begun = true;
            entry.made.alone &= alone;
            let made = entry.made.clone();
            self.skip_begun();
            return made;
        }
        let index = self.entries.last().map_or(0, |entry| entry.made.index + 1);
        let made = Made { index, alone, call: call.clone(), came: None };
        self.entries.push(Entry { made: made.clone(), begun: true });
        self.skip_begun();
        made
    }

    /// An open call has come to an end; none if there is no such call.
    pub(super) fn close(&mut self, index: u32, came: Came<V>) -> Option<Made<V>> {
        let place = self.entries.binary_search_by_key(&index, |entry| entry.made.index).ok()?;
        let entry = self.entries.get_mut(place).filter(|entry| entry.made.came.is_none())?;
        self.open -= 1;
        let left = matches!(came, Came::Left);
        entry.made.came = Some(came);
        let made = entry.made.clone();
        if left {
            self.entries.remove(place);
            self.first = self.first.min(place);
            self.skip_begun();
        }
        Some(made)
    }

    /// What came of all that are known.
    pub(super) fn known(&self) -> impl Iterator<Item = &Came<V>> {
        self.entries.iter().filter_map(|entry| entry.made.came.as_ref())
    }

    /// How many of the same calls the attempt has begun.
    pub(super) fn count(&self, call: &Call) -> u64 {
        let same = |entry: &&Entry<V>| entry.begun && entry.made.call.is(call);
        self.entries.iter().filter(same).count() as u64
    }

    /// The next call like this one that was begun before and not since.
    fn waiting(&self, call: &Call) -> Option<usize> {
        let rest = self.entries.iter().enumerate().skip(self.first);
        let mut same = rest.filter(|(_, entry)| !entry.begun && entry.made.call.is(call));
        same.next().map(|(place, _)| place)
    }

    /// Nothing like a call was begun before. If calls came one after the other
    /// and this takes the place of another, the task does not do what it had
    /// done; no matter, unless it had done something that may not be done twice.
    fn missing(&self) -> Known<V> {
        let rest = self.entries.iter().skip(self.first).filter(|entry| !entry.begun);
        let matters = || rest.clone().any(|entry| !entry.made.call.repeatable);
        let sequential = || self.entries.iter().all(|entry| entry.made.alone);
        match rest.clone().next() {
            Some(entry) if !self.failed && matters() && sequential() => {
                Known::Other(entry.made.call.clone())
            }
            _ => Known::Nothing,
        }
    }

    fn skip_begun(&mut self) {
        let rest = self.entries.iter().skip(self.first);
        self.first += rest.take_while(|entry| entry.begun).count();
    }
}
