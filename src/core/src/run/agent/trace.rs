//! The trace of an agent loop's calls.

use serde_json::Value as Json;

use super::super::machine::Run;
use super::super::unit::{Unit, UnitBody, span};
use super::state::CallKind;
use crate::event::{Event, EventKind, Level};
use crate::fault::Fault;
use crate::value::Value;

impl<V: Value> Run<V> {
    pub(super) fn log_model_call(&mut self, unit: u32) {
        let turn = self.units.agent_mut(unit).map(|agent| agent.turn());
        let call = (CallKind::Model, EventKind::ModelCall, Level::Info);
        self.log_call(unit, call, |event| {
            event.data.insert("turn".into(), turn.into());
        });
    }

    pub(super) fn log_refusal(&mut self, unit: u32, position: usize) {
        let arguments = self.call_of(unit, position).map(|call| call.arguments.clone());
        self.log_tool_call(unit, position, || arguments.into());
        self.log_tool_result(unit, position, false, None);
    }

    pub(super) fn log_tool_call(
        &mut self,
        unit: u32,
        position: usize,
        arguments: impl FnOnce() -> Json,
    ) {
        let call = (CallKind::Tool(position), EventKind::ToolCall, Level::Info);
        self.log_call(unit, call, |event| {
            event.data.insert("arguments".into(), arguments());
        });
    }

    pub(super) fn log_tool_result(
        &mut self,
        unit: u32,
        position: usize,
        cut: bool,
        fault: Option<&Fault>,
    ) {
        let complaint =
            if self.queue.log.recording { self.complaint(unit, position) } else { None };
        let level = if complaint.is_none() { Level::Info } else { Level::Warning };
        let call = (CallKind::Tool(position), EventKind::ToolResult, level);
        self.log_call(unit, call, |event| {
            event.data.insert("ok".into(), complaint.is_none().into());
            event.data.insert("truncated".into(), cut.into());
            if let Some(fault) = fault {
                event.data.insert("code".into(), fault.code.as_str().into());
                event.data.insert("message".into(), fault.message.as_str().into());
            } else if let Some(complaint) = complaint {
                event.data.insert("message".into(), complaint.into());
            }
        });
    }

    fn complaint(&mut self, unit: u32, position: usize) -> Option<String> {
        let dialogue = self.units.agent_mut(unit)?.dialogue.as_ref()?;
        dialogue.complaint(position).map(str::to_owned)
    }

    pub(super) fn log_call(
        &mut self,
        unit: u32,
        (call, kind, level): (CallKind, EventKind, Level),
        fill: impl FnOnce(&mut Event),
    ) {
        let Self { units, queue } = self;
        queue.log.emit(|| {
            let mut event = units.event(unit, 0, kind, level);
            if let Some(Unit { seed, body: UnitBody::Agent(agent), .. }) = units.get(unit) {
                event.span_id = span(agent.place(call).seed(*seed));
                if agent.replays {
                    event.data.insert("replayed".into(), true.into());
                }
                if let CallKind::Tool(position) = call
                    && let Some(call) = agent.call_of(position)
                {
                    event.name = call.name.as_str().into();
                    event.data.insert("call_id".into(), call.id.as_str().into());
                }
            }
            fill(&mut event);
            event
        });
    }
}
