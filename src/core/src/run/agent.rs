//! An agent loop as a unit of a run: its calls are tasks like any other.

use std::sync::Arc;

use super::Run;
use super::frame::Status;
use super::unit::{Doom, Units};
use crate::agent::{AgentSpec, Dialogue, Turn};
use crate::budget::{Intent, exhausted};
use crate::command::Update;
use crate::event::{Event, EventKind, Level};
use crate::fault::{Category, Fault};
use crate::graph::NodeId;
use crate::model::ModelReply;
use crate::task::{Input, Outcome, Task, TaskId, Work};
use crate::time::Time;
use crate::tool::ToolOutcome;
use crate::value::Value;

#[derive(Debug)]
pub(super) struct AgentUnit<V> {
    spec: Arc<AgentSpec>,
    dialogue: Option<Dialogue>,
    calls: Vec<Call>,
    open: usize,
    result: Option<Result<Update<V>, Fault>>,
    doom: Option<Doom<V>>,
}

/// A task of the loop that the driver has.
#[derive(Debug)]
struct Call {
    serial: u64,
    kind: CallKind,
    deadline: Option<Time>,
    cancelling: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallKind {
    Open,
    Model,
    /// The position of a tool call in the dialogue.
    Tool(usize),
    Close,
    /// It has been answered.
    Over,
}

impl<V> AgentUnit<V> {
    pub(super) const fn new(spec: Arc<AgentSpec>) -> Self {
        Self { spec, dialogue: None, calls: Vec::new(), open: 0, result: None, doom: None }
    }
}

impl<V: Value> Run<V> {
    /// Takes an agent loop as far as it goes without the driver.
    pub(super) fn advance_agent(&mut self, unit: u32) {
        let Some(agent) = self.units.agent_mut(unit) else { return };
        if agent.open > 0 {
            return;
        }
        if let Some(doom) = agent.doom.take() {
            return self.conclude_agent(unit, doom);
        }
        if let Some(result) = agent.result.take() {
            return match result {
                Ok(update) => self.finish_agent(unit, update),
                Err(fault) => self.conclude_agent(unit, Doom::Fault(fault)),
            };
        }
        let Some(dialogue) = &mut agent.dialogue else {
            let input = self.units.agent_input(unit);
            return self.hand_out_call(unit, CallKind::Open, Work::Open(input), None);
        };
        match dialogue.next_turn() {
            Turn::Ask(request) => self.ask_model(unit, request),
            Turn::Act(calls) => {
                for (position, invocation) in calls {
                    self.call_tool(unit, position, invocation);
                }
                // A denied call is answered already and opens nothing.
                self.wake_agent(unit);
            }
            Turn::Conclude(conclusion) => {
                self.hand_out_call(unit, CallKind::Close, Work::Close(conclusion), None);
            }
            Turn::Fail(fault) => self.conclude_agent(unit, Doom::Fault(fault)),
        }
    }

    fn ask_model(&mut self, unit: u32, request: Box<crate::model::ModelRequest>) {
        let id = TaskId { unit, slot: 0, serial: 0 };
        if let Err(fault) = self.request(id, Intent::Model) {
            return self.conclude_agent(unit, Doom::Fault(fault));
        }
        let turn = self
            .units
            .agent_mut(unit)
            .and_then(|agent| agent.dialogue.as_ref())
            .map(Dialogue::turns);
        self.log_call(unit, EventKind::ModelCall, Level::Info, |event| {
            event.data.insert("turn".into(), turn.into());
        });
        self.hand_out_call(unit, CallKind::Model, Work::Model(request), None);
    }

    fn call_tool(&mut self, unit: u32, position: usize, invocation: crate::task::Invocation) {
        let id = TaskId { unit, slot: 0, serial: 0 };
        let denied = self.request(id, Intent::Tool).is_err();
        let Some(agent) = self.units.agent_mut(unit) else { return };
        if denied {
            if let Some(dialogue) = &mut agent.dialogue {
                dialogue.deny_tool(position);
            }
            return;
        }
        let name = &invocation.call.name;
        let tool = agent.spec.tools.iter().find(|tool| tool.spec.name == *name);
        let timeout = tool.and_then(|tool| tool.spec.timeout);
        self.log_call(unit, EventKind::ToolCall, Level::Info, |event| {
            event.name = invocation.call.name.as_str().into();
            event.data.insert("call_id".into(), invocation.call.id.as_str().into());
            event.data.insert("arguments".into(), invocation.arguments.clone());
        });
        let deadline = timeout.map(|timeout| self.desk.log.now + timeout);
        self.hand_out_call(
            unit,
            CallKind::Tool(position),
            Work::Tool(Box::new(invocation)),
            deadline,
        );
    }

