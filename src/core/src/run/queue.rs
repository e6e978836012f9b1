//! The effects that a run has to hand out, and its counters.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;

use super::breakpoints::Breakpoints;
use super::gates::{QuestionGates, TracePosition};
use super::log::EventLog;
use crate::approval::Schemas;
use crate::budget::Budget;
use crate::checkpoint::{Commit, RecoveredGraph, TaskSnapshot};
use crate::effect::{Effect, Ending};
use crate::event::Event;
use crate::fault::Fault;
use crate::notice::{EventOptions, Notice};
use crate::task::{Task, TaskId};
use crate::time::Time;

/// The state of a run outside of its scopes.
#[derive(Debug)]
pub(super) struct EffectQueue<V> {
    pub(super) serial: u64,
    /// What the keys of calls derive from beside the seed.
    pub(super) key_salt: u64,
    /// Scopes to advance.
    pub(super) active: VecDeque<u32>,
    pub(super) starts: SmallVec<[Task<V>; 1]>,
    pub(super) cancels: Vec<TaskId>,
    pub(super) pending_commits: VecDeque<Box<Commit<V>>>,
    /// The commit that was handed out and is not acknowledged.
    pub(super) awaiting: Option<u64>,
    pub(super) commits: bool,
    pub(super) max_concurrency: Option<usize>,
    commit: u64,
    /// The next instant at which something is due.
    pub(super) alarm: Option<Time>,
    /// Tasks that the driver runs, and tasks that wait for their next attempt.
    pub(super) running: usize,
    pub(super) sleeping: usize,
    pub(super) deadline: Option<Time>,
    /// Since when nothing is left to do but to wait for answers.
    pub(super) paused_since: Option<Time>,
    pub(super) step_timeout: Option<Duration>,
    /// Whether any task has an idle time-out.
    pub(super) watches: bool,
    /// The deadline has passed and was not extended.
    pub(super) late: bool,
    pub(super) budget: Budget,
    pub(super) log: EventLog,
    /// Notices for the host.
    pub(super) notices: Vec<Notice<V>>,
    /// Questions that stay invisible until their commit is durable.
    pub(super) gates: QuestionGates,
    pub(super) event_options: EventOptions,
    pub(super) schemas: Schemas,
    pub(super) breakpoints: Option<Arc<Breakpoints>>,
    /// Recovered tasks that are not restored yet.
    pub(super) recovered: Option<Box<RecoveredTasks<V>>>,
    pub(super) ended: Option<Result<Ending, Fault>>,
}

/// The tasks and nested graphs of the open superstep of a resumed run.
#[derive(Debug)]
pub(super) struct RecoveredTasks<V> {
    pub(super) nested: BTreeMap<u64, RecoveredGraph<V>>,
    pub(super) tasks: BTreeMap<u64, TaskSnapshot<V>>,
}

impl<V> EffectQueue<V> {
    pub(super) fn new(budget: Budget, deadline: Option<Time>) -> Self {
        Self {
            serial: 0,
            key_salt: 0,
            active: VecDeque::from([0]),
            starts: SmallVec::new(),
            cancels: Vec::new(),
            pending_commits: VecDeque::new(),
            awaiting: None,
            commits: false,
            max_concurrency: None,
            commit: 0,
            alarm: deadline,
            running: 0,
            sleeping: 0,
            deadline,
            paused_since: None,
            step_timeout: None,
            watches: false,
            late: false,
            budget,
            log: EventLog::default(),
            notices: Vec::new(),
            gates: QuestionGates::default(),
            event_options: EventOptions::default(),
            schemas: None,
            breakpoints: None,
            recovered: None,
            ended: None,
        }
    }

    /// The effect that is ready, the most urgent first.
    ///
    /// Cancellations overtake commits, because a task that nobody wants should not run while
    /// a slow store writes. Nothing else does: a task that started before the commit which led to it
    /// was stored could have effects of which a resumed run knows nothing. The end comes after the
    /// last commit, so that a run which was reported as done is also found as done.
    pub(super) fn next_effect(&mut self) -> Option<Effect<V>> {
        if !self.cancels.is_empty() {
            return Some(Effect::Cancel(std::mem::take(&mut self.cancels)));
        }
        if let Some(effect) = self.next_commit_effect() {
            return Some(effect);
        }
        match &self.ended {
            Some(Ok(ending)) => return Some(Effect::Done(ending.clone())),
            Some(Err(fault)) => return Some(Effect::Failed(fault.clone())),
            None => {}
        }
        // Tasks are handed out together once every scope has been advanced: a driver begins
        // siblings at once, and a task that a failed sibling voids was never started.
        if self.starts.is_empty() || !self.active.is_empty() {
            return None;
        }
        let Some(most) = self.max_concurrency else {
            return Some(Effect::Start(std::mem::take(&mut self.starts)));
        };
        let room = most.saturating_sub(self.running - self.starts.len());
        let tasks: SmallVec<_> = self.starts.drain(..room.min(self.starts.len())).collect();
        (!tasks.is_empty()).then_some(Effect::Start(tasks))
    }

    /// The next commit, or the wait for the one that is not acknowledged.
    pub(super) fn next_commit_effect(&mut self) -> Option<Effect<V>> {
        if self.awaiting.is_some() {
            return Some(Effect::Wait(self.alarm));
        }
        let commit = self.pending_commits.pop_front()?;
        self.awaiting = Some(commit.id);
        Some(Effect::Commit(commit))
    }

    /// Whether a task may have to wait before the driver gets it.
    pub(super) const fn queues(&self) -> bool {
        self.commits || self.max_concurrency.is_some()
    }

    /// Removes the tasks of a scope that were not handed out; returns their slots.
    pub(super) fn retract_starts(&mut self, scope: u32) -> SmallVec<[u32; 4]> {
        let (of_scope, others) =
            std::mem::take(&mut self.starts).into_iter().partition(|task| task.id.scope == scope);
        self.starts = others;
        let of_scope: SmallVec<[Task<V>; 1]> = of_scope;
        of_scope.iter().map(|task| task.id.slot).collect()
    }

    /// Whether a task waits to be handed out.
    pub(super) fn is_unstarted(&self, id: TaskId) -> bool {
        self.starts.iter().any(|task| task.id == id)
    }

    /// Cancels a task, or drops it if it was not handed out.
    pub(super) fn cancel_task(&mut self, id: TaskId) {
        let before = self.starts.len();
        self.starts.retain(|task| task.id != id);
        if self.starts.len() == before {
            self.cancels.push(id);
        }
    }

    pub(super) const fn next_commit(&mut self) -> u64 {
        self.commit += 1;
        self.commit
    }

    pub(super) const fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// Makes the run step again at `at` at the latest.
    pub(super) fn wake_at(&mut self, at: Time) {
        self.alarm = Some(self.alarm.map_or(at, |alarm| alarm.min(at)));
    }

    /// The current end of the trace.
    pub(super) fn trace_position(&self) -> TracePosition {
        TracePosition::of(&self.log, &self.notices)
    }

    /// Withholds a question, which is everything since `before`, until `commit` is durable.
    pub(super) fn withhold(&mut self, commit: u64, before: TracePosition) {
        self.gates.withhold(commit, before, &mut self.log, &mut self.notices);
    }

    pub(super) fn abandon_questions(&mut self) {
        self.gates.abandon(&mut self.log, &mut self.notices);
    }

    pub(super) fn take_events(&mut self) -> Vec<Event> {
        self.gates.take_events(&mut self.log)
    }

    pub(super) fn take_notices(&mut self) -> Vec<Notice<V>> {
        self.gates.take_notices(&mut self.notices)
    }
}
