//! One conversation of an agent with its model and its tools.

use std::sync::Arc;

use super::pending::{CallAction, CallState, PendingToolCall};
use super::{AgentResult, AgentSpec, AgentTool, ReplyRepair, ToolCallRecord, feedback};
use crate::approval::{Approval, Decision, Proposal};
use crate::checkpoint::{Call, Callee, digest, key};
use crate::content::Content;
use crate::fault::{Fault, FaultCode};
use crate::message::{Message, ToolCall};
use crate::model::{FinishReason, ModelReply, ModelRequest, Usage};
use crate::reply::ParseLevel;
use crate::seed::KeySeed;
use crate::task::ToolInvocation;
use crate::tool::{SideEffect, ToolOutcome, ToolSpec, succeeded};

/// The next step of an agent.
#[derive(Debug)]
pub enum AgentStep {
    /// Call the model with this request.
    Ask(Box<ModelRequest>),
    /// Carry out these, concurrently; each is answered by its position.
    Act(Vec<(usize, CallAction)>),
    /// Wait until a person has decided about [`Conversation::proposals`].
    Wait,
    /// The agent is done, with this result.
    Conclude(Box<AgentResult>),
    /// The agent has failed.
    Fail(Fault),
}

/// A conversation of an agent.
#[derive(Debug)]
pub struct Conversation {
    spec: Arc<AgentSpec>,
    seed: KeySeed,
    messages: Vec<Message>,
    opened: usize,
    calls: Vec<PendingToolCall>,
    tool_uses: Vec<ToolCallRecord>,
    /// The tools of earlier calls that were refused.
    declined: Vec<String>,
    usage: Usage,
    turns: u32,
    reasks: u32,
    closing: bool,
    model: String,
    end: Option<Result<Box<AgentResult>, Fault>>,
    repair: Option<ReplyRepair>,
}

impl Conversation {
    /// A conversation that begins with these messages. `seed` determines the keys of tool calls.
    pub fn new(spec: Arc<AgentSpec>, messages: Vec<Message>, seed: KeySeed) -> Self {
        Self {
            spec,
            seed,
            opened: messages.len(),
            messages,
            calls: Vec::new(),
            tool_uses: Vec::new(),
            declined: Vec::new(),
            usage: Usage::default(),
            turns: 0,
            reasks: 0,
            closing: false,
            model: String::new(),
            end: None,
            repair: None,
        }
    }

    /// The next step, once everything that was handed out is answered.
    pub fn next_turn(&mut self) -> AgentStep {
        if let Some(end) = self.end.take() {
            return match end {
                Ok(conclusion) => AgentStep::Conclude(conclusion),
                Err(fault) => AgentStep::Fail(fault),
            };
        }
        let ready = self.take_ready();
        if !ready.is_empty() {
            return AgentStep::Act(ready);
        }
        if self.proposals().next().is_some() {
            return AgentStep::Wait;
        }
        self.settle_calls();
        if self.turns >= self.spec.max_model_calls {
            return AgentStep::Fail(model_calls_spent(self.spec.max_model_calls));
        }
        self.turns += 1;
        AgentStep::Ask(Box::new(self.request()))
    }

    /// Takes the model's reply.
    pub fn replied(&mut self, reply: ModelReply) {
        self.usage += reply.usage;
        self.model.clone_from(&reply.model);
        if reply.finish == FinishReason::ContentFilter {
            self.end = Some(Err(refused(&reply)));
            return;
        }
        if reply.tool_calls.is_empty() || self.closes() {
            return self.conclude(&reply);
        }
        if let Some(call) = self.handoff(&reply) {
            return self.hand_over(&reply, call);
        }
        let cut = reply.finish == FinishReason::Length;
        let mut message = Message::assistant(reply.text);
        message.tool_calls.clone_from(&reply.tool_calls);
        message.provider_content = reply.provider_content;
        self.messages.push(message);
        for call in reply.tool_calls {
            let state = self.admit(&call, cut);
            self.calls.push(PendingToolCall::new(call, state));
        }
    }

