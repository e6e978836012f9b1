//! One call that the model asked for.

use super::feedback;
use crate::approval::Decision;
use crate::message::ToolCall;
use crate::task::ToolInvocation;

/// What is to be done about a call of a tool.
#[derive(Debug)]
pub enum CallAction {
    /// The host has to decide whether it is made: [`super::Conversation::decide`].
    Approve(ToolInvocation),
    /// To make it: [`super::Conversation::returned`].
    Call(ToolInvocation),
}

/// A call the model asked for, until its answer is in the conversation.
#[derive(Debug)]
pub(super) struct PendingToolCall {
    pub(super) call: ToolCall,
    pub(super) state: CallState,
    /// It was not approved.
    pub(super) declined: bool,
    /// The arguments that somebody has put in place of the model's.
    pub(super) changed: Option<String>,
}

#[derive(Debug)]
pub(super) enum CallState {
    /// Somebody has to approve of it first.
    Proposed(Box<ToolInvocation>),
    /// The host is deciding about it.
    Judged(Box<ToolInvocation>),
    Ready(Box<ToolInvocation>),
    Out,
    Answered(String, bool),
}

impl PendingToolCall {
    pub(super) const fn new(call: ToolCall, state: CallState) -> Self {
        Self { call, state, declined: false, changed: None }
    }

    /// What is to be done about it now, if anything can.
    pub(super) fn begin(&mut self, asks_host: bool) -> Option<CallAction> {
        match std::mem::replace(&mut self.state, CallState::Out) {
            CallState::Ready(invocation) => Some(CallAction::Call(*invocation)),
            CallState::Proposed(invocation) if asks_host => {
                let asked = ToolInvocation::clone(&invocation);
                self.state = CallState::Judged(invocation);
                Some(CallAction::Approve(asked))
            }
            other => {
                self.state = other;
                None
            }
        }
    }

    /// Whether it is made. `spent` answers it if its tool has no call left.
    pub(super) fn decide(&mut self, decision: Decision, spent: Option<CallState>) {
        let mut invocation = match std::mem::replace(&mut self.state, CallState::Out) {
            CallState::Proposed(invocation) | CallState::Judged(invocation) => invocation,
            other => {
                self.state = other;
                return;
            }
        };
        self.state = match decision {
            Decision::Refuse(reason) => {
                self.declined = true;
                let text = feedback::declined(&self.call.name, reason.as_deref());
                CallState::Answered(text, false)
            }
            Decision::Approve => spent.unwrap_or(CallState::Ready(invocation)),
            Decision::Change(arguments) => {
                self.changed = Some(arguments.to_string());
                invocation.arguments = arguments;
                spent.unwrap_or(CallState::Ready(invocation))
            }
        };
    }

    /// It has come to this, as the model gets to read it.
    pub(super) fn answer(&mut self, text: String, ok: bool) {
        let text = match &self.changed {
            Some(arguments) => feedback::changed(arguments, &text),
            None => text,
        };
        self.state = CallState::Answered(text, ok);
    }
}
