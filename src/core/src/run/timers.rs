//! Time-outs of attempts and supersteps, and the heartbeats that extend some of them.

use std::time::Duration;

use super::frame::{Frame, IdleWatch, TaskRecord, TaskStatus};
use super::machine::Run;
use super::scope::{Scope, Scopes};
use super::termination::{CancelMode, Termination};
use crate::budget::{BudgetDimension, exhausted, spent_dimension};
use crate::fault::{Fault, FaultCode};
use crate::graph::{Heartbeat, Node};
use crate::task::TaskId;
use crate::time::{Time, earlier};
use crate::value::Value;

impl<V: Value> Run<V> {
    /// Fires the timers that are due: deadlines, time-outs and retries.
    pub(super) fn fire_timers(&mut self, now: Time) {
        // Every timer that is still ahead sets the alarm again below.
        self.queue.alarm = None;
        if self.queue.paused_since.is_some() {
            return;
        }
        if let Some(deadline) = self.queue.deadline {
            if now >= deadline {
                self.queue.deadline = None;
                self.queue.late = true;
                self.terminate(
                    0,
                    Termination::Budget(BudgetDimension::WallTime),
                    CancelMode::Abandon,
                );
            } else {
                self.queue.wake_at(deadline);
            }
        }
        for scope in self.scopes.indices() {
            self.fire_step_timeout(scope, now);
            for slot in 0..self.scopes.get(scope).map_or(0, Scope::slots) {
                self.fire_task_timers(scope, slot, now);
            }
        }
    }

    fn fire_task_timers(&mut self, scope: u32, slot: u32, now: Time) {
        let due = |at: &Time| *at <= now;
        let Some(record) = self.scopes.task_mut(scope, slot) else { return };
        // A task that has asked, and only waits for its open calls, pauses rather than fails: the
        // person may take longer than any deadline, and the answer runs the task anew.
        if record.deadline.as_ref().is_some_and(due) && self.release_question(scope, slot, true) {
            return;
        }
        let Some(record) = self.scopes.task_mut(scope, slot) else { return };
        let id = TaskId { scope, slot, serial: record.serial };
        match (&record.status, record.deadline) {
            (TaskStatus::Waiting(at), _) if due(at) => {
                self.queue.sleeping -= 1;
                self.start(scope, slot);
            }
            (&TaskStatus::Waiting(at), _) => self.queue.wake_at(at),
            (TaskStatus::Running, Some(deadline)) if due(&deadline) => {
                // The driver is asked to stop it and not waited for: code that ignores its
                // deadline must not hold up the run. A late outcome finds the task void.
                record.status = TaskStatus::Void;
                self.queue.running -= 1;
                self.queue.cancel_task(id);
                if self.scopes.is_agent(scope) {
                    return self.time_out_call(scope, slot);
                }
                let fault = self.deadline_fault(scope, slot);
                self.fail(scope, slot, fault.into());
            }
            (TaskStatus::Cancelling | TaskStatus::Finishing, Some(deadline)) if due(&deadline) => {
                self.abandon_task(scope, slot);
            }
            (&TaskStatus::Nested(child), Some(deadline)) if due(&deadline) => {
                let fault = self.deadline_fault(scope, slot);
                if let Some(record) = self.scopes.record(scope, slot) {
                    record.deadline = None;
                }
                let terminate =
                    spent_dimension(&fault).map_or(Termination::Fault(fault), Termination::Budget);
                self.terminate(child, terminate, CancelMode::Abandon);
            }
            (
                TaskStatus::Running
                | TaskStatus::Cancelling
                | TaskStatus::Finishing
                | TaskStatus::Nested(_),
                Some(deadline),
            ) => {
                self.queue.wake_at(deadline);
            }
            _ => {}
        }
    }

    /// The number of tasks that run or wait for their next attempt.
    pub const fn pending_tasks(&self) -> usize {
        self.queue.running + self.queue.sleeping
    }

    /// Whether a time-out or retry is due before the run's deadline.
    pub fn has_timer(&self) -> bool {
        self.queue.alarm.is_some() && self.queue.alarm != self.queue.deadline
    }

    /// Records a heartbeat of an attempt and of all tasks on whose behalf it runs.
    pub fn record_heartbeat(&mut self, id: TaskId, sign: Heartbeat, now: Time) {
        if self.queue.watches && self.scopes.is_present(id) {
            self.scopes.record_heartbeat(id.scope, id.slot, sign, now);
        }
    }

    /// Starts the timer of a superstep of the run's own graph, also after a pause.
    pub(super) fn start_step_timer(&mut self, scope: u32) {
        let Some(limit) = self.queue.step_timeout.filter(|_| scope == 0) else { return };
        let until = self.queue.log.now + limit;
        if let Some(frame) = self.scopes.frame_mut(scope) {
            frame.expires = Some(until);
            self.queue.wake_at(until);
        }
    }

    /// Ends a superstep that exceeds its time-out.
    pub(super) fn fire_step_timeout(&mut self, scope: u32, now: Time) {
        let open = self.scopes.get(scope).map_or(0, |found| found.open);
        let Some(frame) = self.scopes.frame_mut(scope).filter(|_| open > 0) else { return };
        let Some(until) = frame.expires else { return };
        if now < until {
            return self.queue.wake_at(until);
        }
        frame.expires = None;
        let limit = self.queue.step_timeout.unwrap_or_default();
        let message = format!("a superstep took longer than its limit: {} s", limit.as_secs_f64());
        let fault = Fault::new(FaultCode::StepTimeout, message)
            .with("timeout", limit.as_secs_f64())
            .with("elapsed", (limit + now.since(until)).as_secs_f64())
            .hint("raise `step_timeout`, or check what its nodes wait for");
        self.terminate(scope, Termination::Fault(fault), CancelMode::Abandon);
    }

