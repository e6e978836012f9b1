//! The values in text columns that a question names, so that a query has them as they are stored.

use std::sync::Arc;

use antiphon_core::Fault;
use antiphon_runtime::Tool;
use serde_json::{Value as Json, json};

use super::identifier::{quoted, quoted_table};
use super::schema_linking::words;
use crate::data_analyst::DataAnalyst;
use crate::data_analyst::deadline;
use crate::data_analyst::failure::ends_run;
use crate::data_analyst::tabular::{TabularResult, shown};
use crate::node::NodeContext;

/// The most columns whose values are looked up.
const MOST_COLUMNS: usize = 16;
/// The most phrases of a question that are looked up.
const MOST_PHRASES: usize = 60;
/// The most words of a phrase.
const LONGEST_PHRASE: usize = 3;
/// The most distinct values of a column that is described by all of them.
const MOST_GROUPS: usize = 8;
/// The longest value that is shown, in characters.
const LONGEST_VALUE: usize = 40;

/// The values of one column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ColumnValues {
    /// Those that the question names.
    pub(super) named: Vec<String>,
    /// All of them, if they are few.
    pub(super) groups: Vec<String>,
}

/// Looks up values of text columns, each given as its table and its name.
pub(super) async fn look_up(
    cx: &NodeContext<DataAnalyst>,
    started: u64,
    query: &Arc<dyn Tool>,
    columns: &[(String, String)],
) -> Result<Vec<ColumnValues>, Fault> {
    let phrases = phrases(&cx.input().question);
    let mut found = Vec::new();
    for (table, column) in columns.iter().take(MOST_COLUMNS) {
        let (table, column) = (quoted_table(table), quoted(column));
        let most = MOST_GROUPS + 1;
        let groups = format!(
            "SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL LIMIT {most}"
        );
        let mut values = ColumnValues {
            groups: texts(cx, started, query, json!({"query": groups})).await?,
            named: Vec::new(),
        };
        values.groups.sort();
        let is_named = |value: &&String| phrases.contains(&value.to_lowercase());
        values.named = values.groups.iter().filter(is_named).cloned().collect();
        if values.groups.len() > MOST_GROUPS {
            values.groups.clear();
            let places: Vec<String> =
                (1..=phrases.len()).map(|place| format!("${place}")).collect();
            let places = places.join(", ");
            let named = format!(
                "SELECT DISTINCT {column} FROM {table} WHERE lower({column}) IN ({places}) LIMIT 5"
            );
            let asked = json!({"query": named, "parameters": phrases});
            values.named = texts(cx, started, query, asked).await?;
        }
        found.push(values);
    }
    Ok(found)
}

/// The texts in the first column of a query; none if it fails, which only costs a hint.
pub(super) async fn texts(
    cx: &NodeContext<DataAnalyst>,
    started: u64,
    query: &Arc<dyn Tool>,
    arguments: Json,
) -> Result<Vec<String>, Fault> {
    let rows = match deadline::invoke(cx, started, query, arguments).await {
        Ok(found) => TabularResult::read(&found).unwrap_or_default().rows,
        Err(fault) if ends_run(&fault) => return Err(fault),
        Err(_) => Vec::new(),
    };
    let cells = rows.iter().filter_map(|row| row.values().next());
    let fits = |text: &String| text.chars().count() <= LONGEST_VALUE;
    Ok(cells.map(shown).filter(fits).collect())
}

/// What of a question can be a value: words, and up to three of them in a row.
fn phrases(question: &str) -> Vec<String> {
    let mut phrases = words(question);
    let lower = question.to_lowercase();
    let all: Vec<&str> = lower.split_whitespace().collect();
    for length in 2..=LONGEST_PHRASE {
        // Signs between the words may be part of a value, as in `Boston, MA`.
        let joined = all.windows(length).map(|words| words.join(" "));
        let is_sign = |sign: char| !sign.is_alphanumeric();
        phrases.extend(joined.map(|phrase| phrase.trim_matches(is_sign).to_owned()));
    }
    phrases.truncate(MOST_PHRASES);
    phrases
}
