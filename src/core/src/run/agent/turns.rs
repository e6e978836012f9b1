//! Agent loops as scopes of a run: their calls are tasks.

use std::sync::Arc;
use std::time::Duration;

use super::super::frame::{TaskRecord, TaskStatus};
use super::super::machine::Run;
use super::super::scope::{ScopeBody, Scopes};
use super::state::{AgentCall, CallKind, misplaced};
use crate::agent::{AgentStep, CallAction, Conversation};
use crate::approval::refusal;
use crate::budget::BudgetCharge;
use crate::command::Update;
use crate::event::{EventKind, Level};
use crate::fault::{Category, Fault, FaultCode};
use crate::graph::NodeId;
use crate::message::ToolCall;
use crate::model::ModelReply;
use crate::rules::Rules;
use crate::seed::KeySeed;
use crate::task::{Task, TaskId, TaskInput, TaskOutcome, TaskWork};
use crate::time::earlier;
use crate::tool::{ToolOutcome, settle, timed_out};
use crate::value::Value;

impl<V: Value> Run<V> {
    /// Advances an agent loop as far as possible without the driver.
    pub(in crate::run) fn advance_agent(&mut self, scope: u32, rules: &mut impl Rules<V>) {
        let Some(agent) = self.scopes.agent_mut(scope) else { return };
        if agent.questions.awaits_answer {
            return;
        }
        if let Some(result) = agent.result.take() {
            return match result {
                Ok(update) => self.finish_agent(scope, update),
                Err(fault) => self.fail_agent(scope, fault, rules),
            };
        }
        let Some(conversation) = &mut agent.conversation else {
            let input = self.scopes.agent_input(scope);
            return self.hand_out_call(scope, CallKind::Open, TaskWork::Open(input), None);
        };
        match conversation.next_turn() {
            AgentStep::Ask(request) => self.ask_model(scope, request, rules),
            AgentStep::Act(actions) => {
                for (position, action) in actions {
                    match action {
                        CallAction::Approve(invocation) => {
                            self.request_approval(scope, position, invocation);
                        }
                        CallAction::Call(invocation) => self.call_tool(scope, position, invocation),
                    }
                }
                // A denied call is answered already and opens nothing.
                self.activate(scope);
            }
            AgentStep::Wait => self.ask_person(scope),
            AgentStep::Conclude(conclusion) => {
                self.hand_out_call(scope, CallKind::Close, TaskWork::Close(conclusion), None);
            }
            AgentStep::Fail(fault) => self.fail_agent(scope, fault, rules),
        }
    }

    fn ask_model(
        &mut self,
        scope: u32,
        request: Box<crate::model::ModelRequest>,
        rules: &mut impl Rules<V>,
    ) {
        if self.replay_reply(scope, &request) {
            return self.activate(scope);
        }
        if let Err(fault) = self.spend(scope, 0, BudgetCharge::Model) {
            return self.fail_agent(scope, fault, rules);
        }
        self.log_model_call(scope, &request);
        self.hand_out_call(scope, CallKind::Model, TaskWork::Model(request), None);
    }

    fn call_tool(&mut self, scope: u32, position: usize, invocation: crate::task::ToolInvocation) {
        if self.replay_result(scope, position, &invocation) {
            return;
        }
        if let Some(question) = self.waiting_question(scope, position) {
            self.log_tool_call(scope, position, || invocation.arguments.clone());
            return self.ask_for_tool(scope, position, question);
        }
        let denied = !self.is_made_again(scope, position)
            && self.spend(scope, 0, BudgetCharge::Tool).is_err();
        let Some(agent) = self.scopes.agent_mut(scope) else { return };
        if denied {
            if let Some(conversation) = &mut agent.conversation {
                conversation.deny_tool(position);
            }
            return self.log_refusal(scope, position);
        }
        let name = &invocation.call.name;
        let tool = agent.spec.tools.iter().find(|tool| tool.spec.name == *name);
        let timeout = tool.and_then(|tool| tool.spec.timeout);
        if !self.is_call_logged(scope, position) {
            self.log_tool_call(scope, position, || invocation.arguments.clone());
        }
        self.hand_out_call(
            scope,
            CallKind::Tool(position),
            TaskWork::Tool(Box::new(invocation)),
            timeout,
        );
    }

