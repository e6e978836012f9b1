//! The machine: it owns every decision of a run and does no I/O.
//!
//! A driver asks [`Run::step`] what to do, does it, and answers: tasks with
//! [`Run::resolve`], commits with [`Run::committed`], questions with
//! [`Run::answer`]. Everything is synchronous and total: the same graph, seed,
//! times and outcomes give the same bytes.

use std::sync::Arc;
use std::time::Duration;

use crate::approval::Schemas;
use crate::budget::{Budget, BudgetDimension, Limits};
use crate::checkpoint::{CommitChange, WriteSource};
use crate::command::Update;
use crate::effect::{Effect, Ending};
use crate::event::{Event, EventKind, Level};
use crate::fault::{Fault, FaultCode};
use crate::graph::{Graph, Heartbeat};
use crate::notice::EventOptions;
use crate::rules::Rules;
use crate::seed::Seed;
use crate::task::{TaskId, TaskOutcome};
use crate::time::Time;
use crate::value::Value;

use super::breakpoints::Breakpoints;
use super::conflict::mistyped;
use super::frame::{Frame, TaskStatus};
use super::queue::EffectQueue;
use super::scope::{Scope, Scopes};
use super::termination::{CancelMode, Termination};

/// Settings of one run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Names the run in events and ids.
    pub run_id: String,
    /// The source of ids and jitter.
    pub seed: Seed,
    /// Mixed with the seed into the keys of its calls: kept by a resumed run, different for a fork.
    pub key_salt: u64,
    /// The limits of the run.
    pub limits: Limits,
    /// The most tasks that run at once; `None` for no limit.
    pub max_concurrency: Option<usize>,
    /// Whether supersteps are handed out as [`Effect::Commit`].
    pub commits: bool,
    /// Whether events are built, or only counted.
    pub events: bool,
    /// The time-out of a superstep of the run's own graph.
    pub step_timeout: Option<Duration>,
    /// Which notices [`Run::take_notices`] returns.
    pub event_options: EventOptions,
    /// Compiles the schemas of tools whose arguments a person changes.
    pub schemas: Schemas,
    /// Where the run stops between two supersteps.
    pub breakpoints: Option<Arc<Breakpoints>>,
}

/// One run of one graph, from the first superstep to the last.
///
/// A run is a state machine without I/O, clock or threads. A driver owns it, calls its methods one
/// at a time, and carries out what it asks for. All times are arguments and must not go back.
///
/// ```text
///        new · turn · edit · resume
///                    │
///                    ▼
///   ┌──────────►  step(now)  ◄───────────────────────────────┐
///   │                │ Effect                                │
///   │                ├─ Start(tasks) ── begin each ──────────┤   each task, whenever it ends:
///   │                ├─ Cancel(ids)  ── tell each to stop ───┤     resolve(id, outcome, now)
///   │                ├─ Commit(c) ───── store ─ committed(id)┤
///   │                ├─ Wait(until) ─── until something of   ┤
///   │                │                  the right happens    │
///   │                ├─ Paused(questions)                    │
///   └─ answer(id) ───┘                                       │
///                    ├─ Done(ending)   the state is final    │
///                    └─ Failed(fault)  the state is final    │
///        cancel(reason, now), at any time ───────────────────┘
/// ```
///
/// There are five kinds of method:
///
/// | kind | methods | called | promise |
/// |---|---|---|---|
/// | constructors | [`new`](Self::new), [`turn`](Self::turn), [`edit`](Self::edit), [`resume`](Self::resume) | once | nothing happens before the first `step` |
/// | the loop | [`step`](Self::step), [`settle`](Self::settle) | after each other call that may have changed something ([`is_ready`](Self::is_ready)), and at the instant of `Wait` | never blocks; returns one effect; after `Done` or `Failed` it returns the same again |
/// | outcomes | [`resolve`](Self::resolve), [`committed`](Self::committed), [`abandon_commits`](Self::abandon_commits), [`answer`](Self::answer), [`cancel`](Self::cancel), [`keep_time`](Self::keep_time), [`record_heartbeat`](Self::record_heartbeat) | when something has happened outside | only record what happened; what follows from it is decided in the next `step`. A repeated, late or unknown outcome changes nothing |
/// | calls of a task | [`begin_call`](Self::begin_call) then [`end_call`](Self::end_call) or [`abandon_call`](Self::abandon_call); [`begin_subrun`](Self::begin_subrun), [`commit_subrun`](Self::commit_subrun), [`end_subrun`](Self::end_subrun); [`request`](Self::request), [`charge`](Self::charge), [`note`](Self::note) | between the start of a task and its outcome | a call that is known is not made again; a commit that they return goes to the store in the order of these calls, without an acknowledgement |
/// | readers | [`take_events`](Self::take_events), [`take_notices`](Self::take_notices), [`questions`](Self::questions), [`state`](Self::state) and others | at any time | decide nothing |
///
/// The driver in turn promises:
///
/// 1. Each task of `Start` is resolved once, also after `Cancel`: the run counts what is under way,
///    and neither pauses nor ends before.
/// 2. A commit is acknowledged after the store has accepted it, and commits are stored in the order
///    in which they were handed out. With [`Options::commits`], no task of a superstep starts
///    before the commit of the superstep before it is acknowledged. What a crash may leave is
///    therefore always a prefix of the commits, which [`resume`](Self::resume) continues from.
/// 3. A call's [`PendingCall::intent`](super::PendingCall::intent) is durable before the call is made.
/// 4. The reducers and routers behind [`Rules`] are deterministic; otherwise a resumed run may take
///    another way than the one it resumes.
#[derive(Debug)]
pub struct Run<V> {
    pub(super) scopes: Scopes<V>,
    pub(super) queue: EffectQueue<V>,
}

