//! One conversation of an agent with its model and its tools.

use std::sync::Arc;

use super::pending::{CallAction, PendingToolCall};
use super::{AgentResult, AgentSpec, ReplyRepair, ToolCallRecord, feedback};
use crate::budget::BudgetDimension;
use crate::fault::{Fault, FaultCode};
use crate::message::{Message, ToolCall};
use crate::model::{FinishReason, ModelReply, ModelRequest, Usage};
use crate::reply::ParseLevel;
use crate::seed::{KeySeed, Seed};
use crate::tool::ToolSpec;

/// The next step of an agent.
#[derive(Debug)]
pub enum AgentStep {
    /// Call the model with this request.
    Ask(Box<ModelRequest>),
    /// Carry out these, concurrently; each is answered by its position.
    Act(Vec<(usize, CallAction)>),
    /// Wait until a person has decided about [`Conversation::proposals`] and has answered the
    /// questions of tools ([`Conversation::ask`]).
    Wait,
    /// The agent is done, with this result.
    Conclude(Box<AgentResult>),
    /// The agent has failed.
    Fail(Fault),
}

/// A conversation of an agent.
#[derive(Debug)]
pub struct Conversation {
    pub(super) spec: Arc<AgentSpec>,
    pub(super) seed: KeySeed,
    pub(super) messages: Vec<Message>,
    /// Of so many messages, those of the last request, the digest.
    digested: (usize, Seed),
    opened: usize,
    pub(super) calls: Vec<PendingToolCall>,
    pub(super) tool_uses: Vec<ToolCallRecord>,
    /// The tools of earlier calls that were refused.
    pub(super) declined: Vec<String>,
    usage: Usage,
    turns: u32,
    reasks: u32,
    pub(super) closing: bool,
    /// The enclosing budget has no tool calls left.
    pub(super) has_spent_tool_budget: bool,
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
            digested: (0, Seed::default()),
            calls: Vec::new(),
            tool_uses: Vec::new(),
            declined: Vec::new(),
            usage: Usage::default(),
            turns: 0,
            reasks: 0,
            closing: false,
            has_spent_tool_budget: false,
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
        if self.proposals().next().is_some() || self.asking().next().is_some() {
            return AgentStep::Wait;
        }
        self.settle_calls();
        if self.turns >= self.spec.max_model_calls {
            return AgentStep::Fail(model_calls_spent(self.spec.max_model_calls));
        }
        self.turns += 1;
        self.digest();
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
        let mut message = Message::assistant(reply.content());
        message.tool_calls.clone_from(&reply.tool_calls);
        message.provider_content = reply.provider_content;
        self.messages.push(message);
        for call in reply.tool_calls {
            let state = self.admit(&call, cut);
            self.calls.push(PendingToolCall::new(call, state));
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

    /// The digest of what the messages of the last request say.
    pub(crate) const fn request_digest(&self) -> Seed {
        self.digested.1
    }

    /// Messages are only added, so that each is read once.
    fn digest(&mut self) {
        let (known, digest) = self.digested;
        let new = self.messages.iter().skip(known);
        let digest = new.fold(digest, |seed, message| seed.child(message.content.digest()));
        self.digested = (self.messages.len(), digest);
    }

    fn closes(&self) -> bool {
        let toolless = self.spec.tools.is_empty() && self.spec.handoffs.is_empty();
        self.closing
            || toolless
            || self.has_spent_tool_calls()
            || self.turns >= self.spec.max_model_calls
    }

    fn has_spent_tool_calls(&self) -> bool {
        self.tool_uses.len() >= self.spec.max_tool_calls as usize
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
        if reply.text.trim().is_empty() && reply.media.is_empty() {
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
    /// a limit of its calls.
    fn unfit(&self, reply: &ModelReply, otherwise: impl FnOnce() -> Fault) -> Fault {
        let spec = &self.spec;
        if reply.tool_calls.is_empty() {
            otherwise()
        } else if self.turns >= spec.max_model_calls {
            model_calls_spent(spec.max_model_calls)
        } else if self.has_spent_tool_budget {
            tool_budget_spent()
        } else if self.has_spent_tool_calls() && !spec.tools.is_empty() {
            tool_calls_spent(spec.max_tool_calls)
        } else {
            otherwise()
        }
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
        self.messages.push(Message::assistant(reply.content()));
        self.messages.push(Message::user(feedback));
    }

    fn close(&mut self, reply: &ModelReply, value: Option<serde_json::Value>) {
        self.messages.push(Message::assistant(reply.content()));
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
        let mut message = Message::assistant(reply.content());
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
}

fn refused(reply: &ModelReply) -> Fault {
    let message = format!("the provider's filter stopped the reply of the model: {}", reply.model);
    Fault::new(FaultCode::ModelRefused, message)
}

fn model_calls_spent(limit: u32) -> Fault {
    let message = format!("the agent reached its limit of model calls without an answer: {limit}");
    Fault::new(FaultCode::ModelCallsExhausted, message).hint("raise `max_model_calls`")
}

fn tool_calls_spent(limit: u32) -> Fault {
    let message = format!("the agent reached its limit of tool calls without an answer: {limit}");
    Fault::new(FaultCode::ToolCallsExhausted, message).hint("raise `max_tool_calls`")
}

fn tool_budget_spent() -> Fault {
    let message = "the budget of tool calls is spent, and the agent has no answer";
    Fault::new(FaultCode::ToolCallsExhausted, message)
        .with("dimension", BudgetDimension::ToolCalls.as_str())
        .hint("raise `tool_calls` of the budget")
}
