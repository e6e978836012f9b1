//! One step: which comes next, its searches, and what it has found.

use antiphon_citation::without_repetitions;
use antiphon_core::{Fault, Schema};
use serde_json::json;

use super::DeepResearch;
use super::classification::QueryMode;
use super::config::ResearcherMode;
use super::coordinator::{QueriesReply, fail, queries_schema, role_failed, usable};
use super::lookup::{Lookup, LookupPhase};
use super::next_node::NextNode;
use super::plan::{PlanStep, StepStatus};
use super::prompt::{
    add_observations, add_source, agent_started, brief, conversation, question_inputs,
};
use super::source::ResearchSource;
use super::state::{Observation, State};
use super::topic::{excerpt, related, topic_words};
use crate::builder::RoleNode;
use crate::delimited_input::{DelimitedInput, cut};
use crate::node::NodeContext;
use crate::patch::Patch;
use crate::prompts::ModelTier;
use crate::reply::{RoleReply, object, text};

/// Characters of an earlier observation that the researcher reads.
const OBSERVATION: usize = 1_500;
/// Sources that an observation without a model shows, and characters of each.
const SHOWN: (usize, usize) = (5, 500);

/// Begins the next step, unless there is none, the time is over or nothing is found any more.
pub(super) async fn route_step(cx: NodeContext<DeepResearch>) -> Result<Patch<State>, Fault> {
    let state = &cx.state;
    let config = &cx.system().config;
    let mut patch = Patch::default();
    let mut plan = state.plan();
    let failed = state.all_observations.iter().rev().take_while(|it| it.failed).count();
    let may_begin = cx.times().may_begin_step(cx.elapsed()) && failed < config.max_failed_steps;
    let next = plan.next().filter(|_| may_begin);
    let Some(step) = next.and_then(|place| plan.steps.get_mut(place)) else {
        cx.go_to(&mut patch, NextNode::Synthesize);
        return Ok(patch);
    };
    step.status = StepStatus::InProgress;
    let data = json!({
        "step_index": next, "step_id": step.id, "step_title": step.title,
        "step_type": step.step_type,
    });
    let is_classic = cx.is_web_search()
        || config.depth(state.effective_depth).researcher == ResearcherMode::Classic;
    let next_node = match (step.searches() && !cx.data().tools.search().is_empty(), is_classic) {
        (false, _) => NextNode::Observe,
        (true, true) => NextNode::Queries,
        (true, false) => NextNode::Research,
    };
    patch
        .note("step_started", data)
        .set(State::current_step_index, next.unwrap_or_default())
        .set(State::current_plan, Some(plan))
        .reset(State::step_work);
    cx.go_to(&mut patch, next_node);
    Ok(patch)
}

/// What the researcher reads of a step.
pub(super) fn step_inputs(cx: &NodeContext<DeepResearch>) -> DelimitedInput {
    let state = &cx.state;
    let mut inputs = question_inputs(state);
    let last = cx.system().config.max_previous_observations;
    add_observations(&mut inputs, state, last, OBSERVATION);
    if let Some(step) = state.step() {
        inputs.add("research_step", &format!("{}\n{}", step.title, step.description));
    }
    inputs
}

/// The role that chooses the searches of a step.
pub(super) fn queries() -> RoleNode<DeepResearch> {
    RoleNode {
        role: "researcher",
        schema: queries_schema(),
        max_tool_calls: 0,
        begin: |cx| agent_started(cx, "researcher"),
        conversation: |cx| {
            let most = most_queries(cx).to_string();
            let fields = [("max_queries", most.as_str())];
            let inputs = step_inputs(cx);
            conversation(cx, ("researcher", "queries"), &fields, &inputs, "Choose the searches.")
        },
        brief: |cx| Ok(brief(&cx.state)),
        conclude: |cx, mut reply| {
            let QueriesReply { queries } = reply.read()?;
            let mut patch = Patch::default();
            look_up(cx, &queries, &mut patch);
            Ok(patch)
        },
    }
}

/// The searches if the role has failed: the title of the step with the question.
pub(super) async fn queries_plainly(cx: NodeContext<DeepResearch>) -> Result<Patch<State>, Fault> {
    let mut patch = Patch::default();
    role_failed(&cx, &mut patch, "RESEARCH_STEP_FAILED");
    look_up(&cx, &[], &mut patch);
    Ok(patch)
}

fn most_queries(cx: &NodeContext<DeepResearch>) -> usize {
    let config = &cx.system().config;
    config.max_generated_queries.min(config.depth(cx.state.effective_depth).max_search_queries)
}