impl<V: Value> Run<V> {
    /// The default limit of supersteps.
    pub const SUPERSTEPS: u64 = 1_000;

    /// How long the run waits for open calls with side effects of a cancelled task that has an
    /// outcome.
    pub const CALL_GRACE: Duration = Duration::from_secs(10);

    /// A run of `graph` that begins with `input`. Nothing happens before the
    /// first [`Run::step`].
    pub fn new(
        graph: Arc<Graph<V>>,
        input: impl Into<Update<V>>,
        options: Options,
        now: Time,
    ) -> Self {
        Self::of(Frame::new(graph, input.into()), options, 0, now)
    }

    /// A run whose event numbers continue after `events`.
    pub(super) fn of(frame: Frame<V>, options: Options, events: u64, now: Time) -> Self {
        let mut limits = options.limits;
        limits.supersteps = limits.supersteps.or(Some(Self::SUPERSTEPS));
        let deadline = limits.wall_time.map(|limit| now + limit);
        let mut root = Scope::root(frame, options.seed);
        if options.events || options.event_options.states {
            root.trace();
        }
        let mut queue = EffectQueue::new(Budget::new(limits), deadline);
        queue.commits = options.commits;
        queue.key_salt = options.key_salt;
        queue.max_concurrency = options.max_concurrency.map(|most| most.max(1));
        queue.log.recording = options.events;
        queue.step_timeout = options.step_timeout;
        queue.event_options = options.event_options;
        queue.schemas = options.schemas;
        queue.breakpoints = options.breakpoints;
        queue.log.now = now;
        queue.log.seq = events;
        queue.log.emit(|| root.event(Vec::new(), EventKind::RunStarted, &options.run_id));
        Self { scopes: Scopes::new(root), queue }
    }

    /// Decides what the driver does next. `rules` are called at once, for reducers and
    /// routers of the host.
    pub fn step(&mut self, now: Time, rules: &mut impl Rules<V>) -> Effect<V> {
        self.keep_time(now);
        loop {
            if let Some(mut effect) = self.queue.next_effect() {
                self.start_timers(&mut effect);
                return effect;
            }
            match self.queue.active.pop_front() {
                Some(scope) => self.advance(scope, rules),
                None => return self.idle_effect(),
            }
        }
    }

    /// Fires the timers that are due, as [`step`](Self::step) does first. A driver whose task ends
    /// because a deadline is over calls it before [`resolve`](Self::resolve).
    ///
    /// One alarm stands for all timers, so that a step that nothing is due in does not look at any
    /// task.
    pub fn keep_time(&mut self, now: Time) {
        self.queue.log.now = now;
        if self.queue.alarm.is_some_and(|alarm| now >= alarm) {
            self.fire_timers(now);
        }
    }

