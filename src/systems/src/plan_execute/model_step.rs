//! Steps in which a model writes a text.

use antiphon_core::{Fault, FaultCode, Message, Schema};
use serde_json::{Map, Value as Json, json};

use super::PlanExecute;
use super::execute::{record, sent_step};
use super::plan::PlanStep;
use super::record::StepResult;
use super::state::State;
use super::step_output::{StepError, StepErrorKind, StepStatus};
use crate::builder::RoleNode;
use crate::delimited_input::escape;
use crate::json_texts::plain_text;
use crate::node::NodeContext;
use crate::patch::Patch;
use crate::reply::{RoleReply, object, text};
use crate::template::{fields, fill};

/// What stands for the result of the step before.
const PREVIOUS: &str = "previous_step_output";

/// Any of these says what is written.
pub(super) const PROMPTS: [&str; 4] =
    ["prompt", "prompt_template", "messages", "data_from_previous_step"];

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

/// The messages of the step, without anything that a result could take for a tag.
fn asked(cx: &NodeContext<PlanExecute>) -> Result<Vec<Message>, Fault> {
    let (start, step) = sent_step(cx).ok_or_else(|| unprepared("the step is unknown"))?;
    let messages = prompt_of(&start.input, previous(&cx.state, &step));
    messages.map_err(|error| unprepared(&error.message))
}

fn unprepared(reason: &str) -> Fault {
    Fault::new(FaultCode::InvalidValue, reason.to_owned())
}

/// The result of the last step of an earlier stage.
pub(super) fn previous<'s>(state: &'s State, step: &PlanStep) -> Option<&'s Json> {
    state.earlier_steps(step).last().map(|entry| entry.processed())
}

/// Whether that stands in the prompt of a step.
pub(super) fn reads_previous(step: &PlanStep) -> bool {
    let input = &step.sub_task_input;
    input.get("data_from_previous_step") == Some(&Json::Bool(true))
        || input.values().any(|value| value.to_string().contains(PREVIOUS))
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

/// The messages that an input asks for.
///
/// # Errors
/// `InvalidInput` for a prompt that is blank, or a placeholder without a value.
pub(super) fn prompt_of(
    input: &Map<String, Json>,
    previous: Option<&Json>,
) -> Result<Vec<Message>, StepError> {
    if let Some(messages) = input.get("messages").and_then(Json::as_array) {
        let said: Vec<Message> = messages.iter().filter_map(message).collect();
        return if said.is_empty() { Err(blank()) } else { Ok(said) };
    }
    let prompt = if input.get("data_from_previous_step") == Some(&Json::Bool(true)) {
        plain_text(previous.unwrap_or(&Json::Null)).into_owned()
    } else if let Some(template) = input.get("prompt_template").and_then(Json::as_str) {
        from_template(template, input.get("prompt_params"), previous)?
    } else {
        plain_text(input.get("prompt").unwrap_or(&Json::Null)).into_owned()
    };
    if prompt.trim().is_empty() || prompt == "null" {
        return Err(blank());
    }
    Ok(vec![Message::user(escape(&prompt).into_owned())])
}

fn message(given: &Json) -> Option<Message> {
    let content = escape(given.get("content")?.as_str()?).into_owned();
    Some(match given.get("role")?.as_str()? {
        "system" => Message::system(content),
        "assistant" => Message::assistant(content),
        _ => Message::user(content),
    })
}

fn from_template(
    template: &str,
    params: Option<&Json>,
    previous: Option<&Json>,
) -> Result<String, StepError> {
    let invalid = |message: String| StepError::new(StepErrorKind::InvalidInput, message);
    let wanted = fields(template).map_err(|fault| invalid(fault.message.clone()))?;
    let mut values = Vec::new();
    for name in wanted {
        let given = params.and_then(|params| params.get(name));
        let is_previous = name == PREVIOUS
            || given.and_then(Json::as_str).is_some_and(|text| text == "{previous_step_output}");
        let value = if is_previous { previous } else { given };
        let value = value.filter(|value| !value.is_null());
        let Some(value) = value else {
            return Err(invalid(format!("a placeholder of the prompt has no value: {name}")));
        };
        values.push((name, plain_text(value).into_owned()));
    }
    let values: Vec<(&str, &str)> =
        values.iter().map(|(name, value)| (*name, value.as_str())).collect();
    fill(template, &values).map_err(|fault| invalid(fault.message.clone()))
}

fn blank() -> StepError {
    StepError::new(StepErrorKind::InvalidInput, "the prompt is blank")
}