    /// Takes the outcome of the tool call at `position`. Returns whether its result was truncated.
    pub fn returned(&mut self, position: usize, outcome: &ToolOutcome) -> bool {
        let Some(pending) = self.calls.get_mut(position) else { return false };
        let tool = self.spec.tools.iter().find(|tool| tool.spec.name == pending.call.name);
        let limit = tool.map_or(ToolSpec::MAX_RESULT, |tool| tool.spec.max_result);
        let (content, cut) = feedback::result(outcome, limit);
        pending.answer(content, succeeded(outcome));
        cut
    }

    /// The calls that a person has to approve, by position.
    pub fn proposals(&self) -> impl Iterator<Item = (usize, &ToolInvocation)> {
        self.calls.iter().enumerate().filter_map(|(position, pending)| match &pending.state {
            CallState::Proposed(invocation) if self.approval(pending) == Approval::Person => {
                Some((position, &**invocation))
            }
            _ => None,
        })
    }

    /// The question about the call at `position`, if a person has to approve it.
    pub fn proposal(&self, position: usize) -> Option<Proposal> {
        let pending = self.calls.get(position)?;
        let invocation = self.proposed(position)?;
        let tool = self.tool(&pending.call.name)?;
        let parameters = tool.spec.parameters.clone();
        Some(Proposal::new(&pending.call.name, invocation.arguments.clone(), parameters))
    }

    /// The call at `position`, if it needs approval.
    pub(crate) fn proposed(&self, position: usize) -> Option<&ToolInvocation> {
        match &self.calls.get(position)?.state {
            CallState::Proposed(invocation) => Some(invocation),
            _ => None,
        }
    }

    /// Decides about the call at `position`. Only an approved call counts as a call of its tool.
    pub fn decide(&mut self, position: usize, decision: Decision) {
        let spent = self.calls.get(position).and_then(|pending| self.spent(&pending.call.name));
        if let Some(pending) = self.calls.get_mut(position) {
            pending.decide(decision, spent);
        }
    }

    /// Sets the arguments with which the call at `position` was made in place of those of the
    /// model, which reads them with the result.
    pub(crate) fn note_change(&mut self, position: usize, arguments: Option<&serde_json::Value>) {
        if let Some(pending) = self.calls.get_mut(position) {
            pending.changed = arguments.map(ToString::to_string);
        }
    }

    /// Denies the call at `position` if its tool has no call left; returns whether it did.
    pub fn deny_spent(&mut self, position: usize) -> bool {
        let spent = self.calls.get(position).and_then(|pending| self.spent(&pending.call.name));
        let Some(pending) = self.calls.get_mut(position).filter(|_| spent.is_some()) else {
            return false;
        };
        pending.decide(Decision::Approve, spent);
        true
    }

    /// Whether the call at `position` still waits for a decision.
    pub fn is_undecided(&self, position: usize) -> bool {
        let undecided = |pending: &PendingToolCall| {
            matches!(pending.state, CallState::Proposed(_) | CallState::Deciding(_))
        };
        self.calls.get(position).is_some_and(undecided)
    }

    /// Denies the call at `position`, because the enclosing budget allows no more tool calls: the
    /// model has to conclude without them.
    pub fn deny_tool(&mut self, position: usize) {
        self.closing = true;
        if let Some(pending) = self.calls.get_mut(position) {
            pending.state = CallState::Answered(feedback::TOOL_BUDGET.into(), false);
        }
    }

    /// The calls of the last reply that were denied, by position, and whether they count as calls;
    /// those beyond the agent's own limit do not.
    pub fn refused(&self) -> impl Iterator<Item = (usize, bool)> {
        let room = (self.spec.max_tool_calls as usize).saturating_sub(self.tool_uses.len());
        let answered = |pending: &PendingToolCall| matches!(pending.state, CallState::Answered(..));
        let calls = self.calls.iter().enumerate().filter(move |(_, pending)| answered(pending));
        calls.map(move |(position, _)| (position, position < room))
    }

