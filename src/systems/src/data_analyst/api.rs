//! The API agent: finds endpoints, has a call planned that must match one of them, makes it, and
//! has what comes back put into words. Addresses, logins and repetitions are the tool's.

pub(super) mod call;
pub(super) mod endpoint_list;

use antiphon_core::{Fault, Message, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::agent_result::{AgentError, AgentExecutionStatus, AgentResult};
use super::deadline;
use super::failure::ends_run;
use super::grounding;
use super::plain_wording::asks_for_endpoints;
use super::request::AgentName;
use super::state::State;
use super::tabular::{MOST_LISTED, TabularResult};
use super::trace_event::{TraceEvent, TraceEventKind, event};
use super::{DataAnalyst, dispatch, milliseconds};
use crate::builder::RoleNode;
use crate::computation::RejectedWording;
use crate::delimited_input::{DelimitedInput, cut, escape};
use crate::node::NodeContext;
use crate::patch::Patch;
use crate::reply::{RoleReply, answer_text, object};

/// Plans that may be made: one, and another if it fits no endpoint.
const MOST_PLANS: usize = 2;
/// What of a reply a model reads, in characters.
const LONGEST_BODY: usize = 2_000;
/// The same of a list of endpoints.
const LONGEST_LIST: usize = 10_000;
/// Methods that only read.
const READS: [&str; 3] = ["GET", "HEAD", "OPTIONS"];

/// One call of an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ApiCallPlan {
    /// Whether a call is to be made.
    pub make_request: bool,
    /// Whether the question is about the API itself, so that its endpoints are listed in place of a
    /// call.
    pub list_endpoints: bool,
    /// The method.
    pub method: String,
    /// The path with its placeholders.
    pub path: String,
    /// Values of the placeholders.
    pub path_params: Map<String, Json>,
    /// Parameters of the query.
    pub query_params: Map<String, Json>,
    /// The body.
    pub json_body: Option<Json>,
    /// Headers that the endpoint declares.
    pub headers: Map<String, Json>,
    /// Why this call.
    pub reason: String,
    /// Why no call.
    pub failure_reason: Option<String>,
}

impl ApiCallPlan {
    /// The arguments of the tool that makes the call.
    fn arguments(&self) -> Json {
        let mut arguments = json!({
            "method": self.method, "path": self.path, "path_parameters": self.path_params,
            "query": self.query_params, "headers": self.headers,
        });
        if let (Some(body), Some(fields)) = (&self.json_body, arguments.as_object_mut()) {
            fields.insert("body".to_owned(), body.clone());
        }
        arguments
    }

    /// Takes over what a person has changed in [`ApiCallPlan::arguments`].
    fn take_changes(&mut self, arguments: &Json) {
        let text = |key: &str| arguments.get(key).and_then(Json::as_str).map(str::to_owned);
        let values =
            |key: &str| arguments.get(key).and_then(Json::as_object).cloned().unwrap_or_default();
        self.method = text("method").unwrap_or_default();
        self.path = text("path").unwrap_or_default();
        self.path_params = values("path_parameters");
        self.query_params = values("query");
        self.headers = values("headers");
        self.json_body = arguments.get("body").cloned();
    }
}

/// What is known while the agent works.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ApiWork {
    /// When it began, in microseconds since the epoch.
    pub started: u64,
    /// How long it may still work, in milliseconds.
    pub time_left_ms: usize,
    /// The endpoints that fit the question.
    pub endpoints: Vec<Json>,
    /// What the documentation says about it.
    pub documentation: String,
    /// The call that is to be made.
    pub plan: Option<ApiCallPlan>,
    /// Plans that fit no endpoint, each with what is wrong.
    pub rejected_plans: Vec<(ApiCallPlan, String)>,
    /// What the API has returned.
    pub reply: Option<Json>,
    /// Its rows.
    pub table: Option<TabularResult>,
    /// The reply in words.
    pub answer: Option<String>,
    /// Words that differed from the reply, and were not delivered.
    pub rejected: Vec<RejectedWording>,
    /// Why there is no answer.
    pub error: Option<AgentError>,
    /// What happened.
    pub trace: Vec<TraceEvent>,
}

impl ApiWork {
    /// Whether there is a result, be it in words or not.
    pub(super) const fn has_result(&self) -> bool {
        self.error.is_some() || self.reply.is_some()
    }
}

