//! The answer: composed by a model from what the agents have found, and compared with it by code;
//! or without a model.

use antiphon_core::command::Destinations;
use antiphon_core::{Fault, Message, Schema};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::agent_result::{AgentError, AgentResult};
use super::grounding;
use super::request::AgentName;
use super::sql::query;
use super::state::State;
use super::tabular::TabularResult;
use super::trace_event::{TraceEventKind, agent_failure, event, role_failure};
use super::{DataAnalyst, api, dispatch};
use crate::builder::RoleNode;
use crate::computation::RejectedWording;
use crate::delimited_input::DelimitedInput;
use crate::node::{NodeContext, StateView, goto};
use crate::patch::Patch;
use crate::reply::{RoleReply, answer_text, object};
use antiphon_figures::FigureEvidence;

#[derive(Deserialize)]
struct AnswerReply {
    answer: String,
}

/// Composes the answer.
pub(super) fn composer() -> RoleNode<DataAnalyst> {
    RoleNode {
        role: "composer",
        schema: Schema::new("answer", object(&json!({"answer": answer_text()}))),
        max_tool_calls: 0,
        begin: |_| {},
        conversation: composing,
        brief: |cx| {
            let rows = cx.system().config.preview_rows;
            let found: Vec<Json> = cx.state.results().map(|result| brief(result, rows)).collect();
            let (request, context) = (cx.input(), &cx.state.context);
            Ok(json!({
                "question": request.question, "facts": context, "results": found,
                "guidance": request.system_prompt, "rejected": cx.state.rejected,
            }))
        },
        conclude: composed,
    }
}

fn brief(result: &AgentResult, rows: usize) -> Json {
    json!({
        "agent": result.agent,
        "status": result.status,
        "answer": result.answer,
        "failure": result.error.as_ref().map(AgentError::public_text),
        "table": result.tabular.as_ref().map(|table| table.preview(rows)),
    })
}

fn composing(cx: &NodeContext<DataAnalyst>) -> Result<Vec<Message>, Fault> {
    let guidance = match cx.input().system_prompt.as_deref().map(str::trim) {
        None | Some("") => String::new(),
        Some(guidance) => format!("\n{guidance}\n"),
    };
    let fields = [("guidance", guidance.as_str())];
    let instructions = cx.system().resources.instructions("composer", "composer", &fields)?;
    let rows = cx.system().config.preview_rows;
    let mut delimited = DelimitedInput::new();
    for result in cx.state.results() {
        delimited.add_named("agent_result", result.agent.as_str(), &found_text(result, rows));
    }
    delimited.add("facts", &json!(cx.state.context).to_string());
    delimited.add("question", &cx.input().question);
    let opening = delimited.then("Answer the question from what was found.");
    let mut messages = vec![Message::system(instructions), Message::user(opening)];
    messages.extend(grounding::again(&cx.state.rejected));
    Ok(messages)
}

/// What an agent has found, for the model. Its errors are for the trace.
fn found_text(result: &AgentResult, rows: usize) -> String {
    let mut parts = Vec::new();
    match (&result.answer, &result.error) {
        (Some(answer), _) => parts.push(answer.clone()),
        (None, Some(error)) => parts.push(format!("Nothing was found: {}.", error.public_text())),
        (None, None) => {}
    }
    let table = result.tabular.as_ref().map(|table| table.preview(rows));
    parts.extend(table.filter(|table| !table.is_empty()));
    parts.join("\n")
}

fn composed(cx: &NodeContext<DataAnalyst>, mut reply: RoleReply) -> Result<Patch<State>, Fault> {
    let AnswerReply { answer } = reply.read()?;
    let mut patch = Patch::default();
    let differences = grounding::differences(&evidence(cx), &answer, tables(cx));
    if differences.is_empty() {
        let data = json!({"fallback": false});
        let said = event(cx, AgentName::Composer, TraceEventKind::Result, "composed", data);
        patch.set(State::answer, Some(answer)).set(State::trace, [said]);
        return Ok(patch);
    }
    let wording = RejectedWording { answer, differences };
    let refused = grounding::rejected(cx, AgentName::Composer, &wording);
    patch.set(State::rejected, [wording]).set(State::trace, [refused]);
    Ok(patch)
}

/// The tables that the answer is about: not those that were only computed with.
fn tables(cx: &NodeContext<DataAnalyst>) -> impl Iterator<Item = &TabularResult> {
    let found = cx.state.results().filter(|result| result.is_success());
    let asked = found.filter(|result| !cx.state.results().any(|other| other.uses(result.agent)));
    asked.filter_map(|result| result.tabular.as_ref())
}