    pub(super) fn hand_out_call(
        &mut self,
        scope: u32,
        kind: CallKind,
        work: TaskWork<V>,
        timeout: Option<Duration>,
    ) {
        let serial = self.queue.next_serial();
        let node = self.scopes.agent_node(scope);
        let around = earlier(self.scopes.deadline_around(scope), self.queue.deadline);
        let timed = timeout.filter(|_| !self.queue.queues());
        let own = timed.map(|timeout| self.queue.log.now + timeout);
        if let Some(own) = own {
            self.queue.wake_at(own);
        }
        let index = self.open_call(scope, kind);
        let Some(found) = self.scopes.get_mut(scope) else { return };
        let ScopeBody::Agent(agent) = &mut found.body else { return };
        if found.open == 0 {
            agent.calls.clear();
        }
        let slot = u32::try_from(agent.calls.len()).unwrap_or(u32::MAX);
        let mut record = TaskRecord::new(node, TaskInput::State);
        record.serial = serial;
        record.status = TaskStatus::Running;
        (record.timeout, record.deadline) = (timeout, own);
        let position = agent.call_position(kind);
        agent.calls.push(AgentCall { record, kind, position, index, inner: 0 });
        found.open += 1;
        self.queue.running += 1;
        let id = TaskId { scope, slot, serial };
        let deadline = earlier(own, around);
        self.queue.starts.push(Task { id, node, attempt: 1, deadline, work });
    }

    /// A call of an agent loop has an outcome.
    pub(in crate::run) fn resolve_call(&mut self, scope: u32, slot: u32, outcome: TaskOutcome<V>) {
        let agent = self.scopes.agent_mut(scope);
        let Some(call) = agent.and_then(|agent| agent.calls.get_mut(slot as usize)) else { return };
        call.record.status = TaskStatus::Void;
        let (kind, index) = (call.kind, call.index);
        self.close_call(scope, index, &outcome);
        self.apply_outcome(scope, kind, outcome);
        self.close_task(scope);
    }

    pub(super) fn apply_outcome(&mut self, scope: u32, kind: CallKind, outcome: TaskOutcome<V>) {
        match (kind, outcome) {
            (CallKind::Tool(position), TaskOutcome::Ask(value)) => {
                self.ask_for_tool(scope, position, value);
            }
            // As an error for the model, the question would never be asked.
            (_, TaskOutcome::Ask(_) | TaskOutcome::Relay(..)) => {
                self.set_result(scope, Err(question_misplaced()));
            }
            // A tool that ends the program tells the model nothing.
            (_, TaskOutcome::Failed(failure)) if failure.fault.category == Category::Cancelled => {
                self.set_result(scope, Err(failure.fault));
            }
            (CallKind::Tool(position), outcome) => {
                let outcome = match outcome {
                    TaskOutcome::Returned(outcome) => outcome,
                    TaskOutcome::Failed(failure) => Err(failure.fault),
                    _ => Err(misplaced()),
                };
                self.take_result(scope, position, &settle(outcome));
            }
            (CallKind::Approval(position), TaskOutcome::Decided(decision)) => {
                self.take_verdict(scope, position, decision);
            }
            (CallKind::Open, TaskOutcome::Opened(messages)) => {
                let seed = self.scopes.get(scope).map(|scope| scope.seed).unwrap_or_default();
                let seed = KeySeed::new(seed, self.queue.key_salt);
                if let Some(agent) = self.scopes.agent_mut(scope) {
                    let spec = Arc::clone(&agent.spec);
                    agent.conversation = Some(Conversation::new(spec, messages, seed));
                }
            }
            (CallKind::Model, TaskOutcome::Replied(reply)) => self.take_reply(scope, *reply),
            (CallKind::Close, TaskOutcome::Done(update)) => self.set_result(scope, Ok(update)),
            (_, TaskOutcome::Failed(failure)) => self.set_result(scope, Err(failure.fault)),
            _ => self.set_result(scope, Err(misplaced())),
        }
    }

