//! Whether several queries came to the same rows.

use std::cmp::Ordering;

use serde_json::Value as Json;

use super::work::CandidateResult;
use crate::data_analyst::tabular::TabularResult;

/// How far numbers with a fraction may be apart, as a part of the larger one.
const TOLERANCE: f64 = 1e-9;

/// The first result that more than half of all agree with, and how many do; none if there is no
/// such result. Names of columns and the order of rows do not count.
pub(super) fn agreed(candidates: &[CandidateResult]) -> Option<(&CandidateResult, usize)> {
    let tables: Vec<_> = candidates.iter().map(|one| (one, sorted_rows(&one.table))).collect();
    let agreeing = |own| tables.iter().filter(|other| have_same_rows(own, other)).count();
    let counted = tables.iter().map(|own| (own.0, agreeing(own)));
    let mut best: Option<(&CandidateResult, usize)> = None;
    for (candidate, count) in counted {
        if best.is_none_or(|(_, most)| count > most) {
            best = Some((candidate, count));
        }
    }
    best.filter(|(_, count)| 2 * count > candidates.len())
}

/// A result with its rows in order.
type SortedResult<'c> = (&'c CandidateResult, Vec<Vec<&'c Json>>);

/// Whether two results have the same rows: by their cells, or of larger ones by their digests.
fn have_same_rows((one, own): &SortedResult<'_>, (other, rows): &SortedResult<'_>) -> bool {
    if one.table.is_shown_whole() && other.table.is_shown_whole() {
        return have_same_cells(own, rows);
    }
    one.table.row_count == other.table.row_count && one.digest == other.digest
}

/// The cells of a table by rows, in an order that depends on nothing else.
fn sorted_rows(table: &TabularResult) -> Vec<Vec<&Json>> {
    let cells = |row| {
        let cell = |name| serde_json::Map::get(row, name).unwrap_or(&Json::Null);
        table.columns.iter().map(cell).collect()
    };
    let mut rows: Vec<Vec<&Json>> = table.rows.iter().map(cells).collect();
    rows.sort_by(|one, other| {
        let pairs = || one.iter().zip(other);
        let rounded = pairs().map(|(one, other)| rounded_text(one).cmp(&rounded_text(other)));
        let exact = pairs().map(|(one, other)| one.to_string().cmp(&other.to_string()));
        rounded.chain(exact).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    });
    rows
}

/// A cell by which rows are sorted, so that nearly equal numbers stand at the same place.
fn rounded_text(cell: &Json) -> String {
    match cell.as_f64() {
        Some(number) => format!("{:.9e}", number + 0.0),
        None => cell.to_string(),
    }
}

fn have_same_cells(one: &[Vec<&Json>], other: &[Vec<&Json>]) -> bool {
    let is_same_row = |(one, other): (&Vec<&Json>, &Vec<&Json>)| {
        one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
    };
    one.len() == other.len() && one.iter().zip(other).all(is_same_row)
}

/// Whether two cells are the same. Whole numbers are compared by their digits; sums in another
/// order differ in their last ones.
fn is_same(one: &Json, other: &Json) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(left), Some(right)) if one.is_f64() || other.is_f64() => {
            (left - right).abs() <= TOLERANCE * left.abs().max(right.abs())
        }
        _ => one == other,
    }
}