/// All that the answer may state: no number at all, not even one of the question, if nothing was
/// found.
fn evidence(cx: &NodeContext<DataAnalyst>) -> FigureEvidence {
    if !cx.state.results().any(AgentResult::is_success) {
        return FigureEvidence::new();
    }
    let mut known = grounding::asked(cx);
    let rows = cx.system().config.preview_rows;
    for result in cx.state.results() {
        known.text(result.answer.as_deref().unwrap_or_default());
        if let Some(table) = &result.tabular {
            table.add_evidence(&mut known, rows);
        }
    }
    known
}

/// Composes the answer without a model. Here come questions too whose time or calls are over: rows
/// that an agent has found until then are its result.
pub(super) async fn compose_plainly(cx: NodeContext<DataAnalyst>) -> Result<Patch<State>, Fault> {
    let state = &cx.state;
    let results: Vec<Option<AgentResult>> =
        (0..state.plan().len()).map(|place| result_so_far(&cx, place)).collect();
    let is_fallback = !needs_no_model(results.iter().flatten(), state.compose_single);
    let mut patch = Patch::default();
    let mut trace = Vec::new();
    for ((place, agent), result) in state.plan().iter().enumerate().zip(&results) {
        match result {
            Some(found) if state.result(place).is_none() => {
                dispatch::finish_in(&cx, &mut patch, found.clone());
            }
            Some(_) => {}
            None => trace.push(agent_failure(&cx, *agent, &AgentError::unfinished())),
        }
    }
    if let Some((_, fault)) = &cx.call.handles {
        let error = AgentError::of_role("ComposerError", fault);
        trace.push(role_failure(&cx, AgentName::Composer, "composer", &error));
        patch.set(State::error, Some(fault.clone()));
    }
    let data = json!({"fallback": is_fallback});
    trace.push(event(&cx, AgentName::Composer, TraceEventKind::Result, "composed", data));
    patch
        .set(State::answer, Some(plain_answer(state, &results)))
        .set(State::composer_fallback, is_fallback)
        .set(State::trace, trace);
    Ok(patch)
}

/// The result at a place of the plan, also one that has yet to be put into words.
fn result_so_far(cx: &NodeContext<DataAnalyst>, place: usize) -> Option<AgentResult> {
    let state = &cx.state;
    state.result(place).cloned().or_else(|| match state.plan().get(place)? {
        AgentName::Sql => state.sql.has_result().then(|| query::result(cx)),
        AgentName::ApiDocs => state.api.has_result().then(|| api::result(cx)),
        _ => None,
    })
}

/// Whether there is nothing for a model to compose: no agent has worked, or a single one whose
/// answer is delivered as it is.
pub(super) fn needs_no_model<'r>(
    mut results: impl Iterator<Item = &'r AgentResult>,
    compose_single: bool,
) -> bool {
    match (results.next(), results.next()) {
        (None, _) => true,
        (Some(only), None) => !compose_single && only.is_success(),
        _ => false,
    }
}

fn plain_answer(state: &State, results: &[Option<AgentResult>]) -> String {
    let plan = state.plan();
    if plan.is_empty() {
        let why = state.planner.as_ref().map_or("", |planner| &planner.rationale);
        return format!("The question was not worked on: {why}.");
    }
    let mut sentences = Vec::new();
    for result in results.iter().flatten() {
        let name = result.agent.as_str();
        match (&result.answer, &result.error) {
            (Some(answer), _) if plan.len() == 1 => sentences.push(answer.clone()),
            (Some(answer), _) => sentences.push(format!("{name}: {answer}")),
            (None, Some(error)) => {
                sentences.push(format!("{name} has no answer: {}.", error.public_text()));
            }
            (None, None) => {}
        }
    }
    for (agent, result) in plan.iter().zip(results) {
        if result.is_none() {
            let name = agent.as_str();
            sentences.push(format!("{name} was not finished within the limits of the question."));
        }
    }
    sentences.join("\n")
}

/// Where the question goes after words were composed.
pub(super) fn next(view: &StateView<'_, '_>, most: usize) -> Result<Destinations<Json>, Fault> {
    Ok(goto(if view.get(State::answer)?.is_some() {
        "over"
    } else if view.get(State::rejected)?.len() < most {
        "again"
    } else {
        "plain"
    }))
}
