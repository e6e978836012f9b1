//! Values that a query looks for in another column than the one that has them.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::identifier::IdentifierStyle;
use super::known_names::KnownTable;
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
    /// The value, with the capitals that the database has.
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
    let MisplacedComparison { column, values, .. } = find(query, columns, named)?;
    let NamedValue { table, column: own, value } = values.first()?;
    Some(format!("no row has `{column}` '{value}', which is a value of `{table}.{own}`"))
}

/// The query with such a value looked up in the table that has it, by the column of that table that
/// the compared one refers to, or that has its name.
///
/// ```
/// use antiphon_systems::data_analyst::sql::KnownTable;
/// use antiphon_systems::data_analyst::sql::misplaced_value::{NamedValue, query_by_key};
/// let table = |name: &str, columns: [&str; 2]| KnownTable {
///     name: name.to_owned(), columns: columns.map(str::to_owned).to_vec(), ..KnownTable::default()
/// };
/// let tables = [table("machine", ["mach_id", "label"]), table("batch", ["mach_id", "kg"])];
/// let label = NamedValue {
///     table: "machine".into(), column: "label".into(), value: "Extruder B".into(),
/// };
/// let query = "SELECT sum(kg) FROM batch WHERE mach_id = 'Extruder B'";
/// let columns = ["mach_id".to_owned(), "label".to_owned()];
/// assert_eq!(
///     query_by_key(query, (&columns, &[label]), &tables, "SQLite").unwrap(),
///     "SELECT sum(kg) FROM batch WHERE mach_id \
///      IN (SELECT mach_id FROM machine WHERE label = 'Extruder B')",
/// );
/// ```
pub fn query_by_key(
    query: &str,
    (columns, named): (&[String], &[NamedValue]),
    tables: &[KnownTable],
    dialect: &str,
) -> Option<String> {
    let MisplacedComparison { column, comparison, values } = find(query, columns, named)?;
    let comparison = comparison?;
    let words = tokens(query);
    let is_read = |table: &KnownTable| {
        let own = table.name.rsplit('.').next().unwrap_or_default();
        words.iter().filter_map(QueryToken::name).any(|name| name.eq_ignore_ascii_case(own))
    };
    let (read, others): (Vec<&KnownTable>, Vec<&KnownTable>) =
        tables.iter().partition(|it| is_read(it));
    let mut found = values.iter().filter_map(|one| {
        // Columns of a table that is read have other meanings, such as origin and destination.
        let home = others.iter().find(|table| table.name == one.table)?;
        Some((*one, key_of(home, column, &read)?))
    });
    let (NamedValue { table, column: own, value }, key) = found.next()?;
    let style = IdentifierStyle::of(dialect);
    let (key, table, own) = (style.name(key), style.table(table), style.name(own));
    let value = value.replace('\'', "''");
    let among = format!(" IN (SELECT {key} FROM {table} WHERE {own} = '{value}')");
    let mut mended = query.to_owned();
    mended.replace_range(comparison, &among);
    Some(mended)
}

/// The column of the table `home` that a column of the tables that are read refers to. Without a
/// foreign key, it is the column of the same name, unless that is the key of a table that is read.
fn key_of<'t>(home: &'t KnownTable, column: &str, read: &[&'t KnownTable]) -> Option<&'t str> {
    let is_it = |name: &str| name.eq_ignore_ascii_case(column);
    let mut references = read.iter().flat_map(|table| &table.references);
    if let Some(found) = references.find(|one| one.table == home.name && is_it(&one.column)) {
        return Some(&found.key);
    }
    let is_own_key = |table: &&KnownTable| matches!(&*table.primary_key, [key] if is_it(key));
    if read.iter().any(is_own_key) {
        return None;
    }
    home.columns.iter().map(String::as_str).find(|name| is_it(name))
}

/// A comparison with a value that only other columns have.
struct MisplacedComparison<'q> {
    column: &'q str,
    /// Where the sign and the value stand, if it is for equality.
    comparison: Option<Range<usize>>,
    values: Vec<&'q NamedValue>,
}

fn find<'q>(
    query: &'q str,
    columns: &[String],
    named: &'q [NamedValue],
) -> Option<MisplacedComparison<'q>> {
    let tokens = tokens(query);
    tokens.iter().enumerate().find_map(|(place, token)| {
        let literal = token.literal()?;
        let before = compared(tokens.get(..place)?)?;
        let (column, is_equality) = (before.name()?, tokens.get(place - 1)?.text == "=");
        let is_compared = |known: &String| known.eq_ignore_ascii_case(column);
        let has_it = |one: &&NamedValue| one.value.to_lowercase() == literal.to_lowercase();
        let values: Vec<&NamedValue> = named.iter().filter(has_it).collect();
        let is_right = values.iter().any(|one| one.column.eq_ignore_ascii_case(column));
        if !columns.iter().any(is_compared) || is_right || values.is_empty() {
            return None;
        }
        let comparison = is_equality.then_some(before.place.end..token.place.end);
        Some(MisplacedComparison { column, comparison, values })
    })
}

/// The column that what follows these tokens has to be equal to.
fn compared<'t, 'q>(before: &'t [QueryToken<'q>]) -> Option<&'t QueryToken<'q>> {
    let before = match before {
        [before @ .., sign] if sign.text == "=" || sign.is_word("like") => before,
        [before @ .., word, open] if word.is_word("in") && open.text == "(" => before,
        _ => return None,
    };
    before.last()
}

/// Whether a result says that there is nothing: no rows, or a single zero or NULL.
pub(super) fn is_nothing(table: &TabularResult) -> bool {
    let is_nothing = |cell: &serde_json::Value| cell.is_null() || cell.as_f64() == Some(0.0);
    table.row_count == 0 || table.single_cell().is_some_and(is_nothing)
}
