//! The fault of a question whose budget is spent: which limit it was, and what raises it.

use antiphon_core::budget::{Budget, BudgetCharge, BudgetDimension, Limits};
use antiphon_core::event::{Event, EventKind};
use antiphon_core::{Fault, FaultCode};
use serde_json::Value as Json;
use std::sync::Arc;
use std::time::Duration;

use crate::result::Outcome;
use crate::system::SystemConfig;

/// The limit that ended a question, as the last event about one reports it.
pub(super) fn reported_dimension(events: &[Arc<Event>]) -> Option<BudgetDimension> {
    let reported = events.iter().rfind(|event| event.kind == EventKind::Budget)?;
    let name = reported.data.get("dimension")?.as_str()?;
    BudgetDimension::ALL.into_iter().find(|one| one.as_str() == name)
}

/// A limit that is spent.
pub(super) fn spent_dimension(budget: &Budget) -> Option<BudgetDimension> {
    let calls = [BudgetCharge::Model, BudgetCharge::Tool];
    calls.into_iter().find_map(|charge| budget.allows(charge).err()).or_else(|| {
        let limit = budget.limits().supersteps?;
        (budget.spent().supersteps >= limit).then_some(BudgetDimension::Supersteps)
    })
}

/// The name of the limit that ended a question.
pub(super) fn limit_name(outcome: Outcome, error: &Fault) -> Option<String> {
    let name = error.details.get("dimension")?.as_str()?;
    (outcome == Outcome::Budget).then(|| name.to_owned())
}

/// The fault for the result. `own` are the limits of the caller, beside those of the settings.
pub(super) fn spent_budget<C: SystemConfig>(
    dimension: BudgetDimension,
    budget: &Budget,
    own: &Limits,
) -> Fault {
    let label = match dimension {
        BudgetDimension::Supersteps => "supersteps",
        BudgetDimension::ModelCalls => "model calls",
        BudgetDimension::ToolCalls => "tool calls",
        BudgetDimension::InputTokens => "tokens read",
        BudgetDimension::OutputTokens => "tokens written",
        BudgetDimension::Retries => "retries",
        BudgetDimension::WallTime => "seconds",
    };
    let limit = limit(dimension, budget.limits());
    let message = match limit {
        Some(ref limit) => format!("the question reached its limit of {label}: {limit}"),
        None => format!("the question reached its limit of {label}"),
    };
    let name = dimension.as_str();
    // The narrower of the two was reached.
    let is_own = limit.is_some() && self::limit(dimension, own) == limit;
    let hint = match C::setting_of(dimension).filter(|_| !is_own) {
        Some(setting) => format!("raise `{setting}`"),
        None => format!("raise `{name}` of the budget"),
    };
    let fault = Fault::new(FaultCode::BudgetExhausted, message).with("dimension", name).hint(hint);
    match limit {
        Some(limit) => fault.with("limit", limit),
        None => fault,
    }
}

fn limit(dimension: BudgetDimension, limits: &Limits) -> Option<Json> {
    let count = match dimension {
        BudgetDimension::WallTime => return limits.wall_time.map(seconds),
        BudgetDimension::Supersteps => limits.supersteps,
        BudgetDimension::ModelCalls => limits.model_calls,
        BudgetDimension::ToolCalls => limits.tool_calls,
        BudgetDimension::InputTokens => limits.input_tokens,
        BudgetDimension::OutputTokens => limits.output_tokens,
        BudgetDimension::Retries => limits.retries,
    };
    count.map(Json::from)
}

/// A whole number of seconds where it is one.
fn seconds(time: Duration) -> Json {
    if time.subsec_nanos() == 0 { time.as_secs().into() } else { time.as_secs_f64().into() }
}