    /// The call at `position` of the last reply.
    pub fn call(&self, position: usize) -> Option<&ToolCall> {
        self.calls.get(position).map(|pending| &pending.call)
    }

    /// Whether the call at `position` has returned a value.
    pub fn succeeded(&self, position: usize) -> bool {
        let pending = self.calls.get(position);
        pending.is_some_and(|pending| matches!(pending.state, CallState::Answered(_, true)))
    }

    /// The result of the call at `position`, as the model reads it.
    pub fn result(&self, position: usize) -> Option<&Content> {
        match &self.calls.get(position)?.state {
            CallState::Answered(content, _) => Some(content),
            _ => None,
        }
    }

    /// The error of the call at `position`, as the model reads it.
    pub fn complaint(&self, position: usize) -> Option<&str> {
        match self.result(position).filter(|_| !self.succeeded(position))? {
            Content::Text(text) => Some(text.strip_prefix("error: ").unwrap_or(text)),
            Content::Parts(_) => None,
        }
    }

    /// The repair that the last reply needed, if any.
    pub const fn take_repair(&mut self) -> Option<ReplyRepair> {
        self.repair.take()
    }

    /// Calls of the model so far.
    pub const fn turns(&self) -> u32 {
        self.turns
    }

    fn closes(&self) -> bool {
        let spent = self.tool_uses.len() >= self.spec.max_tool_calls as usize;
        let toolless = self.spec.tools.is_empty() && self.spec.handoffs.is_empty();
        self.closing || toolless || spent || self.turns >= self.spec.max_model_calls
    }

    fn request(&self) -> ModelRequest {
        let own = self.spec.tools.iter().map(|tool| &tool.spec);
        let known: Vec<ToolSpec> = own.chain(&self.spec.handoffs).cloned().collect();
        let called = self.messages.iter().any(|message| !message.tool_calls.is_empty());
        let (tools, unavailable_tools) = if !self.closes() {
            (known, Vec::new())
        } else if called {
            (Vec::new(), known)
        } else {
            (Vec::new(), Vec::new())
        };
        // Few servers accept tools and a schema in one request. The schema is sent with the turn
        // that has no tools; a reply that fits before that ends the loop.
        let schema = self.spec.output.as_ref().filter(|_| tools.is_empty());
        ModelRequest {
            messages: self.messages.clone(),
            tools,
            unavailable_tools,
            schema: schema.map(|parser| parser.schema().clone()),
            temperature: self.spec.temperature,
            max_output_tokens: self.spec.max_output_tokens,
            timeout: self.spec.model_timeout,
            tags: self.spec.tags.clone(),
        }
    }

    fn conclude(&mut self, reply: &ModelReply) {
        let Some(parser) = self.spec.output.clone() else {
            return self.conclude_text(reply);
        };
        match parser.parse_reply(reply) {
            Ok(parsed) => {
                if parsed.level != ParseLevel::Strict || !parsed.coerced.is_empty() {
                    self.repair =
                        Some(ReplyRepair { level: parsed.level, coerced: parsed.coerced });
                }
                self.close(reply, Some(parsed.value));
            }
            Err(unreadable) if self.may_reask() => self.reask(reply, unreadable.feedback()),
            Err(unreadable) => {
                self.end = Some(Err(self.unfit(reply, || unreadable.into_fault())));
            }
        }
    }

    fn conclude_text(&mut self, reply: &ModelReply) {
        if reply.text.trim().is_empty() {
            if self.may_reask() {
                return self.reask(reply, feedback::EMPTY_REPLY.to_owned());
            }
            let empty = || Fault::new(FaultCode::ModelReplyEmpty, "the model's reply is empty");
            self.end = Some(Err(self.unfit(reply, empty)));
            return;
        }
        self.close(reply, None);
    }

