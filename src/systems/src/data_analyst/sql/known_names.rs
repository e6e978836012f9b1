//! The names of a schema, in queries that spell them in another way.

use antiphon_core::nearest::nearest;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::identifier::{IdentifierStyle, is_reserved, quoted};
use super::query_token::{is_word_sign, token_length};
use super::schema_linking::ListedTable;

/// A table that may be read, with the columns that are known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownTable {
    /// Its name, perhaps with its schema.
    pub name: String,
    /// Its columns, in their order.
    pub columns: Vec<String>,
    /// Whether these are all of its columns.
    pub is_whole: bool,
}

impl KnownTable {
    /// A table of the overview; all of its columns if it was described.
    pub(super) fn of(listed: &ListedTable, described: &[Json]) -> Self {
        let name = listed.name.clone();
        let has_name = |table: &&Json| table.get("name").and_then(Json::as_str) == Some(&name);
        let Some(table) = described.iter().find(has_name) else {
            return Self { name, columns: listed.columns.clone(), is_whole: false };
        };
        let columns = table.get("columns").and_then(Json::as_array).into_iter().flatten();
        let columns = columns.filter_map(|column| column.get("name")?.as_str());
        let columns = columns.map(str::to_owned).collect();
        Self { name, columns, is_whole: table.get("more_columns").is_none() }
    }
}

/// Writes the names that need quotes with them.
///
/// Models leave such quotes out, since they would have to be escaped in the JSON of a reply, and
/// write `order_head` for `"Order Head"`. What is already in quotes stays as it is, and so does a
/// name that may mean something else.
///
/// ```
/// use antiphon_systems::data_analyst::sql::known_names::{KnownTable, quote_names};
/// let orders = KnownTable { name: "Order Head".into(), columns: vec!["ord_no".into()], is_whole: true };
/// let query = quote_names("SELECT ord_no FROM Order Head", &[orders], "SQLite");
/// assert_eq!(query, r#"SELECT ord_no FROM "Order Head""#);
/// ```
pub fn quote_names(query: &str, tables: &[KnownTable], dialect: &str) -> String {
    let spelling = NameSpelling::of(query, tables, IdentifierStyle::of(dialect));
    let mut written = String::with_capacity(query.len() + 16);
    let mut rest = query;
    while let Some(first) = rest.chars().next() {
        let (length, name) = if is_word_sign(first) {
            spelling.read(rest)
        } else {
            (token_length(rest, first), None)
        };
        match name {
            Some(name) => written.push_str(&quoted(name)),
            None => written.push_str(&rest[..length]),
        }
        rest = &rest[length..];
    }
    written
}

/// How one query may spell the names that need quotes.
struct NameSpelling<'q> {
    lower: String,
    /// The longest first: one may begin with another.
    names: Vec<&'q str>,
    /// All names of the schema, for those that mean something else.
    others: Vec<&'q str>,
}

impl<'q> NameSpelling<'q> {
    fn of(query: &str, tables: &'q [KnownTable], style: IdentifierStyle) -> Self {
        let of_tables = tables.iter().flat_map(|table| table.name.split('.'));
        let of_columns = tables.iter().flat_map(|table| table.columns.iter().map(String::as_str));
        let others: Vec<&str> = of_tables.chain(of_columns).collect();
        let is_ambiguous = |name: &str| {
            let word = name.split(|sign| !is_word_sign(sign)).next().unwrap_or_default();
            let is_other = |other: &&str| *other != name && other.eq_ignore_ascii_case(word);
            name.contains('.')
                || is_reserved(name)
                || !name.chars().any(char::is_alphabetic)
                || !is_reserved(word) && others.iter().any(is_other)
        };
        let needs_quotes = |name: &&str| *style.name(name) != **name && !is_ambiguous(name);
        let mut names: Vec<&str> = others.iter().copied().filter(needs_quotes).collect();
        names.sort_unstable_by_key(|name| std::cmp::Reverse(name.len()));
        names.dedup();
        Self { lower: query.to_lowercase(), names, others }
    }

    /// The length of the word or the name at the beginning of a text, and the name.
    fn read(&self, text: &str) -> (usize, Option<&'q str>) {
        let spelled = |name: &&'q str| Some((spelled(text, name)?, Some(*name)));
        if let Some(found) = self.names.iter().find_map(spelled) {
            return found;
        }
        let length = text.find(|sign| !is_word_sign(sign)).unwrap_or(text.len());
        let word = &text[..length];
        let is_meant = |name: &&&str| is_joined(name, word);
        let name = self.names.iter().find(is_meant).filter(|_| !self.is_taken(word));
        (length, name.copied())
    }

    /// Whether the schema or the query itself has that name for something.
    fn is_taken(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        let mut words = self.lower.split_whitespace().map(|it| it.trim_matches([',', '(', ')']));
        let is_alias = words.clone().zip(words.clone().skip(1)).any(|pair| pair == ("as", &word));
        let is_query = words.any(|it| it == word) && self.lower.contains(&format!("{word} as ("));
        is_alias || is_query || self.others.iter().any(|other| other.to_lowercase() == word)
    }
}

/// The length of a name at the beginning of a text, spelled with other capitals or spaces.
fn spelled(text: &str, name: &str) -> Option<usize> {
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
    is_whole.then_some(text.len() - rest.len())
}

/// Whether a word is a name of several words, joined: `order_head` or `OrderHead`.
fn is_joined(name: &str, word: &str) -> bool {
    let letters = |text: &str| -> String {
        text.chars().filter(|sign| sign.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    name.contains(|sign| !is_word_sign(sign)) && letters(name) == letters(word)
}

/// What to write instead of a column that a database does not know, as its error names it.
pub(super) fn unknown_column_hint(error: &str, tables: &[KnownTable]) -> Option<String> {
    let after = ["no such column: ", "column "].iter().find_map(|begin| {
        let rest = error.split_once(begin)?.1;
        (*begin != "column " || rest.contains("does not exist")).then_some(rest)
    })?;
    let given = after.split(" does not exist").next()?.split_whitespace().next()?;
    let given = given.rsplit('.').next()?.trim_matches('"');
    let has_it =
        |table: &&KnownTable| table.columns.iter().any(|column| column.eq_ignore_ascii_case(given));
    let owners: Vec<&str> = tables.iter().filter(has_it).map(|table| table.name.as_str()).collect();
    if owners.is_empty() {
        let columns = tables.iter().flat_map(|table| table.columns.iter().map(String::as_str));
        return nearest(given, columns).map(|meant| format!("did you mean `{meant}`?"));
    }
    Some(format!("only these tables have `{given}`: {}", owners.join(", ")))
}
