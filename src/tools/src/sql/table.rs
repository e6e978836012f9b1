//! Results of queries: typed columns and exact cells.

use antiphon_core::Fault;
use antiphon_runtime::redact;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Number, Value as Json, json};

use super::arrow::ArrowBuilder;
use super::fault;
use super::limits::QueryLimits;
use super::row_digest::row_digest;

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryColumn {
    /// Its name. A name that occurs again gets `_2`, `_3` and so on.
    pub name: String,
    /// The database's name of its type, such as `numeric` or `INTEGER`; in SQLite empty for an
    /// expression, whose cells have types of their own.
    pub data_type: String,
}

/// A cell, as exact as the database gave it.
#[derive(Clone, Debug, PartialEq)]
pub enum CellValue {
    /// No value.
    Null,
    /// True or false.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A binary floating-point number, possibly not finite.
    Float(f64),
    /// A decimal number, digit by digit.
    Decimal(String),
    /// A text; also dates and times in ISO 8601, and types without a form of their own.
    Text(String),
    /// A JSON value of the database.
    Json(Json),
    /// Bytes, and how many there are: more than these if they were cut.
    Blob(Vec<u8>, usize),
}

impl CellValue {
    /// Its size in bytes, as it counts towards [`QueryLimits::bytes`].
    pub fn size(&self) -> usize {
        match self {
            Self::Null | Self::Boolean(_) | Self::Integer(_) | Self::Float(_) => 8,
            Self::Decimal(text) | Self::Text(text) => text.len(),
            Self::Json(value) => value.to_string().len(),
            Self::Blob(bytes, _) => bytes.len(),
        }
    }

    /// The cell in JSON: a decimal and a number that is not finite as a text, bytes in base64.
    ///
    /// ```
    /// use antiphon_tools::sql::CellValue;
    /// assert_eq!(CellValue::Decimal("1.10".to_owned()).to_json(), "1.10");
    /// assert_eq!(CellValue::Float(f64::NAN).to_json(), "NaN");
    /// ```
    pub fn to_json(&self) -> Json {
        match self {
            Self::Null => Json::Null,
            Self::Boolean(value) => Json::from(*value),
            Self::Integer(value) => Json::from(*value),
            Self::Float(value) => float_to_json(*value),
            Self::Decimal(text) | Self::Text(text) => Json::from(text.as_str()),
            Self::Json(value) => value.clone(),
            Self::Blob(bytes, length) => {
                json!({"base64": STANDARD.encode(bytes), "bytes": length})
            }
        }
    }
}

fn float_to_json(value: f64) -> Json {
    if let Some(number) = Number::from_f64(value) {
        return Json::Number(number);
    }
    let name = if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    };
    Json::from(name)
}

/// The rows of a query, up to its limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryTable {
    /// The columns, from left to right.
    pub columns: Vec<QueryColumn>,
    /// The rows, or the first of them if `arrow` has all; each has one cell per column.
    pub rows: Vec<Vec<CellValue>>,
    /// How many rows were read.
    pub row_count: usize,
    /// All rows as an Arrow IPC stream, if they were asked for as such.
    pub arrow: Option<Vec<u8>>,
    /// What is the same for the same rows in any order, if `arrow` has them.
    pub digest: u64,
    /// Whether there are more rows than these.
    pub truncated: bool,
    /// Whether texts or blobs of some cells were cut; a text ends in `…` then.
    pub cells_cut: bool,
}

impl QueryTable {
    /// The table as JSON: `columns` with names and types, `rows` as lists, `row_count`, and
    /// `truncated` and `cells_cut` where they are true.
    pub fn to_json(&self) -> Json {
        let columns: Vec<Json> = self
            .columns
            .iter()
            .map(|column| json!({"name": column.name, "type": column.data_type}))
            .collect();
        let rows: Vec<Json> =
            self.rows.iter().map(|row| row.iter().map(CellValue::to_json).collect()).collect();
        let mut table = Map::new();
        table.insert("columns".to_owned(), Json::from(columns));
        table.insert("row_count".to_owned(), Json::from(self.row_count));
        // Before the rows, or a reader of a long text that is cut would not see it.
        for (key, is_so) in [("truncated", self.truncated), ("cells_cut", self.cells_cut)] {
            if is_so {
                table.insert(key.to_owned(), Json::from(true));
            }
        }
        table.insert("rows".to_owned(), Json::from(rows));
        Json::Object(table)
    }
}

