//! The names of a schema, in queries that spell them in another way.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};

use antiphon_core::nearest::nearest;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::identifier::{IdentifierStyle, is_reserved, quoted};
use super::query_token::{is_word_sign, token_length, tokens};
use super::schema_linking::ListedTable;
use crate::data_analyst::tabular::TabularResult;

/// Characters of a date.
const DATE: usize = 10;

/// A table that may be read, with the columns that are known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KnownTable {
    /// Its name, perhaps with its schema.
    pub name: String,
    /// Its columns, in their order.
    pub columns: Vec<String>,
    /// Whether these are all of its columns.
    pub is_whole: bool,
    /// The columns of its primary key.
    pub primary_key: Vec<String>,
    /// The columns that refer to one of another table.
    pub references: Vec<KnownReference>,
    /// The columns whose values are dates as texts, as far as some rows tell.
    pub date_texts: Vec<String>,
}

/// A column that refers to one of another table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownReference {
    /// The column.
    pub column: String,
    /// The other table.
    pub table: String,
    /// Its column.
    pub key: String,
}

impl KnownTable {
    /// A table of the overview; all of its columns if it was described.
    pub(super) fn of(listed: &ListedTable, described: &[Json]) -> Self {
        let name = listed.name.clone();
        let has_name = |table: &&Json| table.get("name").and_then(Json::as_str) == Some(&name);
        let Some(table) = described.iter().find(has_name) else {
            return Self { name, columns: listed.columns.clone(), ..Self::default() };
        };
        let all = || table.get("columns").and_then(Json::as_array).into_iter().flatten();
        let name_of = |column: &Json| column.get("name")?.as_str().map(str::to_owned);
        let is_key = |column: &&Json| column.get("primary_key").is_some_and(Json::is_number);
        let is_whole = table.get("more_columns").is_none();
        let keys = table.get("foreign_keys").and_then(Json::as_array).into_iter().flatten();
        Self {
            name,
            columns: all().filter_map(name_of).collect(),
            is_whole,
            primary_key: all().filter(is_key).filter_map(name_of).collect(),
            references: keys.filter_map(KnownReference::read).collect(),
            date_texts: date_texts(table),
        }
    }
}

/// The columns whose values in the sample, if there is one, begin as `2026-01-31` does.
fn date_texts(table: &Json) -> Vec<String> {
    let Some(sample) = table.get("sample").and_then(TabularResult::read) else { return Vec::new() };
    let is_date = |column: &String| {
        let mut values = sample.rows.iter().filter_map(|row| row.get(column)?.as_str()).peekable();
        values.peek().is_some() && values.all(begins_with_date)
    };
    sample.columns.iter().filter(|column| is_date(column)).cloned().collect()
}

fn begins_with_date(text: &str) -> bool {
    let form = |(place, sign): (usize, u8)| match place {
        4 | 7 => sign == b'-',
        _ => sign.is_ascii_digit(),
    };
    text.len() >= DATE && text.bytes().take(DATE).enumerate().all(form)
}

impl KnownReference {
    /// A foreign key of one column.
    fn read(key: &Json) -> Option<Self> {
        let only = |name: &str| match key.get(name)?.as_array()?.as_slice() {
            [column] => column.as_str().map(str::to_owned),
            _ => None,
        };
        let table = key.get("table")?.as_str()?.to_owned();
        Some(Self { column: only("columns")?, table, key: only("references")? })
    }
}

/// Writes the names that need quotes with them.
///
/// Models leave such quotes out, since the JSON of a reply has to escape them, and also write
/// `order_head` for `"Order Head"`. Names in quotes do not change. Keywords, functions, types and
/// names that the query defines do not change either. Call this only for a query that the database
/// has refused.
///
/// ```
/// use antiphon_systems::data_analyst::sql::known_names::{KnownTable, quote_names};
/// let orders = KnownTable {
///     name: "Order Head".into(), columns: vec!["ord_no".into()], ..KnownTable::default()
/// };
/// let query = quote_names("SELECT ord_no FROM Order Head", &[orders], "SQLite");
/// assert_eq!(query, r#"SELECT ord_no FROM "Order Head""#);
/// ```
pub fn quote_names(query: &str, tables: &[KnownTable], dialect: &str) -> String {
    let spelling = NameSpelling::of(query, tables, IdentifierStyle::of(dialect));
    let mut written = String::with_capacity(query.len() + 16);
    let mut rest = query;
    while let Some(first) = rest.chars().next() {
        let name = if is_word_sign(first) && !follows_type(&written) {
            spelling.name_at(rest)
        } else {
            None
        };
        let length = if let Some((length, name)) = name {
            written.push_str(&quoted(name));
            length
        } else {
            let length = token_length(rest, first);
            written.push_str(&rest[..length]);
            length
        };
        rest = &rest[length..];
    }
    written
}

