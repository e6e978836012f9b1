//! An agent loop as a unit of a run: its calls are tasks like any other.

use std::sync::Arc;
use std::time::Duration;

use super::super::frame::TaskStatus;
use super::super::machine::Run;
use super::super::termination::{CancelMode, Termination};
use super::super::unit::{Units, sooner};
use super::state::{Call, CallKind, misplaced};
use crate::agent::{AgentStep, CallAction, Conversation};
use crate::approval::refusal;
use crate::budget::{Charge, exhausted};
use crate::command::Update;
use crate::event::{EventKind, Level};
use crate::fault::{Fault, FaultCode};
use crate::graph::NodeId;
use crate::message::ToolCall;
use crate::model::ModelReply;
use crate::seed::KeySeed;
use crate::task::{Task, TaskId, TaskInput, TaskOutcome, TaskWork};
use crate::time::Time;
use crate::tool::ToolOutcome;
use crate::value::Value;

impl<V: Value> Run<V> {
    /// Takes an agent loop as far as it goes without the driver.
    pub(in crate::run) fn advance_agent(&mut self, unit: u32) {
        let Some(agent) = self.units.agent_mut(unit) else { return };
        if agent.open > 0 {
            return;
        }
        if let Some(terminate) = agent.terminate.take() {
            return self.conclude_agent(unit, terminate);
        }
        if agent.approvals.asleep {
            return;
        }
        if let Some(result) = agent.result.take() {
            return match result {
                Ok(update) => self.finish_agent(unit, update),
                Err(fault) => self.conclude_agent(unit, Termination::Fault(fault)),
            };
        }
        let Some(dialogue) = &mut agent.dialogue else {
            let input = self.units.agent_input(unit);
            return self.hand_out_call(unit, CallKind::Open, TaskWork::Open(input), None);
        };
        match dialogue.next_turn() {
            AgentStep::Ask(request) => self.ask_model(unit, request),
            AgentStep::Act(actions) => {
                for (position, action) in actions {
                    match action {
                        CallAction::Approve(invocation) => self.judge(unit, position, invocation),
                        CallAction::Call(invocation) => self.call_tool(unit, position, invocation),
                    }
                }
                // A denied call is answered already and opens nothing.
                self.wake_agent(unit);
            }
            AgentStep::Wait => self.propose(unit),
            AgentStep::Conclude(conclusion) => {
                self.hand_out_call(unit, CallKind::Close, TaskWork::Close(conclusion), None);
            }
            AgentStep::Fail(fault) => self.conclude_agent(unit, Termination::Fault(fault)),
        }
    }

    fn ask_model(&mut self, unit: u32, request: Box<crate::model::ModelRequest>) {
        if self.knows_reply(unit) {
            return self.wake_agent(unit);
        }
        if let Err(fault) = self.spend(unit, 0, Charge::Model) {
            return self.conclude_agent(unit, Termination::Fault(fault));
        }
        self.log_model_call(unit);
        self.hand_out_call(unit, CallKind::Model, TaskWork::Model(request), None);
    }

    fn call_tool(&mut self, unit: u32, position: usize, invocation: crate::task::ToolInvocation) {
        if self.knows_result(unit, position, &invocation) {
            return;
        }
        let denied = self.spend(unit, 0, Charge::Tool).is_err();
        let Some(agent) = self.units.agent_mut(unit) else { return };
        if denied {
            if let Some(dialogue) = &mut agent.dialogue {
                dialogue.deny_tool(position);
            }
            return self.log_refusal(unit, position);
        }
        let name = &invocation.call.name;
        let tool = agent.spec.tools.iter().find(|tool| tool.spec.name == *name);
        let timeout = tool.and_then(|tool| tool.spec.timeout);
        self.log_tool_call(unit, position, || invocation.arguments.clone());
        self.hand_out_call(
            unit,
            CallKind::Tool(position),
            TaskWork::Tool(Box::new(invocation)),
            timeout,
        );
    }

    pub(super) fn hand_out_call(
        &mut self,
        unit: u32,
        kind: CallKind,
        work: TaskWork<V>,
        timeout: Option<Duration>,
    ) {
        let serial = self.queue.next_serial();
        let node = self.units.agent_node(unit);
        let around = sooner(self.units.deadline_around(unit), self.queue.deadline);
        let timed = timeout.filter(|_| !self.queue.queues());
        let own = timed.map(|timeout| self.queue.log.now + timeout);
        if let Some(own) = own {
            self.queue.wake(own);
        }
        let index = self.open_call(unit, kind);
        let Some(agent) = self.units.agent_mut(unit) else { return };
        if agent.open == 0 {
            agent.calls.clear();
        }
        let slot = u32::try_from(agent.calls.len()).unwrap_or(u32::MAX);
        let place = agent.place(kind);
        agent.calls.push(Call {
            serial,
            kind,
            place,
            timeout,
            deadline: own,
            cancelling: false,
            index,
            inner: 0,
        });
        agent.open += 1;
        self.queue.running += 1;
        let id = TaskId { unit, slot, serial };
        let deadline = sooner(own, around);
        self.queue.starts.push(Task { id, node, attempt: 1, deadline, work });
    }

