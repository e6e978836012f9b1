//! The tool calls of a conversation, from the model's request to the result that it reads.

use super::pending::{CallAction, CallState, PendingToolCall};
use super::{AgentTool, Conversation, ToolCallRecord, feedback};
use crate::approval::{Approval, Decision, Proposal};
use crate::checkpoint::{Call, Callee, digest, key};
use crate::content::Content;
use crate::message::{Message, ToolCall};
use crate::task::ToolInvocation;
use crate::tool::{SideEffect, ToolOutcome, ToolSpec, succeeded};

impl Conversation {
    /// Takes the outcome of the tool call at `position`. Returns whether its result was truncated.
    pub fn returned(&mut self, position: usize, outcome: &ToolOutcome) -> bool {
        let Some(pending) = self.calls.get_mut(position) else { return false };
        let tool = self.spec.tools.iter().find(|tool| tool.spec.name == pending.call.name);
        let limit = tool.map_or(ToolSpec::MAX_RESULT, |tool| tool.spec.max_result);
        let (content, cut) = feedback::result(outcome, limit);
        pending.answer(content, succeeded(outcome));
        cut
    }

    /// The tool call at `position` asks a person a question: it is made again with the answer.
    pub fn ask(&mut self, position: usize) {
        if let Some(pending) = self.calls.get_mut(position) {
            pending.ask();
        }
    }

    /// The calls whose tools wait for an answer, by position.
    pub(crate) fn asking(&self) -> impl Iterator<Item = usize> {
        let calls = self.calls.iter().enumerate();
        calls.filter(|(_, pending)| pending.is_asking()).map(|(position, _)| position)
    }

    /// Whether the tool of the call at `position` has asked.
    pub(crate) fn has_asked(&self, position: usize) -> bool {
        self.calls.get(position).is_some_and(|pending| pending.has_asked)
    }

    /// Makes the call at `position` again, because its tool's question is answered.
    pub(crate) fn make_again(&mut self, position: usize) {
        let invocation = self.repeated(position);
        if let Some((pending, invocation)) = self.calls.get_mut(position).zip(invocation) {
            pending.make_again(invocation);
        }
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
        self.has_spent_tool_budget = true;
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

    /// Moves answered calls into the conversation, in the order of the requests.
    pub(super) fn settle_calls(&mut self) {
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

    /// The calls that can be made now: all, if none has side effects; otherwise the next one in
    /// order, once those before it are answered.
    pub(super) fn take_ready(&mut self) -> Vec<(usize, CallAction)> {
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

    /// The initial state of a call that the model requests.
    pub(super) fn admit(&self, call: &ToolCall, cut: bool) -> CallState {
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
            Err(_) if cut => denied(feedback::cut_off(&call.name)),
            Err(unreadable) => denied(feedback::bad_arguments(&call.name, &unreadable)),
        }
    }

    /// The call at `position` once more, with the same arguments and key.
    fn repeated(&self, position: usize) -> Option<ToolInvocation> {
        let pending = self.calls.get(position)?;
        let arguments = if let Some(changed) = &pending.changed {
            serde_json::from_str(changed).ok()?
        } else {
            let tool = self.tool(&pending.call.name)?;
            tool.arguments.parse_arguments(&pending.call.arguments).ok()?.value
        };
        let idempotency_key = self.key(self.tool_uses.len() + position, &pending.call);
        Some(ToolInvocation { call: pending.call.clone(), arguments, idempotency_key })
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
}