/// Whether a type or an alias comes next.
fn follows_type(before: &str) -> bool {
    let before = before.trim_end();
    let word = before.rsplit(|sign| !is_word_sign(sign)).next().unwrap_or_default();
    before.ends_with("::") || word.eq_ignore_ascii_case("as")
}

/// How one query may spell the names that need quotes.
struct NameSpelling<'q> {
    /// Those that cannot be read in another way; the longest first, since one may begin with another.
    spelled: Vec<&'q str>,
    /// Those that a word may join.
    joined: Vec<&'q str>,
    /// What the schema and the query itself call something else, in lower case.
    others: HashSet<String>,
}

impl<'q> NameSpelling<'q> {
    fn of(query: &str, tables: &'q [KnownTable], style: IdentifierStyle) -> Self {
        let of_tables = tables.iter().flat_map(|table| table.name.split('.'));
        let of_columns = tables.iter().flat_map(|table| table.columns.iter().map(String::as_str));
        let all: BTreeSet<&str> = of_tables.chain(of_columns).collect();
        let (quotable, plain): (Vec<&str>, Vec<&str>) =
            all.iter().partition(|name| *style.name(name) != ***name);
        let mut others: HashSet<String> = plain.iter().map(|name| name.to_lowercase()).collect();
        others.extend(defined_names(query));
        let joined: Vec<&str> = quotable.into_iter().filter(|name| !name.contains('.')).collect();
        let is_plain = |name: &&&str| !is_ambiguous(name, &others);
        let mut spelled: Vec<&str> = joined.iter().filter(is_plain).copied().collect();
        spelled.sort_by_key(|name| Reverse(name.len()));
        Self { spelled, joined, others }
    }

    /// The name at the beginning of a text, with the length that it has there.
    fn name_at(&self, text: &str) -> Option<(usize, &'q str)> {
        let spelled = |name: &&'q str| Some((spelled_length(text, name)?, *name));
        if let Some(found) = self.spelled.iter().find_map(spelled) {
            return Some(found);
        }
        let length = text.find(|sign| !is_word_sign(sign)).unwrap_or(text.len());
        let (word, after) = text.split_at(length);
        let is_other = is_reserved(word) || self.others.contains(&word.to_lowercase());
        if is_other || begins_call(after) {
            return None;
        }
        let mut meant = self.joined.iter().filter(|name| is_joined(name, word));
        match (meant.next(), meant.next()) {
            (Some(name), None) => Some((length, name)),
            _ => None,
        }
    }
}

/// The names that a query gives to its columns and to queries within it, in lower case.
pub(super) fn defined_names(query: &str) -> Vec<String> {
    let tokens = tokens(query);
    let mut names = Vec::new();
    for (place, token) in tokens.iter().enumerate().filter(|(_, token)| token.is_word("as")) {
        let Some(next) = tokens.get(place + 1) else { continue };
        names.extend(next.name());
        let is_query = next.text == "(" || next.is_word("materialized") || next.is_word("not");
        if is_query && token.name().is_some() {
            let before = tokens.get(..place).unwrap_or_default();
            // A query may name its columns: `x (a, b) AS (`.
            let open = before.iter().rposition(|token| token.text == "(");
            let lists = before.last().is_some_and(|token| token.text == ")");
            let end = if lists { open.unwrap_or_default() } else { place };
            names.extend(end.checked_sub(1).and_then(|at| tokens.get(at)?.name()));
        }
    }
    names.into_iter().map(str::to_lowercase).collect()
}