    /// Why a reply that is no answer is the last one: a model that still calls tools has reached
    /// the limit of its calls.
    fn unfit(&self, reply: &ModelReply, otherwise: impl FnOnce() -> Fault) -> Fault {
        let limit = self.spec.max_model_calls;
        if self.turns >= limit && !reply.tool_calls.is_empty() {
            return model_calls_spent(limit);
        }
        otherwise()
    }

    /// A reply that does not fit while tools are offered does not count, because the request had no
    /// schema.
    fn may_reask(&self) -> bool {
        let counted = !self.closes() || self.reasks < self.spec.max_reasks;
        counted && self.turns < self.spec.max_model_calls
    }

    fn reask(&mut self, reply: &ModelReply, feedback: String) {
        self.reasks += u32::from(self.closes());
        self.closing = true;
        self.messages.push(Message::assistant(reply.text.clone()));
        self.messages.push(Message::user(feedback));
    }

    fn close(&mut self, reply: &ModelReply, value: Option<serde_json::Value>) {
        self.messages.push(Message::assistant(reply.text.clone()));
        self.finish(reply, value, None);
    }

    /// The first call of a reply that hands the conversation over.
    fn handoff(&self, reply: &ModelReply) -> Option<ToolCall> {
        let known = |call: &&ToolCall| self.spec.handoffs.iter().any(|one| one.name == call.name);
        reply.tool_calls.iter().find(known).cloned()
    }

    /// The next agent reads a conversation in which each call has a result, so the other calls
    /// of the reply, which are not made, are left out of it.
    fn hand_over(&mut self, reply: &ModelReply, call: ToolCall) {
        let mut message = Message::assistant(reply.text.clone());
        message.tool_calls.push(call.clone());
        self.messages.push(message);
        let result = Message::tool(call.id, feedback::HANDED_OVER);
        self.messages.push(Message { name: Some(call.name.clone()), ..result });
        self.finish(reply, None, Some(call.name));
    }

    fn finish(
        &mut self,
        reply: &ModelReply,
        value: Option<serde_json::Value>,
        handoff: Option<String>,
    ) {
        let mut messages = self.messages.split_off(self.opened.min(self.messages.len()));
        // It is bound to the conversation that it was written in, which ends here.
        for message in &mut messages {
            message.provider_content = None;
        }
        self.end = Some(Ok(Box::new(AgentResult {
            text: reply.text.clone(),
            value,
            finish: reply.finish,
            handoff,
            messages,
            tool_uses: std::mem::take(&mut self.tool_uses),
            usage: self.usage,
            turns: self.turns,
            model: std::mem::take(&mut self.model),
        })));
    }

    /// The initial state of a call that the model requests.
    fn admit(&self, call: &ToolCall, cut: bool) -> CallState {
        let denied = |text: String| CallState::Answered(text.into(), false);
        let position = self.tool_uses.len() + self.calls.len();
        if position >= self.spec.max_tool_calls as usize {
            return denied(feedback::TOOL_BUDGET.to_owned());
        }
        let Some(tool) = self.tool(&call.name) else {
            let known = self.spec.tools.iter().map(|tool| &tool.spec).chain(&self.spec.handoffs);
            return denied(feedback::unknown_tool(&call.name, known));
        };
        if let Some(spent) = self.spent(&call.name) {
            return spent;
        }
        let admitted = match tool.spec.approval {
            Approval::None => CallState::Ready,
            Approval::Person | Approval::Host => CallState::Proposed,
        };
        match tool.arguments.parse_arguments(&call.arguments) {
            // Truncated arguments may have become valid by repair.
            Ok(parsed) if cut && parsed.repaired() => denied(feedback::cut_off(&call.name)),
            Ok(parsed) => admitted(Box::new(ToolInvocation {
                call: call.clone(),
                arguments: parsed.value,
                idempotency_key: self.key(position, call),
            })),
            Err(unreadable) => denied(feedback::bad_arguments(&call.name, &unreadable)),
        }
    }

