//! The first nodes: what a question starts with, and which tools it may use.

use antiphon_core::{Fault, ToolSpec};
use serde_json::json;

use super::AgenticSearch;
use super::state::State;
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

/// Finds the tools that may be used, in the order in which they were given.
pub(super) async fn discover(cx: NodeContext<AgenticSearch>) -> Result<Patch<State>, Fault> {
    let wanted = &cx.input().enabled_tools;
    let specs: Vec<ToolSpec> =
        cx.system().catalogue.tools().map(|tool| tool.spec().clone()).collect();
    let is_known = |name: &&String| specs.iter().any(|spec| spec.name == **name);
    let unknown: Vec<&String> = wanted.iter().filter(|name| !is_known(name)).collect();
    let is_enabled = |spec: &ToolSpec| wanted.is_empty() || wanted.contains(&spec.name);
    let enabled: Vec<ToolSpec> = specs.iter().filter(|spec| is_enabled(spec)).cloned().collect();
    let names: Vec<String> = enabled.iter().map(|spec| spec.name.clone()).collect();
    let data = json!({"count": names.len(), "names": names, "unknown_enabled": unknown});
    let first = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    let mut steps = vec![match names.len() {
        0 => "No tool can be used".to_owned(),
        1 => format!("1 tool can be used: {first}"),
        count => format!("{count} tools can be used: {first}"),
    }];
    steps.extend(unknown.iter().map(|name| format!("There is no tool of the name {name}")));
    let mut patch = Patch::default();
    if names.is_empty() {
        let message = if wanted.is_empty() {
            "no tool was given".to_owned()
        } else {
            format!("none of the enabled tools exists: {}", wanted.join(", "))
        };
        patch.set(State::error_message, Some(message));
    }
    patch
        .note("tools_discovered", data)
        .set(State::enabled_tools, names)
        .set(State::available_tools, enabled)
        .set(State::thinking_steps, steps);
    Ok(patch)
}
