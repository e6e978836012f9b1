//! The trace of an agent loop's calls.

use serde_json::Value as Json;

use super::super::machine::Run;
use super::super::scope::{Scope, ScopeBody, span};
use super::state::CallKind;
use crate::event::{Event, EventKind, Level};
use crate::fault::Fault;
use crate::value::Value;

impl<V: Value> Run<V> {
    pub(super) fn log_model_call(&mut self, scope: u32) {
        let turn = self.scopes.agent_mut(scope).map(|agent| agent.turn());
        let call = (CallKind::Model, EventKind::ModelCall, Level::Info);
        self.log_call(scope, call, |event| {
            event.data.insert("turn".into(), turn.into());
        });
    }

    pub(super) fn log_refusal(&mut self, scope: u32, position: usize) {
        let arguments = self.call_of(scope, position).map(|call| call.arguments.clone());
        self.log_tool_call(scope, position, || arguments.into());
        self.log_tool_result(scope, position, false, None);
    }

    pub(super) fn log_tool_call(
        &mut self,
        scope: u32,
        position: usize,
        arguments: impl FnOnce() -> Json,
    ) {
        let call = (CallKind::Tool(position), EventKind::ToolCall, Level::Info);
        self.log_call(scope, call, |event| {
            event.data.insert("arguments".into(), arguments());
        });
    }

    pub(super) fn log_tool_result(
        &mut self,
        scope: u32,
        position: usize,
        cut: bool,
        fault: Option<&Fault>,
    ) {
        let complaint =
            if self.queue.log.recording { self.complaint(scope, position) } else { None };
        let level = if complaint.is_none() { Level::Info } else { Level::Warning };
        let call = (CallKind::Tool(position), EventKind::ToolResult, level);
        self.log_call(scope, call, |event| {
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

    fn complaint(&mut self, scope: u32, position: usize) -> Option<String> {
        let conversation = self.scopes.agent_mut(scope)?.conversation.as_ref()?;
        conversation.complaint(position).map(str::to_owned)
    }

    pub(super) fn log_call(
        &mut self,
        scope: u32,
        (call, kind, level): (CallKind, EventKind, Level),
        fill: impl FnOnce(&mut Event),
    ) {
        let Self { scopes, queue } = self;
        queue.log.emit(|| {
            let mut event = scopes.event(scope, 0, kind, level);
            if let Some(Scope { seed, body: ScopeBody::Agent(agent), .. }) = scopes.get(scope) {
                event.span_id = span(agent.call_position(call).seed(*seed));
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
