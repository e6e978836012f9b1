//! The node that has agents work: one after the other, or those side by side that do not depend on
//! each other.

use std::collections::BTreeMap;

use antiphon_core::Fault;
use antiphon_core::command::{Destination, Destinations};
use serde_json::{Value as Json, json};

use super::DataAnalyst;
use super::agent_result::{AgentError, AgentExecutionStatus, AgentResult};
use super::compose::needs_no_model;
use super::config::Config;
use super::request::AgentName;
use super::state::State;
use super::trace_event::{TraceEventKind, agent_failure, event};
use crate::node::{NodeContext, StateView, goto};
use crate::patch::Patch;

/// Begins the agents whose turn it is, and skips those that have none.
pub(super) async fn dispatch(cx: NodeContext<DataAnalyst>) -> Result<Patch<State>, Fault> {
    let (state, config) = (&cx.state, &cx.system().config);
    let mut patch = Patch::default();
    patch.set(State::wave, Vec::new());
    if state.running.iter().any(|place| state.result(*place).is_none()) {
        return Ok(patch);
    }
    let plan = state.plan();
    let open: Vec<usize> = (0..plan.len()).filter(|place| state.result(*place).is_none()).collect();
    let worked = state.results().filter(|it| it.status != AgentExecutionStatus::Skipped).count();
    let turns = cx.input().max_turns.map_or(usize::MAX, |turns| turns as usize);
    let turns_left = turns.saturating_sub(worked);
    if turns_left == 0 {
        for place in open {
            skip(
                &cx,
                &mut patch,
                place,
                AgentError::new("MaxTurns", "`max_turns` agents have worked"),
            );
        }
        return Ok(patch);
    }
    let needs = dependencies(state);
    if config.require_dependencies {
        let failed = |place: &usize| {
            let agent = plan.get(*place).and_then(|agent| needs.get(agent));
            agent.into_iter().flatten().any(|other| has_failed(state, *other))
        };
        let lost: Vec<usize> = open.iter().copied().filter(failed).collect();
        if !lost.is_empty() {
            let message = "an agent that it depends on has failed";
            for place in &lost {
                skip(&cx, &mut patch, *place, AgentError::new("DependencyFailed", message));
            }
            let wave = next_wave(state, &without(&open, &lost), &needs, config);
            begin(&mut patch, wave, turns_left);
            return Ok(patch);
        }
    }
    begin(&mut patch, next_wave(state, &open, &needs, config), turns_left);
    Ok(patch)
}

fn without(open: &[usize], lost: &[usize]) -> Vec<usize> {
    open.iter().copied().filter(|place| !lost.contains(place)).collect()
}

fn begin(patch: &mut Patch<State>, mut wave: Vec<usize>, turns_left: usize) {
    wave.truncate(turns_left);
    patch.set(State::wave, wave.clone()).set(State::running, wave);
}

fn skip(cx: &NodeContext<DataAnalyst>, patch: &mut Patch<State>, place: usize, error: AgentError) {
    let Some(agent) = cx.state.plan().get(place) else { return };
    let data = json!({"reason": error.kind});
    let skipped = event(cx, *agent, TraceEventKind::Decision, "skipped", data);
    let mut result = AgentResult::unanswered(*agent, AgentExecutionStatus::Skipped, error);
    result.trace.push(skipped.clone());
    patch.set(State::agent_results, (place, result)).set(State::trace, [skipped]);
}

/// The agents whose results an agent of the plan needs: what the planner says, and for a
/// computation all that find data.
fn dependencies(state: &State) -> BTreeMap<AgentName, Vec<AgentName>> {
    let mut needs = state.planner.as_ref().map(|it| it.depends_on.clone()).unwrap_or_default();
    let of_computation = needs.entry(AgentName::Computation).or_default();
    for agent in [AgentName::Sql, AgentName::ApiDocs] {
        if state.plan().contains(&agent) && !of_computation.contains(&agent) {
            of_computation.push(agent);
        }
    }
    needs
}

fn has_failed(state: &State, agent: AgentName) -> bool {
    state.results().any(|result| result.agent == agent && !result.is_success())
}

/// The places of the plan that begin together, of those that are open.
fn next_wave(
    state: &State,
    open: &[usize],
    needs: &BTreeMap<AgentName, Vec<AgentName>>,
    config: &Config,
) -> Vec<usize> {
    let first = || open.first().copied().into_iter().collect();
    if config.max_parallel_agents == 1 {
        return first();
    }
    let plan = state.plan();
    let is_open = |agent: &AgentName| open.iter().any(|place| plan.get(*place) == Some(agent));
    let is_ready = |place: &usize| {
        let needed = plan.get(*place).and_then(|agent| needs.get(agent));
        !needed.into_iter().flatten().any(is_open)
    };
    let ready: Vec<usize> =
        open.iter().copied().filter(is_ready).take(config.max_parallel_agents).collect();
    // Agents that need each other work in the order of the plan.
    if ready.is_empty() { first() } else { ready }
}

/// Stores the result of an agent at its place in the plan; the last event of one that has failed
/// is its failure.
pub(super) fn finish(cx: &NodeContext<DataAnalyst>, result: AgentResult) -> Patch<State> {
    let mut patch = Patch::default();
    finish_in(cx, &mut patch, result);
    patch
}

/// As [`finish`], in a patch that has more.
pub(super) fn finish_in(
    cx: &NodeContext<DataAnalyst>,
    patch: &mut Patch<State>,
    mut result: AgentResult,
) {
    if let Some(error) = &result.error {
        result.trace.push(agent_failure(cx, result.agent, error));
    }
    if let Some(place) = cx.state.plan().iter().position(|agent| *agent == result.agent) {
        patch.set(State::trace, result.trace.clone()).set(State::agent_results, (place, result));
    }
}

/// Where the question goes from the dispatcher.
pub(super) fn next(view: &StateView<'_, '_>) -> Result<Destinations<Json>, Fault> {
    let plan = view.get(State::planner)?.unwrap_or_default().chosen_agents;
    let results = view.get(State::agent_results)?;
    let wave = view.get(State::wave)?;
    let starts = wave.iter().filter_map(|place| plan.get(*place));
    let starts: Vec<Destination<Json>> =
        starts.map(|agent| Destination::Name(agent.as_str().into())).collect();
    if !starts.is_empty() {
        return Ok(starts.into_iter().collect());
    }
    let is_done = |place: usize| results.get(place).is_some_and(Option::is_some);
    let waits = view.get(State::running)?.iter().any(|place| !is_done(*place));
    Ok(goto(if waits {
        "wait"
    } else if !(0..plan.len()).all(is_done) {
        "again"
    } else if needs_no_model(results.iter().flatten(), view.get(State::compose_single)?) {
        "plain"
    } else {
        "compose"
    }))
}
