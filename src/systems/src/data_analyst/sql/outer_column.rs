//! Columns that a query within another one does not have, so that databases take them from the query
//! around it without a word: each of its rows then has them.

use super::known_names::{KnownTable, defined_names};
use super::query_token::{QueryToken, tokens};

/// What stands in the place of a column and is none.
const OTHERS: [&str; 21] = [
    "null",
    "true",
    "false",
    "default",
    "current_date",
    "current_time",
    "current_timestamp",
    "localtime",
    "localtimestamp",
    "user",
    "current_user",
    "rowid",
    "_rowid_",
    "oid",
    "ctid",
    "rank",
    "xmin",
    "xmax",
    "cmin",
    "cmax",
    "tableoid",
];

/// What to tell a model whose query has such a column, and what to write instead. Only queries of
/// one column of one table are looked at, whose columns are known.
///
/// ```
/// use antiphon_systems::data_analyst::sql::KnownTable;
/// use antiphon_systems::data_analyst::sql::outer_column::outer_column;
/// let table = |name: &str, column: &str| KnownTable {
///     name: name.to_owned(), columns: vec![column.to_owned()], is_whole: true,
///     ..KnownTable::default()
/// };
/// let tables = [table("city", "country"), table("visit", "land")];
/// let query = "SELECT count(*) FROM city WHERE country IN (SELECT country FROM visit)";
/// let (message, hint) = outer_column(query, &tables).unwrap();
/// assert_eq!(message, "`visit` has no column `country`, and that of the query around would be read");
/// assert_eq!(hint, "`visit` has: land");
/// ```
pub fn outer_column(query: &str, tables: &[KnownTable]) -> Option<(String, String)> {
    let tokens = tokens(query);
    let defined = defined_names(query);
    let starts = tokens.iter().enumerate().filter(|(_, token)| token.text == "(");
    starts.into_iter().find_map(|(place, _)| {
        // What `EXISTS` selects does not matter.
        if place.checked_sub(1).and_then(|it| tokens.get(it)).is_some_and(|it| it.is_word("exists"))
        {
            return None;
        }
        let ReadColumn { column, table, alias } = read_column(tokens.get(place + 1..)?)?;
        let is_it = |known: &&KnownTable| {
            known.name.rsplit('.').next().is_some_and(|own| own.eq_ignore_ascii_case(table))
        };
        // Tables of one name in two schemas may have different columns.
        let mut named = tables.iter().filter(is_it);
        let known = named.next().filter(|known| known.is_whole && named.next().is_none())?;
        // A row as a whole, and a query with the name of a table.
        let is_row = [table, alias].iter().any(|name| name.eq_ignore_ascii_case(column));
        let is_defined = defined.contains(&table.to_lowercase());
        let has_it = known.columns.iter().any(|own| own.eq_ignore_ascii_case(column));
        if has_it || is_row || is_defined || OTHERS.iter().any(|it| it.eq_ignore_ascii_case(column))
        {
            return None;
        }
        let own = &known.name;
        let message =
            format!("`{own}` has no column `{column}`, and that of the query around would be read");
        Some((message, format!("`{own}` has: {}", known.columns.join(", "))))
    })
}

/// The column of a query within another one, and the only table that it reads.
struct ReadColumn<'q> {
    column: &'q str,
    table: &'q str,
    /// The name of the table there; its own if it has no other.
    alias: &'q str,
}

/// `SELECT column FROM table` at the beginning of tokens.
fn read_column<'q>(tokens: &[QueryToken<'q>]) -> Option<ReadColumn<'q>> {
    let [select, rest @ ..] = tokens else { return None };
    let rest = match rest {
        [word, rest @ ..] if word.is_word("distinct") => rest,
        rest => rest,
    };
    let [column, from, rest @ ..] = rest else { return None };
    if !select.is_word("select") || !from.is_word("from") {
        return None;
    }
    let (mut table, mut rest) = (rest.first()?.name()?, rest.get(1..)?);
    while let [dot, part, more @ ..] = rest
        && dot.text == "."
    {
        (table, rest) = (part.name()?, more);
    }
    let mut depth = 1_usize;
    for token in rest {
        match token.text {
            "(" => depth += 1,
            ")" => depth -= 1,
            // It may be a column of another table.
            text if depth == 1 && (text == "," || token.is_word("join")) => return None,
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    let after = match rest {
        [word, alias, ..] if word.is_word("as") => alias.name(),
        [alias, ..] => alias.name(),
        [] => None,
    };
    Some(ReadColumn { column: column.name()?, table, alias: after.unwrap_or(table) })
}
