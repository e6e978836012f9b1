//! What a worker did to come to its result: the calls of its tools, as its critic sees them.

use antiphon_core::{Message, Role};
use serde::{Deserialize, Serialize};

use super::state::State;
use crate::delimited_input::{DelimitedInput, cut};
use crate::prompts::ModelTier;

/// Characters of one result that a critic sees.
const RESULT: usize = 2_000;
/// Characters of all calls and their results.
const ALL: usize = 16_000;

/// A call of a tool and what it returned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCallNote {
    /// The tool.
    pub name: String,
    /// The arguments as the model wrote them.
    pub arguments: String,
    /// The beginning of the result, or of the error; none if there was neither.
    pub result: Option<String>,
}

/// The researcher's conversation about a step; empty for a researcher that is code.
pub(super) fn of_researcher(state: &State, index: usize) -> &[Message] {
    state.researcher_states.get(&index).map_or(&[], |known| &known.messages)
}

/// The expert's conversation; empty for an expert that is code.
pub(super) fn of_expert(state: &State) -> &[Message] {
    state.expert_state.as_ref().map_or(&[], |known| &known.messages)
}

/// The calls of a conversation, in order.
pub(super) fn tool_calls(messages: &[Message]) -> Vec<ToolCallNote> {
    let mut notes = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        for call in &message.tool_calls {
            let answers = |later: &&Message| {
                later.role == Role::Tool && later.tool_call_id.as_ref() == Some(&call.id)
            };
            // Ids may come again in a later turn: the next one counts.
            let result = messages.iter().skip(place + 1).find(answers);
            notes.push(ToolCallNote {
                name: call.name.clone(),
                arguments: call.arguments.clone(),
                result: result.map(|result| cut(&result.content.text(), RESULT).into_owned()),
            });
        }
    }
    notes
}

/// Adds the calls of a conversation for its critic; that there were none is evidence too. What code
/// has called is not known. A small critic takes an error for a fault of the answer, so that it
/// sees none.
pub(super) fn add_tool_calls(
    messages: &[Message],
    critic: ModelTier,
    delimited: &mut DelimitedInput,
) {
    if messages.is_empty() {
        return;
    }
    let mut calls = tool_calls(messages);
    if critic == ModelTier::Small {
        let is_error = |result: &String| result.starts_with("error: ");
        calls.retain(|call| !call.result.as_ref().is_some_and(is_error));
    }
    if calls.is_empty() {
        delimited.add("tool_call", "none");
    }
    let (mut room, all) = (ALL, calls.len());
    for (number, call) in calls.into_iter().enumerate() {
        let result = call.result.unwrap_or_default();
        let text = format!("{}({})\n{result}", call.name, cut(&call.arguments, RESULT));
        let size = text.chars().count();
        if size > room {
            let left = all - number;
            delimited.add("tool_call", &format!("[{left} more calls are not shown]"));
            return;
        }
        room -= size;
        delimited.add_numbered("tool_call", number + 1, &text);
    }
}