    /// Answers a task of an agent loop.
    pub(in crate::run) fn resolve_call(&mut self, id: TaskId, outcome: TaskOutcome<V>) -> bool {
        let Some(agent) = self.units.agent_mut(id.unit) else { return false };
        let Some(call) = agent.calls.get_mut(id.slot as usize) else { return false };
        if call.serial != id.serial || call.kind == CallKind::Over {
            return false;
        }
        let kind = std::mem::replace(&mut call.kind, CallKind::Over);
        let (cancelled, index) = (call.cancelling, call.index);
        agent.open -= 1;
        self.queue.running -= 1;
        if !cancelled {
            self.close_call(id.unit, index, &outcome);
            self.take_answer(id.unit, kind, outcome);
        }
        self.wake_agent(id.unit);
        true
    }

    pub(super) fn take_answer(&mut self, unit: u32, kind: CallKind, outcome: TaskOutcome<V>) {
        match (kind, outcome) {
            // Told to the model as a failure, the question would never be asked.
            (_, TaskOutcome::Ask(_) | TaskOutcome::Relay(..)) => {
                self.set_result(unit, Err(question_misplaced()));
            }
            (CallKind::Tool(position), outcome) => {
                let outcome = match outcome {
                    TaskOutcome::Returned(outcome) => outcome,
                    TaskOutcome::Failed(failure) => Err(failure.fault),
                    _ => Err(misplaced()),
                };
                self.take_result(unit, position, &outcome);
            }
            (CallKind::Approval(position), TaskOutcome::Decided(decision)) => {
                self.take_judgement(unit, position, decision);
            }
            (CallKind::Open, TaskOutcome::Opened(messages)) => {
                let seed = self.units.get(unit).map(|unit| unit.seed).unwrap_or_default();
                let seed = KeySeed::new(seed, self.queue.mark);
                if let Some(agent) = self.units.agent_mut(unit) {
                    let spec = Arc::clone(&agent.spec);
                    agent.dialogue = Some(Conversation::new(spec, messages, seed));
                }
            }
            (CallKind::Model, TaskOutcome::Replied(reply)) => self.take_reply(unit, *reply),
            (CallKind::Close, TaskOutcome::Done(update)) => self.set_result(unit, Ok(update)),
            (_, TaskOutcome::Failed(failure)) => self.set_result(unit, Err(failure.fault)),
            _ => self.set_result(unit, Err(misplaced())),
        }
    }

    fn take_reply(&mut self, unit: u32, reply: ModelReply) {
        if self.units.agent_mut(unit).is_some_and(|agent| !agent.replays) {
            self.units.charge(unit, 0, |budget| budget.charge_usage(reply.usage));
            self.queue.budget.charge_usage(reply.usage);
        }
        let call = (CallKind::Model, EventKind::ModelReply, Level::Info);
        self.log_call(unit, call, |event| {
            event.name = reply.model.as_str().into();
            event.data.insert("model".into(), reply.model.as_str().into());
            event.data.insert("finish".into(), serde_json::json!(reply.finish));
            event.data.insert("usage".into(), serde_json::json!(reply.usage));
            event.data.insert("attempts".into(), reply.attempts.into());
        });
        let Some(agent) = self.units.agent_mut(unit) else { return };
        let Some(dialogue) = &mut agent.dialogue else { return };
        dialogue.replied(reply);
        let refused: Vec<_> = dialogue.refused().collect();
        if let Some(repair) = dialogue.take_repair() {
            let call = (CallKind::Model, EventKind::OutputRepaired, Level::Warning);
            self.log_call(unit, call, |event| {
                event.data.insert("level".into(), repair.level.as_str().into());
                event.data.insert("coerced".into(), serde_json::json!(repair.coerced));
            });
        }
        for (position, counts) in refused {
            self.refuse(unit, position, counts);
        }
    }

    /// A call that cannot be made is answered already; it counts like any other.
    fn refuse(&mut self, unit: u32, position: usize, counts: bool) {
        let denied = counts && self.spend(unit, 0, Charge::Tool).is_err();
        if let Some(agent) = self.units.agent_mut(unit)
            && let Some(dialogue) = &mut agent.dialogue
            && denied
        {
            dialogue.deny_tool(position);
        }
        self.log_refusal(unit, position);
    }

    pub(super) fn take_result(&mut self, unit: u32, position: usize, outcome: &ToolOutcome) {
        let Some(agent) = self.units.agent_mut(unit) else { return };
        let Some(dialogue) = &mut agent.dialogue else { return };
        let refused = outcome.as_ref().err().and_then(refusal);
        let cut = match refused.filter(|_| dialogue.is_undecided(position)) {
            Some(refused) => {
                dialogue.decide(position, refused);
                false
            }
            None => dialogue.returned(position, outcome),
        };
        self.log_tool_result(unit, position, cut, outcome.as_ref().err());
    }

