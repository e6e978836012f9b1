//! Dates that a query subtracts as texts, which is no error in SQLite: the difference is that of
//! their years.

use super::known_names::KnownTable;
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
    let defined: Vec<&str> = tokens
        .iter()
        .zip(tokens.iter().skip(1))
        .filter(|(word, _)| word.is_word("as"))
        .filter_map(|(_, name)| name.name())
        .collect();
    let is_date = |name: &str| {
        let has = |names: &[String]| names.iter().any(|known| is(known, name));
        let mut dates = tables.iter().filter(|table| has(&table.date_texts)).peekable();
        let others = tables.iter().filter(|table| has(&table.columns));
        dates.peek().is_some()
            && others.clone().all(|it| has(&it.date_texts))
            && !defined.iter().any(|it| is(it, name))
    };
    let places = tokens.iter().enumerate().filter(|(_, token)| token.text == "-");
    places.into_iter().find_map(|(place, _)| {
        let (first, earlier) = column_before(&tokens, place)?;
        let (second, later) = column_after(&tokens, place)?;
        if !is_date(first) || !is_date(second) {
            return None;
        }
        let (first, second) = (&query[earlier], &query[later]);
        Some((
            format!(
                "`{first}` and `{second}` are texts, and their difference is no number of days"
            ),
            format!("write julianday({first}) - julianday({second})"),
        ))
    })
}

fn is(name: &str, other: &str) -> bool {
    name.eq_ignore_ascii_case(other)
}

/// The column that ends before a token: its name, and where it stands with its table.
fn column_before<'q>(
    tokens: &[QueryToken<'q>],
    place: usize,
) -> Option<(&'q str, std::ops::Range<usize>)> {
    let last = tokens.get(place.checked_sub(1)?)?;
    let mut start = last.place.start;
    if let Some([table, dot]) = place.checked_sub(3).and_then(|at| tokens.get(at..at + 2))
        && dot.text == "."
    {
        start = table.place.start;
    }
    Some((last.name()?, start..last.place.end))
}

/// The same of the column that begins after it.
fn column_after<'q>(
    tokens: &[QueryToken<'q>],
    place: usize,
) -> Option<(&'q str, std::ops::Range<usize>)> {
    let first = tokens.get(place + 1)?;
    let mut last = first;
    if let Some([dot, column]) = tokens.get(place + 2..place + 4)
        && dot.text == "."
    {
        last = column;
    }
    Some((last.name()?, first.place.start..last.place.end))
}
