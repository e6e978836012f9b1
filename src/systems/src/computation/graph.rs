//! The graph: describe the inputs, plan, run, plan again if need be, summarise.

use antiphon_core::command::Destinations;
use antiphon_core::graph::{END, START};
use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::sandbox::{GuestFault, GuestFaultKind, JobOutcome};
use serde_json::{Value as Json, json};

use super::Computation;
use super::asked_column;
use super::code_text::with_imports;
use super::config::Config;
use super::conversation::{coding, summing_up};
use super::hints;
use super::input_table;
use super::outcome::ComputationAttempt;
use super::question_form::QuestionForm;
use super::reply::{self, CodeReply};
use super::result_check::ComputedResult;
use super::result_rows::{FirstResult, ResultRows};
use super::sandbox_output::SandboxOutput;
use super::state::State;
use super::task::RESULT;
use super::value_text::{cut, emptiness, is_zero, said, value};
use super::wording;
use crate::builder::{RoleDefaults, RoleNode, SystemBuilder};
use crate::node::{NodeContext, StateView, goto};
use crate::patch::Patch;
use crate::prompts::ModelTier;
use crate::role::RoleSpec;

const DESCRIBE: &str = "describe";
const PLAN: &str = "plan";
const FIND_COLUMN: &str = "find_column";
const CROSS_CHECK: &str = "cross_check";
const RUN: &str = "run";
const SUMMARISE: &str = "summarise";

/// The roles, in the order in which they work.
pub(super) const ROLES: &[RoleSpec] = &[
    RoleSpec { name: "planner", description: "Writes the code.", has_tools: false },
    RoleSpec { name: "summariser", description: "Puts the result into words.", has_tools: false },
];

/// Adds everything to the graph.
pub(super) fn build(config: &Config, graph: &mut SystemBuilder<Computation>) -> Result<(), Fault> {
    let Config { temperature, max_reasks, max_attempts, .. } = *config;
    graph.defaults(RoleDefaults { temperature, max_reasks, tool_timeout: None });
    graph.node(DESCRIBE, describe).node(RUN, run);
    graph.role(PLAN, planner(config.reasoning))?;
    graph.role(CROSS_CHECK, planner(!config.reasoning))?.role(SUMMARISE, summariser(config))?;
    graph.role_aside(FIND_COLUMN, asked_column::role())?;
    // The check is optional: after a failure the code runs.
    graph.on_error_goto(FIND_COLUMN, RUN);
    graph.edge(START, DESCRIBE);
    graph.branch(DESCRIBE, "asked", &[("known", PLAN), ("over", END)], known);
    let planned = [("known", RUN), ("check", FIND_COLUMN), ("over", END)];
    graph.branch(PLAN, "planned", &planned, known);
    graph.branch(CROSS_CHECK, "planned", &planned, known);
    graph.branch(FIND_COLUMN, "found", &[("known", RUN), ("over", END)], known);
    let computed = if config.summarise { SUMMARISE } else { END };
    graph.branch(
        RUN,
        "verdict",
        &[("computed", computed), ("again", PLAN), ("check", CROSS_CHECK), ("over", END)],
        move |view| verdict(view, max_attempts as usize),
    );
    // The number is there: a model that cannot word it takes nothing away.
    graph.on_error_record(SUMMARISE);
    graph.branch(SUMMARISE, "worded", &[("over", END), ("again", SUMMARISE)], worded);
    Ok(())
}

/// Has the inputs described for the model.
async fn describe(cx: NodeContext<Computation>) -> Result<Patch<State>, Fault> {
    let (inputs, sources) = cx.data().describe().await.map_err(|fault| unusable(&fault))?;
    let mut patch = Patch::default();
    if let Some(name) = input_table::unknown_name(cx.input(), &inputs, &sources) {
        refuse(&mut patch, format!("no input has a column or a value `{name}`"));
    }
    patch.set(State::inputs, inputs).set(State::sources, sources);
    Ok(patch)
}

/// Ends the question without an answer.
pub(super) fn refuse(patch: &mut Patch<State>, reason: String) {
    patch.note("not_answerable", json!({"reason": reason})).set(State::reason, Some(reason));
}

/// Whether nothing speaks against an answer yet.
fn known(view: &StateView<'_, '_>) -> Result<Destinations<Json>, Fault> {
    if view.get(State::reason)?.is_some() {
        return Ok(goto("over"));
    }
    Ok(goto(if view.get(State::needs_column_check)? { "check" } else { "known" }))
}

/// Whether the model has to put the result into words again: once.
fn worded(view: &StateView<'_, '_>) -> Result<Destinations<Json>, Fault> {
    let is_worded = view.get(State::summary)?.is_some() || view.get(State::reason)?.is_some();
    let is_over = is_worded || view.get(State::error)?.is_some();
    Ok(goto(if is_over || view.get(State::rejected)?.len() > 1 { "over" } else { "again" }))
}

