//! Rows that an agent has found, with values that JSON can hold.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value as Json};

use crate::delimited_input::cut;
use antiphon_figures::FigureEvidence;

/// The longest cell that a model sees, in characters.
const LONGEST_CELL: usize = 200;

/// The most rows of a list, of tables or of endpoints, that a model sees.
pub(super) const MOST_LISTED: usize = 100;

/// A table: its columns, and a map of cells for each row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TabularResult {
    /// The names of the columns, from left to right.
    pub columns: Vec<String>,
    /// The rows, as models and people read them: those of a query at most the first 1,000, and
    /// none of what code has returned as a table.
    pub rows: Vec<Map<String, Json>>,
    /// How many rows there are; more than `rows` if `arrow` has the others.
    pub row_count: usize,
    /// Whether the source has more rows than these.
    pub truncated: bool,
    /// Whether long texts or blobs of some cells were cut.
    pub cells_cut: bool,
    /// The id of the attachment that has all rows as an Arrow IPC stream, with the types of their
    /// columns, if they came as one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrow: Option<String>,
}

impl TabularResult {
    /// The rows of a tool: `columns` with names and types, `rows` as lists or as maps. None if it
    /// is nothing of that kind, such as a row that is shorter than the columns.
    pub fn read(table: &Json) -> Option<Self> {
        let (names, types) = read_columns(table.get("columns")?.as_array()?)?;
        let rows = table.get("rows").or_else(|| table.get("data"))?.as_array()?;
        let row = |cells: &Json| -> Option<Map<String, Json>> {
            let cells: Vec<&Json> = match cells {
                Json::Array(cells) => cells.iter().collect(),
                Json::Object(cells) => {
                    names.iter().map(|name| cells.get(name)).collect::<Option<_>>()?
                }
                _ => return None,
            };
            let named = names.iter().zip(&types).zip(&cells);
            let is_whole = cells.len() == names.len();
            is_whole.then(|| {
                named.map(|((name, kind), cell)| (name.clone(), plain(cell, kind))).collect()
            })
        };
        let rows = rows.iter().map(row).collect::<Option<Vec<_>>>()?;
        let [truncated, cells_cut] =
            ["truncated", "cells_cut"].map(|key| table.get(key) == Some(&Json::Bool(true)));
        let row_count = rows.len();
        Some(Self { columns: names, row_count, rows, truncated, cells_cut, arrow: None })
    }

    /// The same with an attachment that has all rows, of which a tool shows the first.
    #[must_use]
    pub(super) fn with_arrow(self, id: &str, row_count: usize) -> Self {
        Self { row_count, arrow: Some(id.to_owned()), ..self }
    }

    /// Rows that code has made: a list of maps.
    pub fn of_maps(rows: &Json) -> Option<Self> {
        let rows: Vec<&Map<String, Json>> =
            rows.as_array()?.iter().map(Json::as_object).collect::<Option<_>>()?;
        let mut columns: Vec<String> = Vec::new();
        for name in rows.iter().flat_map(|row| row.keys()) {
            if !columns.contains(name) {
                columns.push(name.clone());
            }
        }
        let cell = |row: &Map<String, Json>, name: &String| {
            (name.clone(), row.get(name).map_or(Json::Null, |cell| plain(cell, "")))
        };
        let rows: Vec<_> =
            rows.iter().map(|row| columns.iter().map(|name| cell(row, name)).collect()).collect();
        (!columns.is_empty()).then(|| Self {
            columns,
            row_count: rows.len(),
            rows,
            ..Self::default()
        })
    }

    /// A list that code has made, of which the first `most` rows are kept. Columns without a single
    /// text are left out.
    pub(super) fn of_list(
        names: &[&str],
        rows: &[Vec<String>],
        is_whole: bool,
        most: usize,
    ) -> Self {
        let is_told =
            |place: &usize| rows.iter().any(|row| row.get(*place).is_some_and(|it| !it.is_empty()));
        let kept: Vec<usize> =
            (0..names.len()).filter(|place| *place == 0 || is_told(place)).collect();
        let name = |place: &usize| names.get(*place).map(|name| (*name).to_owned());
        let row = |cells: &Vec<String>| {
            let named = |place| Some((name(place)?, Json::String(cells.get(*place)?.clone())));
            kept.iter().filter_map(named).collect::<Map<_, _>>()
        };
        let truncated = !is_whole || rows.len() > most;
        let columns = kept.iter().filter_map(name).collect();
        let rows: Vec<_> = rows.iter().take(most).map(row).collect();
        Self { columns, row_count: rows.len(), rows, truncated, ..Self::default() }
    }

