//! The buffers of one column of one batch.

use super::schema::Layout;
use super::{CheckResult, Refusal, ensure};

const SHORT: &str = "the buffer of a column is too short";

/// Hands out the buffers of a batch in order; none may overlap.
pub(super) struct Buffers<'a> {
    body: &'a [u8],
    places: Vec<(u64, u64)>,
    next: usize,
    used: u64,
}

impl<'a> Buffers<'a> {
    pub(super) fn new(body: &'a [u8], places: Vec<(u64, u64)>) -> Self {
        Self { body, places, next: 0, used: 0 }
    }

    fn take(&mut self) -> CheckResult<&'a [u8]> {
        let (offset, length) =
            *self.places.get(self.next).ok_or(Refusal("a buffer of a column is missing"))?;
        self.next += 1;
        if length == 0 {
            return Ok(&[]);
        }
        // Overlapping buffers could make a small message a large table.
        ensure(
            offset >= self.used && offset % 8 == 0,
            "a buffer overlaps another, or is misaligned",
        )?;
        let end = offset.checked_add(length).ok_or(Refusal(SHORT))?;
        self.used = end;
        let (start, end) = (usize::try_from(offset), usize::try_from(end));
        let (Ok(start), Ok(end)) = (start, end) else { return Err(Refusal(SHORT)) };
        self.body.get(start..end).ok_or(Refusal("a buffer exceeds the body of its message"))
    }

    /// Refuses buffers that no column uses.
    pub(super) fn finish(&self) -> CheckResult {
        ensure(
            self.next == self.places.len(),
            "a record batch has more buffers than its columns need",
        )
    }
}

/// Checks a column of `rows` items, of which `nulls` are claimed to be null.
pub(super) fn check(
    layout: Layout,
    rows: u64,
    nulls: u64,
    buffers: &mut Buffers<'_>,
) -> CheckResult {
    validity(buffers.take()?, rows, nulls)?;
    match layout {
        Layout::Bits => long_enough(buffers.take()?, Some(rows.div_ceil(8))),
        Layout::Fixed(width) => long_enough(buffers.take()?, rows.checked_mul(width)),
        Layout::Spans { offset, text } => {
            let (offsets, content) = (buffers.take()?, buffers.take()?);
            spans(offsets, content, (rows, offset), text)
        }
    }
}

fn long_enough(buffer: &[u8], needed: Option<u64>) -> CheckResult {
    ensure(needed.is_some_and(|needed| buffer.len() as u64 >= needed), SHORT)
}

fn validity(bits: &[u8], rows: u64, nulls: u64) -> CheckResult {
    ensure(nulls <= rows, "the null count of a column exceeds its length")?;
    if bits.is_empty() {
        return ensure(nulls == 0, "a column with nulls has no validity bitmap");
    }
    long_enough(bits, Some(rows.div_ceil(8)))?;
    let whole = usize::try_from(rows / 8).map_err(|_| Refusal(SHORT))?;
    let (full, rest) = bits.split_at_checked(whole).ok_or(Refusal(SHORT))?;
    let mut present: u64 = full.iter().map(|byte| u64::from(byte.count_ones())).sum();
    if let (Some(last), odd @ 1..) = (rest.first(), rows % 8) {
        present += u64::from((last & ((1_u8 << odd) - 1)).count_ones());
    }
    ensure(present == rows - nulls, "the null count of a column contradicts its validity bitmap")
}

fn spans(offsets: &[u8], content: &[u8], (rows, width): (u64, u64), text: bool) -> CheckResult {
    if rows == 0 && offsets.is_empty() {
        return Ok(());
    }
    long_enough(offsets, rows.checked_add(1).and_then(|count| count.checked_mul(width)))?;
    let step = if width == 4 { 4 } else { 8 };
    let count = usize::try_from(rows).map_err(|_| Refusal(SHORT))? + 1;
    let mut before = 0;
    let content = Content::new(content, text)?;
    for (index, entry) in offsets.chunks_exact(step).take(count).enumerate() {
        let offset = number(entry)?;
        ensure(index == 0 || offset >= before, "the offsets of a column decrease")?;
        ensure(
            content.may_cut(offset),
            "an offset of a column is out of range or splits a character",
        )?;
        before = offset;
    }
    Ok(())
}

fn number(entry: &[u8]) -> CheckResult<usize> {
    let found = match (entry.try_into().map(i32::from_le_bytes), entry.try_into()) {
        (Ok(short), _) => i64::from(short),
        (_, Ok(long)) => i64::from_le_bytes(long),
        _ => return Err(Refusal(SHORT)),
    };
    usize::try_from(found).map_err(|_| Refusal("an offset is negative"))
}

enum Content<'a> {
    Bytes(usize),
    Text(&'a str),
}

impl<'a> Content<'a> {
    fn new(bytes: &'a [u8], text: bool) -> CheckResult<Self> {
        if !text {
            return Ok(Self::Bytes(bytes.len()));
        }
        std::str::from_utf8(bytes)
            .map(Self::Text)
            .map_err(|_| Refusal("a text column is not UTF-8"))
    }

    fn may_cut(&self, at: usize) -> bool {
        match self {
            Self::Bytes(length) => at <= *length,
            Self::Text(text) => text.is_char_boundary(at),
        }
    }
}
