//! The graph: every agent returns to the orchestrator, which sends the next.

use antiphon_core::command::Destinations;
use antiphon_core::graph::{END, START};
use antiphon_core::{Fault, FaultCode};
use serde_json::{Value as Json, json};

use super::answerability;
use super::brief::RoleBrief;
use super::calculation;
use super::conclude::conclude;
use super::config::Config;
use super::conversation::{RoleTask, conversation};
use super::finalize::bypass;
use super::input::{begin, day};
use super::message::{MessageFactory, attempts};
use super::orchestrate::orchestrate;
use super::prompt::instructions;
use super::reply::schema;
use super::state::State;
use super::step::StepName;
use super::{CriticOptions, ExpertChecks, ReviewLoop};
use crate::builder::{RoleDefaults, RoleNode, SystemBuilder};
use crate::node::{NodeContext, StateView, fan_out, goto};
use crate::role::RoleSpec;

const INPUT: &str = "input";
const ORCHESTRATOR: &str = "orchestrator";
pub(super) const CRITIC: &str = "critic";
const EXPERT: &str = "expert";
/// Asks whether anybody could know the answer.
const ANSWERABILITY: &str = "answerability";
/// Asks whether the expert needs its calculators.
const CALCULATION: &str = "calculation";
/// The expert where it does not.
const WITHOUT_TOOLS: &str = "expert_without_tools";
/// The finalizer without its model.
const BYPASS: &str = "finalizer_bypass";

/// The way of a rejected answer back to the planner.
const ESCALATION: &str = "needs_research";

/// The roles, in the order of a question without rejections.
pub(super) const ROLES: &[RoleSpec] = &[
    role("planner", "Splits the question into steps.", false),
    role(CRITIC, "Reviews plans, research and answers.", false),
    role("researcher", "Looks things up.", true),
    role("expert", "Works out the answer.", true),
    role("finalizer", "Puts the answer into its final words.", false),
];

const fn role(name: &'static str, description: &'static str, has_tools: bool) -> RoleSpec {
    RoleSpec { name, description, has_tools }
}

/// A step of each role.
const STEPS: [StepName; 5] = [
    StepName::Planner,
    StepName::CriticPlanner,
    StepName::Researcher,
    StepName::Expert,
    StepName::Finalizer,
];

/// The role and the node that do a step; critics share one.
pub(super) const fn role_of(step: StepName) -> &'static str {
    if step.is_critic() { CRITIC } else { step.as_str() }
}

/// Adds everything to the graph.
pub(super) fn build(
    config: &Config,
    critic: CriticOptions,
    checks: ExpertChecks,
    graph: &mut SystemBuilder<ReviewLoop>,
) -> Result<(), Fault> {
    let tool_timeout = Some(config.tool_timeout());
    let Config { temperature, max_reasks, .. } = *config;
    graph.defaults(RoleDefaults { temperature, max_reasks, tool_timeout });
    graph.node(INPUT, async |cx: NodeContext<ReviewLoop>| {
        begin(cx.input(), &cx.system().config, cx.call.cx.clock.now())
    });
    graph.node(ORCHESTRATOR, async |cx| {
        let ReviewLoop { config, words_answers, .. } = cx.system();
        Ok::<_, Fault>(orchestrate(&cx.state, config, *words_answers, &mut factory(&cx)))
    });
    graph.node(BYPASS, async |cx| Ok::<_, Fault>(bypass(&cx.state, &mut factory(&cx))));
    for step in STEPS {
        graph.role(role_of(step), role_node(step, config, critic))?;
    }
    graph.role_aside(ANSWERABILITY, answerability::role())?;
    graph.role_aside(CALCULATION, calculation::role())?;
    graph.role_without_tools(WITHOUT_TOOLS, role_node(StepName::Expert, config, critic))?;
    connect(graph, checks, critic.escalates);
    Ok(())
}

