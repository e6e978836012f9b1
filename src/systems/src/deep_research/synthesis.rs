//! The end of a question: the report, an answer without research, and what the thread keeps.

use antiphon_core::{Fault, Schema};
use serde_json::{Value as Json, json};

use super::coordinator::{fail, role_failed};
use super::draft::whole_beginning;
use super::next_node::NextNode;
use super::prompt::{
    add_observations, add_source, agent_started, brief, brief_with, conversation, guidance,
    question_inputs,
};
use super::request::{HistoryMessage, MessageRole};
use super::state::{ResearchOutcome, State};
use super::unfinished_report::UnfinishedReport;
use super::{DeepResearch, citing};
use crate::builder::RoleNode;
use crate::citation::CitesSources;
use crate::node::NodeContext;
use crate::patch::Patch;
use crate::reply::{RoleReply, answer_text, cut_reply, object, text};

/// Characters of an observation that the report is written from.
const OBSERVATION: usize = 8_000;
/// The code of a report that no model has written.
pub(super) const SYNTHESIS_FAILED: &str = "SYNTHESIS_FAILED";
/// What a reader learns of a report that a model has not brought to its end.
pub(super) const BREAKS_OFF: &str = "the report breaks off: the model has not written its end";
/// Characters of a message that the thread keeps.
const LONGEST: usize = 4_000;

/// Skips the steps that were not researched, and begins the report if there is something to
/// write it from.
pub(super) async fn synthesize(cx: NodeContext<DeepResearch>) -> Result<Patch<State>, Fault> {
    let state = &cx.state;
    let mut patch = Patch::default();
    let mut plan = state.plan();
    let skipped = plan.skip_open();
    if !skipped.is_empty() {
        let titles: Vec<_> = skipped.iter().map(|step| &step.title).collect();
        patch.note("steps_skipped", json!({"titles": titles}));
        patch.set(State::skipped_steps, skipped).set(State::current_plan, Some(plan));
    }
    if state.sources.all().is_empty() {
        let is_late = !cx.times().may_begin_step(cx.elapsed());
        let next = if cx.is_web_search() { NextNode::FallBack } else { NextNode::Deliver };
        if is_late && state.all_observations.is_empty() {
            fail(&mut patch, ("RESEARCH_TIMEOUT", "the time was over before a step"), false);
            patch.set(State::research_outcome, Some(ResearchOutcome::TimeoutPartial));
        } else if !cx.is_web_search() {
            patch.set(State::research_outcome, Some(ResearchOutcome::NothingFound));
        }
        cx.go_to(&mut patch, next);
        return Ok(patch);
    }
    let data = json!({
        "total_observations": state.all_observations.len(),
        "total_sources": state.sources.all().len(),
    });
    patch.note("synthesis_started", data).set(State::has_synthesis, true);
    // A report in a caller's form takes the same way, if need be without verdicts.
    if cx.input().verifies() || cx.system().config.output.is_some() {
        citing::start(&cx, &mut patch)?;
        cx.go_to(&mut patch, NextNode::Cite);
    } else {
        cx.go_to(&mut patch, NextNode::Write);
    }
    Ok(patch)
}

/// The role that writes the report.
pub(super) fn synthesiser() -> RoleNode<DeepResearch> {
    RoleNode {
        role: "synthesiser",
        schema: Schema::new("report", object(&json!({"report": text()}))),
        max_tool_calls: 0,
        begin: |cx| agent_started(cx, "synthesiser"),
        conversation: writing,
        brief: |cx| {
            let depth = cx.system().config.depth(cx.state.effective_depth);
            let words = json!([depth.min_words, depth.max_words]);
            let instructions = json!(cx.input().system_instructions);
            Ok(brief_with(&cx.state, [("words", words), ("instructions", instructions)]))
        },
        conclude: |cx, reply| Ok(written(cx, &reply)),
    }
}