fn look_up(cx: &NodeContext<DeepResearch>, queries: &[String], patch: &mut Patch<State>) {
    let mut queries = usable(queries, most_queries(cx));
    if queries.is_empty() {
        let title = cx.state.step().map_or("", |step| &step.title);
        let is_question = title == cx.state.query;
        let query =
            if is_question { title.to_owned() } else { format!("{title} {}", cx.state.query) };
        queries.push(query);
    }
    let searches = cx.searches(&queries, cx.system().config.max_search_results);
    let phase = LookupPhase::Search;
    patch.set(State::lookup, Lookup { phase, searches, pages: Vec::new() });
    cx.go_to(patch, NextNode::LookUp);
}

/// The role that words what a step has found.
pub(super) fn observe() -> RoleNode<DeepResearch> {
    RoleNode {
        role: "researcher",
        schema: Schema::new("observation", object(&json!({"observation": text()}))),
        max_tool_calls: 0,
        begin: |cx| agent_started(cx, "researcher"),
        conversation: |cx| {
            let mut inputs = step_inputs(cx);
            let most = cx.system().config.content_preview;
            let found = &cx.state.step_work.found;
            let is_small = cx.system().resources.roles.tier("researcher") == ModelTier::Small;
            let related = if is_small { related(&cx.state, found) } else { Vec::new() };
            let shown = if related.is_empty() { found } else { &related };
            for source in cx.state.sources_of(shown) {
                add_source(&mut inputs, source, most);
            }
            conversation(cx, ("researcher", "observer"), &[], &inputs, "Write the observation.")
        },
        brief: |cx| Ok(brief(&cx.state)),
        conclude: |cx, mut reply| {
            let mut patch = Patch::default();
            match observation_text(&mut reply) {
                Some(text) => complete(cx, &text, false, &mut patch),
                None => conclude_plainly(cx, &mut patch),
            }
            Ok(patch)
        },
    }
}

/// The observation in a reply: its field, or the text of one that has another form.
fn observation_text(reply: &mut RoleReply) -> Option<String> {
    let said = reply.messages.last().map(|message| message.content.text().into_owned());
    let field = reply.value.take()?;
    let text = match field.get("observation").and_then(serde_json::Value::as_str) {
        Some(text) => text.to_owned(),
        None => said.filter(|said| !said.trim_start().starts_with(['{', '[']))?,
    };
    Some(without_repetitions(text.trim())).filter(|text| !text.is_empty())
}

/// Concludes a step without a model: it has failed, or the time is over.
pub(super) async fn conclude_step(cx: NodeContext<DeepResearch>) -> Result<Patch<State>, Fault> {
    let mut patch = Patch::default();
    if cx.state.error.is_some() {
        role_failed(&cx, &mut patch, "RESEARCH_STEP_FAILED");
    }
    conclude_plainly(&cx, &mut patch);
    Ok(patch)
}

/// Completes the step with what its best sources say about it.
pub(super) fn conclude_plainly(cx: &NodeContext<DeepResearch>, patch: &mut Patch<State>) {
    let work = &cx.state.step_work;
    let mut best = work.record.good.clone();
    let read = work.read.iter().chain(&work.found);
    for number in read {
        if !best.contains(number) {
            best.push(*number);
        }
    }
    let (most, characters) = SHOWN;
    let topics = topic_words(&cx.state);
    let shown = cx.state.sources_of(&best).take(most);
    let part = |(number, source): (usize, &ResearchSource)| {
        let text = excerpt(source, &topics, characters);
        (!text.is_empty()).then(|| format!("{} [{number}]: {text}", source.name()))
    };
    let parts: Vec<String> = shown.filter_map(part).collect();
    if parts.is_empty() {
        let log = work.log.join("; ");
        let why = if log.is_empty() { "nothing was looked up" } else { &log };
        complete(cx, &format!("Nothing was found: {why}."), true, patch);
    } else {
        complete(cx, &parts.join("\n\n"), false, patch);
    }
}

/// Takes the observation of a step over, once, and goes on.
pub(super) fn complete(
    cx: &NodeContext<DeepResearch>,
    text: &str,
    failed: bool,
    patch: &mut Patch<State>,
) {
    let state = &cx.state;
    let place = state.current_step_index;
    let Some(PlanStep { id, title, .. }) = state.step() else {
        cx.go_to(patch, NextNode::Synthesize);
        return;
    };
    let mut plan = state.plan();
    plan.complete(place, text);
    if failed {
        fail(patch, ("RESEARCH_STEP_FAILED", text), true);
    }
    let observation = Observation {
        step_id: id.clone(),
        step_title: title.clone(),
        text: text.to_owned(),
        sources: state.step_work.found.clone(),
        failed,
    };
    let data = json!({
        "step_index": place, "step_id": id, "failed": failed,
        "observation_summary": cut(text, 200), "sources_found": observation.sources.len(),
    });
    patch
        .note("step_completed", data)
        .set(State::all_observations, [observation])
        .set(State::current_plan, Some(plan))
        .set(State::current_step_index, place + 1);
    let is_deep = cx.input().query_mode == QueryMode::DeepResearch;
    cx.go_to(patch, if is_deep { NextNode::Reflect } else { NextNode::Synthesize });
}
