//! The first nodes: what a question starts with, and which tools it may use.

use antiphon_core::{Fault, ToolSpec};
use serde_json::json;

use super::AgenticSearch;
use super::state::State;
use super::tools::DiscoveredTools;
use crate::node::NodeContext;
use crate::patch::Patch;

/// Names of tools that a reader sees.
const SHOWN: usize = 5;

/// Starts a question; the conversation of the thread stays.
pub(super) async fn initialize(cx: NodeContext<AgenticSearch>) -> Result<Patch<State>, Fault> {
    let query = cx.input().question.trim().to_owned();
    let turns = cx.state.conversation_history.len();
    let step = match turns {
        0 => format!("Question: {query}"),
        turns => format!("Question: {query} (a follow-up, turn {})", turns + 1),
    };
    let mut patch = Patch::default();
    patch
        .note("session_started", json!({"followup": turns > 0, "history_turns": turns}))
        .set(State::query, query)
        .set(State::is_followup_query, turns > 0)
        .set(State::thinking_steps, [step]);
    Ok(patch)
}

/// Finds the tools that may be used: those that were given, then those of registries, each in
/// their order. A registry without a list takes only its own tools away.
pub(super) async fn discover(cx: NodeContext<AgenticSearch>) -> Result<Patch<State>, Fault> {
    let mut patch = Patch::default();
    let DiscoveredTools { tools, failed } = cx.data().discover(&cx.call.cx.clock).await;
    let mut steps = Vec::new();
    for (registry, fault) in &failed {
        steps.push(format!("There are no tools of {registry}: {}", fault.message));
        let data = json!({"registry": registry, "code": fault.code, "message": fault.message});
        patch.note("discovery_failed", data);
    }
    let mut specs = Vec::new();
    for tool in &tools {
        match cx.system().parsers.parser(tool.spec()) {
            Ok(_) => specs.push(tool.spec().clone()),
            Err(fault) => {
                let data = json!({"tool": tool.spec().name, "reason": fault.message});
                patch.note("tool_unusable", data);
            }
        }
    }
    let wanted = &cx.input().enabled_tools;
    let is_known = |name: &&String| specs.iter().any(|spec| spec.name == **name);
    let unknown: Vec<&String> = wanted.iter().filter(|name| !is_known(name)).collect();
    let is_enabled = |spec: &ToolSpec| wanted.is_empty() || wanted.contains(&spec.name);
    let enabled: Vec<ToolSpec> = specs.iter().filter(|spec| is_enabled(spec)).cloned().collect();
    let names: Vec<String> = enabled.iter().map(|spec| spec.name.clone()).collect();
    let data = json!({"count": names.len(), "names": names, "unknown_enabled": unknown});
    let first = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    steps.push(match names.len() {
        0 => "No tool can be used".to_owned(),
        1 => format!("1 tool can be used: {first}"),
        count => format!("{count} tools can be used: {first}"),
    });
    steps.extend(unknown.iter().map(|name| format!("There is no tool of the name {name}")));
    let failure = failed.into_iter().next().map(|(_, fault)| fault);
    if names.is_empty() {
        let message = match &failure {
            Some(fault) => fault.message.clone(),
            None if wanted.is_empty() => "no tool was given".to_owned(),
            None => format!("none of the enabled tools exists: {}", wanted.join(", ")),
        };
        patch.set(State::error_message, Some(message));
    }
    patch
        .note("tools_discovered", data)
        .set(State::enabled_tools, names)
        .set(State::available_tools, enabled)
        .set(State::discovery_error, failure)
        .set(State::thinking_steps, steps);
    Ok(patch)
}
