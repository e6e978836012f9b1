//! The schema of a stream: plain types only.

use super::flat::FlatTable;
use super::{CheckResult, Refusal, ensure};

const COLUMNS: usize = 16_384;
const NAME: usize = 16_384;
/// The total length of column names in bytes: columns may share the bytes of a name, and each
/// reader copies them for each.
const NAMES: usize = 1 << 20;
const ZONE: usize = 64;

/// The layout of a column's items in its buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// One bit per item.
    Bits,
    /// So many bytes per item.
    Fixed(u64),
    /// Items of any length, between offsets of so many bytes.
    Spans { offset: u64, text: bool },
}

/// The layouts of the columns.
pub(super) fn columns(schema: &FlatTable<'_>) -> CheckResult<Vec<Layout>> {
    ensure(schema.short(0, 0)? == 0, "a table is big-endian")?;
    ensure(schema.is_empty(2)? && schema.is_empty(3)?, "a table has custom metadata or features")?;
    // Without the vector, pyarrow returns a schema whose fields crash it when shown.
    let fields = schema.vector(1, 4)?.ok_or(Refusal("the schema of a table has no fields"))?;
    ensure(fields.length <= COLUMNS, "a table has too many columns")?;
    let mut names = 0;
    let mut column = |index| {
        let field = fields.table(index, 7)?;
        names += name(&field)?;
        ensure(names <= NAMES, "the column names of a table are too long in total")?;
        column(&field)
    };
    (0..fields.length).map(&mut column).collect()
}

/// The length of a column's name in bytes.
fn name(field: &FlatTable<'_>) -> CheckResult<usize> {
    let length = field.text(0)?.map_or(0, str::len);
    ensure(length <= NAME, "a column's name is too long")?;
    Ok(length)
}

fn column(field: &FlatTable<'_>) -> CheckResult<Layout> {
    ensure(field.byte(1, 0)? <= 1, "the nullable flag of a column is not 0 or 1")?;
    ensure(!field.has(4)?, "a column is dictionary-encoded")?;
    ensure(field.is_empty(5)?, "a column is nested")?;
    ensure(field.is_empty(6)?, "a column has custom metadata")?;
    let kind = field.byte(2, 0)?;
    let details = field.table(3, 3)?.ok_or(Refusal("a column has no type"))?;
    layout(kind, &details)
}

/// The layout of a type, by its number in the union `Type` of Arrow's `Schema.fbs`.
fn layout(kind: u8, details: &FlatTable<'_>) -> CheckResult<Layout> {
    match kind {
        2 => integer(details),
        3 => float(details),
        4 => Ok(Layout::Spans { offset: 4, text: false }),
        5 => Ok(Layout::Spans { offset: 4, text: true }),
        6 => Ok(Layout::Bits),
        7 => decimal(details),
        8 => one_of(details.short(0, 1)?, &[4, 8]),
        9 => time(details),
        10 => timestamp(details),
        18 => one_of(details.short(0, 1)?, &[8; 4]),
        19 => Ok(Layout::Spans { offset: 8, text: false }),
        20 => Ok(Layout::Spans { offset: 8, text: true }),
        _ => Err(Refusal("the type of a column is unsupported")),
    }
}

fn one_of(unit: i16, widths: &[u64]) -> CheckResult<Layout> {
    let unit = usize::try_from(unit).ok();
    let width = unit.and_then(|unit| widths.get(unit)).ok_or(Refusal("a time unit is unknown"))?;
    Ok(Layout::Fixed(*width))
}

fn integer(details: &FlatTable<'_>) -> CheckResult<Layout> {
    ensure(details.byte(1, 0)? <= 1, "the signed flag of an integer column is not 0 or 1")?;
    match details.int(0, 0)? {
        8 => Ok(Layout::Fixed(1)),
        16 => Ok(Layout::Fixed(2)),
        32 => Ok(Layout::Fixed(4)),
        64 => Ok(Layout::Fixed(8)),
        _ => Err(Refusal("the bit width of an integer column is unsupported")),
    }
}

fn float(details: &FlatTable<'_>) -> CheckResult<Layout> {
    one_of(details.short(0, 0)?, &[2, 4, 8])
}

fn decimal(details: &FlatTable<'_>) -> CheckResult<Layout> {
    let (precision, scale) = (details.int(0, 0)?, details.int(1, 0)?);
    ensure(
        details.int(2, 128)? == 128 && (1..=38).contains(&precision) && (-38..=38).contains(&scale),
        "the precision of a decimal column is out of range",
    )?;
    Ok(Layout::Fixed(16))
}

fn time(details: &FlatTable<'_>) -> CheckResult<Layout> {
    match (details.short(0, 1)?, details.int(1, 32)?) {
        (0 | 1, 32) => Ok(Layout::Fixed(4)),
        (2 | 3, 64) => Ok(Layout::Fixed(8)),
        _ => Err(Refusal("the unit of a time column does not fit its bit width")),
    }
}

fn timestamp(details: &FlatTable<'_>) -> CheckResult<Layout> {
    let zone = details.text(1)?.unwrap_or_default();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+-_/:".contains(&byte);
    ensure(zone.len() <= ZONE && zone.bytes().all(plain), "the time zone of a column is invalid")?;
    one_of(details.short(0, 0)?, &[8; 4])
}
