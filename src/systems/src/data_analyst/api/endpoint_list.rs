//! The node that answers a question about the API itself: code lists the endpoints of the
//! catalogue, and no request is sent.

use antiphon_core::Fault;
use antiphon_runtime::Tool;
use serde_json::{Value as Json, json};

use super::{fail, patch};
use crate::data_analyst::DataAnalyst;
use crate::data_analyst::agent_result::AgentError;
use crate::data_analyst::deadline;
use crate::data_analyst::request::AgentName;
use crate::data_analyst::state::State;
use crate::data_analyst::tabular::TabularResult;
use crate::data_analyst::trace_event::{TraceEventKind, event};
use crate::node::NodeContext;
use crate::patch::Patch;

/// The most endpoints of a list.
const MOST_ROWS: usize = 1_000;
/// The argument of the tool `api_endpoints` by which it returns all of them.
const ALL: &str = "all";

/// Lists the endpoints that may be called.
pub(in crate::data_analyst) async fn list(
    cx: NodeContext<DataAnalyst>,
) -> Result<Patch<State>, Fault> {
    let mut work = cx.state.api.clone();
    let Some(tool) = cx.system().tool("api_endpoints") else {
        work.error = Some(AgentError::new("MissingContext", "no API is connected"));
        return Ok(patch(&cx, work));
    };
    let has_all = lists_all(tool.as_ref());
    let mut arguments = json!({"question": cx.input().question});
    if let (true, Some(fields)) = (has_all, arguments.as_object_mut()) {
        fields.insert(ALL.to_owned(), json!(true));
    }
    match deadline::invoke(&cx, work.started, tool, arguments).await {
        Ok(found) => {
            let table = table(&found, has_all);
            let data = json!({"row_count": table.row_count});
            let kind = TraceEventKind::Tool;
            work.trace.push(event(&cx, AgentName::ApiDocs, kind, "endpoints listed", data));
            work.table = Some(table);
            work.reply = Some(json!({}));
        }
        Err(fault) => fail(&mut work, &fault)?,
    }
    Ok(patch(&cx, work))
}

/// Whether a tool can return all endpoints: one of somebody else may only know those that fit.
fn lists_all(tool: &dyn Tool) -> bool {
    tool.spec().parameters.pointer("/properties/all").is_some()
}

fn table(found: &Json, has_all: bool) -> TabularResult {
    let text = |endpoint: &Json, key: &str| {
        endpoint.get(key).and_then(Json::as_str).unwrap_or_default().to_owned()
    };
    let parameters = |endpoint: &Json| {
        let names = endpoint.get("parameters").and_then(Json::as_array).into_iter().flatten();
        names.filter_map(Json::as_str).collect::<Vec<_>>().join(", ")
    };
    let row = |endpoint: &Json| {
        let [method, path, description] =
            ["method", "path", "description"].map(|key| text(endpoint, key));
        vec![method, path, parameters(endpoint), description]
    };
    let endpoints = found.get("endpoints").and_then(Json::as_array);
    let rows: Vec<_> = endpoints.into_iter().flatten().map(row).collect();
    let is_whole = has_all && found.get("more_endpoints").is_none();
    let names = ["method", "path", "parameters", "description"];
    TabularResult::of_list(&names, &rows, is_whole, MOST_ROWS)
}
