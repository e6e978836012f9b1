//! The calls of an agent loop, as its node's task knows them.

use super::super::call_tracker::{CallTracker, KnownCall};
use super::super::frame::TaskRecord;
use super::super::machine::Run;
use super::state::{AgentUnit, CallKind, misplaced};
use crate::checkpoint::{Call, CallOutcome, Callee, digest, diverged, key, unknown_outcome};
use crate::fault::{Category, Fault};
use crate::message::ToolCall;
use crate::model::ModelRequest;
use crate::seed::{KeySeed, Seed};
use crate::task::{Failure, TaskId, TaskOutcome, ToolInvocation};
use crate::value::Value;

impl<V> AgentUnit<V> {
    /// One more call that one of its tools makes by itself: how many there were before.
    pub(in crate::run) fn count_inner(&mut self, slot: u32) -> u64 {
        let Some(call) = self.calls.get_mut(slot as usize) else { return 0 };
        call.inner += 1;
        call.inner - 1
    }

    /// A call as it is recognised. What the model is asked may have changed
    /// since it was: the loop that led there has not.
    fn as_call(&self, kind: CallKind) -> Option<Call> {
        let CallKind::Tool(position) = kind else {
            let (callee, name) = (Callee::Model, String::new());
            let call = Call { callee, name, digest: self.turn().into(), repeatable: true };
            return (kind == CallKind::Model).then_some(call);
        };
        let asked = self.call_of(position)?;
        let tool = self.spec.tools.iter().find(|tool| tool.spec.name == asked.name);
        let repeatable = tool.is_some_and(|tool| tool.spec.is_repeatable());
        Some(Call { repeatable, ..asked.as_call() })
    }
}

impl<V: Value> Run<V> {
    /// Replays the model's reply if it is recorded.
    pub(super) fn replay_reply(&mut self, unit: u32) -> bool {
        match self.look_up_call(unit, CallKind::Model) {
            KnownCall::Finished(came) => {
                self.set_replays(unit, true);
                self.log_model_call(unit);
                self.replay(unit, CallKind::Model, came);
            }
            KnownCall::Other(before) => self.diverge(unit, &before, CallKind::Model),
            KnownCall::Unknown | KnownCall::Started => return false,
        }
        true
    }

    /// Replays the outcome of a tool call if it is recorded, or that it is not known.
    pub(super) fn replay_result(
        &mut self,
        unit: u32,
        position: usize,
        asked: &ToolInvocation,
    ) -> bool {
        let kind = CallKind::Tool(position);
        match self.look_up_call(unit, kind) {
            KnownCall::Finished(came) => {
                self.set_replays(unit, true);
                self.log_tool_call(unit, position, || asked.arguments.clone());
                self.replay(unit, kind, came);
            }
            KnownCall::Started => {
                let fault = unknown_outcome(&asked.call.as_call(), &asked.idempotency_key);
                self.set_result(unit, Err(fault));
            }
            KnownCall::Other(before) => self.diverge(unit, &before, kind),
            KnownCall::Unknown => return false,
        }
        true
    }

    /// Whether a tool call was begun before the agent began again, and not since.
    pub(super) fn was_started(&mut self, unit: u32, position: usize) -> bool {
        let call = self.units.agent_mut(unit).and_then(|it| it.as_call(CallKind::Tool(position)));
        let tracker = self.tracker_of(unit);
        tracker.zip(call).is_some_and(|(tracker, call)| tracker.has(&call))
    }

    /// What the agent's node has called, if anything is known of that.
    pub(super) fn tracker_of(&mut self, unit: u32) -> Option<&mut CallTracker<V>> {
        let (parent, slot) = self.units.get(unit)?.parent?;
        self.units
            .record(parent, slot)
            .filter(|record| record.has_tracker())
            .map(TaskRecord::tracker)
    }

    /// What a request of an agent's model is known by to the model's server: the
    /// same each time the attempt makes it, and that of no other request.
    pub fn model_key(&self, id: TaskId, request: &ModelRequest) -> String {
        let parent = self.units.get(id.unit).and_then(|unit| unit.parent);
        let attempt = parent.map_or(1, |(unit, slot)| self.units.attempt(unit, slot));
        let told = request
            .messages
            .iter()
            .fold(Seed::default(), |seed, message| seed.child(digest(message.content.as_bytes())));
        let (callee, name) = (Callee::Model, String::new());
        let call = Call { callee, name, digest: told.number(), repeatable: true };
        let task = KeySeed::new(self.units.task_seed(id.unit, id.slot), self.queue.mark);
        key(task.child(attempt.into()), &call, 0)
    }

    /// Begins a call that is to be made; one that may not be made twice is
    /// stored first. Gives which of its task's calls it is, if they are stored.
    pub(super) fn open_call(&mut self, unit: u32, kind: CallKind) -> Option<u32> {
        let (parent, slot) = self.units.get(unit)?.parent.filter(|_| self.queue.commits)?;
        let call = self.units.agent_mut(unit)?.as_call(kind)?;
        let made = self.units.record(parent, slot)?.tracker().open(&call);
        let index = made.index;
        if !call.repeatable {
            let commit = self.commit_of_call(parent, slot, made);
            self.queue.due.extend(commit);
        }
        Some(index)
    }

