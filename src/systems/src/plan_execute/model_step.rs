//! Steps in which a model writes a text.

use antiphon_core::{Fault, FaultCode, Message, Schema};
use serde_json::{Map, Value as Json, json};

use super::PlanExecute;
use super::execute::{record, sent_step};
use super::record::StepResult;
use super::state::State;
use super::step_output::{StepError, StepErrorKind, StepStatus};
use crate::builder::RoleNode;
use crate::node::NodeContext;
use crate::patch::Patch;
use crate::reply::{RoleReply, object, text};

/// The field of a prepared input that holds the messages of its step.
const MESSAGES: &str = "messages";

/// Writes the text of a step.
pub(super) fn step_executor() -> RoleNode<PlanExecute> {
    RoleNode {
        role: "step_executor",
        schema: Schema::new("text", object(&json!({"text": text()}))),
        max_tool_calls: 0,
        begin: |cx| {
            if let Some((start, step)) = sent_step(cx) {
                let details = super::execute::details(&cx.state, &step, &start.sub_task_id);
                cx.note("EXECUTION_STEP_ORCHESTRATOR_START", details);
            }
        },
        conversation: |cx| {
            let resources = &cx.system().resources;
            let instructions = resources.instructions("step_executor", "step_executor", &[])?;
            let mut messages = vec![Message::system(instructions)];
            messages.extend(asked(cx)?);
            Ok(messages)
        },
        brief: |cx| {
            let shown = asked(cx)?.into_iter().map(|message| message.content.text().into_owned());
            Ok(json!({"task": cx.state.user_task, "prompt": shown.collect::<Vec<_>>().join("\n")}))
        },
        conclude: |cx, reply| Ok(written(cx, &reply)),
    }
}

/// The messages as they go to the node of the step.
pub(super) fn prepared(messages: &[Message]) -> Map<String, Json> {
    Map::from_iter([(MESSAGES.to_owned(), json!(messages))])
}

/// The messages of the step that was sent to the node.
fn asked(cx: &NodeContext<PlanExecute>) -> Result<Vec<Message>, Fault> {
    let messages = sent_step(cx).and_then(|(mut start, _)| start.input.remove(MESSAGES));
    let messages = messages.and_then(|messages| serde_json::from_value(messages).ok());
    messages.ok_or_else(|| {
        Fault::new(FaultCode::InvalidValue, "the messages of the step are not known".to_owned())
    })
}

fn written(cx: &NodeContext<PlanExecute>, reply: &RoleReply) -> Patch<State> {
    let said = reply_text(reply, "text");
    let result = if said.is_empty() {
        let message = "the model has written nothing";
        StepResult::unprepared(StepError::new(StepErrorKind::ModelOutput, message))
    } else {
        StepResult {
            status: StepStatus::Completed,
            result_data: json!(said),
            ..StepResult::default()
        }
    };
    record(cx, result)
}

/// Takes the place of a step whose model has failed.
pub(super) async fn fail_model_step(cx: NodeContext<PlanExecute>) -> Result<Patch<State>, Fault> {
    let error = match &cx.call.handles {
        Some((_, fault)) => StepError::of(fault),
        None => StepError::new(StepErrorKind::ModelOutput, "the model has written nothing"),
    };
    Ok(record(&cx, StepResult::unprepared(error)))
}

/// The text of a field of a reply; the whole reply if that is no JSON of the form.
pub(super) fn reply_text(reply: &RoleReply, field: &str) -> String {
    let value = reply.value.as_ref().and_then(|value| value.get(field)).and_then(Json::as_str);
    let whole = || reply.messages.last().map(|message| message.content.text().into_owned());
    value.map(str::to_owned).or_else(whole).unwrap_or_default().trim().to_owned()
}
