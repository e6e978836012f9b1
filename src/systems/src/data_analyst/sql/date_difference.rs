//! Dates that a query subtracts as texts, which is no error in SQLite: the difference is that of
//! their years.

use super::column_owner::{QuerySource, sources};
use super::known_names::KnownTable;
use super::named_column::{NamedColumn, column_after, column_before};
use super::query_token::{QueryToken, tokens};

/// What to tell a model whose query subtracts two columns of dates that are texts, and what to
/// write instead.
///
/// ```
/// use antiphon_systems::data_analyst::sql::KnownTable;
/// use antiphon_systems::data_analyst::sql::date_difference::date_difference;
/// let loans = KnownTable {
///     name: "loan".into(), date_texts: vec!["lent".into(), "due".into()], ..KnownTable::default()
/// };
/// let (message, hint) = date_difference("SELECT avg(due - l.lent) FROM loan l", &[loans]).unwrap();
/// assert_eq!(message, "`due` and `l.lent` are texts, and their difference is no number of days");
/// assert_eq!(hint, "write julianday(due) - julianday(l.lent)");
/// ```
pub fn date_difference(query: &str, tables: &[KnownTable]) -> Option<(String, String)> {
    let tokens = tokens(query);
    let dates = DateColumns::new(&tokens, tables);
    let places = tokens.iter().enumerate().filter(|(_, token)| token.text == "-");
    places.into_iter().find_map(|(place, _)| {
        let (first, second) = (column_before(&tokens, place)?, column_after(&tokens, place)?);
        if !dates.has(&first) || !dates.has(&second) {
            return None;
        }
        let (first, second) = (query.get(first.place)?, query.get(second.place)?);
        Some((
            format!(
                "`{first}` and `{second}` are texts, and their difference is no number of days"
            ),
            format!("write julianday({first}) - julianday({second})"),
        ))
    })
}

/// Which columns of a query are dates as texts.
struct DateColumns<'q> {
    /// The tables of the query; none if it has others, such as a subquery.
    sources: Option<Vec<QuerySource<'q>>>,
    tables: &'q [KnownTable],
    /// Names that the query defines itself.
    defined: Vec<&'q str>,
}

impl<'q> DateColumns<'q> {
    fn new(tokens: &[QueryToken<'q>], tables: &'q [KnownTable]) -> Self {
        let words = tokens.iter().zip(tokens.iter().skip(1));
        let defined = words
            .filter(|(word, _)| word.is_word("as"))
            .filter_map(|(_, name)| name.name())
            .collect();
        Self { sources: sources(tokens, tables), tables, defined }
    }

    /// Whether every table that the column may be of has it as a date, and there is one.
    fn has(&self, column: &NamedColumn<'_>) -> bool {
        let is_defined = self.defined.iter().any(|name| is(name, column.name));
        let owns = |table: &KnownTable| {
            table.columns.iter().chain(&table.date_texts).any(|name| is(name, column.name))
        };
        match (&self.sources, column.table) {
            (Some(sources), Some(table)) => {
                let named = sources.iter().filter(|source| is(source.alias, table));
                all_have_date(named.map(|source| source.table), column.name)
            }
            _ if is_defined => false,
            (Some(sources), None) => {
                let owners = sources.iter().map(|source| source.table);
                all_have_date(owners.filter(|table| owns(table)), column.name)
            }
            (None, _) => all_have_date(self.tables.iter().filter(|table| owns(table)), column.name),
        }
    }
}

fn all_have_date<'t>(tables: impl Iterator<Item = &'t KnownTable>, column: &str) -> bool {
    let mut tables = tables.peekable();
    tables.peek().is_some()
        && tables.all(|table| table.date_texts.iter().any(|name| is(name, column)))
}

fn is(name: &str, other: &str) -> bool {
    name.eq_ignore_ascii_case(other)
}
