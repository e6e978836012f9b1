//! The first nodes: what a question starts with, what kind of question it is, what a person has to
//! say about it, and the searches before the first plan.

use antiphon_core::{Fault, Schema};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::DeepResearch;
use super::classification::{ClarificationSituation, Depth, QueryClassification, QueryMode};
use super::direct_response::DirectResponse;
use super::lookup::{Lookup, LookupPhase};
use super::next_node::NextNode;
use super::plan::{PlanDraft, ResearchPlan};
use super::prompt::{agent_started, brief, conversation, is_copied, question_inputs};
use super::source::SourceRegistry;
use super::state::{ClarificationRound, ResearchError, ResearchOutcome, State};
use super::unfinished_report::UnfinishedReport;
use crate::builder::RoleNode;
use crate::node::{NodeContext, NodeExit};
use crate::patch::Patch;
use crate::reply::{RoleReply, text};

/// Characters of a question that is its own search.
const QUERY: usize = 200;

/// Starts a question; the conversation and the sources of the thread stay.
pub(super) async fn begin(cx: NodeContext<DeepResearch>) -> Result<Patch<State>, Fault> {
    let input = cx.input();
    let query = input.question.trim().to_owned();
    let mut sources: Vec<_> = cx.state.chat_sources.all().to_vec();
    sources.extend(input.existing_sources.iter().cloned());
    let mut sources = SourceRegistry::from(sources);
    sources.begin_question();
    let mut patch = Patch::default();
    patch.note(
        "research_started",
        json!({"mode": input.query_mode, "sources": sources.all().len()}),
    );
    if !input.conversation_history.is_empty() {
        patch.set(State::conversation_history, input.conversation_history.clone());
    }
    let can_search = !cx.data().tools.search().is_empty() || !sources.all().is_empty();
    let next = match input.query_mode {
        QueryMode::Simple => NextNode::Respond,
        _ if !can_search => {
            fail(&mut patch, ("SEARCH_UNAVAILABLE", "no tool can search"), false);
            patch.set(State::research_outcome, Some(ResearchOutcome::NothingFound));
            NextNode::Deliver
        }
        QueryMode::WebSearch => {
            let plan = ResearchPlan::revised(None, PlanDraft::of_question(&query), 1);
            patch
                .set(State::current_plan, Some(plan))
                .set(State::plan_iterations, 1_usize)
                .set(State::effective_depth, Depth::Light);
            NextNode::RouteStep
        }
        QueryMode::DeepResearch => NextNode::Coordinate,
    };
    cx.go_to(&mut patch, next);
    patch
        .set(State::query, query)
        .set(State::sources, sources)
        .set(State::started_at, cx.call.cx.clock.now().to_string());
    Ok(patch)
}

/// Notes what went wrong, for the trace and the result.
pub(super) fn fail(patch: &mut Patch<State>, (code, message): (&str, &str), recoverable: bool) {
    let error = ResearchError {
        error_code: code.to_owned(),
        error_message: message.to_owned(),
        recoverable,
    };
    patch.note("error", json!(error)).set(State::errors, [error]);
}

/// Notes that a role has failed, and takes its fault back: the question goes on.
pub(super) fn role_failed(cx: &NodeContext<DeepResearch>, patch: &mut Patch<State>, code: &str) {
    let fault = cx.state.error.as_ref();
    fail(patch, (code, fault.map_or("the role has failed", |fault| &fault.message)), true);
    patch.reset(State::error);
}

/// The roles that write what is delivered.
const WRITERS: [&str; 3] = ["synthesiser", "reporter", "responder"];

/// As [`role_failed`], before anything was searched. If no model can be asked that would write the
/// report, the question ends with that fault, and a thread takes it up from here.
pub(super) fn goes_on_without(
    cx: &NodeContext<DeepResearch>,
    patch: &mut Patch<State>,
    code: &str,
) -> Result<(), Fault> {
    if let Some(fault) = cx.scope.requests.dead_end(&cx.system().resources.roles, &WRITERS) {
        return Err(fault);
    }
    role_failed(cx, patch, code);
    Ok(())
}

