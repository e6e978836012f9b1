//! Tracks the calls of a task: those of the present attempt, and those recorded before it
//! was restarted.

use crate::checkpoint::{Call, CallJournal, CallOutcome, CallRecord, KnownSubrun, SubrunCommit};

/// The calls of the current attempt of a task, and those recorded before it ran again.
#[derive(Debug)]
pub(super) struct CallTracker<V> {
    attempt: u32,
    /// The run has failed before: this attempt may make other calls.
    failed: bool,
    /// In the order of their first start.
    entries: Vec<Entry<V>>,
    /// Recorded answers about calls, by their keys.
    answered: Vec<(u64, V)>,
    /// All entries before this index have started.
    first: usize,
    /// The number of open calls.
    open: u32,
}

#[derive(Debug)]
struct Entry<V> {
    record: CallRecord<V>,
    /// Whether the attempt has started it since it last ran from its start.
    started: bool,
    /// Whether it is open.
    open: bool,
    /// Its recorded state, if it is a subrun.
    subrun: KnownSubrun<V>,
}

impl<V> Entry<V> {
    const fn known(record: CallRecord<V>) -> Self {
        Self { record, started: false, open: false, subrun: KnownSubrun::Nothing }
    }
}

/// The record of a call that a task wants to make.
#[derive(Debug)]
pub(super) enum KnownCall<V> {
    /// It has this outcome.
    Finished(CallOutcome<V>),
    /// It was started, has side effects, and its outcome is not known.
    Started,
    /// There is no record.
    Unknown,
    /// The task made this call instead before.
    Other(Call),
}

impl<V: Clone> CallTracker<V> {
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

    /// Restored from the journal.
    pub(super) fn of(journal: CallJournal<V>) -> Self {
        let CallJournal { attempt, answered, failed, records, mut subruns } = journal;
        let entries = records.into_iter().map(|record| {
            let log = subruns.remove(&record.index);
            let subrun = log.map_or(KnownSubrun::Nothing, KnownSubrun::Commits);
            Entry { subrun, ..Entry::known(record) }
        });
        let entries = entries.collect();
        Self { failed, entries, answered, ..Self::new(attempt) }
    }

    pub(super) const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Whether the run has failed before.
    pub(super) const fn has_failed(&self) -> bool {
        self.failed
    }

    /// Recorded answers about calls, by their keys.
    pub(super) fn answered(&self) -> &[(u64, V)] {
        &self.answered
    }

    /// Whether a matching call is recorded and was not started again.
    pub(super) fn has(&self, call: &Call) -> bool {
        self.next_match(call).is_some()
    }

    /// An attempt starts, or runs again. A new attempt has no records.
    pub(super) fn begin(&mut self, attempt: u32) {
        if attempt != self.attempt {
            *self = Self::new(attempt);
        }
        for entry in &mut self.entries {
            (entry.started, entry.open) = (false, false);
        }
        self.first = 0;
        self.open = 0;
    }

    /// Looks up a call. A recorded one counts as started from now on.
    pub(super) fn lookup(&mut self, call: &Call) -> KnownCall<V> {
        let Some(place) = self.next_match(call) else { return self.unmatched() };
        let Some(entry) = self.entries.get_mut(place) else { return KnownCall::Unknown };
        let known = match &entry.record.outcome {
            Some(outcome) => KnownCall::Finished(outcome.clone()),
            None if call.repeatable => return KnownCall::Unknown,
            None => KnownCall::Started,
        };
        entry.started = true;
        self.skip_started();
        known
    }

    /// Starts a call.
    pub(super) fn open(&mut self, call: &Call) -> CallRecord<V> {
        let alone = !self.has_open();
        self.open += 1;
        if let Some(entry) = self.next_match(call).and_then(|place| self.entries.get_mut(place)) {
            (entry.started, entry.open) = (true, true);
            entry.record.alone &= alone;
            let record = entry.record.clone();
            self.skip_started();
            return record;
        }
        let index = self.entries.last().map_or(0, |entry| entry.record.index + 1);
        let record = CallRecord { index, alone, call: call.clone(), outcome: None };
        self.entries.push(Entry { started: true, open: true, ..Entry::known(record.clone()) });
        self.skip_started();
        record
    }

    /// Starts or continues a subrun. Returns the number of equal calls before it, and its recorded
    /// state.
    ///
    /// # Errors
    /// The task made this call instead before.
    pub(super) fn enter(
        &mut self,
        call: &Call,
    ) -> Result<(CallRecord<V>, u64, KnownSubrun<V>), Call> {
        let call = match (self.next_match(call), self.unfinished(call)) {
            (None, Some(started)) => started.record.call.clone(),
            (Some(_), _) => call.clone(),
            (None, None) => match self.unmatched() {
                KnownCall::Other(before) => return Err(before),
                _ => call.clone(),
            },
        };
        let record = self.open(&call);
        let is_before = |entry: &&Entry<V>| {
            entry.record.call.is(&record.call) && entry.record.index < record.index
        };
        let nth = self.entries.iter().filter(is_before).count() as u64;
        let found = self.entries.iter_mut().find(|entry| entry.record.index == record.index);
        let known = found.map(|entry| std::mem::take(&mut entry.subrun)).unwrap_or_default();
        Ok((record, nth, known))
    }

