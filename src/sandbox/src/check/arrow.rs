//! Arrow's IPC stream format: messages, each with metadata and a body.

use super::column::{self, Buffers};
use super::flat::{self, FlatTable};
use super::schema::{self, Layout};
use super::{CheckResult, Refusal, TableExtent, ensure};

const CONTINUED: &[u8] = &[0xFF; 4];
const CUT: Refusal = Refusal("a table's stream ends in the middle of a message");
const V5: i16 = 4;
const SCHEMA: u8 = 1;
const BATCH: u8 = 3;
/// The most columns of all batches together: readers allocate some hundred bytes for each, even
/// if it is empty.
const CHUNKS: usize = 65_536;

/// Checks that `bytes` are an Arrow IPC stream of a plain table: columns of numbers, booleans,
/// text, bytes, dates, times, durations and decimals, without compression, dictionaries,
/// extensions or metadata, in which every offset is valid.
///
/// # Errors
/// The violation, in words.
///
/// ```
/// use antiphon_sandbox::check;
///
/// assert!(check::table(b"no table").is_err());
/// ```
pub fn table(bytes: &[u8]) -> Result<TableExtent, Refusal> {
    let mut rest = bytes;
    let head = message(&mut rest)?.ok_or(Refusal("a table has no schema"))?;
    ensure(head.kind == SCHEMA && head.body.is_empty(), "a table does not begin with its schema")?;
    let columns = schema::columns(&head.table(4)?)?;
    let (mut rows, mut chunks) = (0_u64, 0);
    while let Some(next) = message(&mut rest)? {
        ensure(next.kind == BATCH, "a table has a message that is not a record batch")?;
        chunks += columns.len().max(1);
        ensure(chunks <= CHUNKS, "a table has too many record batches")?;
        let more = batch(&next.table(5)?, next.body, &columns)?;
        rows = rows.checked_add(more).ok_or(Refusal("a table has too many rows"))?;
    }
    Ok(TableExtent { rows, columns: columns.len() as u64 })
}

struct Message<'a> {
    kind: u8,
    head: FlatTable<'a>,
    body: &'a [u8],
}

impl<'a> Message<'a> {
    fn table(&self, fields: usize) -> CheckResult<FlatTable<'a>> {
        self.head.table(2, fields)?.ok_or(Refusal("a message is empty"))
    }
}

/// The next message, or `None` at the end; nothing may follow the end.
fn message<'a>(rest: &mut &'a [u8]) -> CheckResult<Option<Message<'a>>> {
    if rest.is_empty() {
        return Ok(None);
    }
    ensure(take(rest, 4)? == CONTINUED, "a message has no continuation marker")?;
    let length: [u8; 4] = take(rest, 4)?.try_into().map_err(|_| CUT)?;
    let length = usize::try_from(i32::from_le_bytes(length)).map_err(|_| CUT)?;
    if length == 0 {
        ensure(rest.is_empty(), "bytes follow the end of a table")?;
        return Ok(None);
    }
    ensure(length % 8 == 0, "the length of a message is no multiple of 8")?;
    let head = flat::root(take(rest, length)?, 5)?;
    ensure(head.short(0, 0)? == V5, "a table has an unsupported version of the Arrow format")?;
    ensure(head.is_empty(4)?, "a message has custom metadata")?;
    let size = usize::try_from(head.long(3)?).map_err(|_| CUT)?;
    ensure(size % 8 == 0, "the length of a message is no multiple of 8")?;
    Ok(Some(Message { kind: head.byte(1, 0)?, head, body: take(rest, size)? }))
}

fn batch(head: &FlatTable<'_>, body: &[u8], columns: &[Layout]) -> CheckResult<u64> {
    let rows = u64::try_from(head.long(0)?).map_err(|_| Refusal("a length is negative"))?;
    ensure(
        !head.has(3)? && head.is_empty(4)?,
        "a record batch is compressed, or has variadic buffers",
    )?;
    // Without a buffer, nothing bounds the claimed number of rows.
    ensure(rows == 0 || !columns.is_empty(), "a table has rows but no columns")?;
    let nodes = pairs(head, 1)?;
    ensure(
        nodes.len() == columns.len(),
        "a record batch and its schema differ in the number of columns",
    )?;
    let mut buffers = Buffers::new(body, pairs(head, 2)?);
    for (layout, (length, nulls)) in columns.iter().zip(nodes) {
        ensure(length == rows, "a column and its record batch differ in length")?;
        column::check(*layout, rows, nulls, &mut buffers)?;
    }
    buffers.finish()?;
    Ok(rows)
}

fn pairs(head: &FlatTable<'_>, field: usize) -> CheckResult<Vec<(u64, u64)>> {
    let Some(found) = head.vector(field, 16)? else { return Ok(Vec::new()) };
    (0..found.length).map(|index| found.pair(index)).collect()
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> CheckResult<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(length).ok_or(CUT)?;
    *rest = left;
    Ok(taken)
}