    /// The fault of a task whose deadline has passed: a time-out, or an exhausted budget.
    pub(super) fn deadline_fault(&mut self, scope: u32, slot: u32) -> Fault {
        let now = self.queue.log.now;
        let Some(frame) = self.scopes.frame_mut(scope) else {
            return self.timeout_fault(scope, slot);
        };
        let record = frame.records.get_mut(slot as usize);
        let spent = record.and_then(|record| {
            let extra = record.extra();
            // What it was sent with stays over, so that no attempt follows.
            let over = extra.sent_until.unwrap_or(now);
            extra.expires.take_if(|at| *at <= now && *at <= over)
        });
        match spent {
            Some(_) => exhausted(BudgetDimension::WallTime),
            None => self.timeout_fault(scope, slot),
        }
    }

    fn timeout_fault(&self, scope: u32, slot: u32) -> Fault {
        let path = self.scopes.path(scope, slot).join(" > ");
        let frame = self.scopes.frame(scope);
        let record = frame.and_then(|frame| frame.records.get(slot as usize));
        let node = record.zip(frame).and_then(|(record, frame)| frame.graph.node(record.node));
        let now = self.queue.log.now;
        let sent_limit = record.and_then(|record| record.sent_limit(now));
        let is_of_send = sent_limit.is_some();
        let run = sent_limit.or_else(|| record.and_then(|record| record.timeout));
        let run = run.or_else(|| node.and_then(|node| node.policy.timeout));
        let idle = node.and_then(|node| node.policy.idle).map(|idle| idle.limit);
        let silent = record.is_some_and(TaskRecord::is_silent);
        let limit = if silent { idle } else { run }.unwrap_or_default();
        let kind = if silent { "idle time-out" } else { "time-out" };
        let message = format!("`{path}` exceeded its {kind} in seconds: {}", limit.as_secs_f64());
        let seconds = |limit: Option<Duration>| limit.map(|limit| limit.as_secs_f64());
        Fault::new(FaultCode::NodeTimeout, message)
            .with("node", node.map_or("", |node| &node.name))
            .with("kind", if silent { "idle" } else { "run" })
            .with("timeout", limit.as_secs_f64())
            .with("run_timeout", seconds(run))
            .with("idle_timeout", seconds(idle))
            .with("elapsed", self.elapsed(record, limit).as_secs_f64())
            .hint(if is_of_send {
                "raise the limit that it was sent with, or check what it waits for"
            } else {
                "raise its `timeout`, or check what it waits for"
            })
    }

    fn elapsed(&self, record: Option<&TaskRecord<V>>, limit: Duration) -> Duration {
        let now = self.queue.log.now;
        if let Some(watch) = record.and_then(TaskRecord::watch) {
            return now.since(watch.began);
        }
        let late = record.and_then(|record| record.deadline);
        limit + late.map_or(Duration::ZERO, |deadline| now.since(deadline))
    }
}

impl<V: Value> Scopes<V> {
    /// Extends the idle time-outs of a task and of the tasks around it.
    fn record_heartbeat(&mut self, scope: u32, slot: u32, sign: Heartbeat, now: Time) {
        for (scope, slot) in self.lineage(scope, slot) {
            let Some(Frame { graph, records, .. }) = self.frame_mut(scope) else { continue };
            let Some(record) = records.get_mut(slot as usize) else { continue };
            if let Some(node) = graph.node(record.node) {
                record.record_heartbeat(node, sign, now);
            }
        }
    }
}

impl<V> TaskRecord<V> {
    /// Starts the time-outs of an attempt.
    pub(super) fn start_timers(&mut self, node: &Node<V>, now: Time) {
        let timeout = self.timeout.or(node.policy.timeout);
        let until = timeout.map(|timeout| now + timeout);
        self.deadline = earlier(until, self.expires());
        if let Some(idle) = node.policy.idle {
            let silent = now + idle.limit;
            self.extra().watch = Some(IdleWatch { began: now, until, silent });
            self.deadline = earlier(self.deadline, Some(silent));
        }
    }

    fn record_heartbeat(&mut self, node: &Node<V>, sign: Heartbeat, now: Time) {
        let Some(idle) = node.policy.idle else { return };
        let counts = sign == Heartbeat::Explicit || !idle.strict;
        let runs = matches!(self.status, TaskStatus::Running | TaskStatus::Nested(_));
        if !counts || !runs || self.deadline.is_none() {
            return;
        }
        let expires = self.expires();
        if let Some(watch) = self.extra.as_mut().and_then(|extra| extra.watch.as_mut()) {
            watch.silent = now + idle.limit;
            self.deadline = earlier(earlier(watch.until, expires), Some(watch.silent));
        }
    }

    fn watch(&self) -> Option<&IdleWatch> {
        self.extra.as_ref()?.watch.as_ref()
    }

    /// The limit of all attempts that it was sent with, once that has passed.
    fn sent_limit(&self, now: Time) -> Option<Duration> {
        let until = self.extra.as_ref().and_then(|extra| extra.sent_until);
        self.limit.filter(|_| until.is_some_and(|at| at <= now))
    }

    /// Whether its idle time-out has passed.
    fn is_silent(&self) -> bool {
        self.watch().is_some_and(|watch| Some(watch.silent) == self.deadline)
    }
}