/// Runs the code that was planned.
async fn run(cx: NodeContext<Computation>) -> Result<Patch<State>, Fault> {
    let (runner, max_shown) = (cx.data(), cx.system().config.max_shown);
    let CodeReply { reasoning, python, explain, .. } = cx.state.plan.clone();
    let outcome = runner.compute(&python).await.map_err(|fault| unusable(&fault))?;
    let fault = failure(&outcome);
    let (mut shown, mut no_answer) = (String::new(), None);
    if fault.is_none() {
        let (text, is_empty) = match runner.show(&outcome).await {
            Some((text, is_empty)) => (Some(text), is_empty),
            None => (value(&outcome), false),
        };
        shown = cut(&text.unwrap_or_default(), max_shown);
        no_answer = emptiness(&outcome, is_empty);
        if no_answer.is_none() && is_zero(&outcome) {
            no_answer = unmatched(&cx, &python).await;
        }
        if no_answer.is_none() {
            no_answer = mismatch(&cx, &python, &outcome).await;
        }
    }
    let has_result = fault.is_none() && no_answer.is_none();
    let is_compared = has_result && cross_checks(&cx);
    let rows = if is_compared { runner.rows(&outcome).await } else { None };
    runner.close();
    let data = json!({
        "attempt": cx.state.attempts.len() + 1,
        "fault": fault.as_ref().map(|fault| fault.kind),
        "no_answer": no_answer,
        "wall_s": outcome.usage.wall.as_secs_f64(),
    });
    let printed = cut(&String::from_utf8_lossy(&outcome.stdout), max_shown);
    let mut patch = Patch::default();
    // A failure of the column check does not concern the result.
    patch.reset(State::error);
    if fault.is_none() {
        patch.set(State::computed, SandboxOutput::from(outcome));
    }
    patch.note("code_ran", data);
    if is_compared {
        compare(&mut patch, &cx, rows);
    } else if let (Some(first), false) = (&cx.state.first, has_result || !is_last_attempt(&cx)) {
        let told = first.result.told();
        refuse(&mut patch, format!("code came to {told}, and other code to no result"));
    }
    patch
        .set(State::attempts, [ComputationAttempt { reasoning, python, explain, fault, no_answer }])
        .set(State::shown, shown)
        .set(State::printed, printed);
    Ok(patch)
}

/// Whether other code has to come to the same result. What another process has begun to check is
/// checked in any case.
fn cross_checks(cx: &NodeContext<Computation>) -> bool {
    cx.state.first.is_some() || cx.system().config.cross_check.unwrap_or_else(|| is_small(cx))
}

/// Keeps the first result, and ends the question if the second one is another. A first one that
/// cannot be compared is not checked.
fn compare(patch: &mut Patch<State>, cx: &NodeContext<Computation>, rows: Option<ResultRows>) {
    let state = &cx.state;
    let Some(first) = &state.first else {
        if let Some(result) = rows {
            let attempts = state.attempts.len() + 1;
            let first = FirstResult { attempts, result, is_confirmed: None };
            patch.set(State::first, Some(first));
        }
        return;
    };
    let is_share = QuestionForm::of(&cx.input().question).asks_for_share();
    let agree = rows.as_ref().is_some_and(|rows| first.result.agrees_with(rows, is_share));
    patch.note("results_compared", json!({"agree": agree}));
    patch.set(State::first, Some(FirstResult { is_confirmed: Some(agree), ..first.clone() }));
    if !agree {
        let other = rows.map_or_else(|| "one that cannot be compared".to_owned(), |it| it.told());
        let one = first.result.told();
        refuse(patch, format!("two pieces of code came to different results: {one}, and {other}"));
    }
}

/// Why the result of code that reads tables alone cannot be what is asked for. On the last attempt
/// that counts if it is certain, and only against a small model: right code can have a form that
/// the checks do not know, and a large model that keeps to its result is believed.
async fn mismatch(
    cx: &NodeContext<Computation>,
    python: &str,
    outcome: &JobOutcome,
) -> Option<String> {
    let (task, sources) = (cx.input(), &cx.state.sources);
    if sources.is_empty() || input_table::reads_beside(task, sources, python) {
        return None;
    }
    let evidence = cx.data().inspect(outcome).await?;
    let mismatch = ComputedResult::new(&task.question, python, sources, evidence).mismatch()?;
    (!is_last_attempt(cx) || mismatch.is_certain && is_small(cx)).then_some(mismatch.reason)
}

/// Whether a small model writes the code.
pub(super) fn is_small(cx: &NodeContext<Computation>) -> bool {
    cx.system().resources.roles.tier("planner") == ModelTier::Small
}

fn is_last_attempt(cx: &NodeContext<Computation>) -> bool {
    cx.state.failed().len() + 1 >= cx.system().config.max_attempts as usize
}