fn writing(cx: &NodeContext<DeepResearch>) -> Result<Vec<antiphon_core::Message>, Fault> {
    let state = &cx.state;
    let mut inputs = question_inputs(state);
    add_observations(&mut inputs, state, usize::MAX, OBSERVATION);
    for found in (1..).zip(state.sources.all()) {
        add_source(&mut inputs, found, 0);
    }
    let depth = cx.system().config.depth(state.effective_depth);
    let (least, most) = (depth.min_words.to_string(), depth.max_words.to_string());
    let guidance = guidance(cx);
    let fields = [
        ("min_words", least.as_str()),
        ("max_words", most.as_str()),
        ("guidance", guidance.as_str()),
    ];
    conversation(cx, ("synthesiser", "synthesiser"), &fields, &inputs, "Write the report.")
}

/// The text in a reply: its field, or all of one that is no JSON.
fn reply_text(reply: &RoleReply, field: &str) -> Option<String> {
    let value = reply.value.as_ref().and_then(|value| value.get(field)).and_then(Json::as_str);
    let said = || reply.messages.last().map(|message| message.content.text().into_owned());
    let text = value.map(str::to_owned).or_else(said)?;
    let text = text.trim();
    let is_json = value.is_none() && text.starts_with(['{', '[']) && text.ends_with(['}', ']']);
    (!text.is_empty() && !is_json).then(|| text.to_owned())
}

fn written(cx: &NodeContext<DeepResearch>, reply: &RoleReply) -> Patch<State> {
    let mut patch = Patch::default();
    let Some(text) = reply_text(reply, "report") else {
        cx.go_to(&mut patch, NextNode::ReportPlainly);
        return patch;
    };
    take_over(&cx.state, &text, &mut patch);
    patch.set(State::research_outcome, Some(ResearchOutcome::Completed));
    cx.go_to(&mut patch, NextNode::Deliver);
    patch
}

/// Holds the links of a report to the sources, and takes it over.
fn take_over(state: &State, text: &str, patch: &mut Patch<State>) {
    take(state, UnfinishedReport::linked(&state.sources, text), patch);
}

fn take(state: &State, report: UnfinishedReport, patch: &mut Patch<State>) {
    let removed = report.links_removed;
    if removed > 0 {
        patch.note("links_removed", json!({"count": removed}));
    }
    if let Some(run) = report.citation {
        DeepResearch::keep_run(state, run, patch);
    }
    patch
        .set(State::written_report, report.text)
        .set(State::links_removed, removed)
        .set(State::sources, report.sources);
}

/// The report without the model that should have written it: what there is of it, else what the
/// steps have found, under their titles. A web search is given up instead.
pub(super) async fn report_plainly(cx: NodeContext<DeepResearch>) -> Result<Patch<State>, Fault> {
    let state = &cx.state;
    let mut patch = Patch::default();
    if cx.is_web_search() {
        cx.go_to(&mut patch, NextNode::FallBack);
        return Ok(patch);
    }
    let is_late = cx.elapsed() >= cx.times().synthesis || !state.has_synthesis;
    let (code, outcome) = if is_late {
        ("RESEARCH_TIMEOUT", ResearchOutcome::TimeoutPartial)
    } else {
        (SYNTHESIS_FAILED, ResearchOutcome::Degraded)
    };
    role_failed(&cx, &mut patch, code);
    let draft = &cx.data().draft;
    let report = UnfinishedReport::of(state, draft);
    if report.as_ref().is_some_and(|report| report.is_cut) {
        patch.set(State::warnings, vec![BREAKS_OFF.to_owned()]);
    } else if draft.is_shown() {
        patch.note("content_reset", json!({"reason": code}));
    }
    if let Some(report) = report {
        take(state, report, &mut patch);
    }
    patch.set(State::research_outcome, Some(outcome));
    cx.go_to(&mut patch, NextNode::Deliver);
    Ok(patch)
}

