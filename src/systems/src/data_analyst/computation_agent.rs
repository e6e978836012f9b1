//! The computation agent: the ready system `computation` within a node, with the rows of the agents
//! that have worked before as its inputs.

use std::sync::Arc;

use antiphon_core::budget::{BudgetCharge, Limits};
use antiphon_core::event::{Event, EventKind};
use antiphon_core::{Fault, FaultCode, ModelReply, ModelRequest};
use antiphon_runtime::sandbox::GuestFaultKind;
use antiphon_runtime::{Attachments, CallContext, Model, TaskReporter, Watcher};
use async_trait::async_trait;
use serde_json::{Map, Number, Value as Json, json};

use super::agent_result::{AgentError, AgentExecutionStatus, AgentResult, rows_variable};
use super::failure::ends_run;
use super::request::AgentName;
use super::tabular::TabularResult;
use super::trace_event::{TraceEvent, TraceEventKind, event, role_failure};
use super::{DataAnalyst, State, deadline, dispatch, milliseconds};
use crate::base64_bytes::Base64Bytes;
use crate::computation::{self, Answer, Computation, ComputationAttempt, SandboxOutput, Task};
use crate::node::NodeContext;
use crate::patch::Patch;
use crate::prompts::ModelTier;
use crate::resources::SystemResourcesBuilder;
use crate::result::{Outcome, SystemResult};
use crate::role::RoleImplementation;
use crate::runner::SystemRunner;
use crate::session::Session;

/// The roles of the computation with the roles of the analyst that fill them, and their prompts.
const ROLES: [(&str, &str); 2] = [("planner", "coder"), ("summariser", "summariser")];
/// What code assigns rows to, and its result.
const OUTPUTS: [&str; 2] = ["table", "result"];

/// Has the question computed.
pub(super) async fn compute(cx: NodeContext<DataAnalyst>) -> Result<Patch<State>, Fault> {
    let start = cx.call.cx.clock.now();
    let names = found_tables(&cx).map(|(agent, _)| rows_variable(agent));
    let note = json!({"inputs": names.collect::<Vec<_>>()});
    let mut trace =
        vec![event(&cx, AgentName::Computation, TraceEventKind::Decision, "plan started", note)];
    let mut result = match missing_rows(&cx) {
        Some(error) => failed(error),
        None => match run(&cx).await {
            Ok(computed) => result_of(&cx, computed, &mut trace)?,
            Err(fault) if ends_run(&fault) => return Err(fault),
            Err(fault) => failed(AgentError::of(&fault)),
        },
    };
    let latency = cx.call.cx.clock.now().since(start).as_micros();
    result.latency_ms = Some(milliseconds(u64::try_from(latency).unwrap_or(u64::MAX)));
    result.trace = trace;
    Ok(dispatch::finish(&cx, result))
}

fn failed(error: AgentError) -> AgentResult {
    AgentResult::unanswered(AgentName::Computation, AgentExecutionStatus::Failed, error)
}

/// Rows that were read and that code would not have: a total of the others would be wrong.
fn missing_rows(cx: &NodeContext<DataAnalyst>) -> Option<AgentError> {
    let is_missing = |table: &TabularResult| {
        table.arrow.is_some() && !table.is_shown_whole() && attachment(cx, table).is_none()
    };
    let (_, table) = found_tables(cx).find(|(_, table)| is_missing(table))?;
    let message = format!(
        "code would have {} of {} rows, because its sandbox has neither pyarrow nor polars",
        table.rows.len(),
        table.row_count,
    );
    Some(AgentError::new("MissingRows", message))
}

/// Runs the computation, its model calls counted as those of the analyst.
async fn run(
    cx: &NodeContext<DataAnalyst>,
) -> Result<SystemResult<Answer, computation::State>, Fault> {
    let config = &cx.system().config;
    let settings = computation::Config {
        max_attempts: config.max_computation_attempts,
        temperature: config.temperature,
        max_reasks: config.max_reasks,
        cross_check: config.cross_check,
        packages: config.packages.clone(),
        question_timeout_s: config.agent_timeout_s,
        ..computation::Config::default()
    };
    let system = SystemRunner::<Computation>::new(settings, resources(cx)?)?;
    let task = Task {
        facts: facts(cx),
        inputs: inputs(cx),
        tables: tables(cx),
        ..Task::new(&cx.input().question)
    };
    let session = Session {
        seed: cx.call.cx.seed,
        run_id: cx.scope.run_id.to_string(),
        limits: Limits { wall_time: cx.call.remaining(), ..Limits::default() },
        watchers: vec![Arc::new(NodeEventWatcher(cx.call.reporter.clone()))],
        user_context: cx.scope.user_context.clone(),
        host_calls: cx.data().host_calls.clone(),
        ..Session::new(Arc::clone(&cx.call.cx.clock))
    };
    Box::pin(system.ask(task, session)).await
}