/// Names the texts in the code that no cell holds, since a result of zero may come from them. On
/// the last attempt zero is the answer, but for a small model's dates in words where cells have
/// numbers, or of what stands in a column that the question does not name.
async fn unmatched(cx: &NodeContext<Computation>, python: &str) -> Option<String> {
    if is_last_attempt(cx) && !is_small(cx) {
        return None;
    }
    let mut texts = input_table::compared(python, &cx.state.sources);
    let used = input_table::used(python, &cx.state.sources);
    let is_named = input_table::unnamed(&cx.input().question, &cx.state, &used).is_empty();
    if is_last_attempt(cx) && is_named {
        texts.retain(|text| hints::is_date_in_words(text) && hints::has_dates(&cx.state));
    }
    if texts.is_empty() {
        return None;
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let absent = cx.data().absent(&texts).await;
    let quoted = absent.join("`, `");
    (!absent.is_empty())
        .then(|| format!("the result is 0, and no cell of the inputs holds `{quoted}`"))
}

fn verdict(view: &StateView<'_, '_>, max_attempts: usize) -> Result<Destinations<Json>, Fault> {
    let (attempts, first) = (view.get(State::attempts)?, view.get(State::first)?);
    let next = if first.is_some() { "check" } else { "again" };
    let tried = attempts.len() - first.as_ref().map_or(0, |first| first.attempts);
    Ok(goto(if attempts.last().is_none_or(ComputationAttempt::has_result) {
        match first.map(|first| first.is_confirmed) {
            None | Some(Some(true)) => "computed",
            Some(Some(false)) => "over",
            Some(None) => next,
        }
    } else if tried < max_attempts {
        next
    } else {
        "over"
    }))
}

fn planner(has_reasoning: bool) -> RoleNode<Computation> {
    RoleNode {
        role: "planner",
        schema: reply::plan(has_reasoning),
        max_tool_calls: 0,
        begin: |_| {},
        conversation: |cx| coding(cx.system(), cx.input(), &cx.state),
        brief: |cx| {
            let (task, state) = (cx.input(), &cx.state);
            Ok(json!({
                "question": task.question,
                "facts": task.facts,
                "inputs": state.inputs,
                "functions": task.functions,
                "attempts": state.failed(),
                "cross_check": state.first.is_some(),
            }))
        },
        conclude: |cx, mut reply| {
            let mut plan: CodeReply = reply.read()?;
            plan.python = with_imports(plan.python, &cx.system().config.packages);
            let note = json!({"python": plan.python, "explain": plan.explain});
            let mut patch = Patch::default();
            if let Some(missing) = plan.missing.as_deref().and_then(said) {
                refuse(&mut patch, format!("the inputs do not hold what is asked for: {missing}"));
            }
            patch.set(State::needs_column_check, asked_column::needs_check(cx, &plan.python));
            patch.note("code_planned", note).set(State::plan, plan);
            Ok(patch)
        },
    }
}

fn summariser(config: &Config) -> RoleNode<Computation> {
    RoleNode {
        role: "summariser",
        schema: reply::summary(config),
        max_tool_calls: 0,
        begin: |_| {},
        conversation: |cx| summing_up(cx.system(), cx.input(), &cx.state),
        brief: |cx| {
            let State { attempts, shown, printed, rejected, .. } = &*cx.state;
            Ok(json!({
                "question": cx.input().question,
                "code": attempts.last().map(|last| &last.python),
                "printed": printed,
                "result": shown,
                "rejected": rejected,
            }))
        },
        conclude: |cx, mut reply| Ok(wording::conclude(cx, reply.read()?)),
    }
}

/// Why there is no result, if there is none.
fn failure(outcome: &JobOutcome) -> Option<GuestFault> {
    if outcome.error.is_some() {
        return outcome.error.clone();
    }
    let has_table = outcome.tables.iter().any(|table| table.name == RESULT);
    if outcome.locals.contains_key(RESULT) || has_table {
        return None;
    }
    let lost = outcome.local_errors.get(RESULT).or_else(|| outcome.table_errors.get(RESULT));
    if let Some(fault) = lost {
        return Some(fault.clone());
    }
    // A last expression will do: what was meant is plain.
    if outcome.value.as_ref().is_some_and(|value| !value.is_null()) {
        return None;
    }
    let missing = || {
        let message = format!("the code assigned nothing to `{RESULT}`");
        GuestFault::new(GuestFaultKind::PythonError, message)
    };
    Some(outcome.value_error.clone().unwrap_or_else(missing))
}

/// A failure of the sandbox that other code does not mend, as the fault of its node.
fn unusable(fault: &GuestFault) -> Fault {
    let code = match fault.kind {
        GuestFaultKind::Cancelled => FaultCode::RunCancelled,
        GuestFaultKind::Unavailable => FaultCode::SandboxUnavailable,
        GuestFaultKind::ResultTooLarge => FaultCode::SandboxInputInvalid,
        _ => FaultCode::SandboxCrashed,
    };
    Fault::new(code, fault.message.clone())
}
