//! Recording and replaying the calls of an agent loop.

use super::super::call_tracker::{CallTracker, KnownCall};
use super::super::frame::TaskRecord;
use super::super::machine::Run;
use super::state::{AgentScope, CallKind, misplaced};
use crate::agent::Conversation;
use crate::checkpoint::{
    Call, CallOutcome, CallRecord, Callee, digest, diverged, key, unknown_outcome,
};
use crate::fault::{Category, Fault};
use crate::message::ToolCall;
use crate::model::ModelRequest;
use crate::seed::{KeySeed, Seed};
use crate::task::{Failure, TaskId, TaskOutcome, ToolInvocation};
use crate::value::Value;

impl<V> AgentScope<V> {
    /// Counts a call that a tool makes itself; returns the number of earlier ones.
    pub(in crate::run) fn count_inner(&mut self, slot: u32) -> u64 {
        let Some(call) = self.calls.get_mut(slot as usize) else { return 0 };
        call.inner += 1;
        call.inner - 1
    }

    /// A call as it is matched. A model call is matched by its turn, because its messages may have
    /// changed.
    fn as_call(&self, kind: CallKind) -> Option<Call> {
        let CallKind::Tool(position) = kind else {
            let (callee, name) = (Callee::Model, String::new());
            let call = Call { callee, name, digest: self.turn().into(), repeatable: true };
            return (kind == CallKind::Model).then_some(call);
        };
        let asked = self.call_of(position)?;
        let tool = self.spec.tools.iter().find(|tool| tool.spec.name == asked.name);
        let repeatable = tool.is_some_and(|tool| tool.spec.is_repeatable());
        let call = asked.as_call();
        // Equal calls that run at once end in any order, so that each is matched by its place. Calls
        // with side effects are made one after the other, and may stand elsewhere after a failure.
        let place = || self.call_position(kind).seed(Seed::new(call.digest)).number();
        let digest = if repeatable { place() } else { call.digest };
        Some(Call { digest, repeatable, ..call })
    }
}

impl<V: Value> Run<V> {
    /// Replays the model's reply if it is recorded.
    pub(super) fn replay_reply(&mut self, scope: u32, request: &ModelRequest) -> bool {
        match self.lookup_call(scope, CallKind::Model) {
            KnownCall::Finished(outcome) => {
                self.set_replays(scope, true);
                self.log_model_call(scope, request);
                self.replay(scope, CallKind::Model, outcome);
            }
            KnownCall::Other(before) => self.diverge(scope, &before, CallKind::Model),
            KnownCall::Unknown | KnownCall::Started => return false,
        }
        true
    }

    /// Replays the outcome of a tool call if it is recorded, also an unknown one.
    pub(super) fn replay_result(
        &mut self,
        scope: u32,
        position: usize,
        asked: &ToolInvocation,
    ) -> bool {
        let kind = CallKind::Tool(position);
        match self.lookup_call(scope, kind) {
            KnownCall::Finished(outcome) => {
                self.set_replays(scope, true);
                self.log_tool_call(scope, position, || asked.arguments.clone());
                self.replay(scope, kind, outcome);
            }
            KnownCall::Started => {
                let fault = unknown_outcome(&asked.call.as_call(), &asked.idempotency_key);
                self.set_result(scope, Err(fault));
            }
            KnownCall::Other(before) => self.diverge(scope, &before, kind),
            KnownCall::Unknown => return false,
        }
        true
    }

    /// Whether a tool call is recorded and was not started again.
    pub(super) fn was_started(&mut self, scope: u32, position: usize) -> bool {
        let call = self.scopes.agent_mut(scope).and_then(|it| it.as_call(CallKind::Tool(position)));
        let tracker = self.tracker_of(scope);
        tracker.zip(call).is_some_and(|(tracker, call)| tracker.has(&call))
    }

    /// The recorded calls of the agent's node, if any.
    pub(super) fn tracker_of(&mut self, scope: u32) -> Option<&mut CallTracker<V>> {
        let (parent, slot) = self.scopes.get(scope)?.parent?;
        self.scopes
            .record(parent, slot)
            .filter(|record| record.has_tracker())
            .map(TaskRecord::tracker)
    }

    /// The idempotency key of the request of an agent's model that is under way: the same each time
    /// the attempt makes it, and unique to the request.
    pub fn model_key(&self, id: TaskId) -> String {
        let parent = self.scopes.get(id.scope).and_then(|scope| scope.parent);
        let attempt = parent.map_or(1, |(scope, slot)| self.scopes.attempt(scope, slot));
        let agent = self.scopes.agent(id.scope);
        let conversation = agent.and_then(|agent| agent.conversation.as_ref());
        let digest = conversation.map(Conversation::request_digest).unwrap_or_default().number();
        let (callee, name) = (Callee::Model, String::new());
        let call = Call { callee, name, digest, repeatable: true };
        let task = KeySeed::new(self.scopes.task_seed(id.scope, id.slot), self.queue.key_salt);
        key(task.child(attempt.into()), &call, 0)
    }

