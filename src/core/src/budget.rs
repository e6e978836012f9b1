//! Budgets of runs, graphs and nodes.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::fault::{Category, Fault, FaultCode};
use crate::model::Usage;

/// A quantity that a budget limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetDimension {
    /// Supersteps.
    Supersteps,
    /// Calls of a model, transport retries not counted.
    ModelCalls,
    /// Calls of a tool.
    ToolCalls,
    /// Tokens read by models.
    InputTokens,
    /// Tokens written by models.
    OutputTokens,
    /// Repeated attempts of nodes.
    Retries,
    /// Time since the run began.
    WallTime,
}

impl BudgetDimension {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Supersteps,
        Self::ModelCalls,
        Self::ToolCalls,
        Self::InputTokens,
        Self::OutputTokens,
        Self::Retries,
        Self::WallTime,
    ];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Supersteps => "supersteps",
            Self::ModelCalls => "model_calls",
            Self::ToolCalls => "tool_calls",
            Self::InputTokens => "input_tokens",
            Self::OutputTokens => "output_tokens",
            Self::Retries => "retries",
            Self::WallTime => "wall_time",
        }
    }
}

/// Upper limits; `None` for those of the enclosing scope only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Supersteps.
    pub supersteps: Option<u64>,
    /// Calls of models.
    pub model_calls: Option<u64>,
    /// Calls of tools.
    pub tool_calls: Option<u64>,
    /// Tokens read.
    pub input_tokens: Option<u64>,
    /// Tokens written.
    pub output_tokens: Option<u64>,
    /// Repeated attempts of nodes.
    pub retries: Option<u64>,
    /// Time from the first step to the last; the attempts of a node and the
    /// pauses between them count.
    pub wall_time: Option<Duration>,
}

impl Limits {
    /// The lower limit of each dimension.
    #[must_use]
    pub fn lowest(&self, other: &Self) -> Self {
        fn least<T: Ord + Copy>(one: Option<T>, other: Option<T>) -> Option<T> {
            one.into_iter().chain(other).min()
        }
        Self {
            supersteps: least(self.supersteps, other.supersteps),
            model_calls: least(self.model_calls, other.model_calls),
            tool_calls: least(self.tool_calls, other.tool_calls),
            input_tokens: least(self.input_tokens, other.input_tokens),
            output_tokens: least(self.output_tokens, other.output_tokens),
            retries: least(self.retries, other.retries),
            wall_time: least(self.wall_time, other.wall_time),
        }
    }
}

/// What has been spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetUsage {
    /// Supersteps.
    pub supersteps: u64,
    /// Calls of models.
    pub model_calls: u64,
    /// Calls of tools.
    pub tool_calls: u64,
    /// Repeated attempts of nodes.
    pub retries: u64,
    /// Tokens.
    pub usage: Usage,
}

impl BudgetUsage {
    /// Nothing.
    pub const ZERO: Self =
        Self { supersteps: 0, model_calls: 0, tool_calls: 0, retries: 0, usage: Usage::ZERO };

    /// The larger of each count.
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            supersteps: self.supersteps.max(other.supersteps),
            model_calls: self.model_calls.max(other.model_calls),
            tool_calls: self.tool_calls.max(other.tool_calls),
            retries: self.retries.max(other.retries),
            usage: Usage {
                input_tokens: self.usage.input_tokens.max(other.usage.input_tokens),
                output_tokens: self.usage.output_tokens.max(other.usage.output_tokens),
            },
        }
    }
}

/// A call that counts against a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetCharge {
    /// One call of a model.
    Model,
    /// One call of a tool.
    Tool,
}

/// Limits and what has been spent of them.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    limits: Limits,
    spent: BudgetUsage,
}

impl Budget {
    /// Nothing spent yet.
    pub fn new(limits: Limits) -> Self {
        Self { limits, spent: BudgetUsage::default() }
    }

    /// Restores what was spent before.
    pub(crate) const fn resume(&mut self, spent: BudgetUsage) {
        self.spent = spent;
    }

