//! A reader of `FlatBuffers` that trusts no offset.

use super::{CheckResult, Refusal, ensure};

const OUTSIDE: Refusal = Refusal("an offset points outside of its message");

const ASKEW: &str = "an offset in a message is misaligned";

/// A table: fields that may be absent.
#[derive(Clone, Copy)]
pub(super) struct FlatTable<'a> {
    bytes: &'a [u8],
    at: usize,
    size: usize,
    vtable: &'a [u8],
}

/// A vector: a number of items.
#[derive(Clone, Copy)]
pub(super) struct FlatVector<'a> {
    bytes: &'a [u8],
    at: usize,
    pub(super) length: usize,
}

/// The root table of a message.
pub(super) fn root(bytes: &[u8], fields: usize) -> CheckResult<FlatTable<'_>> {
    FlatTable::at(bytes, follow(bytes, 0)?, fields)
}

impl<'a> FlatTable<'a> {
    /// The table at an offset; it may have no unknown fields.
    fn at(bytes: &'a [u8], at: usize, fields: usize) -> CheckResult<Self> {
        let back = i64::from(i32::from_le_bytes(fixed(bytes, at)?));
        let start = i64::try_from(at).map_err(|_| OUTSIDE)? - back;
        let start = usize::try_from(start).map_err(|_| OUTSIDE)?;
        let size = usize::from(u16::from_le_bytes(fixed(bytes, start)?));
        ensure(size >= 4 && size % 2 == 0, "the vtable of a message is malformed")?;
        let end = start.checked_add(size).ok_or(OUTSIDE)?;
        let vtable = bytes.get(start..end).ok_or(OUTSIDE)?;
        let known = vtable.len().min(4 + 2 * fields);
        let more = vtable.get(known..).unwrap_or_default();
        ensure(more.iter().all(|byte| *byte == 0), "a message has an unknown field")?;
        ensure(at.is_multiple_of(4) && start.is_multiple_of(2), ASKEW)?;
        let size = usize::from(u16::from_le_bytes(fixed(vtable, 2)?));
        ensure(at.checked_add(size).is_some_and(|end| end <= bytes.len()), OUTSIDE.0)?;
        Ok(Self { bytes, at, size, vtable })
    }

    /// The offset of a field of `width` bytes, if it is present.
    fn field_offset(&self, field: usize, width: usize) -> CheckResult<Option<usize>> {
        let Some(entry) = self.vtable.get(4 + 2 * field..6 + 2 * field) else { return Ok(None) };
        let offset = usize::from(u16::from_le_bytes(fixed(entry, 0)?));
        if offset == 0 {
            return Ok(None);
        }
        // The vtable offset precedes it, and the next table follows.
        ensure(offset >= 4 && offset + width <= self.size, OUTSIDE.0)?;
        let at = self.at.checked_add(offset).ok_or(OUTSIDE)?;
        ensure(at % width == 0, ASKEW)?;
        Ok(Some(at))
    }

    pub(super) fn has(&self, field: usize) -> CheckResult<bool> {
        Ok(self.field_offset(field, 4)?.is_some())
    }

    pub(super) fn byte(&self, field: usize, default: u8) -> CheckResult<u8> {
        let Some(at) = self.field_offset(field, 1)? else { return Ok(default) };
        Ok(u8::from_le_bytes(fixed(self.bytes, at)?))
    }

    pub(super) fn short(&self, field: usize, default: i16) -> CheckResult<i16> {
        let Some(at) = self.field_offset(field, 2)? else { return Ok(default) };
        Ok(i16::from_le_bytes(fixed(self.bytes, at)?))
    }

    pub(super) fn int(&self, field: usize, default: i32) -> CheckResult<i32> {
        let Some(at) = self.field_offset(field, 4)? else { return Ok(default) };
        Ok(i32::from_le_bytes(fixed(self.bytes, at)?))
    }

    pub(super) fn long(&self, field: usize) -> CheckResult<i64> {
        let Some(at) = self.field_offset(field, 8)? else { return Ok(0) };
        Ok(i64::from_le_bytes(fixed(self.bytes, at)?))
    }

    /// The table in a field.
    pub(super) fn table(&self, field: usize, fields: usize) -> CheckResult<Option<Self>> {
        let Some(at) = self.field_offset(field, 4)? else { return Ok(None) };
        Self::at(self.bytes, follow(self.bytes, at)?, fields).map(Some)
    }

    /// The vector in a field, with items of `width` bytes.
    pub(super) fn vector(&self, field: usize, width: usize) -> CheckResult<Option<FlatVector<'a>>> {
        let Some(at) = self.field_offset(field, 4)? else { return Ok(None) };
        let at = follow(self.bytes, at)?;
        let length = u32::from_le_bytes(fixed(self.bytes, at)?);
        let length = usize::try_from(length).map_err(|_| OUTSIDE)?;
        ensure(at % 4 == 0, ASKEW)?;
        let at = at.checked_add(4).ok_or(OUTSIDE)?;
        ensure(width < 8 || at % 8 == 0, ASKEW)?;
        let end = length.checked_mul(width).and_then(|size| at.checked_add(size)).ok_or(OUTSIDE)?;
        ensure(end <= self.bytes.len(), OUTSIDE.0)?;
        Ok(Some(FlatVector { bytes: self.bytes, at, length }))
    }

    /// The text in a field.
    pub(super) fn text(&self, field: usize) -> CheckResult<Option<&'a str>> {
        let Some(found) = self.vector(field, 1)? else { return Ok(None) };
        let bytes = found.bytes.get(found.at..found.at + found.length).ok_or(OUTSIDE)?;
        // Readers in C rely on the terminating zero.
        ensure(
            found.bytes.get(found.at + found.length) == Some(&0),
            "a string of a message is not terminated",
        )?;
        std::str::from_utf8(bytes).map(Some).map_err(|_| Refusal("a text is not UTF-8"))
    }

    /// Whether a field is absent, or an empty vector.
    pub(super) fn is_empty(&self, field: usize) -> CheckResult<bool> {
        Ok(self.vector(field, 1)?.is_none_or(|found| found.length == 0))
    }
}

impl<'a> FlatVector<'a> {
    /// The table in an item.
    pub(super) fn table(&self, index: usize, fields: usize) -> CheckResult<FlatTable<'a>> {
        let at = self.at.checked_add(4 * index).ok_or(OUTSIDE)?;
        FlatTable::at(self.bytes, follow(self.bytes, at)?, fields)
    }

    /// The item as a pair of numbers.
    pub(super) fn pair(&self, index: usize) -> CheckResult<(u64, u64)> {
        let at = self.at.checked_add(16 * index).ok_or(OUTSIDE)?;
        let number = |at| {
            let found = i64::from_le_bytes(fixed(self.bytes, at)?);
            u64::try_from(found).map_err(|_| Refusal("a length is negative"))
        };
        Ok((number(at)?, number(at + 8)?))
    }
}

fn follow(bytes: &[u8], at: usize) -> CheckResult<usize> {
    let offset = u32::from_le_bytes(fixed(bytes, at)?);
    ensure(offset != 0, "an offset in a message points to itself")?;
    usize::try_from(offset).ok().and_then(|offset| at.checked_add(offset)).ok_or(OUTSIDE)
}

fn fixed<const SIZE: usize>(bytes: &[u8], at: usize) -> CheckResult<[u8; SIZE]> {
    let end = at.checked_add(SIZE).ok_or(OUTSIDE)?;
    bytes.get(at..end).and_then(|found| found.try_into().ok()).ok_or(OUTSIDE)
}
