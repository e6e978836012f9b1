//! The node that asks a person what is meant.

use antiphon_core::Fault;
use serde_json::{Value as Json, json};

use super::query::patch;
use crate::data_analyst::DataAnalyst;
use crate::data_analyst::agent_result::AgentError;
use crate::data_analyst::request::AgentName;
use crate::data_analyst::state::State;
use crate::data_analyst::trace_event::{TraceEventKind, event};
use crate::node::{NodeContext, NodeExit};

/// Asks, and gives the answer to the model that writes queries.
pub(in crate::data_analyst) async fn ask(
    cx: NodeContext<DataAnalyst>,
) -> Result<NodeExit<State>, Fault> {
    let mut work = cx.state.sql.clone();
    let question = work.question.take().unwrap_or_default();
    let Some(answer) = cx.answers().first() else { return Ok(NodeExit::Ask(json!(question))) };
    let answer = match answer {
        Json::Null => String::new(),
        Json::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    };
    let data = json!({"question": question, "answer": answer});
    work.trace.push(event(&cx, AgentName::Sql, TraceEventKind::Message, "clarified", data));
    if answer.is_empty() {
        work.error = Some(AgentError::new("NotInData", question));
    } else {
        work.clarification = Some(answer);
    }
    Ok(patch(&cx, work).into())
}