    /// The subrun that the task was in when it was interrupted. It continues with its recorded
    /// input even if the task now computes another one, as the conversation of a declared
    /// agent does. With concurrent subruns it would be ambiguous which one is meant.
    fn unfinished(&self, call: &Call) -> Option<&Entry<V>> {
        let entry = self.entries.get(self.first)?;
        let is_it = !entry.started
            && (entry.record.call.callee, &entry.record.call.name) == (call.callee, &call.name)
            && !entry.subrun.has_ended()
            && self.entries.iter().all(|entry| entry.record.alone);
        is_it.then_some(entry)
    }

    /// Updates the call from a commit of its subrun.
    pub(super) fn mark_subrun(&mut self, commit: &SubrunCommit) {
        let found = self.entries.iter_mut().find(|entry| entry.record.index == commit.index);
        if let Some(entry) = found {
            entry.record.call.repeatable &= commit.repeatable;
        }
    }

    /// Sets the recorded state of a subrun.
    pub(super) fn note_subrun(&mut self, index: u32, known: KnownSubrun<V>) {
        let found = self.entries.iter_mut().find(|entry| entry.record.index == index);
        if let Some(entry) = found {
            entry.subrun = known;
        }
    }

    /// The recorded states of subruns.
    pub(super) fn subruns(&self) -> impl Iterator<Item = &KnownSubrun<V>> {
        self.entries.iter().map(|entry| &entry.subrun)
    }

    /// A paused subrun is running again.
    pub(super) fn reopen(&mut self, index: u32) {
        let found = self.entries.iter_mut().find(|entry| entry.record.index == index);
        if let Some(entry) = found.filter(|entry| !entry.open) {
            entry.open = true;
            self.open += 1;
        }
    }

    /// Records the outcome of an open call; `None` if there is no such call.
    pub(super) fn close(&mut self, index: u32, outcome: CallOutcome<V>) -> Option<CallRecord<V>> {
        let place = self.entries.binary_search_by_key(&index, |entry| entry.record.index).ok()?;
        let entry = self.entries.get_mut(place).filter(|entry| entry.record.outcome.is_none())?;
        if std::mem::take(&mut entry.open) {
            self.open -= 1;
        }
        let left = matches!(outcome, CallOutcome::Interrupted);
        entry.record.outcome = Some(outcome);
        let record = entry.record.clone();
        if left {
            self.entries.remove(place);
            self.first = self.first.min(place);
            self.skip_started();
        }
        Some(record)
    }

    /// Closes an open call with an unknown outcome. Returns whether it was open.
    pub(super) fn abandon(&mut self, index: u32) -> bool {
        let place = self.entries.binary_search_by_key(&index, |entry| entry.record.index);
        let entry = place.ok().and_then(|place| self.entries.get_mut(place));
        let was_open = entry.is_some_and(|entry| std::mem::take(&mut entry.open));
        self.open -= u32::from(was_open);
        was_open
    }

    /// Whether a call is open.
    pub(super) const fn has_open(&self) -> bool {
        self.open > 0
    }

    /// Whether a call with side effects is open.
    pub(super) fn has_open_side_effect(&self) -> bool {
        self.has_open()
            && self.entries.iter().any(|entry| entry.open && !entry.record.call.repeatable)
    }

    /// The known outcomes.
    pub(super) fn known(&self) -> impl Iterator<Item = &CallOutcome<V>> {
        self.entries.iter().filter_map(|entry| entry.record.outcome.as_ref())
    }

    /// The number of equal calls that the attempt has started.
    pub(super) fn count(&self, call: &Call) -> u64 {
        let same = |entry: &&Entry<V>| entry.started && entry.record.call.is(call);
        self.entries.iter().filter(same).count() as u64
    }

    /// The next matching record that was not started again.
    fn next_match(&self, call: &Call) -> Option<usize> {
        let rest = self.entries.iter().enumerate().skip(self.first);
        let mut same = rest.filter(|(_, entry)| !entry.started && entry.record.call.is(call));
        same.next().map(|(place, _)| place)
    }

    /// No recorded call matches. In code that makes its calls one at a time, the call then takes
    /// the place of a recorded one: the code is not deterministic, or was changed. That matters
    /// only if a recorded call has side effects, which would happen twice under another name.
    /// Concurrent calls may arrive in any order and prove nothing, nor does a run that has failed
    /// and is retried: its node may take another way on purpose.
    fn unmatched(&self) -> KnownCall<V> {
        let rest = self.entries.iter().skip(self.first).filter(|entry| !entry.started);
        let matters = || rest.clone().any(|entry| !entry.record.call.repeatable);
        let sequential = || self.entries.iter().all(|entry| entry.record.alone);
        match rest.clone().next() {
            Some(entry) if !self.failed && matters() && sequential() => {
                KnownCall::Other(entry.record.call.clone())
            }
            _ => KnownCall::Unknown,
        }
    }

    fn skip_started(&mut self) {
        let rest = self.entries.iter().skip(self.first);
        self.first += rest.take_while(|entry| entry.started).count();
    }
}
