//! One drive of one run, from its present state to where it rests.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use antiphon_core::checkpoint::{Call, Commit};
use antiphon_core::effect::Effect;
use antiphon_core::run::{CallStart, Run};
use antiphon_core::task::{Task, TaskId, TaskOutcome};
use antiphon_core::{Fault, FaultCode, Time};
use serde_json::Value as Json;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::panics::HostRules;
use super::task_set::{TaskAnswer, TaskSet};
use super::work::{CallServices, may_hang};
use super::{DriveOutcome, Driver};
use crate::committer::RunCommitter;
use crate::host::{CallAdmission, Host, TaskSignal, cancelled};
use crate::redact;
use crate::store::StoreFuture;

pub(super) struct Session<'d, H: ?Sized> {
    driver: &'d Driver<H>,
    run: &'d mut Run<Json>,
    committer: &'d mut RunCommitter,
    services: CallServices,
    tasks: TaskSet,
    signals: UnboundedReceiver<TaskSignal>,
    /// The task that has just ended and still must be heard.
    ending: Option<TaskId>,
    alarm: Option<PendingAlarm>,
    stopped: bool,
}

/// The instant the run waits for, and the clock's promise of it.
type PendingAlarm = (Time, Pin<Box<dyn Future<Output = ()> + Send>>);

