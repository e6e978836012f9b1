//! The trace of an agent loop's calls.

use serde_json::Value as Json;

use super::super::machine::Run;
use super::super::scope::{Scope, ScopeBody, span};
use super::state::CallKind;
use crate::event::{Event, EventKind, Level, content};
use crate::fault::Fault;
use crate::model::{FinishReason, ModelReply, ModelRequest};
use crate::value::Value;

impl<V: Value> Run<V> {
    /// Each event of a conversation shows the messages that are new in it.
    pub(super) fn log_model_call(&mut self, scope: u32, request: &ModelRequest) {
        let (mut turn, mut earlier) = (None, 0);
        if self.queue.log.recording
            && let Some(agent) = self.scopes.agent_mut(scope)
        {
            turn = Some(agent.turn());
            earlier = std::mem::replace(&mut agent.traced, request.messages.len());
        }
        let call = (CallKind::Model, EventKind::ModelCall, Level::Info);
        self.log_call(scope, call, |event| {
            event.data.insert("turn".into(), turn.into());
            event.data.extend(content::request(request, earlier));
        });
    }

    pub(super) fn log_model_reply(&mut self, scope: u32, reply: &ModelReply) {
        // A reply that a limit of tokens cut is not what the model had to say.
        let cut = reply.finish == FinishReason::Length;
        let level = if cut { Level::Warning } else { Level::Info };
        let call = (CallKind::Model, EventKind::ModelReply, level);
        self.log_call(scope, call, |event| {
            event.name = reply.model.as_str().into();
            event.data.extend(content::reply(reply));
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
        let (result, complaint) =
            if self.queue.log.recording { self.result_text(scope, position) } else { (None, None) };
        let level = if complaint.is_none() { Level::Info } else { Level::Warning };
        let call = (CallKind::Tool(position), EventKind::ToolResult, level);
        self.log_call(scope, call, |event| {
            event.data.insert("ok".into(), complaint.is_none().into());
            event.data.insert("truncated".into(), cut.into());
            if let Some(result) = result {
                event.data.insert("result".into(), result);
            }
            if let Some(fault) = fault {
                event.data.insert("code".into(), fault.code.as_str().into());
                event.data.insert("message".into(), fault.message.as_str().into());
            } else if let Some(complaint) = complaint {
                event.data.insert("message".into(), complaint.into());
            }
        });
    }

    /// What the model reads of a result, and the error in it.
    fn result_text(&mut self, scope: u32, position: usize) -> (Option<Json>, Option<String>) {
        let agent = self.scopes.agent(scope);
        let conversation = agent.and_then(|agent| agent.conversation.as_ref());
        let Some(conversation) = conversation else { return (None, None) };
        let complaint = conversation.complaint(position).map(str::to_owned);
        (conversation.result(position).map(content::content), complaint)
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
