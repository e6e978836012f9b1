//! The calculator: a table of expressions, limits, and identities.

mod cases;
mod failures;
mod identities;
mod limits;

use antiphon_core::Fault;
use antiphon_tools::calculator::{CalculatorAnswer, calculate};

/// 2024-02-29 12:00:00 UTC, in microseconds.
const NOW: i64 = 1_709_208_000_000_000;

fn ask(expression: &str) -> Result<CalculatorAnswer, Fault> {
    calculate(expression, NOW)
}

fn text(expression: &str) -> String {
    match ask(expression) {
        Ok(answer) => answer.text,
        Err(fault) => format!("{fault} / {}", fault.hint.as_deref().unwrap_or_default()),
    }
}

/// Compares all rows of a table, and shows all that differ at once.
fn check(table: &[(&str, &str)]) {
    let wrong: Vec<String> = table
        .iter()
        .map(|(expression, expected)| (expression, expected, text(expression)))
        .filter(|(_, expected, found)| *expected != found)
        .map(|(expression, expected, found)| format!("{expression}\n   {expected}\n   {found}"))
        .collect();
    assert!(wrong.is_empty(), "expression, expected, found:\n{}", wrong.join("\n"));
}