impl<'d, H: Host + ?Sized + 'static> Session<'d, H> {
    pub(super) fn new(
        driver: &'d Driver<H>,
        run: &'d mut Run<Json>,
        committer: &'d mut RunCommitter,
    ) -> Self {
        let (sender, signals) = unbounded_channel();
        let streams = driver.watchers.iter().any(|watcher| watcher.wants_chunks());
        let services = CallServices { clock: Arc::clone(&driver.clock), signals: sender, streams };
        Self {
            driver,
            run,
            committer,
            services,
            tasks: TaskSet::default(),
            signals,
            ending: None,
            alarm: None,
            stopped: false,
        }
    }

    pub(super) async fn drive(mut self) -> Result<DriveOutcome, Fault> {
        if self.committer.is_blocked() {
            let answer = self.committer.durable().await;
            self.committer.acknowledge(self.run, answer, self.driver.clock.now());
        }
        loop {
            self.check_cancellation();
            let now = self.driver.clock.now();
            let effect = self.run.step(now, &mut HostRules(&*self.driver.host));
            self.publish();
            match effect {
                Effect::Start(tasks) => {
                    for task in tasks {
                        self.start(task, now).await;
                    }
                    // A run that never waits must still let others run.
                    tokio::task::coop::consume_budget().await;
                }
                Effect::Cancel(ids) => self.cancel(ids).await,
                Effect::Commit(commit) => self.committer.commit(self.run, &commit, now),
                Effect::Wait(until) => self.wait(until).await?,
                Effect::Paused(questions) => {
                    return self.rest(Ok(DriveOutcome::Paused(questions))).await;
                }
                Effect::Done(ending) => {
                    return self.rest(Ok(DriveOutcome::Ended(ending))).await;
                }
                Effect::Failed(fault) => return self.rest(Err(fault)).await,
            }
        }
    }

    /// Returns the result of the run once its thread holds it and is free.
    async fn rest(&mut self, result: Result<DriveOutcome, Fault>) -> Result<DriveOutcome, Fault> {
        self.committer.closed().await.and(result)
    }

    fn check_cancellation(&mut self) {
        if self.stopped {
            return;
        }
        if let Some(reason) =
            self.driver.stop.as_ref().and_then(crate::cancellation::CancellationToken::reason)
        {
            self.stopped = true;
            self.run.cancel(&reason, self.driver.clock.now());
        }
    }

    /// Polls a task once, and gives it to tokio only if it has to wait.
    async fn start(&mut self, task: Task<Json>, now: Time) {
        let id = task.id;
        let apart = may_hang(self.run, &task, now);
        let Some(mut job) = self.services.job(&self.driver.host, self.run, task) else {
            return self.answer(id, None);
        };
        if !apart {
            let polled = std::future::poll_fn(|cx| Poll::Ready(job.as_mut().poll(cx))).await;
            if let Poll::Ready(outcome) = polled {
                // It drops its references to the state before the next merge.
                drop(job);
                self.drain_signals_of(id);
                return self.answer(id, Some(outcome));
            }
        }
        self.tasks.spawn(id, job);
    }

    /// Stops tasks, and waits until they have stopped as far as they do.
    async fn cancel(&mut self, ids: Vec<TaskId>) {
        let mut open = BTreeSet::new();
        for id in ids {
            if self.tasks.stop(id) {
                open.insert(id);
            } else {
                self.answer(id, None);
            }
        }
        let mut grace = std::pin::pin!(tokio::time::sleep(Driver::<H>::CANCEL_GRACE));
        while !open.is_empty() {
            tokio::select! {
                biased;
                (id, answer) = self.tasks.next() => {
                    self.take(id, answer);
                    open.retain(|id| self.tasks.has(*id));
                }
                () = &mut grace => break,
            }
        }
        for id in open {
            self.tasks.abandon(id);
            self.answer(id, None);
        }
    }

    /// Until something happens that the run may want to know.
    async fn wait(&mut self, until: Option<Time>) -> Result<(), Fault> {
        if until.is_none() && self.tasks.is_empty() && !self.committer.is_waiting() {
            return Err(abandoned());
        }
        self.set_alarm(until);
        let stop = self.driver.stop.as_ref().filter(|_| !self.stopped);
        let pulled = async {
            match stop {
                Some(stop) => stop.cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Some(signal) = self.signals.recv() => self.handle_signal(signal),
            (id, answer) = self.tasks.next() => self.take(id, answer),
            answer = self.committer.durable() => {
                self.committer.acknowledge(self.run, answer, self.driver.clock.now());
            }
            () = pulled => {}
            () = alarm_reached(&mut self.alarm) => self.alarm = None,
        }
        Ok(())
    }

    fn set_alarm(&mut self, until: Option<Time>) {
        if self.alarm.as_ref().map(|(at, _)| *at) == until {
            return;
        }
        let clock = &self.driver.clock;
        self.alarm = until.map(|at| (at, clock.sleep(at.since(clock.now()))));
    }

    /// A task has ended, and perhaps others with it.
    fn take(&mut self, id: TaskId, answer: TaskAnswer) {
        // Messages that it sent before its end come first.
        self.drain_signals_of(id);
        self.answer(id, answer);
        while let Some((id, answer)) = self.tasks.try_next() {
            self.drain_signals_of(id);
            self.answer(id, answer);
        }
    }

    fn answer(&mut self, id: TaskId, answer: TaskAnswer) {
        let outcome = match answer {
            Some(Ok(outcome)) => outcome,
            Some(Err(panic)) => TaskOutcome::failed(panic.of_node(&self.run.path(id))),
            None => TaskOutcome::failed(cancelled()),
        };
        // False only for an attempt that was given up meanwhile.
        let _ = self.run.resolve(id, outcome, self.driver.clock.now());
    }

    /// Receives the messages of a task that is no longer among the children.
    fn drain_signals_of(&mut self, id: TaskId) {
        self.ending = Some(id);
        while let Ok(signal) = self.signals.try_recv() {
            self.handle_signal(signal);
        }
        self.ending = None;
    }

    fn handle_signal(&mut self, signal: TaskSignal) {
        match signal {
            TaskSignal::Note(id, kind, name, data) if self.is_live(id) => {
                self.run.note(id, kind, &name, data);
            }
            TaskSignal::Relay(id, event) if self.is_live(id) => self.run.relay(id, *event),
            TaskSignal::BudgetLeft(id, answer) if self.is_live(id) => {
                // The task that asked may have been cancelled meanwhile.
                let _ = answer.send(self.run.budget_left(id));
            }
            TaskSignal::Charge(id, usage) if self.is_live(id) => self.run.charge(id, usage),
            TaskSignal::Request(id, charge, answer) => {
                let live = self.is_live(id);
                let answered = if live { self.run.request(id, charge) } else { Err(cancelled()) };
                // The task that asked may have been cancelled meanwhile.
                let _ = answer.send(answered);
            }
            TaskSignal::Begin(id, call, answer) => {
                let live = self.is_live(id);
                let begins = if live { self.begin_call(id, &call) } else { Err(cancelled()) };
                let _ = answer.send(begins);
            }
            TaskSignal::End(id, index, outcome, answer) if self.is_live(id) => {
                let commit = self.run.end_call(id, index, *outcome);
                let kept = commit.map_or(Ok(None), |commit| self.commit_call(&commit));
                // A failure to store it ends the run, and is its error.
                let _ = answer.send(kept.unwrap_or_default());
            }
            // The task is over, and its place may be another's by now.
            TaskSignal::Note(..)
            | TaskSignal::Relay(..)
            | TaskSignal::BudgetLeft(..)
            | TaskSignal::Charge(..)
            | TaskSignal::End(..) => {}
        }
    }

    fn begin_call(&mut self, id: TaskId, call: &Call) -> CallAdmission {
        let mut started = self.run.begin_call(id, call)?;
        let intent = match &mut started {
            CallStart::Pending(pending) => pending.intent.take(),
            CallStart::Known(_) => None,
        };
        let durable = intent.map_or(Ok(None), |intent| self.commit_call(&intent))?;
        Ok((started, durable))
    }

    fn commit_call(&mut self, commit: &Commit<Json>) -> Result<Option<StoreFuture<()>>, Fault> {
        self.committer.commit_call(self.run, commit, self.driver.clock.now())
    }

    fn is_live(&self, id: TaskId) -> bool {
        self.ending == Some(id) || self.tasks.has(id)
    }

    fn publish(&mut self) {
        let watchers = &self.driver.watchers;
        if watchers.is_empty() {
            return;
        }
        for mut event in self.run.take_events() {
            redact::clean_event(&mut event);
            event.pack();
            let event = Arc::new(event);
            for watcher in watchers {
                watcher.see(&event);
            }
        }
    }
}

async fn alarm_reached(alarm: &mut Option<PendingAlarm>) {
    match alarm {
        Some((_, reached)) => reached.await,
        None => std::future::pending().await,
    }
}

fn abandoned() -> Fault {
    let message = "the run waits for tasks of a driver that was stopped";
    Fault::new(FaultCode::RunAbandoned, message)
        .hint("a run whose driver was dropped can only be cancelled")
}
