//! Which agents work on a question, and in which order.

use std::collections::BTreeMap;

use antiphon_core::{Fault, Message, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::DataAnalyst;
use super::agent_result::AgentError;
use super::failure::handled;
use super::heuristic::{CandidateSelection, select};
use super::request::AgentName;
use super::state::State;
use super::temporal::attach_time;
use super::trace_event::{TraceEvent, TraceEventKind, event, role_failure};
use crate::builder::RoleNode;
use crate::delimited_input::DelimitedInput;
use crate::node::NodeContext;
use crate::patch::Patch;
use crate::reply::{RoleReply, object};

/// The decision of the planner.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PlannerDecision {
    /// Why these agents.
    pub rationale: String,
    /// The agents, in the order in which they work.
    pub chosen_agents: Vec<AgentName>,
    /// How sure the planner is, from 0 to 1.
    pub confidence: Option<f64>,
    /// What the choice was limited to: `candidates`, `scores`, `disabled`, `preferred`, and whether
    /// the plan is a `fallback`.
    pub guardrails: Map<String, Json>,
    /// The agents whose results an agent needs.
    #[schemars(with = "BTreeMap<String, Vec<String>>")]
    pub depends_on: BTreeMap<AgentName, Vec<AgentName>>,
}

#[derive(Deserialize)]
struct PlanReply {
    agents: Vec<String>,
    #[serde(default)]
    rationale: String,
    #[serde(default)]
    confidence: Option<f64>,
    #[serde(default)]
    depends_on: BTreeMap<String, Vec<String>>,
}

/// Adds the time to the context, and finds the agents that the question can be for. A choice of
/// one is none, so no model is asked for it.
pub(super) async fn attach(cx: NodeContext<DataAnalyst>) -> Result<Patch<State>, Fault> {
    let (system, request) = (cx.system(), cx.input());
    let context = attach_time(&request.context, cx.call.cx.clock.now(), system.config.fill_hours);
    let found = select(request, &system.config, &system.available());
    let mut patch = Patch::default();
    let guardrails = guardrails(&cx, &found);
    let (rationale, confidence) = match &*found.candidates {
        [] => ("every agent for the question is disabled", Some(0.0)),
        [_] => ("the only agent for the question", Some(1.0)),
        _ => ("", None),
    };
    if confidence.is_some() {
        let rationale = rationale.to_owned();
        let chosen_agents = found.candidates.clone();
        let decision = PlannerDecision {
            rationale,
            chosen_agents,
            confidence,
            guardrails: guardrails.clone(),
            ..PlannerDecision::default()
        };
        let decided = decide(&cx, &mut patch, decision);
        patch.set(State::trace, [decided]);
    }
    let compose_single = system.config.compose_single || request.system_prompt.is_some();
    patch
        .set(State::compose_single, compose_single)
        .set(State::context, context)
        .set(State::candidates, found.candidates)
        .set(State::guardrails, guardrails);
    Ok(patch)
}