/// The role that classifies the question.
pub(super) fn coordinator() -> RoleNode<DeepResearch> {
    let one_of = |names: &[&str]| json!({"enum": names});
    let texts = json!({"type": ["array", "null"], "items": {"type": "string"}});
    let schema = json!({
        "type": "object",
        "properties": {
            "reasoning": {"type": ["string", "null"]},
            "is_simple_query": {"type": "boolean"},
            "direct_response": {"type": ["string", "null"]},
            "complexity": one_of(&["simple", "moderate", "complex"]),
            "follow_up_type": one_of(&["new_topic", "clarification", "complex_follow_up"]),
            "is_ambiguous": {"type": "boolean"},
            "clarifying_questions": texts,
            "recommended_depth": one_of(&["auto", "light", "medium", "extended"]),
        },
        "required": ["is_simple_query", "complexity"],
    });
    RoleNode {
        role: "coordinator",
        schema: Schema::new("classification", schema),
        max_tool_calls: 0,
        begin: |cx| agent_started(cx, "coordinator"),
        conversation: |cx| {
            let most = cx.system().config.max_clarifying_questions.to_string();
            let inputs = question_inputs(&cx.state);
            let fields = [("max_questions", most.as_str())];
            conversation(
                cx,
                ("coordinator", "coordinator"),
                &fields,
                &inputs,
                "Classify the question.",
            )
        },
        brief: |cx| Ok(brief(&cx.state)),
        conclude: classified,
    }
}

#[derive(Deserialize)]
struct CoordinatorReply {
    #[serde(flatten)]
    fields: serde_json::Map<String, Json>,
}

fn classified(cx: &NodeContext<DeepResearch>, mut reply: RoleReply) -> Result<Patch<State>, Fault> {
    let CoordinatorReply { mut fields } = reply.read()?;
    fields.retain(|_, value| !value.is_null());
    let direct = fields.get("direct_response").and_then(Json::as_str).map(str::trim);
    let direct = direct.filter(|text| !text.is_empty()).map(str::to_owned);
    let says_simple = fields.get("is_simple_query") == Some(&Json::Bool(true));
    let is_simple = says_simple && needs_no_research(&cx.state, direct.as_deref());
    let mut found = QueryClassification::deserialize(Json::Object(fields)).unwrap_or_default();
    found.clarifying_questions.retain(|question| !question.trim().is_empty());
    found.clarifying_questions.truncate(cx.system().config.max_clarifying_questions);
    let mut patch = Patch::default();
    if says_simple && !is_simple {
        patch.note("direct_response_declined", json!({"direct_response": direct}));
    }
    if is_simple {
        let next = if direct.is_some() { NextNode::Deliver } else { NextNode::Respond };
        if let Some(answer) = direct {
            let report = UnfinishedReport::linked(&cx.state.sources, &answer);
            patch
                .set(State::written_report, report.text)
                .set(State::links_removed, report.links_removed)
                .set(State::sources, report.sources)
                .set(State::direct_response, Some(answer))
                .set(State::research_outcome, Some(ResearchOutcome::Direct));
        }
        cx.go_to(&mut patch, next);
    } else {
        resolve(cx, &found, &mut patch);
    }
    patch.set(State::query_classification, Some(found));
    Ok(patch)
}

/// Whether the question may be answered without research, whatever the coordinator says.
fn needs_no_research(state: &State, response: Option<&str>) -> bool {
    let conversation: Vec<&str> =
        state.conversation_history.iter().map(|message| message.content.as_str()).collect();
    DirectResponse { query: &state.query, conversation: &conversation, response }.is_admissible()
}

