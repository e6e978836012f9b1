//! Conversion of rows.

use antiphon_core::Time;
use antiphon_runtime::store::{
    Entry, EntryKind, EntryMark, EntryTag, StoredThreadInfo, ThreadHead,
};
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::fault::{self, PostgresResult};
use crate::codec::corrupt;

pub(super) fn head_of(row: &Row) -> PostgresResult<ThreadHead> {
    Ok(ThreadHead { last: count(row, 0)?, stored: count(row, 1)?, tag: tag_of(row, 2)? })
}

pub(super) fn entry_of(row: &Row) -> PostgresResult<Entry> {
    Ok(Entry {
        seq: count(row, 0)?,
        parent: count(row, 1)?,
        base: count(row, 2)?,
        kind: kind_of(row)?,
        step: count(row, 4)?,
        at: Time::from_micros(count(row, 5)?),
        tag: tag_of(row, 6)?,
        body: at(row, 7)?,
    })
}

pub(super) fn mark_of(row: &Row) -> PostgresResult<(EntryMark, EntryTag)> {
    let mark = EntryMark {
        seq: count(row, 0)?,
        parent: count(row, 1)?,
        base: count(row, 2)?,
        kind: kind_of(row)?,
        step: count(row, 4)?,
        at: Time::from_micros(count(row, 5)?),
        size: count(row, 7)?,
    };
    Ok((mark, tag_of(row, 6)?))
}

pub(super) fn tag_of(row: &Row, column: usize) -> PostgresResult<EntryTag> {
    at::<&[u8]>(row, column).map(EntryTag::new)
}

fn kind_of(row: &Row) -> PostgresResult<EntryKind> {
    let kind: &str = at(row, 3)?;
    let seq = count(row, 0)?;
    let unknown = || corrupt(&format!("entry {seq} is of an unknown kind: {kind}"));
    EntryKind::named(kind).ok_or_else(|| unknown().into())
}

pub(super) fn thread_of(row: &Row) -> PostgresResult<StoredThreadInfo> {
    let is_held = at::<Option<&[u8]>>(row, 5)?.is_some();
    let held =
        if is_held { Some((text(row, 5)?, Time::from_micros(count(row, 6)?))) } else { None };
    Ok(StoredThreadInfo {
        head: head_of(row)?,
        name: text(row, 3)?,
        at: Time::from_micros(count(row, 4)?),
        held,
        size: count(row, 7)?,
    })
}

/// A negative number was put there from outside: it becomes a count that no tag matches.
pub(super) fn count(row: &Row, column: usize) -> PostgresResult<u64> {
    at(row, column).map(i64::cast_unsigned)
}

pub(super) fn text(row: &Row, column: usize) -> PostgresResult<String> {
    let bytes: &[u8] = at(row, column)?;
    let text = String::from_utf8(bytes.to_vec());
    text.map_err(|_| fault::corrupt(&format!("a name that is not UTF-8: {bytes:?}")).into())
}

pub(super) fn at<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> PostgresResult<T> {
    row.try_get(column).map_err(|error| fault::corrupt(&error.to_string()).into())
}