    fn hand_out_call(&mut self, unit: u32, kind: CallKind, work: Work<V>, own: Option<Time>) {
        let serial = self.desk.next_serial();
        let node = self.units.agent_node(unit);
        let deadline = match (own, self.desk.deadline) {
            (Some(own), Some(deadline)) => Some(own.min(deadline)),
            (own, deadline) => own.or(deadline),
        };
        if let Some(own) = own {
            self.desk.wake(own);
        }
        let Some(agent) = self.units.agent_mut(unit) else { return };
        if agent.open == 0 {
            agent.calls.clear();
        }
        let slot = u32::try_from(agent.calls.len()).unwrap_or(u32::MAX);
        agent.calls.push(Call { serial, kind, deadline: own, cancelling: false });
        agent.open += 1;
        self.desk.running += 1;
        let id = TaskId { unit, slot, serial };
        self.desk.starts.push(Task { id, node, attempt: 1, deadline, work });
    }

    /// Answers a task of an agent loop.
    pub(super) fn resolve_call(&mut self, id: TaskId, outcome: Outcome<V>) -> bool {
        let Some(agent) = self.units.agent_mut(id.unit) else { return false };
        let Some(call) = agent.calls.get_mut(id.slot as usize) else { return false };
        if call.serial != id.serial || call.kind == CallKind::Over {
            return false;
        }
        let kind = std::mem::replace(&mut call.kind, CallKind::Over);
        let cancelled = call.cancelling;
        agent.open -= 1;
        self.desk.running -= 1;
        if !cancelled {
            self.take_answer(id.unit, kind, outcome);
        }
        self.wake_agent(id.unit);
        true
    }

    fn take_answer(&mut self, unit: u32, kind: CallKind, outcome: Outcome<V>) {
        match (kind, outcome) {
            (CallKind::Tool(position), outcome) => {
                let outcome = match outcome {
                    Outcome::Returned(outcome) => outcome,
                    Outcome::Failed(failure) => Err(failure.fault),
                    _ => Err(misplaced()),
                };
                self.take_result(unit, position, &outcome);
            }
            (CallKind::Open, Outcome::Opened(messages)) => {
                let seed = self.units.get(unit).map(|unit| unit.seed).unwrap_or_default();
                if let Some(agent) = self.units.agent_mut(unit) {
                    let spec = Arc::clone(&agent.spec);
                    agent.dialogue = Some(Dialogue::new(spec, messages, seed));
                }
            }
            (CallKind::Model, Outcome::Replied(reply)) => self.take_reply(unit, *reply),
            (CallKind::Close, Outcome::Done(update)) => self.set_result(unit, Ok(update)),
            (_, Outcome::Failed(failure)) => self.set_result(unit, Err(failure.fault)),
            _ => self.set_result(unit, Err(misplaced())),
        }
    }

    fn take_reply(&mut self, unit: u32, reply: ModelReply) {
        self.charge(TaskId { unit, slot: 0, serial: 0 }, reply.usage);
        self.log_call(unit, EventKind::ModelReply, Level::Info, |event| {
            event.name = reply.model.as_str().into();
            event.data.insert("finish".into(), serde_json::json!(reply.finish));
            event.data.insert("usage".into(), serde_json::json!(reply.usage));
            event.data.insert("attempts".into(), reply.attempts.into());
        });
        let Some(agent) = self.units.agent_mut(unit) else { return };
        let Some(dialogue) = &mut agent.dialogue else { return };
        dialogue.replied(reply);
        if let Some(repair) = dialogue.take_repair() {
            self.log_call(unit, EventKind::OutputRepaired, Level::Warning, |event| {
                event.data.insert("level".into(), repair.level.as_str().into());
                event.data.insert("coerced".into(), serde_json::json!(repair.coerced));
            });
        }
    }

    fn take_result(&mut self, unit: u32, position: usize, outcome: &ToolOutcome) {
        let Some(agent) = self.units.agent_mut(unit) else { return };
        let Some(dialogue) = &mut agent.dialogue else { return };
        let cut = dialogue.returned(position, outcome);
        let level = if outcome.is_ok() { Level::Info } else { Level::Warning };
        self.log_call(unit, EventKind::ToolResult, level, |event| {
            event.data.insert("position".into(), position.into());
            event.data.insert("ok".into(), outcome.is_ok().into());
            event.data.insert("truncated".into(), cut.into());
            if let Err(fault) = outcome {
                event.data.insert("code".into(), fault.code.as_str().into());
                event.data.insert("message".into(), fault.message.as_str().into());
            }
        });
    }

