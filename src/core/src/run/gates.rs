//! Questions that are not durable yet, and what happened after them: both stay invisible.
//!
//! A visible question may be answered even if the process dies at that moment. So a question, as an
//! event or a notice, leaves the run only once its commit is acknowledged, and with it all commits
//! before. What follows the question waits too, because watchers see everything in order.

use std::collections::VecDeque;
use std::ops::Range;

use super::log::EventLog;
use crate::event::Event;
use crate::notice::Notice;

/// The questions that are not durable, in order.
#[derive(Debug, Default)]
pub(super) struct QuestionGates {
    open: VecDeque<QuestionGate>,
    /// Nothing can be stored any more.
    abandoned: bool,
}

/// A question that is not durable: its events and notices, and its commit.
#[derive(Debug)]
struct QuestionGate {
    commit: u64,
    events: Range<usize>,
    notices: Range<usize>,
}

/// A position in the trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct TracePosition {
    events: usize,
    notices: usize,
}

impl QuestionGates {
    /// Withholds a question, which is everything since `before`, until `commit` is durable.
    pub(super) fn withhold<V>(
        &mut self,
        commit: u64,
        before: TracePosition,
        log: &mut EventLog,
        notices: &mut Vec<Notice<V>>,
    ) {
        let now = TracePosition::of(log, notices);
        self.open.push_back(QuestionGate {
            commit,
            events: before.events..now.events,
            notices: before.notices..now.notices,
        });
        if self.abandoned {
            self.withdraw(log, notices);
        }
    }

    /// A commit is durable, and so are those before it.
    pub(super) fn release(&mut self, commit: u64) {
        while self.open.front().is_some_and(|gate| gate.commit <= commit) {
            self.open.pop_front();
        }
    }

    /// Nothing can be stored any more: drops the questions that are not durable, and renumbers the
    /// events after them.
    pub(super) fn abandon<V>(&mut self, log: &mut EventLog, notices: &mut Vec<Notice<V>>) {
        self.abandoned = true;
        self.withdraw(log, notices);
    }

    fn withdraw<V>(&mut self, log: &mut EventLog, notices: &mut Vec<Notice<V>>) {
        // From the last one on, so that the places of the others stay right.
        while let Some(gate) = self.open.pop_back() {
            log.seq -= 1;
            for event in log.events.iter_mut().skip(gate.events.end) {
                event.seq -= 1;
            }
            log.events.drain(gate.events);
            notices.drain(gate.notices);
        }
    }

    /// Takes the events up to the first question that is not durable.
    pub(super) fn take_events(&mut self, log: &mut EventLog) -> Vec<Event> {
        take_before(&mut log.events, self.open.iter_mut().map(|gate| &mut gate.events))
    }

    /// Takes the notices up to the first question that is not durable.
    pub(super) fn take_notices<V>(&mut self, notices: &mut Vec<Notice<V>>) -> Vec<Notice<V>> {
        take_before(notices, self.open.iter_mut().map(|gate| &mut gate.notices))
    }
}

impl TracePosition {
    /// The current end of the trace.
    pub(super) fn of<V>(log: &EventLog, notices: &[Notice<V>]) -> Self {
        Self { events: log.events.len(), notices: notices.len() }
    }
}

/// Takes what comes before the first of the withheld ranges, and moves these up.
fn take_before<'a, T>(
    items: &mut Vec<T>,
    blocked: impl Iterator<Item = &'a mut Range<usize>>,
) -> Vec<T> {
    let mut first = None;
    for range in blocked {
        let taken = *first.get_or_insert(range.start);
        *range = range.start - taken..range.end - taken;
    }
    let rest = first.map(|taken| items.split_off(taken)).unwrap_or_default();
    std::mem::replace(items, rest)
}