/// Writes what is known, and how long the agent may still work.
pub(super) fn patch(cx: &NodeContext<DataAnalyst>, mut work: ApiWork) -> Patch<State> {
    work.time_left_ms = deadline::millis_left(cx, work.started);
    let mut patch = Patch::default();
    patch.set(State::api, work);
    patch
}

/// Finds the endpoints that fit the question.
pub(super) async fn find(cx: NodeContext<DataAnalyst>) -> Result<Patch<State>, Fault> {
    let mut work = ApiWork { started: cx.call.cx.clock.now().as_micros(), ..ApiWork::default() };
    let Some(tool) = cx.system().tool("api_endpoints") else {
        work.error = Some(AgentError::new("MissingContext", "no API is connected"));
        return Ok(patch(&cx, work));
    };
    let asked = json!({"question": cx.input().question});
    match deadline::invoke(&cx, work.started, tool, asked).await {
        Ok(found) => {
            let endpoints = found.get("endpoints").and_then(Json::as_array);
            work.endpoints = endpoints.cloned().unwrap_or_default();
            work.documentation =
                found.get("documentation").map_or_else(String::new, Json::to_string);
            if work.endpoints.is_empty() {
                let message = "the catalogue has no endpoint that may be called";
                work.error = Some(AgentError::new("MissingContext", message));
            } else if asks_for_endpoints(&cx.input().question) {
                note_list(&cx, &mut work);
            }
        }
        Err(fault) => fail(&mut work, &fault)?,
    }
    Ok(patch(&cx, work))
}

/// Has the endpoints listed next, without a plan of a model.
fn note_list(cx: &NodeContext<DataAnalyst>, work: &mut ApiWork) {
    let data = json!({"make_request": false, "list_endpoints": true});
    work.trace.push(event(cx, AgentName::ApiDocs, TraceEventKind::Decision, "plan", data));
    work.plan = Some(ApiCallPlan { list_endpoints: true, ..ApiCallPlan::default() });
}

fn fail(work: &mut ApiWork, fault: &Fault) -> Result<(), Fault> {
    if ends_run(fault) {
        return Err(fault.clone());
    }
    work.error = Some(AgentError::of(fault));
    Ok(())
}

/// Plans one call.
pub(super) fn planner() -> RoleNode<DataAnalyst> {
    let (words, values) = (json!({"type": "string"}), json!({"type": "object"}));
    let mut schema = object(&json!({
        "make_request": {"type": "boolean"}, "list_endpoints": {"type": "boolean"},
        "method": words, "path": words,
        "path_params": values, "query_params": values, "json_body": {}, "headers": values,
        "reason": words, "failure_reason": {"type": ["string", "null"]},
    }));
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("required".to_owned(), json!(["make_request", "method", "path"]));
    }
    RoleNode {
        role: "api_planner",
        schema: Schema::new("call", schema),
        max_tool_calls: 0,
        begin: |_| {},
        conversation: planning,
        brief: |cx| {
            let ApiWork { endpoints, documentation, rejected_plans, .. } = &cx.state.api;
            Ok(json!({
                "question": cx.input().question, "facts": cx.state.context,
                "endpoints": endpoints, "documentation": documentation,
                "rejected": rejected_plans,
            }))
        },
        conclude: planned,
    }
}

fn planning(cx: &NodeContext<DataAnalyst>) -> Result<Vec<Message>, Fault> {
    let ApiWork { endpoints, documentation, rejected_plans, .. } = &cx.state.api;
    let instructions = cx.system().resources.instructions("api_planner", "api_planner", &[])?;
    let mut delimited = DelimitedInput::new();
    for (place, endpoint) in endpoints.iter().enumerate() {
        delimited.add_numbered("endpoints", place + 1, &endpoint.to_string());
    }
    if !documentation.is_empty() {
        delimited.add("documentation", documentation);
    }
    delimited.add("facts", &json!(cx.state.context).to_string());
    delimited.add("question", &cx.input().question);
    let opening = delimited.then("Plan the call that answers the question.");
    let mut messages = vec![Message::system(instructions), Message::user(opening)];
    for (plan, wrong) in rejected_plans {
        messages.push(Message::assistant(escape(&json!(plan).to_string()).into_owned()));
        let mut delimited = DelimitedInput::new();
        delimited.add("error", wrong);
        messages
            .push(Message::user(delimited.then("Plan the call again, with a listed endpoint.")));
    }
    Ok(messages)
}

