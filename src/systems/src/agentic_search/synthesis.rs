//! From the reply of the synthesiser to an answer, whatever it looks like. Nothing is asked again.

use antiphon_core::{Fault, Message};
use antiphon_html::{escape, first_blocks, has_element, sanitize, to_markdown, to_text};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::AgenticSearch;
use super::conversation::day;
use super::grounding::{AnswerFigures, figures};
use super::plan::{ExecutionPlan, TaskStatus};
use super::source::{SearchSource, passages};
use super::state::{FinalResponse, SearchOutcome, State};
use crate::node::NodeContext;
use crate::patch::Patch;
use crate::reply::{RoleReply, beginning, cut_reply, is_placeholder};

/// What the synthesiser replies.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AnswerReply {
    reasoning: Option<String>,
    response_content: String,
    sources: Option<Vec<Json>>,
    sufficient: Option<bool>,
    missing: Option<String>,
}

/// Takes a reply over as the answer, or as a draft if it says that something is missing and
/// another plan is allowed. Of a reply that holds no answer nothing is taken over.
pub(super) fn conclude(
    cx: &NodeContext<AgenticSearch>,
    mut reply: RoleReply,
) -> Result<Patch<State>, Fault> {
    let mut patch = Patch::default();
    patch.set(State::has_replied, true);
    let said = reply.messages.last().map(|message: &Message| message.content.text().into_owned());
    let is_read = reply.value.as_ref().is_some_and(|value| !value.is_null());
    let (answer, level) = if is_read {
        (Some(reply.read::<AnswerReply>()?), 1)
    } else {
        rescued(&said.unwrap_or_default())
    };
    if level > 1 {
        patch.note("synthesis_fallback", json!({"level": level}));
    }
    let Some(answer) = answer else { return Ok(patch) };
    let response = response(cx, &answer, &mut patch);
    if response.markdown.trim().is_empty() || is_form(&response) {
        // Elements without any text, or the form as it was given.
        return Ok(patch);
    }
    let config = &cx.system().config;
    let may_replan = cx.state.current_turn_iteration_count < config.max_turn_iterations;
    if may_replan && config.replans() && answer.sufficient == Some(false) {
        let missing = answer.missing.unwrap_or_default();
        patch
            .note("answer_insufficient", json!({"missing": missing}))
            .set(State::thinking_steps, [format!("Something is missing: {missing}")])
            .set(State::missing, missing)
            .set(State::draft_response, Some(response));
        return Ok(patch);
    }
    deliver(cx, response, &mut patch);
    Ok(patch)
}

/// What stands before words whose end is missing.
const BREAKS_OFF: &str =
    "<p><strong>The answer breaks off: the limit of tokens cut off its end.</strong></p>";

/// The beginning of an answer that the limit of tokens cut off.
pub(super) fn unfinished(
    cx: &NodeContext<AgenticSearch>,
    patch: &mut Patch<State>,
) -> Option<FinalResponse> {
    let said = cut_reply(cx.state.error.as_ref())?;
    let answer = rescued(said).0.or_else(|| {
        let response_content = beginning(without_thoughts(said.trim()), "response_content")?;
        Some(AnswerReply { response_content, ..AnswerReply::default() })
    })?;
    let mut response = response(cx, &answer, patch);
    if is_form(&response) {
        return None;
    }
    response.response_content.insert_str(0, BREAKS_OFF);
    response.markdown = to_markdown(&response.response_content);
    Some(response)
}

/// Whether an answer is what the form has in its place, or nothing: a placeholder whose brackets
/// are not escaped is an element without a text.
fn is_form(response: &FinalResponse) -> bool {
    let text = to_text(&response.response_content);
    text.trim().is_empty() || is_placeholder(&text)
}

/// What stands before words that no result supports.
const UNSUPPORTED: &str =
    "<p><strong>No task has a result, so no source supports what follows.</strong></p>";

/// What stands before words that state what no result holds.
fn unsupported_lead(unsupported: &[String]) -> String {
    let items: Vec<String> =
        unsupported.iter().map(|one| format!("<li>{}</li>", escape(one))).collect();
    format!(
        "<p><strong>The results do not hold all that follows:</strong></p><ul>{}</ul>",
        items.concat()
    )
}

/// What to say if tasks have results, and all of them are empty.
fn nothing_found(plan: &ExecutionPlan) -> Option<&'static str> {
    let found = passages(plan);
    let is_empty = found.iter().all(|task| task.sources(|_| true).is_empty());
    (is_empty && !found.is_empty()).then_some("no task has found anything")
}