/// Collects rows up to the limits of a query.
#[derive(Debug)]
pub(crate) struct TableBuilder {
    table: QueryTable,
    limits: QueryLimits,
    bytes: usize,
    arrow: Option<ArrowBuilder>,
    /// The bytes of a row, of which its digest is made.
    encoded: Vec<u8>,
}

impl TableBuilder {
    pub(crate) fn new(columns: Vec<QueryColumn>, limits: QueryLimits) -> Self {
        let table = QueryTable { columns: with_unique_names(columns), ..QueryTable::default() };
        let arrow = limits.preview.map(|_| ArrowBuilder::new(&table.columns));
        Self { table, limits, bytes: 0, arrow, encoded: Vec::new() }
    }

    /// Adds a row; returns whether there is room for another one.
    pub(crate) fn push(&mut self, row: Vec<CellValue>) -> bool {
        if self.table.row_count >= self.limits.rows {
            self.table.truncated = true;
            return false;
        }
        let row: Vec<_> = row.into_iter().map(|cell| self.cut(cell)).collect();
        let size: usize = row.iter().map(CellValue::size).sum();
        if self.bytes + size > self.limits.bytes {
            self.table.truncated = true;
            return false;
        }
        self.bytes += size;
        self.table.row_count += 1;
        match &mut self.arrow {
            Some(arrow) => {
                let digest = row_digest(&row, &mut self.encoded);
                self.table.digest = self.table.digest.wrapping_add(digest);
                if Some(self.table.rows.len()) < self.limits.preview {
                    self.table.rows.push(row.clone());
                }
                arrow.push(row);
            }
            None => self.table.rows.push(row),
        }
        true
    }

    /// The rows.
    ///
    /// # Errors
    /// `query_failed` if they cannot be written as columns of Arrow.
    pub(crate) fn finish(mut self) -> Result<QueryTable, Fault> {
        let arrow = self.arrow.take().map(ArrowBuilder::finish).transpose();
        let mut arrow = arrow.map_err(|error| {
            fault::failed(&format!("its rows cannot be written as Arrow: {error}"), "", None)
        })?;
        // Whoever passes on what a tool says finds no secret within these bytes.
        if let Some(bytes) = &mut arrow {
            redact::mask_bytes(bytes);
        }
        self.table.arrow = arrow;
        Ok(self.table)
    }

    fn cut(&mut self, cell: CellValue) -> CellValue {
        let limit = self.limits.cell;
        match cell {
            CellValue::Text(text) if text.len() <= limit => CellValue::Text(text),
            CellValue::Text(text) => match text.char_indices().nth(limit) {
                Some((end, _)) => {
                    self.table.cells_cut = true;
                    CellValue::Text(format!("{}…", text.get(..end).unwrap_or_default()))
                }
                None => CellValue::Text(text),
            },
            CellValue::Blob(mut bytes, length) => {
                bytes.truncate(limit);
                self.table.cells_cut |= bytes.len() < length;
                CellValue::Blob(bytes, length)
            }
            cell @ (CellValue::Json(_) | CellValue::Decimal(_)) if cell.size() > limit => {
                let text = match cell {
                    CellValue::Json(value) => value.to_string(),
                    CellValue::Decimal(text) => text,
                    other => return other,
                };
                self.cut(CellValue::Text(text))
            }
            cell => cell,
        }
    }
}

/// Numbers the names that occur again, so that a row can be read as an object.
fn with_unique_names(mut columns: Vec<QueryColumn>) -> Vec<QueryColumn> {
    let mut taken: Vec<String> = Vec::with_capacity(columns.len());
    for column in &mut columns {
        let mut name = column.name.clone();
        let mut number = 2;
        while taken.contains(&name) {
            name = format!("{}_{number}", column.name);
            number += 1;
        }
        taken.push(name.clone());
        column.name = name;
    }
    columns
}
