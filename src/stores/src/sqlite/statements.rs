//! The statements for SQLite. Every value is bound.

use std::time::Duration;

use antiphon_core::{Fault, Time};
use antiphon_runtime::store::{
    Entry, EntryBatch, EntryKind, EntryMark, EntryRange, EntryTag, StoredThreadInfo, ThreadHead,
    busy, conflict,
};
use rusqlite::types::Type;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, params};

use super::fault;
use super::lease_watch::{self, LeaseRow};
use super::schema::{LAST_THREAD, SEQ_BITS};
use crate::codec::corrupt;
use crate::lease::TERM;
use crate::owner::{self, BootId};

/// The condition for the entries of a thread. One on the generated columns would read all entries.
macro_rules! of_thread {
    () => {
        "entry.id BETWEEN thread.id << 32 AND thread.id << 32 | 4294967295"
    };
}

/// The condition for those of them from `?2` to `?3`.
macro_rules! in_range {
    () => {
        "entry.id BETWEEN (thread.id << 32) + ?2 AND (thread.id << 32) + ?3"
    };
}

/// The columns that `head_of` reads.
macro_rules! head {
    () => {
        concat!(
            "last, (SELECT coalesce(max(entry.id) & 4294967295, 0) FROM entry WHERE ",
            of_thread!(),
            "), tag"
        )
    };
}

/// The columns that `thread_of` reads.
macro_rules! listed {
    () => {
        concat!(
            "SELECT ",
            head!(),
            ", name, at, owner, until,
            (SELECT coalesce(sum(length(body)), 0) FROM entry WHERE ",
            of_thread!(),
            "), id
            FROM thread"
        )
    };
}

type SqliteResult<T> = Result<T, Fault>;

/// The largest number of an entry in its thread.
const LAST_SEQ: u64 = (1 << SEQ_BITS) - 1;

/// The present time by both clocks of a machine.
#[derive(Clone, Copy)]
pub(super) struct ClockReading {
    /// The time of day, for what users see.
    pub(super) now: Time,
    /// The clock that all processes share, for leases.
    pub(super) shared: Time,
}

impl ClockReading {
    /// The time of day at which a lease expires; `None` if it has expired, or is from before the
    /// machine was restarted.
    fn end_of(
        self,
        file: &Connection,
        lease: &LeaseRow<'_>,
        term: Duration,
    ) -> SqliteResult<Option<Time>> {
        let end = match owner::start_of(lease.owner) {
            BootId::This => Some(Time::from_micros(u64::try_from(lease.until).unwrap_or_default())),
            BootId::Earlier => None,
            BootId::Elsewhere => asked(lease_watch::end_of(file, lease, self.shared, term))?,
        };
        let end = end.filter(|end| *end > self.shared);
        Ok(end.map(|end| self.now + end.since(self.shared)))
    }
}

pub(super) fn claim(
    file: &Connection,
    thread: &str,
    owner: &str,
    present: ClockReading,
    term: Duration,
) -> SqliteResult<Result<ThreadHead, Fault>> {
    let (now, until) = (present.now, present.shared + term);
    // The transaction commits all the same, to keep the observation of the lease.
    if let Some(busy) = busy_fault(file, thread, owner, (present, term))? {
        return Ok(Err(busy));
    }
    let known =
        concat!("UPDATE thread SET owner = ?2, until = ?3 WHERE name = ?1 RETURNING ", head!());
    let values = params![thread, owner, number(until.as_micros())];
    let known = file.prepare_cached(known);
    let known = known.and_then(|mut known| known.query_row(values, head_of).optional());
    if let Some(head) = asked_of(thread, known)? {
        return Ok(Ok(head));
    }
    let claim = concat!(
        "INSERT INTO thread (name, last, tag, at, owner, until) VALUES (?1, 0, x'', ?2, ?3, ?4)
        RETURNING ",
        head!()
    );
    let values = params![thread, number(now.as_micros()), owner, number(until.as_micros())];
    let claimed = file.prepare_cached(claim);
    let claimed = claimed.and_then(|mut claim| claim.query_row(values, head_of));
    // Its name is new, so its id is what the table refuses.
    let is_refused =
        |error: &rusqlite::Error| error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation);
    if claimed.as_ref().is_err_and(is_refused) {
        return Err(fault::no_more_threads(LAST_THREAD));
    }
    asked_of(thread, claimed).map(Ok)
}

