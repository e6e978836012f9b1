//! Values that a query looks for in another column than the one that has them.

use serde::{Deserialize, Serialize};

use crate::data_analyst::tabular::TabularResult;

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
/// that does not have it.
///
/// ```
/// use antiphon_systems::data_analyst::sql::misplaced_value::{NamedValue, misplaced_value};
/// let label = NamedValue {
///     table: "machine".into(), column: "label".into(), value: "Extruder B".into(),
/// };
/// let query = "SELECT count(*) FROM batch WHERE mach_id = 'Extruder B'";
/// let told = misplaced_value(query, &[label]).unwrap();
/// assert_eq!(told, "no row has `mach_id` 'Extruder B', which is a value of `machine.label`");
/// ```
pub fn misplaced_value(query: &str, named: &[NamedValue]) -> Option<String> {
    let pieces: Vec<&str> = query.split('\'').collect();
    pieces.chunks(2).find_map(|piece| {
        let [before, literal] = piece else { return None };
        let column = compared_column(before)?;
        let has_it = |one: &&NamedValue| one.value.to_lowercase() == literal.to_lowercase();
        if named.iter().filter(has_it).any(|one| one.column.eq_ignore_ascii_case(&column)) {
            return None;
        }
        let NamedValue { table, column: own, value } = named.iter().find(has_it)?;
        let told = format!("no row has `{column}` '{value}', which is a value of `{table}.{own}`");
        Some(told)
    })
}

/// The column before a comparison at the end of a text, without its table.
fn compared_column(before: &str) -> Option<String> {
    let before = before.trim_end();
    let lower = before.to_ascii_lowercase();
    let comparison = ["=", " like", " in ("].iter().find(|it| lower.ends_with(**it))?;
    let before = before.get(..before.len() - comparison.len())?.trim_end();
    let name = match before.strip_suffix('"') {
        Some(quoted) => quoted.rsplit_once('"')?.1,
        None => before.rsplit(|sign: char| !(sign.is_alphanumeric() || sign == '_')).next()?,
    };
    (!name.is_empty()).then(|| name.to_owned())
}

/// Whether a result says that there is nothing: no rows, or a single zero or NULL.
pub(super) fn is_nothing(table: &TabularResult) -> bool {
    let is_nothing = |cell: &serde_json::Value| cell.is_null() || cell.as_f64() == Some(0.0);
    table.row_count == 0 || table.single_cell().is_some_and(is_nothing)
}