    /// A tool that takes too long has failed; the model gets to hear of it.
    pub(in crate::run) fn fire_agent_timers(&mut self, unit: u32, now: Time) {
        let Some(agent) = self.units.agent_mut(unit) else { return };
        let mut late = Vec::new();
        for (slot, call) in (0_u32..).zip(&mut agent.calls) {
            let (CallKind::Tool(position), Some(deadline)) = (call.kind, call.deadline) else {
                continue;
            };
            if deadline > now {
                self.queue.wake(deadline);
                continue;
            }
            call.kind = CallKind::Over;
            let id = TaskId { unit, slot, serial: call.serial };
            late.push((id, position, call.index.filter(|_| !call.cancelling), call.cancelling));
        }
        agent.open -= late.len();
        for (id, position, index, cancelling) in late {
            self.queue.running -= 1;
            if !cancelling {
                self.queue.stop(id);
                let fault = self.tool_timeout(unit, position);
                self.close_call(unit, index, &TaskOutcome::Returned(Err(fault.clone())));
                self.take_result(unit, position, &Err(fault));
            }
        }
        self.wake_agent(unit);
    }

    fn tool_timeout(&mut self, unit: u32, position: usize) -> Fault {
        let name = self.call_of(unit, position).map_or("", |call| &call.name);
        Fault::new(FaultCode::ToolTimeout, format!("the tool took too long: {name}"))
    }

    pub(in crate::run) fn terminate_agent(
        &mut self,
        unit: u32,
        terminate: Termination<V>,
        patience: CancelMode,
    ) {
        let unstarted = self.queue.take_back(unit);
        let Some(agent) = self.units.agent_mut(unit) else { return };
        if terminate.outranks(agent.terminate.as_ref()) {
            agent.terminate = Some(terminate);
        }
        for (slot, call) in (0_u32..).zip(&mut agent.calls) {
            if call.kind == CallKind::Over {
                continue;
            }
            let started = !unstarted.contains(&slot);
            if started && !std::mem::replace(&mut call.cancelling, true) {
                self.queue.cancels.push(TaskId { unit, slot, serial: call.serial });
            }
            if !started || patience == CancelMode::LetGo {
                call.kind = CallKind::Over;
                agent.open -= 1;
                self.queue.running -= 1;
            }
        }
        self.wake_agent(unit);
    }

    pub(super) fn conclude_agent(&mut self, unit: u32, terminate: Termination<V>) {
        let Some((parent, slot)) = self.units.remove(unit).and_then(|unit| unit.parent) else {
            return;
        };
        match terminate {
            Termination::Fault(fault) => self.fail(parent, slot, fault.into()),
            Termination::Budget(dimension) => self.settle(parent, slot, exhausted(dimension)),
            Termination::Cancel(_) | Termination::Abandon | Termination::Escalate(_) => {
                if let Some(record) = self.units.record(parent, slot) {
                    record.status = TaskStatus::Void;
                }
                self.close(parent);
            }
        }
    }

    fn finish_agent(&mut self, unit: u32, update: Update<V>) {
        if let Some((parent, slot)) = self.units.remove(unit).and_then(|unit| unit.parent) {
            self.done(parent, slot, update);
        }
    }

    pub(super) fn set_result(&mut self, unit: u32, result: Result<Update<V>, Fault>) {
        if let Some(agent) = self.units.agent_mut(unit) {
            agent.result = Some(result);
        }
    }

    pub(super) fn wake_agent(&mut self, unit: u32) {
        let idle = self.units.agent_mut(unit).is_some_and(|agent| agent.open == 0);
        if idle && !self.queue.active.contains(&unit) {
            self.queue.active.push_back(unit);
        }
    }

    pub(super) fn call_of(&mut self, unit: u32, position: usize) -> Option<&ToolCall> {
        self.units.agent_mut(unit)?.call_of(position)
    }
}

impl<V: Value> Units<V> {
    fn agent_input(&self, unit: u32) -> TaskInput<V> {
        let record = self
            .get(unit)
            .and_then(|unit| unit.parent)
            .and_then(|(parent, slot)| self.frame(parent)?.records.get(slot as usize));
        record.map_or(TaskInput::State, |record| record.input.clone())
    }

    pub(super) fn agent_node(&self, unit: u32) -> NodeId {
        let record = self
            .get(unit)
            .and_then(|unit| unit.parent)
            .and_then(|(parent, slot)| self.frame(parent)?.records.get(slot as usize));
        record.map_or(NodeId::START, |record| record.node)
    }
}

/// Only the code of a node can ask: a declared agent would have to call its tool again.
fn question_misplaced() -> Fault {
    let message = "a tool of a declared agent cannot ask a question by itself";
    Fault::new(FaultCode::QuestionMisplaced, message)
        .hint("declare the tool with `approval=`, or call it from an agent's own `run`")
}
