//! Rows as columns of Arrow, so that a large result is never a tree of JSON.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Float64Array, Int64Array, NullArray, RecordBatch,
    StringArray, new_null_array,
};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::arrow_type::ColumnType;
use super::table::{CellValue, QueryColumn};

/// Rows of a batch of the stream.
const BATCH: usize = 8_192;
/// Whole numbers up to this one are exact as floating-point numbers.
const EXACT: u64 = 1 << 53;

/// Collects rows as columns. A database may give each cell of a column a type of its own, so the
/// type of the column is known when all rows are.
#[derive(Debug)]
pub(super) struct ArrowBuilder {
    columns: Vec<ArrowColumn>,
    /// The rows of the batch that is not full.
    rows: Vec<Vec<CellValue>>,
}

#[derive(Debug)]
struct ArrowColumn {
    name: String,
    /// The database's name of its type.
    data_type: String,
    /// Its cells, batch by batch: each with the narrowest type that holds those of the batch.
    batches: Vec<ArrayRef>,
}

impl ArrowBuilder {
    pub(super) fn new(columns: &[QueryColumn]) -> Self {
        let column = |column: &QueryColumn| ArrowColumn {
            name: column.name.clone(),
            data_type: column.data_type.to_lowercase(),
            batches: Vec::new(),
        };
        Self { columns: columns.iter().map(column).collect(), rows: Vec::new() }
    }

    pub(super) fn push(&mut self, row: Vec<CellValue>) {
        self.rows.push(row);
        if self.rows.len() == BATCH {
            self.end_batch();
        }
    }

    fn end_batch(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        for (at, column) in self.columns.iter_mut().enumerate() {
            let cells = || rows.iter().map(|row| row.get(at).unwrap_or(&CellValue::Null));
            column.batches.push(array(&cells));
        }
    }