fn planned(cx: &NodeContext<DataAnalyst>, mut reply: RoleReply) -> Result<Patch<State>, Fault> {
    let mut plan: ApiCallPlan = reply.read()?;
    let mut work = cx.state.api.clone();
    plan.method = plan.method.trim().to_ascii_uppercase();
    if plan.method.is_empty() {
        "GET".clone_into(&mut plan.method);
    }
    let data = json!({
        "make_request": plan.make_request, "list_endpoints": plan.list_endpoints,
        "method": plan.method, "path": plan.path, "reason": plan.reason,
    });
    work.trace.push(event(cx, AgentName::ApiDocs, TraceEventKind::Decision, "plan", data));
    let is_read = READS.contains(&&*plan.method);
    plan.list_endpoints &= !plan.make_request;
    if plan.list_endpoints {
        work.plan = Some(plan);
        return Ok(patch(cx, work));
    }
    if !plan.make_request {
        let is_tried =
            cx.system().config.force_attempt && plan.method == "GET" && lacks_words(&plan);
        if !is_tried || !is_listed(&work.endpoints, &plan) {
            let reason = plan.failure_reason.clone().unwrap_or_else(|| plan.reason.clone());
            work.error = Some(AgentError::new("PlanningDeclined", reason));
            return Ok(patch(cx, work));
        }
        let note = "tried although the documentation lacks something";
        work.trace.push(event(cx, AgentName::ApiDocs, TraceEventKind::Message, note, json!({})));
    }
    let is_forbidden = !is_read && cx.system().tool("api_write").is_none();
    let not_allowed = || {
        let problem = "the method may change something, and that is not allowed";
        AgentError::new("MethodNotAllowed", format!("{problem}: {}", plan.method))
    };
    if !is_listed(&work.endpoints, &plan) {
        let wrong =
            format!("no listed endpoint has this method and path: {} {}", plan.method, plan.path);
        let kind = "PlanningValidationError";
        let data = json!({"type": kind, "error": wrong});
        work.trace.push(event(cx, AgentName::ApiDocs, TraceEventKind::Error, "plan refused", data));
        if work.rejected_plans.len() + 1 >= MOST_PLANS {
            // Endpoints that nobody may call are not listed.
            let error = if is_forbidden { not_allowed() } else { AgentError::new(kind, &*wrong) };
            work.error = Some(error);
        }
        work.rejected_plans.push((plan, wrong));
    } else if is_forbidden {
        work.error = Some(not_allowed());
    } else {
        work.plan = Some(plan);
    }
    Ok(patch(cx, work))
}

/// Whether a model has declined because the documentation does not say enough.
fn lacks_words(plan: &ApiCallPlan) -> bool {
    const PHRASES: [&str; 5] =
        ["documentation", "not specify", "unspecified", "unknown parameter", "cannot invent"];
    let said = format!("{} {}", plan.reason, plan.failure_reason.as_deref().unwrap_or_default());
    let said = said.to_lowercase();
    PHRASES.iter().any(|phrase| said.contains(phrase))
}

/// Whether a plan has the method and the path of an endpoint.
fn is_listed(endpoints: &[Json], plan: &ApiCallPlan) -> bool {
    let text = |endpoint: &Json, key: &str| {
        endpoint.get(key).and_then(Json::as_str).unwrap_or_default().to_owned()
    };
    endpoints.iter().any(|endpoint| {
        text(endpoint, "method").eq_ignore_ascii_case(&plan.method)
            && text(endpoint, "path") == plan.path
    })
}

#[derive(Deserialize)]
struct AnswerReply {
    answer: String,
}

/// What of a reply a model reads.
fn body(work: &ApiWork, preview_rows: usize) -> String {
    let is_list = work.plan.as_ref().is_some_and(|plan| plan.list_endpoints);
    let (preview_rows, longest) = if is_list {
        (preview_rows.max(MOST_LISTED), LONGEST_LIST)
    } else {
        (preview_rows, LONGEST_BODY)
    };
    let reply = work.reply.as_ref();
    let part = |key: &str| reply.and_then(|reply| reply.get(key));
    let body = match (&work.table, part("text").and_then(Json::as_str)) {
        (Some(table), _) => {
            let fields = part("fields").map_or_else(String::new, |fields| format!("{fields}\n"));
            format!("{fields}{}", table.preview(preview_rows))
        }
        (None, Some(text)) => text.to_owned(),
        (None, None) => part("data").map_or_else(String::new, Json::to_string),
    };
    cut(&body, longest).into_owned()
}