fn guardrails(cx: &NodeContext<DataAnalyst>, found: &CandidateSelection) -> Map<String, Json> {
    let request = cx.input();
    let fields = [
        ("candidates", json!(found.candidates)),
        ("scores", json!(found.scores)),
        ("preferred", json!(request.prefer_agents)),
        ("disabled", json!(request.disable_agents)),
        ("fallback", json!(false)),
    ];
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Takes a decision over; returns its event.
fn decide(
    cx: &NodeContext<DataAnalyst>,
    patch: &mut Patch<State>,
    decision: PlannerDecision,
) -> TraceEvent {
    let data = json!({
        "agents": decision.chosen_agents,
        "confidence": decision.confidence,
        "scores": decision.guardrails.get("scores"),
        "fallback": decision.guardrails.get("fallback"),
    });
    let decided = event(cx, AgentName::Planner, TraceEventKind::Decision, "execution order", data);
    patch.set(State::planner, Some(decision));
    decided
}

/// The plan in place of a planner that has failed: the candidates as they are.
pub(super) async fn fall_back(cx: NodeContext<DataAnalyst>) -> Result<Patch<State>, Fault> {
    let mut guardrails = cx.state.guardrails.clone();
    guardrails.insert("fallback".to_owned(), Json::Bool(true));
    let (_, fault) = handled(&cx);
    guardrails.insert("error".to_owned(), json!(fault.code));
    let error = AgentError::of_role("PlannerError", &fault);
    let failed = role_failure(&cx, AgentName::Planner, "planner", &error);
    let decision = PlannerDecision {
        rationale: "heuristic".to_owned(),
        chosen_agents: cx.state.candidates.clone(),
        confidence: Some(cx.system().config.fallback_confidence),
        guardrails,
        ..PlannerDecision::default()
    };
    let mut patch = Patch::default();
    let decided = decide(&cx, &mut patch, decision);
    patch.set(State::trace, [failed, decided]).set(State::error, Some(fault));
    Ok(patch)
}

/// The role that chooses among the candidates.
pub(super) fn planner() -> RoleNode<DataAnalyst> {
    let names = json!({"type": "array", "items": {"type": "string"}});
    let fields = json!({
        "rationale": {"type": "string"},
        "agents": names,
        "confidence": {"type": ["number", "null"]},
        "depends_on": {"type": "object", "additionalProperties": names},
    });
    let mut schema = object(&fields);
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("required".to_owned(), json!(["agents"]));
    }
    RoleNode {
        role: "planner",
        schema: Schema::new("plan", schema),
        max_tool_calls: 0,
        begin: |_| {},
        conversation: |cx| {
            let candidates = &cx.state.candidates;
            let listed: Vec<String> = candidates
                .iter()
                .map(|agent| format!("- {}: {}", agent.as_str(), about(*agent)))
                .collect();
            let listed = listed.join("\n");
            let resources = &cx.system().resources;
            let fields = [("agents", listed.as_str())];
            let instructions = resources.instructions("planner", "planner", &fields)?;
            let keys: Vec<&String> = cx.state.context.keys().collect();
            let mut delimited = DelimitedInput::new();
            delimited.add("facts", &json!({"known": keys}).to_string());
            delimited.add("question", &cx.input().question);
            let opening = delimited.then("Choose the agents for the question.");
            Ok(vec![Message::system(instructions), Message::user(opening)])
        },
        brief: |cx| {
            let request = cx.input();
            Ok(json!({
                "question": request.question, "candidates": cx.state.candidates,
                "preferred": request.prefer_agents, "disabled": request.disable_agents,
            }))
        },
        conclude: planned,
    }
}

const fn about(agent: AgentName) -> &'static str {
    match agent {
        AgentName::Sql => {
            "queries the database; finds, counts and adds up what is stored there; lists its tables and columns"
        }
        AgentName::ApiDocs => {
            "calls the HTTP API; finds what its endpoints return; lists the endpoints"
        }
        AgentName::Computation => "computes with code; can use what the other agents have found",
        AgentName::Planner => "chooses agents",
        AgentName::Composer => "words the answer",
    }
}

fn planned(cx: &NodeContext<DataAnalyst>, mut reply: RoleReply) -> Result<Patch<State>, Fault> {
    let reply: PlanReply = reply.read()?;
    let candidates = &cx.state.candidates;
    let known = |names: &[String]| {
        let mut agents = Vec::new();
        for agent in names.iter().filter_map(|name| AgentName::parse(name)) {
            if candidates.contains(&agent) && !agents.contains(&agent) {
                agents.push(agent);
            }
        }
        agents
    };
    let mut chosen_agents = known(&reply.agents);
    if chosen_agents.is_empty() {
        chosen_agents.clone_from(candidates);
    }
    let needs = |(agent, names): (&String, &Vec<String>)| {
        let agent = AgentName::parse(agent).filter(|agent| chosen_agents.contains(agent))?;
        Some((agent, known(names).into_iter().filter(|other| *other != agent).collect()))
    };
    let depends_on = reply.depends_on.iter().filter_map(needs).collect();
    let decision = PlannerDecision {
        rationale: reply.rationale,
        depends_on,
        chosen_agents,
        confidence: reply.confidence.map(share),
        guardrails: cx.state.guardrails.clone(),
    };
    let mut patch = Patch::default();
    let decided = decide(cx, &mut patch, decision);
    patch.set(State::trace, [decided]);
    Ok(patch)
}

/// A confidence from 0 to 1; models also write percentages.
fn share(confidence: f64) -> f64 {
    let share =
        if confidence > 1.0 && confidence <= 100.0 { confidence / 100.0 } else { confidence };
    if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
}