    /// The rows as an Arrow IPC stream. They are given up batch by batch.
    pub(super) fn finish(mut self) -> Result<Vec<u8>, ArrowError> {
        if !self.rows.is_empty() {
            self.end_batch();
        }
        let types: Vec<ColumnType> = self.columns.iter().map(ArrowColumn::column_type).collect();
        let fields = self.columns.iter().zip(&types);
        let fields = fields.map(|(column, kind)| Field::new(&column.name, kind.arrow(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let sizes = self.columns.iter().flat_map(|column| &column.batches);
        let size = sizes.map(Array::get_array_memory_size).sum();
        let mut writer = StreamWriter::try_new(Vec::with_capacity(size), &schema)?;
        let count = self.columns.iter().map(|column| column.batches.len()).max().unwrap_or(0);
        let mut columns: Vec<_> =
            self.columns.into_iter().map(|column| column.batches.into_iter()).collect();
        for _ in 0..count {
            let batch = columns.iter_mut().zip(&types);
            let batch = batch.filter_map(|(column, kind)| Some(kind.read(&column.next()?)));
            writer.write(&RecordBatch::try_new(Arc::clone(&schema), batch.collect())?)?;
        }
        writer.finish()?;
        writer.into_inner()
    }
}

impl ArrowColumn {
    /// The type of all its cells: that of the database where each cell can be read as such.
    fn column_type(&self) -> ColumnType {
        let kinds = self.batches.iter().map(Array::data_type);
        let stored = kinds.fold(DataType::Null, |one, other| joined(&one, other));
        let is_large = |batch: &ArrayRef| {
            let numbers = batch.as_primitive_opt::<Int64Type>();
            numbers.is_some_and(|it| it.iter().flatten().any(|one| one.unsigned_abs() > EXACT))
        };
        if matches!(stored, DataType::Int64 | DataType::Float64)
            && let Some(decimal) = ColumnType::decimal(&self.data_type, &self.batches)
        {
            return decimal;
        }
        match stored {
            DataType::Float64 if self.batches.iter().any(is_large) => ColumnType::Text,
            DataType::Float64 => ColumnType::Float,
            DataType::Boolean => ColumnType::Boolean,
            DataType::Binary => ColumnType::Binary,
            DataType::Int64 if self.data_type.starts_with("bool") => {
                ColumnType::truth(&self.batches).unwrap_or(ColumnType::Integer)
            }
            DataType::Int64 => ColumnType::Integer,
            _ => ColumnType::of_texts(&self.data_type, &self.batches),
        }
    }
}

/// The narrowest type that holds the cells of two batches.
fn joined(one: &DataType, other: &DataType) -> DataType {
    match (one, other) {
        (DataType::Null, it) | (it, DataType::Null) => it.clone(),
        _ if one == other => one.clone(),
        (DataType::Int64, DataType::Float64) | (DataType::Float64, DataType::Int64) => {
            DataType::Float64
        }
        _ => DataType::Utf8,
    }
}

/// Cells of one batch, with the narrowest type that holds them.
fn array<'c, I: Iterator<Item = &'c CellValue>>(cells: &impl Fn() -> I) -> ArrayRef {
    let kinds = cells().map(cell_type);
    match kinds.fold(DataType::Null, |one, other| joined(&one, &other)) {
        DataType::Null => Arc::new(NullArray::new(cells().count())),
        DataType::Boolean => Arc::new(cells().map(boolean).collect::<BooleanArray>()),
        DataType::Int64 => Arc::new(cells().map(integer).collect::<Int64Array>()),
        DataType::Float64 if !cells().filter_map(integer).any(|it| it.unsigned_abs() > EXACT) => {
            Arc::new(cells().map(float).collect::<Float64Array>())
        }
        DataType::Binary => Arc::new(cells().map(bytes).collect::<BinaryArray>()),
        _ => Arc::new(cells().map(text).collect::<StringArray>()),
    }
}

const fn cell_type(cell: &CellValue) -> DataType {
    match cell {
        CellValue::Null => DataType::Null,
        CellValue::Boolean(_) => DataType::Boolean,
        CellValue::Integer(_) => DataType::Int64,
        CellValue::Float(_) => DataType::Float64,
        CellValue::Blob(..) => DataType::Binary,
        CellValue::Decimal(_) | CellValue::Text(_) | CellValue::Json(_) => DataType::Utf8,
    }
}

const fn boolean(cell: &CellValue) -> Option<bool> {
    match cell {
        CellValue::Boolean(value) => Some(*value),
        _ => None,
    }
}

const fn integer(cell: &CellValue) -> Option<i64> {
    match cell {
        CellValue::Integer(value) => Some(*value),
        _ => None,
    }
}

const fn float(cell: &CellValue) -> Option<f64> {
    match cell {
        CellValue::Float(value) => Some(*value),
        #[expect(clippy::cast_precision_loss, reason = "larger ones are texts")]
        CellValue::Integer(value) => Some(*value as f64),
        _ => None,
    }
}

fn bytes(cell: &CellValue) -> Option<&[u8]> {
    match cell {
        CellValue::Blob(bytes, _) => Some(bytes),
        _ => None,
    }
}

fn text(cell: &CellValue) -> Option<Cow<'_, str>> {
    Some(Cow::Owned(match cell {
        CellValue::Null => return None,
        CellValue::Text(text) | CellValue::Decimal(text) => return Some(Cow::Borrowed(text)),
        CellValue::Boolean(value) => value.to_string(),
        CellValue::Integer(value) => value.to_string(),
        CellValue::Float(value) => value.to_string(),
        CellValue::Json(value) => value.to_string(),
        CellValue::Blob(bytes, _) => STANDARD.encode(bytes),
    }))
}

/// A batch as texts.
pub(super) fn texts(batch: &ArrayRef) -> ArrayRef {
    let found: StringArray = if let Some(numbers) = batch.as_primitive_opt::<Int64Type>() {
        numbers.iter().map(|one| one.map(|it| it.to_string())).collect()
    } else if let Some(numbers) = batch.as_any().downcast_ref::<Float64Array>() {
        numbers.iter().map(|one| one.map(|it| it.to_string())).collect()
    } else if let Some(values) = batch.as_boolean_opt() {
        values.iter().map(|one| one.map(|it| it.to_string())).collect()
    } else if let Some(values) = batch.as_binary_opt::<i32>() {
        values.iter().map(|one| one.map(|it| STANDARD.encode(it))).collect()
    } else {
        return new_null_array(&DataType::Utf8, batch.len());
    };
    Arc::new(found)
}