    fn take_reply(&mut self, scope: u32, reply: ModelReply) {
        if self.scopes.agent_mut(scope).is_some_and(|agent| !agent.replays) {
            self.scopes.charge(scope, 0, |budget| budget.charge_usage(reply.usage));
            self.queue.budget.charge_usage(reply.usage);
        }
        self.log_model_reply(scope, &reply);
        let Some(agent) = self.scopes.agent_mut(scope) else { return };
        let Some(conversation) = &mut agent.conversation else { return };
        conversation.replied(reply);
        let refused: Vec<_> = conversation.refused().collect();
        if let Some(repair) = conversation.take_repair() {
            let call = (CallKind::Model, EventKind::OutputRepaired, Level::Warning);
            self.log_call(scope, call, |event| {
                event.data.insert("level".into(), repair.level.as_str().into());
                event.data.insert("coerced".into(), serde_json::json!(repair.coerced));
            });
        }
        for (position, counts) in refused {
            self.refuse(scope, position, counts);
        }
    }

    /// A denied call is answered already; it may count like any other, but only once.
    fn refuse(&mut self, scope: u32, position: usize, counts: bool) {
        let counts = counts && self.scopes.agent(scope).is_some_and(|agent| !agent.replays);
        let denied = counts && self.spend(scope, 0, BudgetCharge::Tool).is_err();
        if let Some(agent) = self.scopes.agent_mut(scope)
            && let Some(conversation) = &mut agent.conversation
            && denied
        {
            conversation.deny_tool(position);
        }
        self.log_refusal(scope, position);
    }

    pub(super) fn take_result(&mut self, scope: u32, position: usize, outcome: &ToolOutcome) {
        let Some(agent) = self.scopes.agent_mut(scope) else { return };
        let Some(conversation) = &mut agent.conversation else { return };
        let refused = outcome.as_ref().err().and_then(refusal);
        let cut = match refused.filter(|_| conversation.is_undecided(position)) {
            Some(refused) => {
                conversation.decide(position, refused);
                false
            }
            None => conversation.returned(position, outcome),
        };
        self.log_tool_result(scope, position, cut, outcome.as_ref().err());
    }

    /// A tool call that times out is an error for the model. Only tool calls have a time-out of
    /// their own.
    pub(in crate::run) fn time_out_call(&mut self, scope: u32, slot: u32) {
        let call = self.scopes.agent(scope).and_then(|agent| agent.calls.get(slot as usize));
        if let Some(&AgentCall { kind: CallKind::Tool(position), ref record, .. }) = call {
            let limit = record.timeout;
            let name = self.call_of(scope, position).map_or("", |call| &call.name);
            let fault = timed_out(name, limit);
            self.resolve_call(scope, slot, TaskOutcome::Returned(Err(fault)));
        }
    }

    fn fail_agent(&mut self, scope: u32, fault: Fault, rules: &mut impl Rules<V>) {
        if let Some(parent) = self.scopes.remove(scope).and_then(|scope| scope.parent) {
            self.fail_nested(parent, fault, rules);
        }
    }

    fn finish_agent(&mut self, scope: u32, update: Update<V>) {
        if let Some((parent, slot)) = self.scopes.remove(scope).and_then(|scope| scope.parent) {
            self.complete(parent, slot, update);
        }
    }

    pub(super) fn set_result(&mut self, scope: u32, result: Result<Update<V>, Fault>) {
        if let Some(agent) = self.scopes.agent_mut(scope) {
            agent.result = Some(result);
        }
    }

    pub(super) fn call_of(&mut self, scope: u32, position: usize) -> Option<&ToolCall> {
        self.scopes.agent_mut(scope)?.call_of(position)
    }
}

impl<V: Value> Scopes<V> {
    fn agent_input(&self, scope: u32) -> TaskInput<V> {
        let record = self
            .get(scope)
            .and_then(|scope| scope.parent)
            .and_then(|(parent, slot)| self.frame(parent)?.records.get(slot as usize));
        record.map_or(TaskInput::State, |record| record.input.clone())
    }

    pub(super) fn agent_node(&self, scope: u32) -> NodeId {
        let record = self
            .get(scope)
            .and_then(|scope| scope.parent)
            .and_then(|(parent, slot)| self.frame(parent)?.records.get(slot as usize));
        record.map_or(NodeId::START, |record| record.node)
    }
}

/// Only the code of a node or of a tool can ask: nothing else is made again with the answer.
fn question_misplaced() -> Fault {
    let message = "a model or an approver of a declared agent, or a run within one of its tools, asked a question";
    Fault::new(FaultCode::QuestionMisplaced, message)
        .hint("ask with `interrupt` in the tool itself, or in an agent's own `act`")
}
