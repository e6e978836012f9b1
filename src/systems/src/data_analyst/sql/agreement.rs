//! Whether several queries came to the same rows.

use serde_json::Value as Json;

use super::work::CandidateResult;
use crate::data_analyst::tabular::TabularResult;

/// The first result that more than half of all agree with, and how many do; none if there is no
/// such result. Names of columns and the order of rows do not count.
pub(super) fn agreed(candidates: &[CandidateResult]) -> Option<(&CandidateResult, usize)> {
    let rows: Vec<_> = candidates.iter().map(|candidate| normal(&candidate.table)).collect();
    let counted = candidates
        .iter()
        .zip(&rows)
        .map(|(candidate, own)| (candidate, rows.iter().filter(|other| *other == own).count()));
    let mut best: Option<(&CandidateResult, usize)> = None;
    for (candidate, count) in counted {
        if best.is_none_or(|(_, most)| count > most) {
            best = Some((candidate, count));
        }
    }
    best.filter(|(_, count)| 2 * count > candidates.len())
}

/// The cells of a table by rows, in an order that depends on nothing else.
fn normal(table: &TabularResult) -> Vec<Vec<String>> {
    let cells = |row: &serde_json::Map<String, Json>| {
        table.columns.iter().map(|name| row.get(name).map_or_else(String::new, plain)).collect()
    };
    let mut rows: Vec<Vec<String>> = table.rows.iter().map(cells).collect();
    rows.sort();
    rows
}

/// A cell; sums in another order differ in their last digits.
fn plain(cell: &Json) -> String {
    match cell.as_f64() {
        Some(number) => format!("{:.9e}", number + 0.0),
        None => cell.to_string(),
    }
}
