//! Notices for the host.

use std::sync::Arc;

use super::frame::Frame;
use super::machine::Run;
use super::scope::Scopes;
use crate::command::Update;
use crate::effect::Question;
use crate::fault::Fault;
use crate::graph::NodeId;
use crate::notice::{NestedSnapshot, Notice, TaskLocation, TaskNotice, TaskProgress};
use crate::task::{TaskId, TaskOutcome};
use crate::value::Value;

impl<V: Value> Run<V> {
    /// Takes the notices since the last call, in order; see [`super::Options::event_options`]. A
    /// question and the notices after it follow once the question's commit is acknowledged.
    pub fn take_notices(&mut self) -> Vec<Notice<V>> {
        self.queue.take_notices()
    }

    /// A nested graph ends with an update.
    pub(super) fn notify_nested_update(&mut self, scope: u32, slot: u32, update: &Update<V>) {
        if self.queue.event_options.nested_updates
            && let Some(record) = self.scopes.record(scope, slot)
        {
            let node = record.node;
            self.queue.notices.push(Notice::NestedUpdate(scope, node, update.clone()));
        }
    }

    pub(super) fn notify_started(&mut self, scope: u32, slot: u32) {
        self.notify_task(scope, slot, |frame, slot| {
            let record = frame.records.get(slot as usize)?;
            let begins = record.attempt == 1;
            begins.then(|| TaskProgress::Started(record.input.clone(), frame.state.snapshot()))
        });
    }

    pub(super) fn notify_done(&mut self, scope: u32, slot: u32, update: &Update<V>) {
        self.notify_task(scope, slot, |_, _| Some(TaskProgress::Done(update.clone())));
    }

    pub(super) fn notify_failed(&mut self, scope: u32, slot: u32, fault: &Fault) {
        self.notify_task(scope, slot, |_, _| Some(TaskProgress::Failed(fault.clone())));
    }

    pub(super) fn notify_asked(&mut self, scope: u32, slot: u32, question: &Question<V>) {
        self.notify_task(scope, slot, |_, _| Some(TaskProgress::Asked(vec![question.clone()])));
    }

    /// The run pauses: notices of the questions of each nested graph, the innermost first.
    pub(super) fn notify_nested_asked(&mut self) {
        if !self.queue.event_options.tasks {
            return;
        }
        let mut asked = Vec::new();
        self.scopes.nested_questions(0, &mut asked);
        for (scope, slot, questions) in asked {
            self.notify_task(scope, slot, |_, _| Some(TaskProgress::Asked(questions)));
        }
    }

    /// A superstep of a scope has been merged.
    pub(super) fn notify_merged(&mut self, scope: u32) {
        if !self.queue.event_options.states {
            return;
        }
        let Some(frame) = self.scopes.frame(scope) else { return };
        if frame.state.touched().is_empty() {
            return;
        }
        self.queue.notices.push(if scope == 0 {
            Notice::Merged
        } else {
            Notice::MergedWithin(Box::new(NestedSnapshot {
                graph: Arc::clone(&frame.graph),
                namespace: self.scopes.namespace(scope),
                state: frame.state.snapshot(),
            }))
        });
    }

    fn notify_task(
        &mut self,
        scope: u32,
        slot: u32,
        progress: impl FnOnce(&Frame<V>, u32) -> Option<TaskProgress<V>>,
    ) {
        if !self.queue.event_options.tasks {
            return;
        }
        let progress = self.scopes.frame(scope).and_then(|frame| progress(frame, slot));
        if let (Some(location), Some(progress)) = (self.scopes.location(scope, slot), progress) {
            self.queue.notices.push(Notice::Task(Box::new(TaskNotice { location, progress })));
        }
    }

    /// Whether an outcome of this attempt will be accepted.
    pub fn awaits(&self, id: TaskId) -> bool {
        let frame = self.scopes.frame(id.scope);
        let record = frame.and_then(|frame| frame.records.get(id.slot as usize));
        record.is_some_and(|record| record.serial == id.serial && record.status.is_awaited())
    }

    /// Whether this outcome of the attempt will be accepted. What a task returns that was to be
    /// cancelled counts, unless the caller has cancelled: a resumed run need not repeat it.
    pub fn accepts(&self, id: TaskId, outcome: &TaskOutcome<V>) -> bool {
        let frame = self.scopes.frame(id.scope);
        let record = frame.and_then(|frame| frame.records.get(id.slot as usize));
        self.awaits(id)
            || matches!(outcome, TaskOutcome::Done(_))
                && !self.scopes.is_cancelled(id.scope)
                && record.is_some_and(|record| record.serial == id.serial && record.may_return())
    }

    /// The location of a task, while it exists.
    pub fn location_of(&self, id: TaskId) -> Option<TaskLocation<V>> {
        self.scopes.location(id.scope, id.slot)
    }
}

impl<V: Value> Scopes<V> {
    fn location(&self, scope: u32, slot: u32) -> Option<TaskLocation<V>> {
        let frame = self.frame(scope)?;
        let record = frame.records.get(slot as usize)?;
        (record.node != NodeId::START).then(|| TaskLocation {
            graph: Arc::clone(&frame.graph),
            namespace: self.namespace(scope),
            node: record.node,
            id: self.task_seed(scope, slot).stable_uuid(),
            step: frame.step,
            send: record.send,
        })
    }
}
