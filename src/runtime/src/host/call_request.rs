//! A call that a node makes by itself, on its way to the run and the trace.

use antiphon_core::checkpoint::{Call, CallOutcome, Callee, digest};
use antiphon_core::event::{EventKind, content};
use antiphon_core::run::{CallStart, PendingCall};
use antiphon_core::{Category, Fault, FaultCode, ModelReply, ModelRequest, ToolOutcome};
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::TaskReporter;

/// The callee and the caller.
pub(super) struct CallRequest<'a> {
    pub(super) reporter: &'a TaskReporter,
    pub(super) name: &'a str,
    pub(super) callee: Callee,
}

impl CallRequest<'_> {
    pub(super) async fn begin(
        &self,
        given: &impl Serialize,
        repeatable: bool,
    ) -> Result<CallStart<Json>, Fault> {
        let given = serde_json::to_vec(given).unwrap_or_default();
        let (callee, name) = (self.callee, self.name.to_owned());
        self.reporter.begin_call(Call { callee, name, digest: digest(&given), repeatable }).await
    }

    /// Reports its outcome; a call that was only cancelled has not ended.
    pub(super) async fn end(
        &self,
        pending: &PendingCall<Json>,
        outcome: impl FnOnce() -> Result<CallOutcome<Json>, Fault>,
    ) -> Result<(), Fault> {
        if !pending.stored {
            return Ok(());
        }
        let outcome = match outcome() {
            Ok(outcome) => outcome,
            Err(fault) if fault.category == Category::Cancelled => return Ok(()),
            Err(fault) => CallOutcome::Failed(fault),
        };
        self.reporter.end_call(pending.index, outcome).await
    }

    pub(super) fn asked(&self, request: &ModelRequest, replayed: bool) {
        let data = content::request(request, 0).into();
        self.note(EventKind::ModelCall, self.name.to_owned(), (data, replayed));
    }

    pub(super) fn replied(&self, reply: ModelReply, replayed: bool) -> ModelReply {
        let data = content::reply(&reply).into();
        self.note(EventKind::ModelReply, reply.model.clone(), (data, replayed));
        reply
    }

    pub(super) fn called(&self, key: &str, arguments: &Json, replayed: bool) {
        let data = json!({"call_id": key, "arguments": arguments});
        self.note(EventKind::ToolCall, self.name.to_owned(), (data, replayed));
    }

    pub(super) fn returned(&self, key: &str, outcome: &ToolOutcome, replayed: bool) {
        let data = match outcome {
            Ok(value) => json!({"call_id": key, "ok": true, "result": value}),
            Err(fault) => {
                let (code, message) = (fault.code.as_str(), &fault.message);
                json!({"call_id": key, "ok": false, "code": code, "message": message})
            }
        };
        self.note(EventKind::ToolResult, self.name.to_owned(), (data, replayed));
    }

    fn note(&self, kind: EventKind, name: String, (mut data, replayed): (Json, bool)) {
        if let (true, Some(fields)) = (replayed, data.as_object_mut()) {
            fields.insert("replayed".to_owned(), true.into());
        }
        self.reporter.note(kind, name, data);
    }
}

/// What is known is the failure, or nothing that this kind of call could give.
pub(super) fn unsuitable(outcome: CallOutcome<Json>) -> Fault {
    if let CallOutcome::Failed(fault) = outcome {
        return fault;
    }
    let message = "the recorded result of a call has another type";
    Fault::new(FaultCode::CheckpointMisfit, message)
        .hint("the code of the node has changed since it was stored")
}