    /// Stores that a tool call was denied. There is no intent: a call that was started and has no
    /// outcome would count as one whose outcome is not known.
    pub(super) fn commit_denied(&mut self, unit: u32, position: usize, refused: Fault) {
        let parent = self.units.get(unit).and_then(|unit| unit.parent);
        let Some((parent, slot)) = parent.filter(|_| self.queue.commits) else { return };
        let call = self.units.agent_mut(unit).and_then(|it| it.as_call(CallKind::Tool(position)));
        let (Some(call), Some(record)) = (call, self.units.record(parent, slot)) else { return };
        let index = record.tracker().open(&call).index;
        if let Some(made) = record.tracker().close(index, CallOutcome::Failed(refused)) {
            let commit = self.commit_of_call(parent, slot, made);
            self.queue.due.extend(commit);
        }
    }

    /// Stores the outcome of a call.
    pub(super) fn close_call(&mut self, unit: u32, index: Option<u32>, outcome: &TaskOutcome<V>) {
        let (Some(index), Some(came)) = (index, stored_outcome(outcome)) else { return };
        let Some((parent, slot)) = self.units.get(unit).and_then(|unit| unit.parent) else {
            return;
        };
        let record = self.units.record(parent, slot);
        if let Some(made) = record.and_then(|record| record.tracker().close(index, came)) {
            let commit = self.commit_of_call(parent, slot, made);
            self.queue.due.extend(commit);
        }
    }

    fn look_up_call(&mut self, unit: u32, kind: CallKind) -> KnownCall<V> {
        let stores = self.queue.commits;
        let Some(parent) = self.units.get(unit).and_then(|unit| unit.parent) else {
            return KnownCall::Unknown;
        };
        let record = self.units.record(parent.0, parent.1);
        if !record.is_some_and(|record| stores || record.has_tracker()) {
            return KnownCall::Unknown;
        }
        let call = self.units.agent_mut(unit).and_then(|agent| agent.as_call(kind));
        let record = self.units.record(parent.0, parent.1);
        let found = record.zip(call).map(|(record, call)| record.tracker().look_up(&call));
        found.unwrap_or(KnownCall::Unknown)
    }

    fn replay(&mut self, unit: u32, kind: CallKind, came: CallOutcome<V>) {
        self.take_answer(unit, kind, outcome(kind, came));
        self.set_replays(unit, false);
    }

    fn diverge(&mut self, unit: u32, before: &Call, kind: CallKind) {
        let call = self.units.agent_mut(unit).and_then(|agent| agent.as_call(kind));
        if let Some(call) = call {
            self.set_result(unit, Err(diverged(before, &call)));
        }
    }

    /// What is taken over from now on was made before, or is made now.
    fn set_replays(&mut self, unit: u32, replays: bool) {
        if let Some(agent) = self.units.agent_mut(unit) {
            agent.replays = replays;
        }
    }
}

impl<V> TaskRecord<V> {
    fn has_tracker(&self) -> bool {
        self.extra.as_ref().is_some_and(|extra| extra.tracker.is_some())
    }
}

impl ToolCall {
    /// The call as it is recognised; what the tool declares is not known here.
    fn as_call(&self) -> Call {
        let (callee, name) = (Callee::Tool, self.name.clone());
        Call { callee, name, digest: digest(self.arguments.as_bytes()), repeatable: false }
    }
}

/// What is stored of an outcome; none if it is not that of a model or a tool.
fn stored_outcome<V>(outcome: &TaskOutcome<V>) -> Option<CallOutcome<V>> {
    match outcome {
        TaskOutcome::Replied(reply) => Some(CallOutcome::Reply(reply.clone())),
        TaskOutcome::Returned(Ok(value)) => Some(CallOutcome::Json(value.clone())),
        TaskOutcome::Returned(Err(fault)) => Some(CallOutcome::Failed(fault.clone())),
        // What was stopped has not come to an end.
        TaskOutcome::Failed(failure) => {
            let stopped = matches!(failure.fault.category, Category::Cancelled | Category::Budget);
            (!stopped).then(|| CallOutcome::Failed(failure.fault.clone()))
        }
        _ => None,
    }
}

fn outcome<V>(kind: CallKind, came: CallOutcome<V>) -> TaskOutcome<V> {
    match (kind, came) {
        (CallKind::Model, CallOutcome::Reply(reply)) => TaskOutcome::Replied(reply),
        (CallKind::Tool(_), CallOutcome::Json(value)) => TaskOutcome::Returned(Ok(value)),
        (CallKind::Tool(_), CallOutcome::Failed(fault)) => TaskOutcome::Returned(Err(fault)),
        (_, CallOutcome::Failed(fault)) => TaskOutcome::Failed(Box::new(Failure::from(fault))),
        _ => TaskOutcome::failed(misplaced()),
    }
}