/// Whether a name, without its quotes, can be read in another way: as a keyword, a function, a number,
/// or as words of which one is another name.
fn is_ambiguous(name: &str, others: &HashSet<String>) -> bool {
    let mut words = name.split(|sign| !is_word_sign(sign)).filter(|word| !word.is_empty());
    let Some(first) = words.next() else { return true };
    let is_other = |word: &str| others.contains(&word.to_lowercase());
    let is_call = name.strip_prefix(first).is_some_and(|rest| rest.starts_with('('));
    let has_other = if is_reserved(first) { words.any(is_other) } else { is_other(first) };
    is_reserved(name) || is_call || has_other || !name.chars().any(char::is_alphabetic)
}

/// The length of a name at the beginning of a text, spelled with other capitals or spaces.
fn spelled_length(text: &str, name: &str) -> Option<usize> {
    let mut rest = text;
    let mut signs = name.chars().peekable();
    while let Some(sign) = signs.next() {
        let found = rest.chars().next()?;
        if sign.is_whitespace() {
            while signs.next_if(|sign| sign.is_whitespace()).is_some() {}
            let trimmed = rest.trim_start();
            if trimmed.len() == rest.len() {
                return None;
            }
            rest = trimmed;
        } else if found.to_lowercase().eq(sign.to_lowercase()) {
            rest = &rest[found.len_utf8()..];
        } else {
            return None;
        }
    }
    let is_whole = !name.ends_with(is_word_sign) || !rest.starts_with(is_word_sign);
    let is_word = name.chars().all(is_word_sign);
    (is_whole && !(is_word && begins_call(rest))).then_some(text.len() - rest.len())
}

/// Whether the word before is a function or a type.
fn begins_call(after: &str) -> bool {
    after.trim_start().starts_with(['(', '\''])
}

/// Whether a word is a name of several words, joined: `order_head` or `OrderHead`.
fn is_joined(name: &str, word: &str) -> bool {
    let letters = |text: &str| -> String {
        text.chars().filter(|sign| sign.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    name.contains(|sign| !is_word_sign(sign)) && letters(name) == letters(word)
}

/// What to write instead of a column that a database does not know, as its error names it. None if
/// the error is about something else, or no column is alike.
///
/// ```
/// use antiphon_systems::data_analyst::sql::known_names::{KnownTable, unknown_column_hint};
/// let city = KnownTable {
///     name: "city".into(), columns: vec!["createdAt".into()], ..KnownTable::default()
/// };
/// let error = "the query failed: column t.createdat does not exist (at `t.createdat FROM`)";
/// let hint = unknown_column_hint(error, &[city.clone()], "PostgreSQL").unwrap();
/// assert_eq!(hint, r#"did you mean `"createdAt"`?"#);
/// let error = "the query failed: no such column: t.createdat (at `t.createdat FROM`)";
/// let hint = unknown_column_hint(error, &[city], "SQLite").unwrap();
/// assert_eq!(hint, "`createdat` is a column of: city");
/// ```
pub fn unknown_column_hint(error: &str, tables: &[KnownTable], dialect: &str) -> Option<String> {
    let style = IdentifierStyle::of(dialect);
    let given = unknown_column(error)?;
    let columns = || tables.iter().flat_map(|table| &table.columns);
    let owners: Vec<&str> = tables
        .iter()
        .filter(|table| table.columns.iter().any(|column| style.is_same(column, given)))
        .map(|table| table.name.as_str())
        .collect();
    if !owners.is_empty() {
        return Some(format!("`{given}` is a column of: {}", owners.join(", ")));
    }
    let in_other_case = columns().find(|column| column.eq_ignore_ascii_case(given));
    let meant = in_other_case.map(String::as_str);
    let meant = meant.or_else(|| nearest(given, columns().map(String::as_str)))?;
    Some(format!("did you mean `{}`?", style.name(meant)))
}

/// The column that an error names as unknown, without its table.
pub(super) fn unknown_column(error: &str) -> Option<&str> {
    let given = match error.split_once("no such column: ") {
        Some((_, after)) => after.split(" (at `").next()?,
        None => error.split_once("column ")?.1.split_once(" does not exist")?.0,
    };
    let given = given.trim_end_matches('"');
    given.rsplit(['.', '"']).next().filter(|name| !name.is_empty())
}
