//! The only sentences in Rust that a model reads: errors of its last step, and what it can do.

use super::truncation::{ShownText, excerpt, truncate};
use crate::content::{Content, ContentPart};
use crate::fault::Fault;
use crate::reply::UnreadableReply;
use crate::tool::ToolSpec;
use serde_json::Value as Json;

pub(super) fn unknown_tool<'a>(name: &str, known: impl Iterator<Item = &'a ToolSpec>) -> String {
    let known: Vec<&str> = known.map(|tool| tool.name.as_str()).collect();
    format!("error: there is no tool called {name:?}. Tools: {}", known.join(", "))
}

pub(super) fn bad_arguments(name: &str, unreadable: &UnreadableReply) -> String {
    let problems = unreadable.argument_feedback(name);
    format!("error: the arguments for {name:?} do not fit, and it was not called.\n{problems}")
}

pub(super) fn cut_off(name: &str) -> String {
    format!("error: the arguments for {name:?} were cut off, and it was not called. Be briefer.")
}

pub(super) fn tool_limit(name: &str, limit: u32) -> String {
    format!("error: {name:?} may be called {limit} times and was not called again.")
}

pub(super) fn declined(name: &str, reason: Option<&str>) -> String {
    let why = reason.map_or_else(|| ".".to_owned(), |reason| format!(": {reason}"));
    format!("error: this call of {name:?} was not approved, and it was not called{why}")
}

pub(super) fn changed(arguments: &str) -> String {
    format!("[called with changed arguments, set by the approver: {arguments}]")
}

pub(super) const TOOL_BUDGET: &str =
    "error: no tool calls are left. Conclude now with what you know.";

pub(super) const HANDED_OVER: &str = "The conversation is handed over.";

pub(super) const EMPTY_REPLY: &str = "Your reply was empty. Answer now.";

/// A tool's result as the model reads it, and whether it was truncated. The limit is for texts;
/// images and files are whole.
pub(super) fn result(outcome: &Result<Json, Fault>, limit: usize) -> (Content, bool) {
    if let Some(content) = outcome.as_ref().ok().and_then(Content::of_result) {
        return shortened(content, limit);
    }
    let text = match outcome {
        Ok(value) => {
            let ShownText { text, cut } = excerpt(value, limit);
            return (Content::Text(text), cut);
        }
        Err(fault) => match &fault.hint {
            Some(hint) => format!("error: {}\nhint: {hint}", fault.message),
            None => format!("error: {}", fault.message),
        },
    };
    let ShownText { text, cut } = truncate(text, limit);
    (Content::Text(text), cut)
}

/// Content whose texts have at most `limit` characters together.
fn shortened(content: Content, limit: usize) -> (Content, bool) {
    let (mut left, mut cut) = (limit, false);
    let shorten = |part: ContentPart| {
        let Some(text) = part.as_text() else { return Some(part) };
        let length = text.chars().count();
        if length <= left {
            left -= length;
            return Some(part);
        }
        let first = !std::mem::replace(&mut cut, true);
        let room = std::mem::take(&mut left);
        let shown = match &part {
            ContentPart::Data { value } => excerpt(value, room),
            _ => truncate(text.into_owned(), room),
        };
        first.then_some(ContentPart::Text { text: shown.text })
    };
    let parts = content.into_parts().into_iter().filter_map(shorten).collect();
    (Content::Parts(parts), cut)
}
