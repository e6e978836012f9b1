//! Workbooks and CSV files: one line per row.

use std::io::Cursor;

use calamine::{Cell, DataRef, Reader, Xlsb, Xlsx};

use super::archive::{BoundedArchive, broken};
use super::read::{DocumentLimits, DocumentRefusal};
use super::text::DocumentText;
use super::writer::TextWriter;

/// Delimiters of CSV files; the one that is most frequent in the first line is used.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// The rows of a CSV file.
///
/// # Errors
/// None: rows that cannot be read are left out.
pub fn csv_text(text: &str, limit: usize) -> Result<DocumentText, DocumentRefusal> {
    let first = text.lines().next().unwrap_or_default();
    let count = |delimiter: &u8| first.matches(char::from(*delimiter)).count();
    let delimiter = DELIMITERS.into_iter().rev().max_by_key(count).unwrap_or(b',');
    let mut reader = csv::ReaderBuilder::new();
    let mut reader =
        reader.delimiter(delimiter).flexible(true).has_headers(false).from_reader(text.as_bytes());
    let mut writer = TextWriter::new(limit);
    let mut record = csv::StringRecord::new();
    while !writer.is_full() && reader.read_record(&mut record).unwrap_or(false) {
        write_row(&mut writer, record.iter());
    }
    Ok(writer.finish(None))
}

/// The cells of a workbook of Excel, sheet by sheet.
///
/// # Errors
/// The workbook is damaged or unpacks to more than the limit.
pub fn workbook_text(
    bytes: &[u8],
    limits: &DocumentLimits,
) -> Result<DocumentText, DocumentRefusal> {
    let archive = BoundedArchive::open(bytes, limits.unpacked)?;
    let binary = archive.names().iter().any(|name| name == "xl/workbook.bin");
    archive.measure()?;
    let mut writer = TextWriter::new(limits.characters);
    if binary {
        binary_sheets(bytes, &mut writer)?;
    } else {
        xml_sheets(bytes, &mut writer)?;
    }
    Ok(writer.finish(None))
}

/// Reads the sheets cell by cell: a range of two cells in opposite corners would fill the memory.
fn xml_sheets(bytes: &[u8], writer: &mut TextWriter) -> Result<(), DocumentRefusal> {
    let mut workbook = Xlsx::new(Cursor::new(bytes)).map_err(|error| broken(&error))?;
    for name in workbook.sheet_names() {
        let Ok(mut cells) = workbook.worksheet_cells_reader(&name) else { continue };
        let mut sheet = SheetWriter::begin(writer, &name);
        while let Some(cell) = cells.next_cell().map_err(|error| broken(&error))? {
            if !sheet.push(&cell) {
                break;
            }
        }
        sheet.finish();
    }
    Ok(())
}

fn binary_sheets(bytes: &[u8], writer: &mut TextWriter) -> Result<(), DocumentRefusal> {
    let mut workbook = Xlsb::new(Cursor::new(bytes)).map_err(|error| broken(&error))?;
    for name in workbook.sheet_names() {
        let Ok(mut cells) = workbook.worksheet_cells_reader(&name) else { continue };
        let mut sheet = SheetWriter::begin(writer, &name);
        while let Some(cell) = cells.next_cell().map_err(|error| broken(&error))? {
            if !sheet.push(&cell) {
                break;
            }
        }
        sheet.finish();
    }
    Ok(())
}

/// Collects the cells of a row.
struct SheetWriter<'w> {
    writer: &'w mut TextWriter,
    row: u32,
    cells: Vec<String>,
}

impl<'w> SheetWriter<'w> {
    fn begin(writer: &'w mut TextWriter, name: &str) -> Self {
        writer.heading(2, name, None);
        Self { writer, row: 0, cells: Vec::new() }
    }

    /// Returns whether there is room for more.
    fn push(&mut self, cell: &Cell<DataRef<'_>>) -> bool {
        let (row, _) = cell.get_position();
        if row != self.row {
            self.end_row();
            self.row = row;
        }
        let value = cell_text(cell.get_value());
        if !value.is_empty() {
            self.cells.push(value);
        }
        !self.writer.is_full()
    }

    fn end_row(&mut self) {
        let cells = std::mem::take(&mut self.cells);
        write_row(self.writer, cells.iter().map(String::as_str));
    }

    fn finish(mut self) {
        self.end_row();
    }
}

fn write_row<'c>(writer: &mut TextWriter, cells: impl Iterator<Item = &'c str>) {
    writer.line();
    for (index, cell) in cells.enumerate() {
        if index > 0 {
            writer.text(" | ");
        }
        writer.text(cell.trim());
    }
    writer.line();
}

fn cell_text(value: &DataRef<'_>) -> String {
    match value {
        DataRef::Int(number) => number.to_string(),
        DataRef::Float(number) => number.to_string(),
        DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => {
            text.clone()
        }
        DataRef::SharedString(text) => (*text).to_owned(),
        DataRef::Bool(flag) => flag.to_string(),
        DataRef::DateTime(moment) if moment.is_datetime() => {
            let (year, month, day, hour, minute, second, _) = moment.to_ymd_hms_milli();
            let date = format!("{year:04}-{month:02}-{day:02}");
            if (hour, minute, second) == (0, 0, 0) {
                date
            } else {
                format!("{date} {hour:02}:{minute:02}:{second:02}")
            }
        }
        DataRef::DateTime(duration) => duration.as_f64().to_string(),
        DataRef::Error(_) | DataRef::Empty => String::new(),
    }
}