pub(super) fn release(file: &Connection, thread: &str, owner: &str) -> SqliteResult<()> {
    let release = "UPDATE thread SET owner = NULL, until = NULL WHERE name = ?1 AND owner = ?2
        RETURNING last";
    let mut release = asked(file.prepare_cached(release))?;
    let last = release.query_row([thread, owner], |row| row.get::<_, i64>(0)).optional();
    if asked(last)? == Some(0) {
        // The thread was not claimed since, and has no entries.
        let end = concat!(
            "DELETE FROM thread WHERE name = ?1 AND owner IS NULL AND last = 0
            AND NOT EXISTS (SELECT 1 FROM entry WHERE ",
            of_thread!(),
            ")"
        );
        asked(file.prepare_cached(end).and_then(|mut end| end.execute([thread])))?;
    }
    Ok(())
}

/// Appends consecutive batches of one thread.
pub(super) fn append(file: &Connection, batches: &[&EntryBatch], now: Time) -> SqliteResult<()> {
    let (Some(first), Some(last)) = (batches.first(), batches.last()) else { return Ok(()) };
    let EntryBatch { thread, owner, after, expected, .. } = first;
    if let Some(expected) = expected {
        expect(file, (thread, *after), expected)?;
    }
    // A batch without entries does not change the head.
    let tag = batches.iter().rev().find(|batch| !batch.entries.is_empty());
    let tag = tag.map(|batch| batch.tag.as_bytes());
    let last = last.entries.last().map_or(last.after, |entry| entry.seq);
    if last > LAST_SEQ {
        return Err(fault::no_more_entries(thread, LAST_SEQ));
    }
    let advance = "UPDATE thread SET last = ?1, at = ?2, tag = coalesce(?6, tag)
        WHERE name = ?3 AND owner = ?4 AND last = ?5 RETURNING id";
    let values = params![number(last), number(now.as_micros()), thread, owner, number(*after), tag];
    let advanced = file
        .prepare_cached(advance)
        .and_then(|mut advance| advance.query_row(values, |row| row.get::<_, i64>(0)).optional());
    let Some(id) = asked(advanced)? else { return Err(conflict(thread)) };
    let insert = "INSERT INTO entry (id, parent, base, kind, step, at, tag, body)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let mut insert = asked(file.prepare_cached(insert))?;
    for entry in batches.iter().flat_map(|batch| &batch.entries) {
        asked(insert.execute(params![
            entry_id(id, entry.seq),
            number(entry.parent),
            number(entry.base),
            entry.kind.as_str(),
            number(entry.step),
            number(entry.at.as_micros()),
            entry.tag.as_bytes(),
            entry.body,
        ]))?;
    }
    Ok(())
}

/// Checks that an entry has the expected tag. Must run in the transaction that appends behind
/// it.
fn expect(file: &Connection, (thread, seq): (&str, u64), tag: &EntryTag) -> SqliteResult<()> {
    let found = "SELECT 1 FROM thread JOIN entry ON entry.id = (thread.id << 32) + ?2
        WHERE name = ?1 AND entry.tag = ?3";
    let values = params![thread, number(seq), tag.as_bytes()];
    let found = file.prepare_cached(found).and_then(|mut found| found.exists(values));
    if asked(found)? { Ok(()) } else { Err(conflict(thread)) }
}

pub(super) fn read(file: &Connection, thread: &str, span: EntryRange) -> SqliteResult<Vec<Entry>> {
    let read = concat!(
        "SELECT seq, parent, base, kind, step, entry.at, entry.tag, body FROM thread JOIN entry ON ",
        in_range!(),
        " WHERE name = ?1 ORDER BY entry.id"
    );
    let (from, to) = range(span);
    let values = params![thread, from, to];
    let found = file.prepare_cached(read);
    asked_of(thread, found.and_then(|mut read| read.query_map(values, entry_of)?.collect()))
}

pub(super) fn marks(
    file: &Connection,
    thread: &str,
    span: EntryRange,
    kind: Option<EntryKind>,
) -> SqliteResult<Vec<(EntryMark, EntryTag)>> {
    let list = concat!(
        "SELECT seq, parent, base, kind, step, entry.at, entry.tag, length(body)
        FROM thread JOIN entry ON ",
        in_range!(),
        " WHERE name = ?1 AND (?4 IS NULL OR kind = ?4) ORDER BY entry.id"
    );
    let (from, to) = range(span);
    let values = params![thread, from, to, kind.map(EntryKind::as_str)];
    let found = file.prepare_cached(list);
    asked_of(thread, found.and_then(|mut list| list.query_map(values, mark_of)?.collect()))
}

pub(super) fn head(file: &Connection, thread: &str) -> SqliteResult<Option<ThreadHead>> {
    let head = concat!("SELECT ", head!(), " FROM thread WHERE name = ?1");
    let found = file.prepare_cached(head);
    asked_of(thread, found.and_then(|mut found| found.query_row([thread], head_of).optional()))
}

pub(super) fn thread(
    file: &Connection,
    thread: &str,
    present: ClockReading,
) -> SqliteResult<Option<StoredThreadInfo>> {
    let found = file.prepare_cached(concat!(listed!(), " WHERE name = ?1"));
    let found = found.and_then(|mut found| found.query_row([thread], thread_of).optional());
    asked(found)?.map(|found| listed(file, found, present)).transpose()
}

pub(super) fn threads(
    file: &Connection,
    after: &str,
    limit: u32,
    present: ClockReading,
) -> SqliteResult<Vec<StoredThreadInfo>> {
    let list = concat!(listed!(), " WHERE name > ?1 ORDER BY name LIMIT ?2");
    let values = params![after, limit];
    let found: Vec<_> = asked(
        file.prepare_cached(list).and_then(|mut list| list.query_map(values, thread_of)?.collect()),
    )?;
    found.into_iter().map(|found| listed(file, found, present)).collect()
}

pub(super) fn recent(file: &Connection, prefix: &str) -> SqliteResult<Vec<(String, Time)>> {
    // Text is compared by its bytes, and none contains the greatest one.
    let list = "SELECT name, at FROM thread
        WHERE name >= ?1 AND name < CAST(CAST(?1 AS BLOB) || x'ff' AS TEXT) ORDER BY at DESC";
    let found = |row: &Row<'_>| Ok((row.get(0)?, Time::from_micros(count(row, 1)?)));
    asked(file.prepare_cached(list).and_then(|mut list| list.query_map([prefix], found)?.collect()))
}

pub(super) fn remove(
    file: &Connection,
    thread: &str,
    owner: &str,
    span: EntryRange,
) -> SqliteResult<u64> {
    let held = "SELECT id FROM thread WHERE name = ?1 AND owner = ?2";
    let found = file.prepare_cached(held).and_then(|mut held| {
        held.query_row([thread, owner], |row| row.get::<_, i64>(0)).optional()
    });
    let Some(id) = asked(found)? else { return Err(conflict(thread)) };
    let remove = "DELETE FROM entry WHERE id BETWEEN (?1 << 32) + ?2 AND (?1 << 32) + ?3";
    let (from, to) = range(span);
    let values = params![id, from, to];
    let removed = file.prepare_cached(remove).and_then(|mut remove| remove.execute(values));
    Ok(u64::try_from(asked(removed)?).unwrap_or(u64::MAX))
}

pub(super) fn delete(
    file: &Connection,
    thread: &str,
    present: ClockReading,
) -> SqliteResult<Result<bool, Fault>> {
    if let Some(busy) = busy_fault(file, thread, "", (present, TERM))? {
        return Ok(Err(busy));
    }
    let found = file
        .prepare_cached("SELECT id FROM thread WHERE name = ?1")
        .and_then(|mut found| found.query_row([thread], |row| row.get::<_, i64>(0)).optional());
    let Some(id) = asked(found)? else { return Ok(Ok(false)) };
    for delete in [
        "DELETE FROM entry WHERE id BETWEEN ?1 << 32 AND ?1 << 32 | 4294967295",
        "DELETE FROM thread WHERE id = ?1",
    ] {
        asked(file.prepare_cached(delete).and_then(|mut delete| delete.execute([id])))?;
    }
    Ok(Ok(true))
}

/// Replaces tags and bodies.
pub(super) fn replace(file: &Connection, batch: &EntryBatch) -> SqliteResult<()> {
    let EntryBatch { thread, owner, after, entries, tag, .. } = batch;
    let held = "UPDATE thread SET tag = ?1 WHERE name = ?2 AND owner = ?3 AND last = ?4
        RETURNING id";
    let values = params![tag.as_bytes(), thread, owner, number(*after)];
    let found = file
        .prepare_cached(held)
        .and_then(|mut held| held.query_row(values, |row| row.get::<_, i64>(0)).optional());
    let Some(id) = asked(found)? else { return Err(conflict(thread)) };
    let replace = "UPDATE entry SET tag = ?1, body = ?2 WHERE id = ?3";
    let mut replace = asked(file.prepare_cached(replace))?;
    for entry in entries {
        let values = params![entry.tag.as_bytes(), entry.body, entry_id(id, entry.seq)];
        asked(replace.execute(values))?;
    }
    Ok(())
}

/// The fault of a thread that another owner holds.
fn busy_fault(
    file: &Connection,
    thread: &str,
    owner: &str,
    (present, term): (ClockReading, Duration),
) -> SqliteResult<Option<Fault>> {
    let held = "SELECT id, owner, until FROM thread WHERE name = ?1 AND owner <> ?2";
    let found = file.prepare_cached(held);
    let of = |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, String>(1)?, row.get(2)?));
    let found = found.and_then(|mut held| held.query_row([thread, owner], of).optional());
    let Some((id, holder, until)) = asked(found)? else { return Ok(None) };
    let lease = LeaseRow { thread: id, owner: &holder, until };
    let until = present.end_of(file, &lease, term)?;
    Ok(until.map(|until| busy(thread, until).with("owner", holder)))
}