fn connect(graph: &mut SystemBuilder<ReviewLoop>, checks: ExpertChecks, escalates: bool) {
    graph.branch(START, "entry", &[("question", INPUT), ("state", ORCHESTRATOR)], |view| {
        Ok(goto(if view.has_input() { "question" } else { "state" }))
    });
    let first = [ANSWERABILITY, ORCHESTRATOR].map(|node| (node, node));
    graph.branch(INPUT, "first", &first, move |view| {
        // A file may have what no book has.
        let is_checked = checks.answerability && view.get(State::file)?.is_none();
        Ok(goto(if is_checked { ANSWERABILITY } else { ORCHESTRATOR }))
    });
    graph.edge(ANSWERABILITY, ORCHESTRATOR).on_error_goto(ANSWERABILITY, ORCHESTRATOR);
    let mut steps: Vec<(&str, &str)> = StepName::ALL
        .iter()
        .filter(|step| **step != StepName::Input)
        .map(|step| (step.as_str(), role_of(*step)))
        .collect();
    steps.extend([CALCULATION, WITHOUT_TOOLS, BYPASS].map(|node| (node, node)));
    steps.extend(escalates.then_some((ESCALATION, StepName::Planner.as_str())));
    graph.branch(ORCHESTRATOR, "step", &steps, move |view| next(view, checks.calculation));
    let experts = [(EXPERT, EXPERT), (WITHOUT_TOOLS, WITHOUT_TOOLS)];
    graph.branch(CALCULATION, "tools", &experts, expert);
    graph.on_error_goto(CALCULATION, ORCHESTRATOR);
    for agent in ["planner", CRITIC, "researcher", EXPERT, WITHOUT_TOOLS] {
        graph.edge(agent, ORCHESTRATOR).on_error_goto(agent, ORCHESTRATOR);
    }
    graph.edge("finalizer", END).on_error_goto("finalizer", ORCHESTRATOR);
    graph.edge(BYPASS, END);
    graph.on_budget(BYPASS);
}

/// Whom the orchestrator sends: research goes out as a wave, one task per step.
fn next(view: &StateView<'_, '_>, checks_calculation: bool) -> Result<Destinations<Json>, Fault> {
    let name = view.get(State::current_step)?;
    Ok(match StepName::parse(&name) {
        Some(StepName::Finalizer) if view.get(State::bypass)? => goto(BYPASS),
        Some(StepName::Expert) if checks_calculation => expert(view)?,
        Some(StepName::Planner) if view.get(State::critic_expert_needs_research)? => {
            goto(ESCALATION)
        }
        Some(step) if step.is_research() => {
            fan_out(role_of(step), view.get(State::wave)?.into_iter().map(Json::from))
        }
        _ => goto(&name),
    })
}

/// The expert with or without its calculators, once it is known which.
fn expert(view: &StateView<'_, '_>) -> Result<Destinations<Json>, Fault> {
    Ok(goto(match view.get(State::needs_calculation)? {
        None => CALCULATION,
        Some(true) => EXPERT,
        Some(false) => WITHOUT_TOOLS,
    }))
}

fn role_node(step: StepName, config: &Config, critic: CriticOptions) -> RoleNode<ReviewLoop> {
    RoleNode {
        role: role_of(step),
        schema: schema(step, config, critic),
        max_tool_calls: match step {
            StepName::Researcher => config.researcher_max_tool_calls,
            StepName::Expert => config.expert_max_tool_calls,
            _ => 0,
        },
        begin: announce,
        conversation: |cx| {
            let (task, system) = (task(cx)?, cx.system());
            let today = match &*cx.state.asked_on {
                // A state that came from elsewhere may not know.
                "" => day(cx.call.cx.clock.now()),
                known => known.to_owned(),
            };
            let has_tools = system.has_tools(task.step, &cx.state);
            let instructions = instructions(task.step, system, has_tools, &today)?;
            conversation(task, &cx.state, system, instructions)
        },
        brief: |cx| {
            let ReviewLoop { config, resources, .. } = cx.system();
            Ok(json!(RoleBrief::new(task(cx)?, &cx.state, config, &resources.roles)))
        },
        conclude: |cx, reply| conclude(task(cx)?, reply, &cx.state, cx.system(), &mut factory(cx)),
    }
}

/// Says that a worker begins.
fn announce(cx: &NodeContext<ReviewLoop>) {
    let Ok(RoleTask { step, step_id }) = task(cx) else { return };
    let attempt = attempts(&cx.state.agent_messages, step.into(), step_id);
    match step {
        StepName::Researcher => {
            cx.note("research_started", json!({"index": step_id, "attempt": attempt}));
        }
        StepName::Expert => cx.note("expert_started", json!({ "attempt": attempt })),
        _ => {}
    }
}

/// What a role has to do: the present step, which also tells a critic's mode.
fn task(cx: &NodeContext<ReviewLoop>) -> Result<RoleTask, Fault> {
    let name = &cx.state.current_step;
    let step = StepName::parse(name).ok_or_else(|| {
        let message = format!("unknown step: {name}");
        Fault::new(FaultCode::ReviewStateCorrupt, message)
    })?;
    Ok(RoleTask { step, step_id: cx.sent() })
}

fn factory(cx: &NodeContext<ReviewLoop>) -> MessageFactory {
    MessageFactory::new(cx.call.cx.seed, cx.call.cx.clock.now())
}