/// Asks a person, or begins the research in the depth that the question needs.
fn resolve(cx: &NodeContext<DeepResearch>, found: &QueryClassification, patch: &mut Patch<State>) {
    let config = &cx.system().config;
    let situation = ClarificationSituation {
        classified: found,
        is_enabled: cx.input().enable_clarification,
        rounds: cx.state.clarification_history.len(),
        max_rounds: config.max_clarification_rounds,
    };
    if situation.needs_person() {
        cx.go_to(patch, NextNode::Clarify);
        return;
    }
    patch.set(State::effective_depth, Depth::resolve(cx.input().research_depth, Some(found)));
    let can_search = config.background_investigation && !cx.data().tools.search().is_empty();
    cx.go_to(patch, if can_search { NextNode::Background } else { NextNode::Plan });
}

/// What counts if the coordinator has failed.
pub(super) async fn coordinate_plainly(
    cx: NodeContext<DeepResearch>,
) -> Result<Patch<State>, Fault> {
    let mut patch = Patch::default();
    goes_on_without(&cx, &mut patch, "COORDINATOR_FAILED")?;
    let usual = QueryClassification::default();
    resolve(&cx, &usual, &mut patch);
    patch.set(State::query_classification, Some(usual));
    Ok(patch)
}

/// Asks a person what the question means.
pub(super) async fn clarify(cx: NodeContext<DeepResearch>) -> Result<NodeExit<State>, Fault> {
    let classified = cx.state.query_classification.as_ref();
    let questions = classified.map_or_else(Vec::new, |it| it.clarifying_questions.clone());
    let Some(answer) = cx.answers().first() else {
        let round = cx.state.clarification_history.len() + 1;
        cx.note("clarification_needed", json!({"questions": questions, "round": round}));
        return Ok(NodeExit::Ask(json!(questions.join("\n"))));
    };
    let answer = answer.as_str().map_or_else(|| answer.to_string(), str::to_owned);
    let mut patch = Patch::default();
    patch.set(State::clarification_history, [ClarificationRound { questions, answer }]);
    cx.go_to(&mut patch, NextNode::Coordinate);
    Ok(patch.into())
}

/// The role that chooses the searches before the first plan.
pub(super) fn background() -> RoleNode<DeepResearch> {
    RoleNode {
        role: "background",
        schema: queries_schema(),
        max_tool_calls: 0,
        begin: |cx| agent_started(cx, "background"),
        conversation: |cx| {
            let most = cx.system().config.max_background_queries.to_string();
            let inputs = question_inputs(&cx.state);
            let fields = [("max_queries", most.as_str())];
            conversation(cx, ("background", "background"), &fields, &inputs, "Choose the searches.")
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

/// The searches if the role has failed: the question itself.
pub(super) async fn background_plainly(
    cx: NodeContext<DeepResearch>,
) -> Result<Patch<State>, Fault> {
    let mut patch = Patch::default();
    goes_on_without(&cx, &mut patch, "BACKGROUND_FAILED")?;
    look_up(&cx, &[], &mut patch);
    Ok(patch)
}

fn look_up(cx: &NodeContext<DeepResearch>, queries: &[String], patch: &mut Patch<State>) {
    let config = &cx.system().config;
    let mut queries = usable(queries, config.max_background_queries);
    if queries.is_empty() {
        queries.push(cx.state.query.chars().take(QUERY).collect());
    }
    let searches = cx.searches(&queries, config.background_results_per_query);
    let phase = LookupPhase::Background;
    patch.set(State::lookup, Lookup { phase, searches, pages: Vec::new() });
    cx.go_to(patch, NextNode::LookUp);
}

/// Queries that say something, each once.
pub(super) fn usable(queries: &[String], most: usize) -> Vec<String> {
    let mut usable: Vec<String> = Vec::new();
    let own = queries.iter().map(|query| query.trim());
    for query in own.filter(|query| !query.is_empty() && !is_copied(query)) {
        if usable.iter().all(|known| known != query) {
            usable.push(query.to_owned());
        }
    }
    usable.truncate(most);
    usable
}

/// The schema of a list of searches.
pub(super) fn queries_schema() -> Schema {
    let fields = json!({"queries": {"type": "array", "items": text()}});
    Schema::new("queries", crate::reply::object(&fields))
}

/// A list of searches.
#[derive(Deserialize)]
pub(super) struct QueriesReply {
    pub(super) queries: Vec<String>,
}