    /// Starts a call; one with side effects is stored first. Returns its index in the task, if
    /// calls are stored.
    pub(super) fn open_call(&mut self, scope: u32, kind: CallKind) -> Option<u32> {
        let (parent, slot) = self.scopes.get(scope)?.parent.filter(|_| self.queue.commits)?;
        let call = self.scopes.agent_mut(scope)?.as_call(kind)?;
        let call_record = self.scopes.record(parent, slot)?.tracker().open(&call);
        let index = call_record.index;
        if !call.repeatable {
            let commit = self.commit_of_call(parent, slot, call_record);
            self.queue.pending_commits.extend(commit);
        }
        Some(index)
    }

    /// Stores that a tool call was denied. There is no intent: a call that was started and has no
    /// outcome would count as one whose outcome is not known.
    pub(super) fn commit_denied(&mut self, scope: u32, position: usize, refused: Fault) {
        let parent = self.scopes.get(scope).and_then(|scope| scope.parent);
        let Some((parent, slot)) = parent.filter(|_| self.queue.commits) else { return };
        let call = self.scopes.agent_mut(scope).and_then(|it| it.as_call(CallKind::Tool(position)));
        let (Some(call), Some(record)) = (call, self.scopes.record(parent, slot)) else { return };
        let index = record.tracker().open(&call).index;
        if let Some(call_record) = record.tracker().close(index, CallOutcome::Failed(refused)) {
            let commit = self.commit_of_call(parent, slot, call_record);
            self.queue.pending_commits.extend(commit);
        }
    }

    /// Stores the outcome of a call.
    pub(super) fn close_call(&mut self, scope: u32, index: Option<u32>, outcome: &TaskOutcome<V>) {
        let (Some(index), Some(outcome)) = (index, stored_outcome(outcome)) else { return };
        let Some((parent, slot)) = self.scopes.get(scope).and_then(|scope| scope.parent) else {
            return;
        };
        let record = self.scopes.record(parent, slot);
        let closed = record.and_then(|record| record.tracker().close(index, outcome));
        if let Some(call_record) = closed.filter(CallRecord::is_stored) {
            let commit = self.commit_of_call(parent, slot, call_record);
            self.queue.pending_commits.extend(commit);
        }
    }

    fn lookup_call(&mut self, scope: u32, kind: CallKind) -> KnownCall<V> {
        let stores = self.queue.commits;
        let Some(parent) = self.scopes.get(scope).and_then(|scope| scope.parent) else {
            return KnownCall::Unknown;
        };
        let record = self.scopes.record(parent.0, parent.1);
        if !record.is_some_and(|record| stores || record.has_tracker()) {
            return KnownCall::Unknown;
        }
        let call = self.scopes.agent_mut(scope).and_then(|agent| agent.as_call(kind));
        let record = self.scopes.record(parent.0, parent.1);
        let found = record.zip(call).map(|(record, call)| record.tracker().lookup(&call));
        found.unwrap_or(KnownCall::Unknown)
    }

    fn replay(&mut self, scope: u32, kind: CallKind, outcome: CallOutcome<V>) {
        self.apply_outcome(scope, kind, recorded_outcome(kind, outcome));
        self.set_replays(scope, false);
    }

    fn diverge(&mut self, scope: u32, before: &Call, kind: CallKind) {
        let call = self.scopes.agent_mut(scope).and_then(|agent| agent.as_call(kind));
        if let Some(call) = call {
            self.set_result(scope, Err(diverged(before, &call)));
        }
    }

    /// Sets whether outcomes are replayed from now on.
    fn set_replays(&mut self, scope: u32, replays: bool) {
        if let Some(agent) = self.scopes.agent_mut(scope) {
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
    /// The call as it is matched; the tool's declaration is not known here.
    fn as_call(&self) -> Call {
        let (callee, name) = (Callee::Tool, self.name.clone());
        Call { callee, name, digest: digest(self.arguments.as_bytes()), repeatable: false }
    }
}

/// What is stored of an outcome; `None` if it is not that of a model or a tool.
fn stored_outcome<V>(outcome: &TaskOutcome<V>) -> Option<CallOutcome<V>> {
    match outcome {
        TaskOutcome::Replied(reply) => Some(CallOutcome::Reply(reply.clone())),
        TaskOutcome::Returned(Ok(value)) => Some(CallOutcome::Json(value.clone())),
        TaskOutcome::Returned(Err(fault)) => Some(CallOutcome::Failed(fault.clone())),
        TaskOutcome::Ask(_) => Some(CallOutcome::Interrupted),
        // A cancelled call has no outcome.
        TaskOutcome::Failed(failure) => {
            let stopped = matches!(failure.fault.category, Category::Cancelled | Category::Budget);
            (!stopped).then(|| CallOutcome::Failed(failure.fault.clone()))
        }
        _ => None,
    }
}

fn recorded_outcome<V>(kind: CallKind, outcome: CallOutcome<V>) -> TaskOutcome<V> {
    match (kind, outcome) {
        (CallKind::Model, CallOutcome::Reply(reply)) => TaskOutcome::Replied(reply),
        (CallKind::Tool(_), CallOutcome::Json(value)) => TaskOutcome::Returned(Ok(value)),
        (CallKind::Tool(_), CallOutcome::Failed(fault)) => TaskOutcome::Returned(Err(fault)),
        (_, CallOutcome::Failed(fault)) => TaskOutcome::Failed(Box::new(Failure::from(fault))),
        _ => TaskOutcome::failed(misplaced()),
    }
}