fn head_of(row: &Row<'_>) -> rusqlite::Result<ThreadHead> {
    Ok(ThreadHead { last: count(row, 0)?, stored: count(row, 1)?, tag: tag_of(row, 2)? })
}

fn entry_of(row: &Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry {
        seq: count(row, 0)?,
        parent: count(row, 1)?,
        base: count(row, 2)?,
        kind: kind_of(row)?,
        step: count(row, 4)?,
        at: Time::from_micros(count(row, 5)?),
        tag: tag_of(row, 6)?,
        body: row.get(7)?,
    })
}

fn mark_of(row: &Row<'_>) -> rusqlite::Result<(EntryMark, EntryTag)> {
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

fn tag_of(row: &Row<'_>, column: usize) -> rusqlite::Result<EntryTag> {
    Ok(EntryTag::new(row.get_ref(column)?.as_blob()?))
}

fn kind_of(row: &Row<'_>) -> rusqlite::Result<EntryKind> {
    let kind: String = row.get(3)?;
    let seq = count(row, 0)?;
    let unknown = || {
        let problem = format!("entry {seq} is of an unknown kind: {kind}").into();
        rusqlite::Error::FromSqlConversionFailure(3, Type::Text, problem)
    };
    EntryKind::named(&kind).ok_or_else(unknown)
}

/// A thread, its row, and its owner with the end of the lease by the owner's clock.
type ThreadRow = (StoredThreadInfo, i64, Option<(String, i64)>);

fn thread_of(row: &Row<'_>) -> rusqlite::Result<ThreadRow> {
    let lease = row.get::<_, Option<String>>(5)?.zip(row.get::<_, Option<i64>>(6)?);
    let thread = StoredThreadInfo {
        head: head_of(row)?,
        name: row.get(3)?,
        at: Time::from_micros(count(row, 4)?),
        held: None,
        size: count(row, 7)?,
    };
    Ok((thread, row.get(8)?, lease))
}

fn listed(
    file: &Connection,
    (thread, id, lease): ThreadRow,
    present: ClockReading,
) -> SqliteResult<StoredThreadInfo> {
    let Some((owner, until)) = lease else { return Ok(thread) };
    let lease = LeaseRow { thread: id, owner: &owner, until };
    let end = match present.end_of(file, &lease, TERM) {
        // A read-only file cannot keep observations, and lists must work all the same.
        Err(_) => Some(present.now + TERM),
        end => end?,
    };
    Ok(StoredThreadInfo { held: end.map(|end| (owner, end)), ..thread })
}

/// An entry's id: its thread's, and its number there.
fn entry_id(thread: i64, seq: u64) -> i64 {
    thread << SEQ_BITS | number(seq)
}

/// Both ends of a range, of which the last is not larger than any number can be.
fn range(span: EntryRange) -> (i64, i64) {
    (number(span.from), number(span.to.min(LAST_SEQ)))
}

/// SQLite has only signed integers; none of ours is so large.
fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A negative number was put there from outside: it becomes a count that no tag matches.
fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get(column).map(i64::cast_unsigned)
}

fn asked<T>(answer: rusqlite::Result<T>) -> SqliteResult<T> {
    answer.map_err(|error| {
        if is_misread(&error) { fault::corrupt(&error.to_string()) } else { fault::of(&error) }
    })
}

/// The fault of a read, limited to one thread: others may be intact.
fn asked_of<T>(thread: &str, answer: rusqlite::Result<T>) -> SqliteResult<T> {
    answer.map_err(|error| {
        if is_misread(&error) {
            corrupt(&format!("{error}, in the thread: {thread}")).with("thread", thread)
        } else {
            fault::of(&error)
        }
    })
}

fn is_misread(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, InvalidColumnType, Utf8Error};
    matches!(error, FromSqlConversionFailure(..) | InvalidColumnType(..) | Utf8Error(..))
}