/// Puts the reply into words.
pub(super) fn answerer() -> RoleNode<DataAnalyst> {
    RoleNode {
        role: "api_answerer",
        schema: Schema::new("answer", object(&json!({"answer": answer_text()}))),
        max_tool_calls: 0,
        begin: |_| {},
        conversation: |cx| {
            let (work, config) = (&cx.state.api, &cx.system().config);
            let resources = &cx.system().resources;
            let instructions = resources.instructions("api_answerer", "api_answerer", &[])?;
            let plan = work.plan.clone().unwrap_or_default();
            let status = work.reply.as_ref().and_then(|reply| reply.get("status"));
            let status = status.map_or_else(String::new, Json::to_string);
            let made = if plan.list_endpoints {
                "the list of endpoints".to_owned()
            } else {
                format!("{} {}: status {status}", plan.method, plan.path)
            };
            let mut delimited = DelimitedInput::new();
            delimited.add("question", &cx.input().question).add("tool_call", &made);
            delimited.add("result", &body(work, config.preview_rows));
            let opening = delimited.then("Answer the question from the result.");
            let mut messages = vec![Message::system(instructions), Message::user(opening)];
            messages.extend(grounding::again(&work.rejected));
            Ok(messages)
        },
        brief: |cx| {
            let work = &cx.state.api;
            let result = body(work, cx.system().config.preview_rows);
            let question = &cx.input().question;
            Ok(json!({"question": question, "result": result, "rejected": work.rejected}))
        },
        conclude: |cx, mut reply| {
            let AnswerReply { answer } = reply.read()?;
            let mut work = cx.state.api.clone();
            let rows = cx.system().config.preview_rows;
            let mut known = grounding::asked(cx);
            known.text(&body(&work, rows));
            if let Some(table) = &work.table {
                table.add_evidence(&mut known, rows);
            }
            let differences = grounding::differences(&known, &answer, None);
            if differences.is_empty() {
                work.answer = Some(answer);
            } else {
                let wording = RejectedWording { answer, differences };
                work.trace.push(grounding::rejected(cx, AgentName::ApiDocs, &wording));
                work.rejected.push(wording);
            }
            Ok(patch(cx, work))
        },
    }
}

/// Where the agent goes from a node.
pub(super) fn next(work: &ApiWork) -> &'static str {
    if work.error.is_some() {
        "over"
    } else if work.plan.is_none() {
        "plan"
    } else if work.reply.is_none() {
        if work.plan.as_ref().is_some_and(|plan| plan.list_endpoints) { "list" } else { "call" }
    } else if work.answer.is_none() && work.rejected.len() < MOST_PLANS {
        "answer"
    } else {
        "over"
    }
}

/// Makes the result of the agent.
pub(super) async fn conclude(cx: NodeContext<DataAnalyst>) -> Result<Patch<State>, Fault> {
    Ok(dispatch::finish(&cx, result(&cx)))
}

/// The result of the agent, be it in words or not.
pub(super) fn result(cx: &NodeContext<DataAnalyst>) -> AgentResult {
    let mut work = cx.state.api.clone();
    if work.reply.is_none() && work.error.is_none() {
        work.error = Some(deadline::error());
    }
    let latency = cx.call.cx.clock.now().as_micros().saturating_sub(work.started);
    let rows = cx.system().config.preview_rows;
    let answer =
        work.answer.clone().unwrap_or_else(|| format!("The API returned:\n{}", body(&work, rows)));
    let agent = AgentName::ApiDocs;
    let mut result = match work.error {
        Some(error) => AgentResult::unanswered(agent, AgentExecutionStatus::Failed, error),
        None => AgentResult { tabular: work.table, ..AgentResult::succeeded(agent, answer) },
    };
    result.latency_ms = Some(milliseconds(latency));
    result.trace = work.trace;
    result
}
