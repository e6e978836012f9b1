//! Tool calls that the model has requested.

use super::feedback;
use crate::approval::Decision;
use crate::content::Content;
use crate::message::ToolCall;
use crate::task::ToolInvocation;

/// What to do about a tool call.
#[derive(Debug)]
pub enum CallAction {
    /// Ask the host to approve it: [`super::Conversation::decide`].
    Approve(ToolInvocation),
    /// Make it: [`super::Conversation::returned`].
    Call(ToolInvocation),
}

/// A tool call, until its result is in the conversation.
#[derive(Debug)]
pub(super) struct PendingToolCall {
    pub(super) call: ToolCall,
    pub(super) state: CallState,
    /// It was refused.
    pub(super) declined: bool,
    /// Its tool has asked a question.
    pub(super) has_asked: bool,
    /// The arguments that replaced those of the model.
    pub(super) changed: Option<String>,
}

#[derive(Debug)]
pub(super) enum CallState {
    /// It needs approval.
    Proposed(Box<ToolInvocation>),
    /// The host decides about it.
    Deciding(Box<ToolInvocation>),
    Ready(Box<ToolInvocation>),
    Out,
    /// Its tool waits for the answer to a question.
    Asking,
    Answered(Content, bool),
}

impl PendingToolCall {
    pub(super) const fn new(call: ToolCall, state: CallState) -> Self {
        Self { call, state, declined: false, has_asked: false, changed: None }
    }

    /// Starts it, or asks the host about it, if that is due.
    pub(super) fn begin(&mut self, asks_host: bool) -> Option<CallAction> {
        match std::mem::replace(&mut self.state, CallState::Out) {
            CallState::Ready(invocation) => Some(CallAction::Call(*invocation)),
            CallState::Proposed(invocation) if asks_host => {
                let asked = ToolInvocation::clone(&invocation);
                self.state = CallState::Deciding(invocation);
                Some(CallAction::Approve(asked))
            }
            other => {
                self.state = other;
                None
            }
        }
    }

    /// Decides about it. `spent` is the denial if its tool has no call left.
    pub(super) fn decide(&mut self, decision: Decision, spent: Option<CallState>) {
        let mut invocation = match std::mem::replace(&mut self.state, CallState::Out) {
            CallState::Proposed(invocation) | CallState::Deciding(invocation) => invocation,
            other => {
                self.state = other;
                return;
            }
        };
        self.state = match decision {
            Decision::Refuse(reason) => {
                self.declined = true;
                let text = feedback::declined(&self.call.name, reason.as_deref());
                CallState::Answered(text.into(), false)
            }
            Decision::Approve => spent.unwrap_or(CallState::Ready(invocation)),
            Decision::Change(arguments) => {
                self.changed = Some(arguments.to_string());
                invocation.arguments = arguments;
                spent.unwrap_or(CallState::Ready(invocation))
            }
        };
    }

    /// Its tool asks a question.
    pub(super) fn ask(&mut self) {
        self.state = CallState::Asking;
        self.has_asked = true;
    }

    pub(super) const fn is_asking(&self) -> bool {
        matches!(self.state, CallState::Asking)
    }

    /// Makes it again, if its tool waits for an answer.
    pub(super) fn make_again(&mut self, invocation: ToolInvocation) {
        if self.is_asking() {
            self.state = CallState::Ready(Box::new(invocation));
        }
    }

    /// Sets its result, as the model reads it.
    pub(super) fn answer(&mut self, content: Content, ok: bool) {
        let content = match &self.changed {
            Some(arguments) => content.preceded_by(&feedback::changed(arguments)),
            None => content,
        };
        self.state = CallState::Answered(content, ok);
    }
}
