//! The conversation of a thread.

use antiphon_core::Fault;
use antiphon_html::to_text;
use serde_json::json;

use super::AgenticSearch;
use super::state::{HistoryTurn, State};
use crate::node::NodeContext;
use crate::patch::Patch;

/// Characters of an answer that the conversation keeps.
const LONGEST: usize = 4_000;

/// Adds the question and its answer; the oldest turns go.
pub(super) async fn save(cx: NodeContext<AgenticSearch>) -> Result<Patch<State>, Fault> {
    let mut patch = Patch::default();
    let Some(response) = &cx.state.final_response else { return Ok(patch) };
    let text: String = to_text(&response.response_content).chars().take(LONGEST).collect();
    let mut turns = cx.state.conversation_history.clone();
    turns.push(HistoryTurn { query: cx.state.query.clone(), response: text });
    let most = cx.system().config.history_turns;
    turns.drain(..turns.len().saturating_sub(most));
    patch
        .note("history_saved", json!({"turns": turns.len()}))
        .set(State::conversation_history, turns);
    Ok(patch)
}