    /// Rows that came as an Arrow IPC stream, by the id of the attachment.
    pub fn of_arrow(id: String) -> Self {
        Self { arrow: Some(id), ..Self::default() }
    }

    /// How many different values a column has in `rows`.
    pub(super) fn distinct(&self, column: &str) -> usize {
        let cells: std::collections::BTreeSet<String> =
            self.rows.iter().filter_map(|row| row.get(column)).map(Json::to_string).collect();
        cells.len()
    }

    /// Whether `rows` are all rows.
    pub(super) const fn is_shown_whole(&self) -> bool {
        self.rows.len() >= self.row_count
    }

    /// The same without rows.
    #[must_use]
    pub fn without_rows(&self) -> Self {
        Self { rows: Vec::new(), arrow: None, ..self.clone() }
    }

    /// The first rows as a model reads them: a line of names, and a line per row.
    pub fn preview(&self, most: usize) -> String {
        if self.columns.is_empty() {
            return String::new();
        }
        let mut lines = vec![self.columns.join(" | ")];
        for row in self.rows.iter().take(most) {
            let cells =
                self.columns.iter().map(|name| row.get(name).map_or_else(String::new, shown));
            lines.push(cells.collect::<Vec<_>>().join(" | "));
        }
        let noun = if self.row_count == 1 { "row" } else { "rows" };
        lines.push(if self.truncated {
            format!("(cut: only the first {} {noun} were read, there are more)", self.row_count)
        } else {
            format!("({} {noun} in all)", self.row_count)
        });
        if self.cells_cut {
            lines.push("(some cells hold only the beginning of a longer value)".to_owned());
        }
        lines.join("\n")
    }

    /// Adds what a model may state about the table, of which it sees the first rows.
    pub(super) fn add_evidence(&self, known: &mut FigureEvidence, most: usize) {
        for name in &self.columns {
            known.name(name);
        }
        for cell in self.rows.iter().take(most).flat_map(|row| row.values()) {
            match cell {
                Json::Number(number) => {
                    known.number(number);
                }
                Json::Null | Json::Bool(_) => {}
                other => {
                    known.text(&shown(other));
                }
            }
        }
        known.text(&self.row_count.to_string());
    }

    /// The only cell, if there is one row with one column.
    pub fn single_cell(&self) -> Option<&Json> {
        match (&*self.columns, &*self.rows) {
            ([name], [row]) => row.get(name),
            _ => None,
        }
    }
}

fn read_columns(columns: &[Json]) -> Option<(Vec<String>, Vec<String>)> {
    let text = |column: &Json, key: &str| column.get(key).and_then(Json::as_str).map(str::to_owned);
    let (mut names, mut types): (Vec<String>, Vec<String>) = Default::default();
    for column in columns {
        let plain = column.as_str().map(str::to_owned);
        let name = plain.or_else(|| text(column, "name"))?;
        let mut unique = name.clone();
        let mut number = 2;
        while names.contains(&unique) {
            unique = format!("{name}_{number}");
            number += 1;
        }
        names.push(unique);
        types.push(text(column, "type").unwrap_or_default().to_lowercase());
    }
    Some((names, types))
}

/// A cell: a decimal as a number if that is exact, and nothing in place of what is no number.
fn plain(cell: &Json, kind: &str) -> Json {
    let Json::String(text) = cell else { return cell.clone() };
    let is_decimal = ["numeric", "decimal"].iter().any(|name| kind.starts_with(name));
    let is_float = ["real", "double", "float"].iter().any(|name| kind.starts_with(name));
    let may_be_number = is_decimal || is_float || kind.is_empty();
    if may_be_number && matches!(&**text, "NaN" | "Infinity" | "-Infinity") {
        return Json::Null;
    }
    if !is_decimal {
        return cell.clone();
    }
    exact(text).map_or_else(|| cell.clone(), Json::Number)
}

/// The number that a decimal is, if no digit is lost.
fn exact(text: &str) -> Option<Number> {
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.into());
    }
    let number = text.parse::<f64>().ok()?;
    let kept =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text };
    (number.to_string() == kept).then(|| Number::from_f64(number)).flatten()
}

/// A cell in one line.
pub(super) fn shown(cell: &Json) -> String {
    let text = match cell {
        Json::Null => return "NULL".to_owned(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    };
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&line, LONGEST_CELL).replace('\n', " ")
}
