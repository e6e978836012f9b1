//! The node that makes the planned call, with an event for each request.

use std::sync::{Arc, Mutex, PoisonError};

use antiphon_core::{Fault, Time};
use antiphon_runtime::{CallNotes, Clock, Tool};
use serde_json::{Map, Value as Json, json};

use super::{ApiCallPlan, READS, fail, patch};
use crate::data_analyst::agent_result::AgentError;
use crate::data_analyst::request::AgentName;
use crate::data_analyst::state::State;
use crate::data_analyst::tabular::TabularResult;
use crate::data_analyst::trace_event::{TraceEvent, TraceEventKind, event};
use crate::data_analyst::{DataAnalyst, deadline, milliseconds};
use crate::node::{NodeContext, NodeExit};
use crate::planned_call::{PlannedApproval, approve_planned, make_approved};

/// The note of a tool about a request that it has sent.
const REQUEST_NOTE: &str = "http_request";

/// Makes the call, once a person has approved if that is needed.
pub(in crate::data_analyst) async fn call(
    mut cx: NodeContext<DataAnalyst>,
) -> Result<NodeExit<State>, Fault> {
    let mut work = cx.state.api.clone();
    let mut plan = work.plan.take().unwrap_or_default();
    let name = if READS.contains(&&*plan.method) { "api_read" } else { "api_write" };
    let left = deadline::time_left(&cx, work.started);
    let tool = cx.system().tool(name).map(|tool| deadline::in_time(&cx, work.started, tool));
    let Some(tool) = tool.filter(|_| !left.is_zero()) else {
        let missing = || AgentError::new("MethodNotAllowed", "no tool makes such calls");
        work.error = Some(if left.is_zero() { deadline::error() } else { missing() });
        return Ok(patch(&cx, work).into());
    };
    let log = RequestLog::default();
    cx.call.cx.notes = Some(log.observe(cx.call.cx.notes.take(), &cx.call.cx.clock));
    let start = cx.call.cx.clock.now();
    let arguments = with_time_zone(plan.arguments(), &cx.state.context, tool.as_ref());
    let outcome = match approve_planned(&cx, tool.spec(), arguments)? {
        PlannedApproval::Asks(question) => return Ok(NodeExit::Ask(question)),
        PlannedApproval::Refused(fault) => Err(fault),
        PlannedApproval::Given(arguments) => {
            plan.take_changes(&arguments);
            make_approved(&cx, &tool, arguments, left).await?
        }
    };
    work.trace.extend(log.events(&cx, &plan));
    match outcome {
        Ok(reply) => {
            if log.is_empty() {
                let micros = cx.call.cx.clock.now().since(start).as_micros();
                let elapsed_ms = milliseconds(u64::try_from(micros).unwrap_or(u64::MAX));
                let status = reply.get("status");
                let data = json!({"status": status, "elapsed_ms": elapsed_ms});
                work.trace.push(request_event(&cx, &plan, data));
            }
            work.trace.extend(note_events(&cx, reply.get("notes")));
            work.table = reply.get("table").and_then(TabularResult::read);
            work.reply = Some(reply);
        }
        Err(fault) => {
            work.trace.extend(note_events(&cx, fault.details.get("notes")));
            fail(&mut work, &fault)?;
        }
    }
    work.plan = Some(plan);
    Ok(patch(&cx, work).into())
}

/// The arguments with the time zone of the context, which decides what day it is, if the tool takes
/// one.
fn with_time_zone(mut arguments: Json, context: &Map<String, Json>, tool: &dyn Tool) -> Json {
    let zone = context.get("timezone").and_then(Json::as_str).map(str::trim);
    let zone = zone.filter(|zone| !zone.is_empty());
    let takes_it = tool.spec().parameters.pointer("/properties/timezone").is_some();
    if let (Some(zone), true, Some(fields)) = (zone, takes_it, arguments.as_object_mut()) {
        fields.insert("timezone".to_owned(), Json::from(zone));
    }
    arguments
}

/// The event of a request, or of a call whose tool does not tell of its requests.
fn request_event(cx: &NodeContext<DataAnalyst>, plan: &ApiCallPlan, data: Json) -> TraceEvent {
    let mut fields = Map::new();
    fields.insert("method".to_owned(), json!(plan.method));
    fields.insert("path".to_owned(), json!(plan.path));
    if let Json::Object(data) = data {
        fields.extend(data);
    }
    event(cx, AgentName::ApiDocs, TraceEventKind::Tool, "request", Json::Object(fields))
}

/// What a tool says of a call on its way.
fn note_events(cx: &NodeContext<DataAnalyst>, notes: Option<&Json>) -> Vec<TraceEvent> {
    let notes = notes.and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
    let said =
        notes.map(|note| event(cx, AgentName::ApiDocs, TraceEventKind::Message, note, json!({})));
    said.collect()
}

/// The requests that a tool has told of, each with when it ended.
#[derive(Clone, Default)]
struct RequestLog(Arc<Mutex<Vec<(Time, Json)>>>);

impl RequestLog {
    /// Passes notes on, and keeps those about requests.
    fn observe(&self, next: Option<CallNotes>, clock: &Arc<dyn Clock>) -> CallNotes {
        let (seen, clock) = (Arc::clone(&self.0), Arc::clone(clock));
        Arc::new(move |name, data| {
            if name == REQUEST_NOTE {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                seen.push((clock.now(), data.clone()));
            }
            if let Some(next) = &next {
                next(name, data);
            }
        })
    }

    fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    fn events(&self, cx: &NodeContext<DataAnalyst>, plan: &ApiCallPlan) -> Vec<TraceEvent> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let events = seen.into_iter().map(|(at, data)| {
            let event = request_event(cx, plan, data);
            TraceEvent { timestamp: at.to_string(), ..event }
        });
        events.collect()
    }
}
