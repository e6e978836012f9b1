//! The tables that a question is about. It compares words; a model judges what they mean.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use crate::computation::column_name::names;

/// A table in the overview of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedTable {
    /// Its name, as a query writes it.
    pub name: String,
    /// Its first columns.
    pub columns: Vec<String>,
    /// What its owner says about it.
    pub comment: String,
}

impl ListedTable {
    /// The tables in what the tool `sql_tables` returns.
    pub fn read(found: &Json) -> Vec<Self> {
        let text =
            |value: Option<&Json>| value.and_then(Json::as_str).unwrap_or_default().to_owned();
        let table = |table: &Json| Self {
            name: text(table.get("name")),
            columns: table
                .get("columns")
                .and_then(Json::as_array)
                .into_iter()
                .flatten()
                .filter_map(|column| column.as_str().map(str::to_owned))
                .collect(),
            comment: text(table.get("comment")),
        };
        found.get("tables").and_then(Json::as_array).into_iter().flatten().map(table).collect()
    }
}

/// The names of the tables that fit a question best, at most `most`, in the order of the database.
/// A small database is about the question as a whole.
///
/// ```
/// use std::collections::BTreeMap;
/// use antiphon_systems::data_analyst::sql::schema_linking::{ListedTable, link};
/// let table = |name: &str, columns: &[&str]| ListedTable {
///     name: name.to_owned(),
///     columns: columns.iter().map(|name| (*name).to_owned()).collect(),
///     comment: String::new(),
/// };
/// let tables = [table("weather", &["temp"]), table("flights", &["carrier", "dep_delay"])];
/// let found = link("Which carrier is delayed most?", &tables, &BTreeMap::new(), 1);
/// assert_eq!(found, ["flights"]);
/// ```
pub fn link(
    question: &str,
    tables: &[ListedTable],
    descriptions: &BTreeMap<String, String>,
    most: usize,
) -> Vec<String> {
    if tables.len() <= most {
        return tables.iter().map(|table| table.name.clone()).collect();
    }
    let words = words(question);
    let mut scored: Vec<(usize, usize)> = tables
        .iter()
        .enumerate()
        .map(|(place, table)| (score(&words, table, descriptions), place))
        .collect();
    scored.sort_by(|(one, at), (other, to)| other.cmp(one).then(at.cmp(to)));
    let chosen: BTreeSet<usize> = scored.into_iter().take(most).map(|(_, place)| place).collect();
    let is_chosen = |(place, _): &(usize, &ListedTable)| chosen.contains(place);
    tables.iter().enumerate().filter(is_chosen).map(|(_, table)| table.name.clone()).collect()
}

/// The words of a text in lower case, without those that say nothing about data.
pub(crate) fn words(text: &str) -> Vec<String> {
    const FILLERS: &str = "what which who whom whose where when why how many much the and or not for \
                           with from that this these those than then there their its are was were is \
                           did does have has had all any each every per into over under between about";
    let lower = text.to_lowercase();
    let parts = lower.split(|sign: char| !sign.is_alphanumeric());
    let is_content = |word: &&str| {
        word.chars().count() > 1 && !FILLERS.split_whitespace().any(|filler| filler == *word)
    };
    parts.filter(is_content).map(str::to_owned).collect()
}

/// How many words of a question name the table (counted thrice), a column, or are in a text about
/// them.
fn score(words: &[String], table: &ListedTable, descriptions: &BTreeMap<String, String>) -> usize {
    let about = |name: &str| descriptions.get(name).map(|text| text.to_lowercase());
    let mut texts = vec![table.comment.to_lowercase()];
    texts.extend(about(&table.name));
    let of_columns =
        table.columns.iter().filter_map(|name| about(&format!("{}.{name}", table.name)));
    texts.extend(of_columns);
    let of_word = |word: &String| {
        let named = 3 * usize::from(names(word, &table.name));
        let column = usize::from(table.columns.iter().any(|column| names(word, column)));
        let told = usize::from(texts.iter().any(|text| names(word, text)));
        named + column + told
    };
    words.iter().map(of_word).sum()
}