    /// Takes the outcome of a task. An outcome of an attempt that is over, or was not handed out
    /// yet, changes nothing. Returns whether it was accepted.
    pub fn resolve(&mut self, id: TaskId, outcome: TaskOutcome<V>, now: Time) -> bool {
        self.queue.log.now = now;
        // The driver cannot know this task yet: the id is stale or forged.
        if self.queue.is_unstarted(id) {
            return false;
        }
        if id.scope != 0 {
            self.record_heartbeat(id, Heartbeat::Progress, now);
        }
        match self.scopes.status(id) {
            Some(TaskStatus::Running) => {}
            Some(TaskStatus::Cancelling) if !self.accepts(id, &outcome) => {
                return self.resolve_cancelling(id.scope, id.slot);
            }
            Some(TaskStatus::Cancelling | TaskStatus::Finishing) => {
                self.resolve_finishing(id, outcome);
                return true;
            }
            _ => return false,
        }
        if self.scopes.is_agent(id.scope) {
            self.queue.running -= 1;
            self.resolve_call(id.scope, id.slot, outcome);
            return true;
        }
        let outcome = match outcome {
            TaskOutcome::Ask(value) => Err((None, value)),
            TaskOutcome::Relay(question, value) => Err((Some(question), value)),
            other => Ok(other),
        };
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(asked) => {
                if let Some(asked) = self.hold_question(id.scope, id.slot, asked) {
                    self.queue.running -= 1;
                    self.pause(id.scope, id.slot, asked);
                }
                return true;
            }
        };
        self.queue.running -= 1;
        match outcome {
            TaskOutcome::Done(update) => self.complete(id.scope, id.slot, update),
            TaskOutcome::Failed(failure) => self.fail(id.scope, id.slot, *failure),
            TaskOutcome::Escalate(update) => self.escalate(id.scope, id.slot, update),
            TaskOutcome::Ask(_)
            | TaskOutcome::Relay(..)
            | TaskOutcome::Opened(_)
            | TaskOutcome::Replied(_)
            | TaskOutcome::Decided(_)
            | TaskOutcome::Returned(_) => {
                let fault = Fault::new(
                    FaultCode::OutcomeMisplaced,
                    "a driver answered a node with the outcome of another kind of work",
                );
                self.fail(id.scope, id.slot, fault.into());
            }
        }
        true
    }

    /// Acknowledges a commit: it is durable, or was accepted for later. The commit of a question
    /// must be durable, because the question becomes visible now.
    pub fn committed(&mut self, id: u64) {
        if self.queue.awaiting == Some(id) {
            self.queue.awaiting = None;
            self.queue.gates.release(id);
        }
    }

    /// Reports that nothing can be stored any more: the run waits for no commit, and questions that
    /// are not durable stay invisible. The driver cancels the run and fails with the store's fault.
    pub fn abandon_commits(&mut self) {
        self.queue.awaiting = None;
        self.queue.abandon_questions();
    }

    /// Adds an event of the host or of user code to the trace of a task. Ignored if the attempt or
    /// the run is over.
    pub fn note(&mut self, id: TaskId, kind: EventKind, name: &str, data: serde_json::Value) {
        if self.queue.ended.is_some() || !self.scopes.is_present(id) {
            return;
        }
        let Self { scopes, queue } = self;
        queue.log.emit(|| {
            let mut event = scopes.event(id.scope, id.slot, kind, Level::Info);
            event.name = name.into();
            event.data = match data {
                serde_json::Value::Object(fields) => fields.into(),
                other => serde_json::Map::from_iter([("value".to_owned(), other)]).into(),
            };
            event
        });
    }

    /// Adds an event of a run that a task has started to the trace, below the task: its path and
    /// its spans continue those of the task. Ignored if the attempt or the run is over.
    pub fn relay(&mut self, id: TaskId, event: Event) {
        if self.queue.ended.is_some() || !self.scopes.is_present(id) {
            return;
        }
        let task = self.scopes.event(id.scope, id.slot, event.kind, event.level);
        let path = task.path.into_iter().chain(event.path).collect();
        let parent_span_id = event.parent_span_id.or(Some(task.span_id));
        self.queue.log.relay(Event { path, parent_span_id, ..event });
    }

    /// Cancels the run. It ends once every running task has an outcome.
    pub fn cancel(&mut self, reason: &str, now: Time) {
        self.queue.log.now = now;
        if self.queue.ended.is_none() {
            self.terminate(0, Termination::Cancel(reason.to_owned()), CancelMode::Await);
        }
    }

    /// Takes the events since the last call, in order. A question and the events after it follow
    /// once the question's commit is acknowledged.
    pub fn take_events(&mut self) -> Vec<Event> {
        self.queue.take_events()
    }

    /// The number of events so far, whether built or only counted.
    pub const fn event_count(&self) -> u64 {
        self.queue.log.seq
    }

    /// The effect when nothing is left to decide: waiting, or paused.
    fn idle_effect(&mut self) -> Effect<V> {
        if self.queue.running + self.queue.sleeping > 0 {
            return Effect::Wait(self.queue.alarm);
        }
        let questions = self.questions();
        if questions.is_empty() {
            return Effect::Failed(Fault::new(
                FaultCode::RunStalled,
                "the run has nothing to do and has not ended",
            ));
        }
        self.notify_nested_asked();
        self.queue.paused_since.get_or_insert(self.queue.log.now);
        Effect::Paused(questions)
    }

    /// Advances a scope as far as possible without the driver.
    fn advance(&mut self, scope: u32, rules: &mut impl Rules<V>) {
        let Some(found) = self.scopes.get(scope).filter(|found| found.open == 0) else { return };
        if found.terminate.is_some() {
            return self.conclude(scope, rules);
        }
        let Some(frame) = self.scopes.frame(scope) else { return self.advance_agent(scope, rules) };
        let (edits, merged) = (frame.source == WriteSource::Edit, frame.merged);
        if frame.paused == 0 && (merged || self.barrier(scope, rules)) {
            if edits {
                self.queue.ended = Some(Ok(Ending::Completed));
            } else {
                self.plan(scope);
            }
        }
    }

    /// Counts a task as closed; after the last one the scope advances.
    pub(super) fn close_task(&mut self, scope: u32) {
        if let Some(found) = self.scopes.get_mut(scope) {
            found.open -= 1;
        }
        self.activate(scope);
    }

    /// Schedules a scope to advance if none of its tasks is open.
    pub(super) fn activate(&mut self, scope: u32) {
        let idle = self.scopes.get(scope).is_some_and(|found| found.open == 0);
        if idle && !self.queue.active.contains(&scope) {
            self.queue.active.push_back(scope);
        }
    }

    /// A task has succeeded.
    pub(super) fn complete(&mut self, scope: u32, slot: u32, update: Update<V>) {
        let Self { scopes, queue } = self;
        let Some(frame) = scopes.frame_mut(scope) else { return };
        let fault = update.writes.iter().find_map(|write| mistyped(&frame.graph, write));
        if let Some(fault) = fault {
            return self.apply_on_error(scope, slot, fault);
        }
        queue.log.emit(|| scopes.finished(scope, slot, &update));
        self.notify_done(scope, slot, &update);
        self.commit_finished(scope, slot, &update);
        if let Some(record) = self.scopes.record(scope, slot) {
            record.status = TaskStatus::Done(update);
        }
        self.close_task(scope);
    }

    /// Ends the run: from now on the driver gets this effect.
    pub(super) fn end_run(&mut self, ended: Result<Ending, Fault>) {
        let Self { scopes, queue } = self;
        queue.log.emit(|| scopes.run_finished(&ended));
        queue.alarm = None;
        queue.ended = Some(ended.clone());
        let edits = self.scopes.frame(0).is_some_and(|root| root.source == WriteSource::Edit);
        if self.queue.commits && !edits {
            self.store(0, CommitChange::Ended(ended));
        }
    }

    /// A budget is exhausted: the graph continues at its `on_budget` node once its tasks are
    /// stopped.
    pub(super) fn exhaust_budget(&mut self, scope: u32, dimension: BudgetDimension) {
        self.terminate(scope, Termination::Budget(dimension), CancelMode::Await);
    }
}