/// Takes an answer over. Without the result of any task, and with figures that stand in no result,
/// it is none, and says so.
pub(super) fn deliver(
    cx: &NodeContext<AgenticSearch>,
    mut response: FinalResponse,
    patch: &mut Patch<State>,
) {
    let (state, config) = (&cx.state, &cx.system().config);
    let plan = state.plan();
    let today = day(cx.call.cx.clock.now());
    let AnswerFigures { unsupported, computed } =
        figures(state, config, &today, &response.response_content);
    let has_failed = plan.with_status(TaskStatus::Failed).next().is_some();
    let outcome = match plan.lack().or_else(|| nothing_found(&plan)) {
        Some(lack) => {
            response.response_content.insert_str(0, UNSUPPORTED);
            response.markdown = to_markdown(&response.response_content);
            patch.set(State::error_message, Some(lack.to_owned()));
            SearchOutcome::FallbackHtml
        }
        None if !unsupported.is_empty() => {
            response.response_content.insert_str(0, &unsupported_lead(&unsupported));
            response.markdown = to_markdown(&response.response_content);
            let message = format!("the answer is not supported: {}", unsupported.join("; "));
            patch
                .note("answer_unsupported", json!({"differences": unsupported}))
                .set(State::error_message, Some(message))
                .set(State::unsupported, unsupported);
            SearchOutcome::Unsupported
        }
        None if has_failed => SearchOutcome::AnsweredPartial,
        None => SearchOutcome::Answered,
    };
    if !computed.is_empty() {
        patch
            .note("figures_computed", json!({"computed": computed}))
            .set(State::computed, computed);
    }
    let chars = response.response_content.chars().count();
    patch
        .note("response_generated", json!({"chars": chars}))
        .set(State::thinking_steps, [format!("The answer has {chars} characters")])
        .set(State::search_outcome, Some(outcome))
        .set(State::final_response, Some(response))
        .reset(State::error);
}

/// An answer in a reply that is no JSON of the form: its HTML, or its text; and the level of the
/// ladder at which it was found.
fn rescued(said: &str) -> (Option<AnswerReply>, u8) {
    let said = without_thoughts(said.trim());
    let is_json = said.starts_with(['{', '[']) || said.starts_with("```json") || said == "null";
    let found =
        |content: String| Some(AnswerReply { response_content: content, ..AnswerReply::default() });
    let text = if is_json { unescaped(said) } else { said.to_owned() };
    if let Some(html) = first_blocks(&text) {
        return (found(html), 2);
    }
    if said.is_empty() || is_json {
        return (None, 4);
    }
    (found(said.to_owned()), 3)
}

/// The text after what a model thought aloud before it; nothing if it was cut off in between.
fn without_thoughts(said: &str) -> &str {
    if !said.starts_with("<think>") {
        return said;
    }
    said.split_once("</think>").map_or("", |(_, rest)| rest.trim())
}

/// HTML out of a JSON text that is broken or cut off.
fn unescaped(json: &str) -> String {
    let html = json.find('<').and_then(|start| json.get(start..)).unwrap_or_default();
    let end = html.rfind("\",").filter(|_| !html.ends_with('>')).unwrap_or(html.len());
    let html = html.get(..end).unwrap_or(html);
    html.replace("\\\"", "\"").replace("\\n", "\n").replace("\\/", "/").replace("\\t", "\t")
}

/// A text that a model wrote as safe HTML: Markdown becomes HTML, HTML is sanitised.
fn safe_html(content: &str) -> String {
    if has_element(content) {
        return sanitize(content);
    }
    sanitize(&antiphon_markdown::to_html(content))
}

fn response(
    cx: &NodeContext<AgenticSearch>,
    answer: &AnswerReply,
    patch: &mut Patch<State>,
) -> FinalResponse {
    let mut html = safe_html(answer.response_content.trim());
    if html.trim().is_empty() {
        // Nothing of it may be shown as HTML.
        html = format!("<p>{}</p>", escape(answer.response_content.trim()));
    }
    let response_content = html.trim().to_owned();
    FinalResponse {
        markdown: to_markdown(&response_content),
        response_content,
        reasoning: answer.reasoning.clone().unwrap_or_default(),
        information_used: used(cx, answer.sources.as_deref(), patch),
    }
}

/// The sources that the answer names; all if it names none. Numbers without a result are left out.
fn used(
    cx: &NodeContext<AgenticSearch>,
    named: Option<&[Json]>,
    patch: &mut Patch<State>,
) -> Vec<SearchSource> {
    let plan = cx.state.plan();
    let all: Vec<SearchSource> =
        passages(&plan).iter().flat_map(|task| task.sources(|_| true)).collect();
    let named = named.unwrap_or_default();
    let is_of = |number: &Json, source: &SearchSource| *number == source.number;
    let unknown: Vec<Json> = named
        .iter()
        .filter(|number| all.iter().all(|source| !is_of(number, source)))
        .cloned()
        .collect();
    if !unknown.is_empty() {
        patch.note("sources_dropped", json!({"numbers": unknown}));
    }
    let is_chosen = |source: &&SearchSource| named.iter().any(|number| is_of(number, source));
    let chosen: Vec<SearchSource> = all.iter().filter(is_chosen).cloned().collect();
    if chosen.is_empty() { all } else { chosen }
}
