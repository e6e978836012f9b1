//! Flags that a query counts: `count(paid)` counts each row that has a value, also those that are not
//! paid.

use super::column_owner::sources;
use super::known_names::KnownTable;
use super::named_column::column_after;
use super::query_token::tokens;

/// The kind of a failure by such a count.
pub(super) const COUNTED_FLAG: &str = "CountedFlag";

/// How flags say yes and no.
const YES: [&str; 5] = ["1", "true", "t", "yes", "y"];
const NO: [&str; 5] = ["0", "false", "f", "no", "n"];

/// A column whose values a query counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedColumn {
    /// Its table, perhaps with its schema.
    pub table: String,
    /// Its name.
    pub name: String,
}

/// The columns that a query counts and reads in no other way. Keys are none of them: they stand for
/// their rows.
///
/// ```
/// use antiphon_systems::data_analyst::sql::KnownTable;
/// use antiphon_systems::data_analyst::sql::counted_flag::counted_columns;
/// let orders = KnownTable {
///     name: "orders".into(), columns: vec!["id".into(), "paid".into()],
///     primary_key: vec!["id".into()], ..KnownTable::default()
/// };
/// let counted = |query| counted_columns(query, std::slice::from_ref(&orders));
/// assert_eq!(counted("SELECT count(o.paid) FROM orders o")[0].name, "paid");
/// assert_eq!(counted("SELECT count(paid) FROM orders WHERE paid = 1"), []);
/// assert_eq!(counted("SELECT count(id) FROM orders"), []);
/// ```
pub fn counted_columns(query: &str, tables: &[KnownTable]) -> Vec<CountedColumn> {
    let tokens = tokens(query);
    let is_single = tokens.iter().filter(|token| token.is_word("select")).count() == 1;
    let Some(sources) = sources(&tokens, tables).filter(|_| is_single) else { return Vec::new() };
    let mut counted: Vec<CountedColumn> = Vec::new();
    let (mut places, mut names) = (Vec::new(), Vec::new());
    for (place, token) in tokens.iter().enumerate() {
        let follows = |text: &str| tokens.get(place + 1).is_some_and(|next| next.text == text);
        if !token.is_word("count") || !follows("(") {
            continue;
        }
        let Some(column) = column_after(&tokens, place + 1) else { continue };
        let ends = tokens.iter().find(|token| token.place.start >= column.place.end);
        if ends.is_none_or(|end| end.text != ")") {
            continue;
        }
        let Some(source) = column.owner(&sources).and_then(|at| sources.get(at)) else { continue };
        let is_it = |name: &String| name.eq_ignore_ascii_case(column.name);
        let known = source.table;
        let is_key = known.primary_key.iter().any(is_it)
            || known.references.iter().any(|one| is_it(&one.column));
        places.push(column.place.clone());
        let one = CountedColumn { table: known.name.clone(), name: column.name.to_owned() };
        if !is_key && !counted.contains(&one) {
            counted.push(one);
        }
    }
    // What follows `as` is the name of a result.
    for (place, token) in tokens.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|before| tokens.get(before));
        let is_counted = places.iter().any(|place| place.contains(&token.place.start));
        if !is_counted && !before.is_some_and(|it| it.is_word("as")) {
            names.extend(token.name());
        }
    }
    counted.retain(|one| !names.iter().any(|name| name.eq_ignore_ascii_case(&one.name)));
    counted
}

/// Whether these are all values of a flag, and some say no.
///
/// ```
/// use antiphon_systems::data_analyst::sql::counted_flag::is_flag;
/// assert!(is_flag(&["0", "1"]) && is_flag(&["Yes", "No"]) && is_flag(&["false"]));
/// assert!(!is_flag(&["1"]) && !is_flag(&["0", "1", "2"]) && !is_flag(&["n", "s"]));
/// ```
pub fn is_flag(values: &[impl AsRef<str>]) -> bool {
    let is_one_of =
        |known: &[&str], value: &str| known.iter().any(|it| it.eq_ignore_ascii_case(value));
    let mut says_no = false;
    for value in values.iter().map(AsRef::as_ref) {
        let is_no = is_one_of(&NO, value);
        if !is_no && !is_one_of(&YES, value) {
            return false;
        }
        says_no |= is_no;
    }
    says_no
}

/// What a count of a flag counts.
pub(super) fn message(CountedColumn { name, .. }: &CountedColumn) -> String {
    format!(
        "count({name}) counts all rows that have a value of `{name}`, also those that it denies"
    )
}

/// What to write instead.
pub(super) fn hint(CountedColumn { name, .. }: &CountedColumn) -> String {
    format!("count(*) with a condition on `{name}` counts the rows of which it is true")
}
