//! The calculator: exact arithmetic, units, dates and statistics in one expression.
//!
//! An expression is read by a grammar of its own: no file, network or random number is within its
//! reach, and its length, depth, sizes of numbers and work are bounded.

mod calendar;
mod error;
mod evaluation;
mod format;
mod function;
mod moment;
mod number;
mod operand;
mod statistics;
mod token;
mod trigonometry;
mod unit;
mod unit_table;
mod value;
mod work;

use std::sync::Arc;

use antiphon_core::{Fault, SideEffect, ToolOutcome};
use antiphon_runtime::{CallContext, Tool};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Number as JsonNumber, json};

use self::format::write_value;
use self::number::Number;
use self::value::Value;
use crate::registry::ToolFamily;
use crate::typed_tool::{ToolFunction, TypedTool};

/// The family of one tool, `calculate`.
#[derive(Debug)]
pub struct Calculator;

/// The calculator has no settings.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CalculatorSettings {}

impl ToolFamily for Calculator {
    const NAME: &'static str = "calculator";
    const DESCRIPTION: &'static str = "Exact arithmetic, units, dates and statistics.";
    type Settings = CalculatorSettings;

    fn open(_: CalculatorSettings) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        Ok(vec![Arc::new(TypedTool::new("calculate", DESCRIPTION, SideEffect::None, Calculate))])
    }
}

/// What a model has to know to write an expression.
const DESCRIPTION: &str = "Calculates an expression exactly. Examples: 12.5 * (3 + 4)^2; \
    15% of 80; sqrt(2); factorial(20); sin(30 deg); 60 mph to km/h; 72 degF to degC; \
    2024-03-01 + 45 days; date_diff(2000-05-17, 2024-02-29); weekday(2024-02-29); \
    mean([1, 2, 3]); stdev([1, 2, 3]); percentile([1, 2, 3], 90); x = 3; 2*x + 1";

/// The arguments of `calculate`.
#[derive(Deserialize, JsonSchema)]
struct CalculateArguments {
    /// Numbers, + - * / ^ % and ( ), functions, units, dates as 2024-02-29, lists as [1, 2, 3]. No words, no thousands separators.
    expression: String,
}

#[derive(Debug)]
struct Calculate;

#[async_trait]
impl ToolFunction for Calculate {
    type Arguments = CalculateArguments;

    async fn call(&self, arguments: CalculateArguments, cx: &CallContext) -> ToolOutcome {
        let now = i64::try_from(cx.clock.now().as_micros()).unwrap_or(i64::MAX);
        let answer = calculate(&arguments.expression, now)?;
        let mut fields = json!({"result": answer.text, "exact": answer.exact});
        if let Some(object) = fields.as_object_mut() {
            let number = answer.number.map(|number| ("number", json!(number)));
            let note = answer.note.map(|note| ("note", json!(note)));
            object
                .extend(number.into_iter().chain(note).map(|(key, value)| (key.to_owned(), value)));
        }
        Ok(fields)
    }
}

/// The result of an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct CalculatorAnswer {
    /// The value as text, with its unit; `≈` stands before what is rounded.
    pub text: String,
    /// Whether the text stands for the value without any rounding.
    pub exact: bool,
    /// The number of the value in its unit, for a value that has one that JSON can hold.
    pub number: Option<JsonNumber>,
    /// How an ambiguous part was read.
    pub note: Option<String>,
}

/// Calculates an expression. `now` is the time that `today` and `now` stand for, in microseconds
/// since the start of 1970.
///
/// ```
/// use antiphon_tools::calculator::calculate;
///
/// assert_eq!(calculate("0.1 + 0.2", 0)?.text, "0.3");
/// assert_eq!(calculate("90 km/h to m/s", 0)?.text, "25 m/s");
/// # Ok::<(), antiphon_core::Fault>(())
/// ```
///
/// # Errors
/// A `Tool` fault `calculation_failed` that quotes the part of the expression that it is about.
pub fn calculate(expression: &str, now: i64) -> Result<CalculatorAnswer, Fault> {
    let evaluated =
        evaluation::evaluate(expression, now).map_err(|error| error.into_fault(expression))?;
    let written = write_value(&evaluated.value, evaluated.notation);
    Ok(CalculatorAnswer {
        text: written.text,
        exact: written.exact,
        number: json_number(&evaluated.value),
        note: evaluated.notes.into_text(),
    })
}

fn json_number(value: &Value) -> Option<JsonNumber> {
    let Value::Quantity(quantity) = value else { return None };
    match (quantity.number.as_integer(), quantity.number.as_i64()) {
        (Some(_), Some(integer)) => Some(integer.into()),
        // A larger integer would be rounded.
        (Some(_), None) => None,
        (None, _) => match &quantity.number {
            Number::Approximate(value) => JsonNumber::from_f64(*value),
            exact @ Number::Exact(_) => JsonNumber::from_f64(exact.to_f64()),
        },
    }
}