fn resources(cx: &NodeContext<DataAnalyst>) -> Result<SystemResourcesBuilder, Fault> {
    let own = &cx.system().resources;
    let mut resources = SystemResourcesBuilder::new().sandbox(own.require_sandbox()?);
    for (role, filled_by) in ROLES {
        let implementation = match own.roles.implementation(filled_by)?.clone() {
            RoleImplementation::Model(mut model) => {
                let reporter = cx.call.reporter.clone();
                let tallied = cx.scope.requests.wrap(model.model);
                model.model = Arc::new(CountedModel { model: tallied, reporter, role: filled_by });
                RoleImplementation::Model(model)
            }
            code @ RoleImplementation::Code(_) => code,
        };
        resources = resources.role(role, implementation);
        for tier in [ModelTier::Small, ModelTier::Large] {
            let text = own.prompts.text(filled_by, tier)?.into_owned();
            resources = resources.prompt(&format!("{role}.{}", tier.as_str()), text);
        }
    }
    Ok(resources)
}

/// The rows that others have found, as variables: `sql_rows`, `api_docs_rows`.
fn inputs(cx: &NodeContext<DataAnalyst>) -> Map<String, Json> {
    let shown = found_tables(cx).filter(|(_, table)| attachment(cx, table).is_none());
    let named = shown.map(|(agent, table)| {
        (rows_variable(agent), Json::Array(table.rows.iter().map(tagged).collect()))
    });
    named.collect()
}

/// The same of tables with too many rows for JSON, as data frames.
fn tables(cx: &NodeContext<DataAnalyst>) -> Vec<(String, Base64Bytes)> {
    let named = found_tables(cx).filter_map(|(agent, table)| {
        let bytes = cx.attachments().get(attachment(cx, table)?)?;
        Some((rows_variable(agent), Base64Bytes(bytes.into())))
    });
    named.collect()
}

fn found_tables(
    cx: &NodeContext<DataAnalyst>,
) -> impl Iterator<Item = (AgentName, &TabularResult)> {
    let found = cx.state.results().filter(|result| result.is_success());
    found.filter_map(|result| Some((result.agent, result.tabular.as_ref()?)))
}

/// The attachment with all rows of a table that shows only some, if code can read it.
fn attachment<'t>(cx: &NodeContext<DataAnalyst>, table: &'t TabularResult) -> Option<&'t str> {
    let packages = &cx.system().config.packages;
    let reads_arrow = packages.iter().any(|name| matches!(name.as_str(), "pyarrow" | "polars"));
    let id = table.arrow.as_deref().filter(|_| reads_arrow && !table.is_shown_whole())?;
    cx.attachments().get(id).map(|_| id)
}

/// What is known beside the question, and which of the rows are not all there are.
fn facts(cx: &NodeContext<DataAnalyst>) -> Map<String, Json> {
    let mut facts = cx.state.context.clone();
    for (agent, table) in found_tables(cx) {
        let is_whole = table.is_shown_whole() || attachment(cx, table).is_some();
        if is_whole && !table.truncated {
            continue;
        }
        let rows = if is_whole { table.row_count } else { table.rows.len() };
        let note = format!(
            "only the first {rows} rows of the result; it has more, so a total of them is no total"
        );
        facts.insert(rows_variable(agent), Json::String(note));
    }
    facts
}

/// A row as the sandbox takes it; a column called `$` would mark a value of another kind.
fn tagged(row: &Map<String, Json>) -> Json {
    if row.contains_key("$") {
        let pairs: Vec<Json> =
            row.iter().map(|(key, cell)| json!([key, tagged_cell(cell)])).collect();
        return json!({"$": "dict", "v": pairs});
    }
    Json::Object(row.iter().map(|(key, cell)| (key.clone(), tagged_cell(cell))).collect())
}

fn tagged_cell(cell: &Json) -> Json {
    match cell {
        Json::Object(fields) => tagged(fields),
        Json::Array(items) => Json::Array(items.iter().map(tagged_cell).collect()),
        // Readers of JSON with floats alone would round it.
        Json::Number(number) if !is_exact_in_json(number) => {
            json!({"$": "int", "v": number.to_string()})
        }
        other => other.clone(),
    }
}

/// Whether a number is one that every reader of JSON understands alike.
fn is_exact_in_json(number: &Number) -> bool {
    const EXACT: u64 = 1 << 53;
    let magnitude = number.as_i64().map(i64::unsigned_abs).or_else(|| number.as_u64());
    magnitude.is_none_or(|magnitude| magnitude <= EXACT)
}