/// Gives up a web search: the question is answered directly, with the sources found so far.
pub(super) async fn fall_back(cx: NodeContext<DeepResearch>) -> Result<Patch<State>, Fault> {
    let mut patch = Patch::default();
    let is_late = cx.elapsed() >= cx.times().synthesis;
    let code = if is_late { "WEB_SEARCH_TIMEOUT" } else { "WEB_SEARCH_FAILED" };
    let fault = cx.state.error.as_ref().map(|fault| fault.message.as_str());
    let message = if is_late { "the web search took too long" } else { "the web search failed" };
    fail(&mut patch, (code, fault.filter(|_| !is_late).unwrap_or(message)), true);
    if cx.state.has_synthesis {
        // Chunks of the report may have been shown.
        patch.note("content_reset", json!({"reason": code}));
    }
    patch.reset(State::error).set(State::research_outcome, Some(ResearchOutcome::FallbackSimple));
    cx.go_to(&mut patch, NextNode::Respond);
    Ok(patch)
}

/// The role that answers without research.
pub(super) fn responder() -> RoleNode<DeepResearch> {
    RoleNode {
        role: "responder",
        schema: Schema::new("response", object(&json!({"response": answer_text()}))),
        max_tool_calls: 0,
        begin: |cx| agent_started(cx, "responder"),
        conversation: |cx| {
            let mut inputs = question_inputs(&cx.state);
            let most = cx.system().config.content_preview;
            for found in (1..).zip(cx.state.sources.all()) {
                add_source(&mut inputs, found, most);
            }
            let guidance = guidance(cx);
            let fields = [("guidance", guidance.as_str())];
            conversation(cx, ("responder", "responder"), &fields, &inputs, "Answer the question.")
        },
        brief: |cx| Ok(brief(&cx.state)),
        conclude: |cx, reply| {
            let mut patch = Patch::default();
            if let Some(text) = reply_text(&reply, "response") {
                take_over(&cx.state, &text, &mut patch);
                let outcome = cx.state.research_outcome.unwrap_or(ResearchOutcome::Direct);
                patch.set(State::research_outcome, Some(outcome));
            } else {
                patch.set(State::research_outcome, Some(ResearchOutcome::Failed));
            }
            cx.go_to(&mut patch, NextNode::Deliver);
            Ok(patch)
        },
    }
}

/// The answer without research has failed.
pub(super) async fn respond_failed(cx: NodeContext<DeepResearch>) -> Result<Patch<State>, Fault> {
    let mut patch = Patch::default();
    let fault = cx.state.error.as_ref();
    let message = fault.map_or("no answer was given", |fault| &fault.message);
    fail(&mut patch, (SYNTHESIS_FAILED, message), false);
    let outcome = match cut_reply(fault).and_then(|raw| whole_beginning(raw, "response")) {
        Some(text) => {
            take_over(&cx.state, &text, &mut patch);
            patch.set(State::warnings, vec![BREAKS_OFF.to_owned()]);
            ResearchOutcome::Degraded
        }
        None => ResearchOutcome::Failed,
    };
    patch.set(State::research_outcome, Some(outcome));
    cx.go_to(&mut patch, NextNode::Deliver);
    Ok(patch)
}

/// Concludes the question: one checkpoint has the answer, its sources and the conversation.
pub(super) async fn deliver(cx: NodeContext<DeepResearch>) -> Result<Patch<State>, Fault> {
    let state = &cx.state;
    let mut patch = Patch::default();
    let duration = u64::try_from(cx.elapsed().as_millis()).unwrap_or(u64::MAX);
    let data = json!({
        "outcome": state.research_outcome,
        "total_steps_executed": state.all_observations.len(),
        "total_steps_skipped": state.skipped_steps.len(),
        "plan_iterations": state.plan_iterations,
        "total_duration_ms": duration,
    });
    patch.note("research_completed", data);
    let mut history = state.conversation_history.clone();
    let message = |role, content: &str| HistoryMessage {
        role,
        content: content.chars().take(LONGEST).collect(),
    };
    history.push(message(MessageRole::User, &state.query));
    if !state.written_report.is_empty() {
        history.push(message(MessageRole::Assistant, &state.written_report));
    }
    let most = cx.system().config.history_turns.saturating_mul(2);
    history.drain(..history.len().saturating_sub(most));
    patch
        .set(State::final_report, state.written_report.clone())
        .reset(State::written_report)
        .set(State::conversation_history, history)
        .set(State::chat_sources, state.sources.clone())
        .set(State::completed_at, Some(cx.call.cx.clock.now().to_string()));
    Ok(patch)
}
