//! The graph: every agent returns to the orchestrator, which sends the next.

use std::sync::Arc;

use antiphon_core::agent::{AgentSpec, AgentTool};
use antiphon_core::approval::Approval;
use antiphon_core::channel::ChannelId;
use antiphon_core::graph::{END, Graph, GraphBuilder, Node, NodeWork, START};
use antiphon_core::{Fault, FaultCode, Schema, ToolSpec};
use antiphon_reply::CompiledSchema;
use serde_json::Value as Json;

use super::config::Config;
use super::reply::{parser, schema};
use super::role_schema::narrowed;
use super::roles::{RoleImplementation, RoleModel, Roles, STEPS};
use super::state::State;
use super::step::StepName;
use crate::state::{INPUT, declare};

pub(super) const ORCHESTRATOR: &str = "orchestrator";
pub(super) const CRITIC: &str = "critic";
/// The finalizer without its model.
pub(super) const BYPASS: &str = "finalizer_bypass";

/// The router after the start: a new question, or one under way.
pub(super) const ENTRY: u32 = 0;
/// The router after the orchestrator: whoever it sends.
pub(super) const DISPATCH: u32 = 1;

/// The node that does a step; critics share one.
pub(super) const fn node_of(step: StepName) -> &'static str {
    if step.is_critic() { CRITIC } else { step.as_str() }
}

/// Builds the graph.
pub(super) fn build(config: &Config, roles: &Roles) -> Result<Arc<Graph<Json>>, Fault> {
    let mut graph = Graph::builder("review_loop");
    let error = declare::<State>(&mut graph);
    graph.node(INPUT);
    graph.node(ORCHESTRATOR);
    for step in STEPS {
        graph.add_node(Node {
            name: node_of(step).into(),
            work: work(step, config, roles)?,
            policy: roles.policy(step),
        });
    }
    graph.node(BYPASS);
    connect(&mut graph, error);
    graph.build().map_err(|error| Fault::new(error.code(), error.to_string()))
}

fn connect(graph: &mut GraphBuilder<Json>, error: Option<ChannelId>) {
    let entries = [("question", INPUT), ("state", ORCHESTRATOR)];
    graph.branch(START, "entry", ENTRY, Some(&entries));
    graph.edge(INPUT, ORCHESTRATOR);
    let mut steps: Vec<(&str, &str)> = StepName::ALL
        .iter()
        .filter(|step| **step != StepName::Input)
        .map(|step| (step.as_str(), node_of(*step)))
        .collect();
    steps.push((BYPASS, BYPASS));
    graph.branch(ORCHESTRATOR, "step", DISPATCH, Some(&steps));
    for agent in ["planner", CRITIC, "researcher", "expert"] {
        graph.edge(agent, ORCHESTRATOR).on_error_goto(agent, ORCHESTRATOR, error);
    }
    graph.edge("finalizer", END).on_error_goto("finalizer", ORCHESTRATOR, error);
    graph.edge(BYPASS, END);
    graph.on_budget(BYPASS);
}

/// What a step's node does: an agent loop, or a call of the caller's code.
fn work(step: StepName, config: &Config, roles: &Roles) -> Result<NodeWork<Json>, Fault> {
    let RoleImplementation::Model(role_model) = roles.implementation(step) else {
        return Ok(NodeWork::Call);
    };
    let specs = roles.tools(step).iter().map(|tool| tool.spec().clone());
    let tools = specs.map(|spec| tool(spec, config)).collect::<Result<Vec<_>, Fault>>()?;
    let max_tool_calls = tool_calls(step, config, role_model);
    // Each turn calls a tool, concludes or is asked again, so this many are
    // never spent before one of the other limits.
    let enough = max_tool_calls.saturating_add(config.max_reasks).saturating_add(2);
    let mut tags = role_model.tags.clone();
    tags.insert("role".to_owned(), node_of(step).to_owned());
    let spec = AgentSpec {
        tools,
        output: Some(Arc::new(output(step, config, role_model)?)),
        temperature: role_model.temperature.or(config.temperature),
        max_output_tokens: role_model.max_output_tokens,
        max_reasks: config.max_reasks,
        max_tool_calls,
        max_turns: role_model.max_turns.unwrap_or(enough),
        tags,
        ..AgentSpec::default()
    };
    Ok(NodeWork::Agent(Arc::new(spec)))
}

/// What a model has to reply with.
fn output(
    step: StepName,
    config: &Config,
    role_model: &RoleModel,
) -> Result<CompiledSchema, Fault> {
    let Some(own) = &role_model.output else { return parser(step, config) };
    CompiledSchema::compile(&narrowed(schema(step, config), own, node_of(step))?)
}

/// Calls of tools per attempt.
fn tool_calls(step: StepName, config: &Config, role_model: &RoleModel) -> u32 {
    let (set, usual) = match step {
        StepName::Researcher => (config.researcher.max_tool_calls, Config::RESEARCHER_TOOL_CALLS),
        StepName::Expert => (config.expert.max_tool_calls, Config::EXPERT_TOOL_CALLS),
        _ if role_model.tools.is_some() => (None, AgentSpec::MAX_TOOL_CALLS),
        _ => (None, 0),
    };
    role_model.max_tool_calls.or(set).unwrap_or(usual)
}

fn tool(mut spec: ToolSpec, config: &Config) -> Result<AgentTool, Fault> {
    if spec.approval == Approval::Person {
        return Err(nobody_to_ask(&spec.name));
    }
    spec.timeout = spec.timeout.or_else(|| Some(config.tool_timeout()));
    let schema = Schema::new(spec.name.clone(), spec.parameters.clone());
    Ok(AgentTool { arguments: Arc::new(CompiledSchema::compile(&schema)?), spec })
}

fn nobody_to_ask(tool: &str) -> Fault {
    let message = format!(
        "a person has to approve of the calls of a tool, and a review loop cannot pause for one: {tool}"
    );
    Fault::new(FaultCode::ApprovalUnavailable, message)
        .with("tool", tool)
        .hint("give the tool an `approval` that decides at once, or use it in a team of agents")
}