    /// The position alone does not suffice: a retried agent may make another call there.
    fn key(&self, position: usize, call: &ToolCall) -> String {
        let digest = digest(call.arguments.as_bytes());
        let name = call.name.clone();
        let call = Call { callee: Callee::Tool, name, digest, repeatable: false };
        key(self.seed, &call, position as u64)
    }

    /// The denial of a further call of a tool that has none left.
    fn spent(&self, name: &str) -> Option<CallState> {
        let limit = self.tool(name)?.spec.max_calls?;
        let spent = self.calls_of(name) >= limit as usize;
        spent.then(|| CallState::Answered(feedback::tool_limit(name, limit).into(), false))
    }

    /// The calls of a tool that count; those that are refused or not yet approved do not.
    fn calls_of(&self, name: &str) -> usize {
        let counts = |pending: &&PendingToolCall| match pending.state {
            CallState::Proposed(_) | CallState::Deciding(_) => false,
            _ => pending.call.name == name && !pending.declined,
        };
        let made = self.tool_uses.iter().filter(|used| used.name == name).count();
        let declined = self.declined.iter().filter(|declined| *declined == name).count();
        made.saturating_sub(declined) + self.calls.iter().filter(counts).count()
    }

    /// The calls that can be made now: all, if none has side effects; otherwise the next one in
    /// order, once those before it are answered.
    fn take_ready(&mut self) -> Vec<(usize, CallAction)> {
        let answered = |pending: &PendingToolCall| matches!(pending.state, CallState::Answered(..));
        let harmless = |pending: &PendingToolCall| answered(pending) || self.is_harmless(pending);
        let at_once = if self.calls.iter().all(harmless) { usize::MAX } else { 1 };
        let asks_host: Vec<bool> =
            self.calls.iter().map(|pending| self.approval(pending) == Approval::Host).collect();
        let calls = self.calls.iter_mut().zip(asks_host).enumerate();
        let open = calls.filter(|(_, (pending, _))| !answered(pending)).take(at_once);
        open.filter_map(|(position, (pending, asks_host))| {
            Some((position, pending.begin(asks_host)?))
        })
        .collect()
    }

    fn is_harmless(&self, pending: &PendingToolCall) -> bool {
        self.tool(&pending.call.name).is_some_and(|tool| {
            matches!(tool.spec.side_effect, SideEffect::None | SideEffect::Read)
        })
    }

    fn approval(&self, pending: &PendingToolCall) -> Approval {
        self.tool(&pending.call.name).map_or(Approval::None, |tool| tool.spec.approval)
    }

    fn tool(&self, name: &str) -> Option<&AgentTool> {
        self.spec.tools.iter().find(|tool| tool.spec.name == name)
    }

    /// Moves answered calls into the conversation, in the order of the requests.
    fn settle_calls(&mut self) {
        for pending in self.calls.drain(..) {
            let CallState::Answered(content, ok) = pending.state else { continue };
            if pending.declined {
                self.declined.push(pending.call.name.clone());
            }
            let ToolCall { id, name, arguments } = pending.call;
            self.messages.push(Message { name: Some(name.clone()), ..Message::tool(id, content) });
            self.tool_uses.push(ToolCallRecord { name, arguments, ok });
        }
    }
}

fn refused(reply: &ModelReply) -> Fault {
    let message = format!("the provider's filter stopped the reply of the model: {}", reply.model);
    Fault::new(FaultCode::ModelRefused, message)
}

fn model_calls_spent(limit: u32) -> Fault {
    let message = format!("the agent reached its limit of model calls without an answer: {limit}");
    Fault::new(FaultCode::ModelCallsExhausted, message).hint("raise `max_model_calls`")
}