fn result_of(
    cx: &NodeContext<DataAnalyst>,
    computed: SystemResult<Answer, computation::State>,
    trace: &mut Vec<TraceEvent>,
) -> Result<AgentResult, Fault> {
    let SystemResult { mut output, state, outcome, reason, error, .. } = computed;
    for attempt in &output.attempts {
        let plan = json!({"reasoning": attempt.reasoning, "python": attempt.python});
        trace.push(event(cx, AgentName::Computation, TraceEventKind::Message, "plan", plan));
        if let Some(fault) = &attempt.fault {
            let kind = kind_of(fault.kind);
            let data = json!({"stage": "run", "type": kind, "error": fault.message});
            trace.push(event(cx, AgentName::Computation, TraceEventKind::Error, "attempt", data));
        }
    }
    if let Some(fault) = error.clone().filter(|fault| outcome != Outcome::Budget && ends_run(fault))
    {
        return Err(fault);
    }
    if outcome == Outcome::Cancelled {
        return Err(Fault::new(FaultCode::RunCancelled, "the computation was cancelled"));
    }
    // The result is there: only its words are not.
    let has_result = output.attempts.last().is_some_and(ComputationAttempt::has_result);
    let is_late = outcome == Outcome::Budget && has_result && output.computed.is_some();
    if outcome != Outcome::Answered && !is_late {
        let is_unconfirmed = state.first.is_some_and(|first| first.is_confirmed != Some(true));
        if outcome == Outcome::NoAnswer && is_unconfirmed {
            return Ok(failed(AgentError::new("CandidatesDisagree", reason.unwrap_or_default())));
        }
        return Ok(failed(unanswered(outcome, &output, reason, error.as_ref())));
    }
    let unworded = error.as_ref().map(AgentError::of);
    if let Some(error) = if is_late { Some(deadline::error()) } else { unworded } {
        trace.push(role_failure(cx, AgentName::Computation, "summariser", &error));
    }
    if is_late {
        let value = output.computed.as_ref().and_then(SandboxOutput::plain_result);
        output.answer = value.unwrap_or(state.shown);
    }
    let computed = output.computed.as_ref();
    trace.push(event(
        cx,
        AgentName::Computation,
        TraceEventKind::Result,
        "computed",
        json!({
            "stdout": computed.map(|computed| &computed.stdout),
            "locals": computed.map(SandboxOutput::described_locals),
        }),
    ));
    Ok(succeeded(cx.attachments(), output))
}

/// The type of the error that a failure of code is.
const fn kind_of(kind: GuestFaultKind) -> &'static str {
    match kind {
        GuestFaultKind::TimeLimit => "SandboxTimeout",
        GuestFaultKind::MemoryLimit => "SandboxMemory",
        GuestFaultKind::PythonError | GuestFaultKind::SyntaxError => "ComputationError",
        _ => "SandboxViolation",
    }
}

fn unanswered(
    outcome: Outcome,
    output: &Answer,
    reason: Option<String>,
    fault: Option<&Fault>,
) -> AgentError {
    let reason = reason.unwrap_or_default();
    match (outcome, output.attempts.last().and_then(|last| last.fault.as_ref()), fault) {
        (Outcome::NoAnswer, ..) => AgentError::new("NotInData", reason),
        (Outcome::Budget, ..) => AgentError::new("Timeout", "the computation took too long"),
        (Outcome::RetryLimit, Some(last), _) => {
            AgentError::new(kind_of(last.kind), last.message.clone())
        }
        (_, _, Some(fault)) => AgentError::of(fault),
        _ => AgentError::new("ComputationError", reason),
    }
}

fn succeeded(attachments: &Attachments, output: Answer) -> AgentResult {
    let mut answer = output.answer;
    for fact in &output.highlights {
        answer.push('\n');
        answer.push_str(fact);
    }
    let mut result = AgentResult::succeeded(AgentName::Computation, answer);
    let Some(computed) = output.computed else { return result };
    let of_arrow = |name: &str| {
        let mut tables = computed.tables.iter();
        tables
            .find(|(known, _)| known == name)
            .map(|(_, bytes)| TabularResult::of_arrow(attachments.put(bytes.0.clone())))
    };
    let of_rows = |name: &str| computed.locals.get(name).and_then(TabularResult::of_maps);
    result.tabular = OUTPUTS.iter().find_map(|name| of_rows(name).or_else(|| of_arrow(name)));
    result.figures = computed.figures;
    result
}

/// A model whose calls the question of the analyst pays for.
struct CountedModel {
    model: Arc<dyn Model>,
    reporter: TaskReporter,
    /// The role of the analyst, which its requests name.
    role: &'static str,
}

#[async_trait]
impl Model for CountedModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn names(&self) -> Vec<String> {
        self.model.names()
    }

    async fn call(&self, request: &ModelRequest, cx: &CallContext) -> Result<ModelReply, Fault> {
        self.reporter.request(BudgetCharge::Model).await?;
        let mut request = request.clone();
        request.tags.insert("role".to_owned(), self.role.to_owned());
        let reply = self.model.call(&request, cx).await?;
        self.reporter.charge(reply.usage);
        Ok(reply)
    }
}

/// Shows the calls and events of the computation as those of its node.
struct NodeEventWatcher(TaskReporter);

impl Watcher for NodeEventWatcher {
    fn see(&self, event: &Arc<Event>) {
        let is_shown = matches!(
            event.kind,
            EventKind::ModelCall
                | EventKind::ModelReply
                | EventKind::OutputRepaired
                | EventKind::Custom
        );
        if is_shown {
            self.0.note(event.kind, event.name.to_string(), event.data.to_json());
        }
    }

    fn wants_chunks(&self) -> bool {
        false
    }
}
