//! Whether words state only numbers, units, dates and ratios that the rows support which were found.

use antiphon_core::Message;
use serde_json::{Value as Json, json};

use super::DataAnalyst;
use super::request::AgentName;
use super::tabular::TabularResult;
use super::trace_event::{TraceEvent, TraceEventKind, event};
use crate::computation::RejectedWording;
use crate::delimited_input::{DelimitedInput, escape};
use crate::node::NodeContext;
use crate::reply::is_placeholder;
use antiphon_figures::{FigureEvidence, FigureMismatch};

/// What to do about an answer that states what was not found.
const AGAIN: &str = "Word the answer again. State only numbers, units and dates that are in the \
                     results or in the question.";

/// What an answer may state because it was asked.
pub(super) fn asked(cx: &NodeContext<DataAnalyst>) -> FigureEvidence {
    let mut known = FigureEvidence::new();
    for value in cx.state.context.values() {
        match value {
            Json::String(text) => known.text(text),
            other => known.text(&other.to_string()),
        };
    }
    known.end_background();
    known.text(&cx.input().question);
    known.text(cx.state.sql.clarification.as_deref().unwrap_or_default());
    // Comments and descriptions of columns say what they are measured in.
    known.units(&cx.state.sql.tables);
    // What a path consists of, such as `v1`, is a part of a name.
    let api = &cx.state.api;
    let listed = api.endpoints.iter().filter_map(|it| it.get("path")?.as_str());
    for path in listed.chain(api.plan.as_ref().map(|plan| plan.path.as_str())) {
        known.identifier(path);
    }
    known
}

/// What an answer states that is not known, and what of tables with a single number it leaves out.
pub(super) fn differences<'t>(
    known: &FigureEvidence,
    answer: &str,
    tables: impl IntoIterator<Item = &'t TabularResult>,
) -> Vec<String> {
    if is_placeholder(answer) {
        return vec!["it does not say what was found".to_owned()];
    }
    let mut found = known.unsupported(answer);
    let cells = tables.into_iter().filter_map(TabularResult::single_cell);
    let missing = cells.filter_map(Json::as_number).filter(|it| !known.states(answer, it));
    found.extend(missing.map(|number| FigureMismatch::Missing(number.to_string())));
    found.iter().map(FigureMismatch::to_string).collect()
}

/// The messages that ask for other words: what was said, and how it differs.
pub(super) fn again(rejected: &[RejectedWording]) -> Vec<Message> {
    let mut messages = Vec::new();
    for RejectedWording { answer, differences } in rejected {
        let earlier = json!({ "answer": answer }).to_string();
        messages.push(Message::assistant(escape(&earlier).into_owned()));
        let mut delimited = DelimitedInput::new();
        delimited.add("error", &differences.join("\n"));
        messages.push(Message::user(delimited.then(AGAIN)));
    }
    messages
}

/// The event of words that were rejected.
pub(super) fn rejected(
    cx: &NodeContext<DataAnalyst>,
    agent: AgentName,
    rejected: &RejectedWording,
) -> TraceEvent {
    event(cx, agent, TraceEventKind::Error, "wording rejected", json!(rejected))
}