    /// A tool that takes too long has failed; the model gets to hear of it.
    pub(super) fn ring_agent(&mut self, unit: u32, now: Time) {
        let Some(agent) = self.units.agent_mut(unit) else { return };
        let mut late = Vec::new();
        for (slot, call) in (0_u32..).zip(&mut agent.calls) {
            let CallKind::Tool(position) = call.kind else { continue };
            match call.deadline {
                Some(deadline) if deadline <= now => {
                    call.kind = CallKind::Over;
                    late.push((TaskId { unit, slot, serial: call.serial }, position));
                }
                Some(deadline) => self.desk.wake(deadline),
                None => {}
            }
        }
        agent.open -= late.len();
        for (id, position) in late {
            self.desk.running -= 1;
            self.desk.cancels.push(id);
            let fault = Fault::new(Category::Timeout, "tool_timeout", "the tool took too long");
            self.take_result(unit, position, &Err(fault));
        }
        self.wake_agent(unit);
    }

    pub(super) fn doom_agent(&mut self, unit: u32, doom: Doom<V>) {
        let Some(agent) = self.units.agent_mut(unit) else { return };
        if agent.doom.is_none() || matches!(doom, Doom::Abandon | Doom::Cancel(_)) {
            agent.doom = Some(doom);
        }
        let starts = &mut self.desk.starts;
        for (slot, call) in (0_u32..).zip(&mut agent.calls) {
            if starts.iter().any(|task| task.id.serial == call.serial) {
                // The driver has not got it yet, and never will.
                starts.retain(|task| task.id.serial != call.serial);
                call.kind = CallKind::Over;
                agent.open -= 1;
                self.desk.running -= 1;
            }
            if call.kind != CallKind::Over && !std::mem::replace(&mut call.cancelling, true) {
                self.desk.cancels.push(TaskId { unit, slot, serial: call.serial });
            }
        }
        self.wake_agent(unit);
    }

    fn conclude_agent(&mut self, unit: u32, doom: Doom<V>) {
        let Some((parent, slot)) = self.units.remove(unit).and_then(|unit| unit.parent) else {
            return;
        };
        match doom {
            Doom::Fault(fault) => self.fail(parent, slot, fault.into()),
            Doom::Budget(dimension) => self.settle(parent, slot, exhausted(dimension)),
            Doom::Cancel(_) | Doom::Abandon | Doom::Escalate(_) => {
                if let Some(record) = self.units.record(parent, slot) {
                    record.status = Status::Void;
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

    fn set_result(&mut self, unit: u32, result: Result<Update<V>, Fault>) {
        if let Some(agent) = self.units.agent_mut(unit) {
            agent.result = Some(result);
        }
    }

    fn wake_agent(&mut self, unit: u32) {
        let idle = self.units.agent_mut(unit).is_some_and(|agent| agent.open == 0);
        if idle && !self.desk.active.contains(&unit) {
            self.desk.active.push(unit);
        }
    }

    fn log_call(
        &mut self,
        unit: u32,
        kind: EventKind,
        level: Level,
        fill: impl FnOnce(&mut Event),
    ) {
        let Self { units, desk } = self;
        desk.log.emit(|| {
            let mut event = units.event(unit, 0, kind, level);
            fill(&mut event);
            event
        });
    }
}

impl<V: Value> Units<V> {
    fn agent_input(&self, unit: u32) -> Input<V> {
        let record = self
            .get(unit)
            .and_then(|unit| unit.parent)
            .and_then(|(parent, slot)| self.frame(parent)?.records.get(slot as usize));
        record.map_or(Input::State, |record| record.input.clone())
    }

    fn agent_node(&self, unit: u32) -> NodeId {
        let record = self
            .get(unit)
            .and_then(|unit| unit.parent)
            .and_then(|(parent, slot)| self.frame(parent)?.records.get(slot as usize));
        record.map_or(NodeId::START, |record| record.node)
    }
}

fn misplaced() -> Fault {
    let message = "a driver answered a call of an agent with the outcome of another kind of work";
    Fault::new(Category::Internal, "outcome_misplaced", message)
}