    /// The limits.
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What has been spent.
    pub const fn spent(&self) -> &BudgetUsage {
        &self.spent
    }

    /// The counts that are left, as limits of a part of the work. Time is a matter of the
    /// deadline, and supersteps of the graph that takes them.
    pub(crate) fn left(&self) -> Limits {
        let rest = |limit: Option<u64>, spent: u64| limit.map(|limit| limit.saturating_sub(spent));
        let BudgetUsage { model_calls, tool_calls, retries, usage, .. } = self.spent;
        Limits {
            supersteps: None,
            model_calls: rest(self.limits.model_calls, model_calls),
            tool_calls: rest(self.limits.tool_calls, tool_calls),
            input_tokens: rest(self.limits.input_tokens, usage.input_tokens),
            output_tokens: rest(self.limits.output_tokens, usage.output_tokens),
            retries: rest(self.limits.retries, retries),
            wall_time: None,
        }
    }

    /// Checks that one more call fits, without counting it.
    ///
    /// # Errors
    /// The exhausted dimension.
    pub fn allows(&self, charge: BudgetCharge) -> Result<(), BudgetDimension> {
        let tokens = [
            (self.spent.usage.input_tokens, self.limits.input_tokens, BudgetDimension::InputTokens),
            (
                self.spent.usage.output_tokens,
                self.limits.output_tokens,
                BudgetDimension::OutputTokens,
            ),
        ];
        let calls = match charge {
            BudgetCharge::Model => {
                (self.spent.model_calls, self.limits.model_calls, BudgetDimension::ModelCalls)
            }
            BudgetCharge::Tool => {
                (self.spent.tool_calls, self.limits.tool_calls, BudgetDimension::ToolCalls)
            }
        };
        let tokens = if charge == BudgetCharge::Model { &tokens[..] } else { &[] };
        match std::iter::once(&calls)
            .chain(tokens)
            .find(|(spent, limit, _)| is_spent(*spent, *limit))
        {
            Some((_, _, dimension)) => Err(*dimension),
            None => Ok(()),
        }
    }

    /// Counts a call.
    pub const fn charge(&mut self, charge: BudgetCharge) {
        match charge {
            BudgetCharge::Model => self.spent.model_calls += 1,
            BudgetCharge::Tool => self.spent.tool_calls += 1,
        }
    }

    /// Counts tokens.
    pub fn charge_usage(&mut self, usage: Usage) {
        self.spent.usage += usage;
    }

    /// Whether one more superstep fits.
    pub(crate) fn has_superstep(&self) -> bool {
        !is_spent(self.spent.supersteps, self.limits.supersteps)
    }

    /// Counts one more superstep.
    pub(crate) const fn count_superstep(&mut self) {
        self.spent.supersteps += 1;
    }

    /// Whether one more repeated attempt fits.
    pub(crate) fn has_retry(&self) -> bool {
        !is_spent(self.spent.retries, self.limits.retries)
    }

    /// Counts one more repeated attempt.
    pub(crate) const fn count_retry(&mut self) {
        self.spent.retries += 1;
    }
}

fn is_spent(spent: u64, limit: Option<u64>) -> bool {
    limit.is_some_and(|limit| spent >= limit)
}

/// The fault of an exhausted budget.
pub fn exhausted(dimension: BudgetDimension) -> Fault {
    let message = format!("the budget is spent: {}", dimension.as_str());
    Fault::new(FaultCode::BudgetExhausted, message).with("dimension", dimension.as_str()).hint(
        "raise the limit, or declare an `on_budget` node that ends the run with the results so far",
    )
}

/// The exhausted dimension that a fault reports; `None` for other faults.
pub(crate) fn spent_dimension(fault: &Fault) -> Option<BudgetDimension> {
    if fault.category != Category::Budget {
        return None;
    }
    let name = fault.details.get("dimension")?.as_str()?;
    BudgetDimension::ALL.into_iter().find(|dimension| dimension.as_str() == name)
}
