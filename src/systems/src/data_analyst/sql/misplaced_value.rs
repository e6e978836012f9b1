//! Values that a query looks for in another column than the one that has them.

use serde::{Deserialize, Serialize};

use super::query_token::{QueryToken, tokens};
use crate::data_analyst::tabular::TabularResult;

/// The kind of a failure by a value that is looked for in the wrong column.
pub(super) const MISPLACED_VALUE: &str = "MisplacedValue";

/// A value that the question names, and a column that has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedValue {
    /// The table, perhaps with its schema.
    pub table: String,
    /// The column.
    pub column: String,
    /// The value as it is stored.
    pub value: String,
}

/// What to tell a model whose query has found nothing, because it looks for a value in a column
/// that does not have it. `columns` are those whose values were compared with the question.
///
/// ```
/// use antiphon_systems::data_analyst::sql::misplaced_value::{NamedValue, misplaced_value};
/// let label = NamedValue {
///     table: "machine".into(), column: "label".into(), value: "Extruder B".into(),
/// };
/// let query = "SELECT count(*) FROM batch WHERE mach_id = 'Extruder B'";
/// let columns = ["mach_id".to_owned(), "label".to_owned()];
/// let told = misplaced_value(query, &columns, &[label]).unwrap();
/// assert_eq!(told, "no row has `mach_id` 'Extruder B', which is a value of `machine.label`");
/// ```
pub fn misplaced_value(query: &str, columns: &[String], named: &[NamedValue]) -> Option<String> {
    let tokens = tokens(query);
    tokens.iter().enumerate().find_map(|(place, token)| {
        let literal = token.literal()?;
        let column = compared_column(tokens.get(..place)?)?;
        let is_compared = |known: &String| known.eq_ignore_ascii_case(column);
        let has_it = |one: &&NamedValue| one.value.to_lowercase() == literal.to_lowercase();
        let is_right = |one: &NamedValue| one.column.eq_ignore_ascii_case(column);
        if !columns.iter().any(is_compared) || named.iter().filter(has_it).any(is_right) {
            return None;
        }
        let NamedValue { table, column: own, value } = named.iter().find(has_it)?;
        Some(format!("no row has `{column}` '{value}', which is a value of `{table}.{own}`"))
    })
}

/// The column that what follows these tokens has to be equal to.
fn compared_column<'q>(before: &[QueryToken<'q>]) -> Option<&'q str> {
    let before = match before {
        [before @ .., sign] if sign.text == "=" || sign.is_word("like") => before,
        [before @ .., word, open] if word.is_word("in") && open.text == "(" => before,
        _ => return None,
    };
    before.last()?.name()
}

/// Whether a result says that there is nothing: no rows, or a single zero or NULL.
pub(super) fn is_nothing(table: &TabularResult) -> bool {
    let is_nothing = |cell: &serde_json::Value| cell.is_null() || cell.as_f64() == Some(0.0);
    table.row_count == 0 || table.single_cell().is_some_and(is_nothing)
}
