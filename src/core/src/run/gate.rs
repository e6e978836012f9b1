//! Questions that no store holds yet, and what happened after them: nobody is
//! told of either.
//!
//! Whoever sees a question may answer it, even if the process dies at that very
//! moment. So a question, as an event or as a notice, leaves the run only once
//! its commit was acknowledged, and with that everything committed before it.
//! What comes after it waits too, because watchers see things in order.

use std::collections::VecDeque;
use std::ops::Range;

use super::queue::EffectQueue;
use crate::event::Event;
use crate::notice::Notice;

/// The questions that are not durable, in order.
#[derive(Debug, Default)]
pub(super) struct QuestionGates {
    open: VecDeque<QuestionGate>,
    /// Nothing can be stored any more.
    abandoned: bool,
}

/// A question that is not durable: what tells of it, and the commit that holds it.
#[derive(Debug)]
struct QuestionGate {
    commit: u64,
    events: Range<usize>,
    notices: Range<usize>,
}

/// How much there was to tell at some point.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoticeMark {
    events: usize,
    notices: usize,
}

impl<V> EffectQueue<V> {
    /// How much there is to tell now.
    pub(super) const fn notice_mark(&self) -> NoticeMark {
        NoticeMark { events: self.log.events.len(), notices: self.notices.len() }
    }

    /// Tells nothing of a question before `commit` is durable. All that was added
    /// to what there is to tell since `before` is the question.
    pub(super) fn withhold(&mut self, commit: u64, before: NoticeMark) {
        let now = self.notice_mark();
        self.gates.open.push_back(QuestionGate {
            commit,
            events: before.events..now.events,
            notices: before.notices..now.notices,
        });
        if self.gates.abandoned {
            self.withdraw_questions();
        }
    }

    /// A commit is durable, and so are those before it.
    pub(super) fn release_questions(&mut self, commit: u64) {
        while self.gates.open.front().is_some_and(|gate| gate.commit <= commit) {
            self.gates.open.pop_front();
        }
    }

    /// Nothing can be stored any more: nobody is told of the questions that are
    /// not durable, and what was counted after them moves up.
    pub(super) fn abandon_questions(&mut self) {
        self.gates.abandoned = true;
        self.withdraw_questions();
    }

    fn withdraw_questions(&mut self) {
        // From the last one on, so that the places of the others stay right.
        while let Some(gate) = self.gates.open.pop_back() {
            self.log.seq -= 1;
            for event in self.log.events.iter_mut().skip(gate.events.end) {
                event.seq -= 1;
            }
            self.log.events.drain(gate.events);
            self.notices.drain(gate.notices);
        }
    }

    pub(super) fn take_events(&mut self) -> Vec<Event> {
        let Some(first) = self.gates.open.front() else {
            return std::mem::take(&mut self.log.events);
        };
        let taken = first.events.start;
        for QuestionGate { events, .. } in &mut self.gates.open {
            *events = events.start - taken..events.end - taken;
        }
        let rest = self.log.events.split_off(taken);
        std::mem::replace(&mut self.log.events, rest)
    }

    pub(super) fn take_notices(&mut self) -> Vec<Notice<V>> {
        let Some(first) = self.gates.open.front() else {
            return std::mem::take(&mut self.notices);
        };
        let taken = first.notices.start;
        for QuestionGate { notices, .. } in &mut self.gates.open {
            *notices = notices.start - taken..notices.end - taken;
        }
        let rest = self.notices.split_off(taken);
        std::mem::replace(&mut self.notices, rest)
    }
}
