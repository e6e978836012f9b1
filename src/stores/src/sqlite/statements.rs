//! What is said to SQLite. Every value is bound.

use std::time::Duration;

use antiphon_core::{Fault, Time};
use antiphon_runtime::store::{Batch, Entry, EntryKind, Head, Mark, Span, Thread, busy, conflict};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::fault;
use crate::owner::is_of_another_start;

/// The columns that `thread_of` reads.
macro_rules! listed {
    () => {
        "SELECT name, tip, last, at, owner, until,
            (SELECT coalesce(sum(length(body)), 0) FROM entry WHERE entry.thread = thread.id)
        FROM thread"
    };
}

type Done<T> = Result<T, Fault>;

/// The present, by both clocks of a machine.
#[derive(Clone, Copy)]
pub(super) struct Present {
    /// The time of day.
    pub(super) now: Time,
    /// The time that all processes share, of which terms are made.
    pub(super) shared: Time,
}

impl Present {
    /// The time of day at which a term ends; none if that is over, or is one of an
    /// earlier start of the machine, whose time was another.
    fn end_of(self, owner: &str, until: Time) -> Option<Time> {
        let holds = until > self.shared && !is_of_another_start(owner);
        holds.then(|| self.now + until.since(self.shared))
    }
}

pub(super) fn claim(
    file: &Connection,
    thread: &str,
    owner: &str,
    present: Present,
    term: Duration,
) -> Done<Head> {
    let (now, until) = (present.now, present.shared + term);
    refuse_held(file, thread, owner, present)?;
    let claim =
        "INSERT INTO thread (name, tip, last, at, owner, until) VALUES (?1, 0, 0, ?2, ?3, ?4)
        ON CONFLICT (name) DO UPDATE SET owner = ?3, until = ?4 RETURNING tip, last";
    let values = params![thread, number(now.as_micros()), owner, number(until.as_micros())];
    asked(file.prepare_cached(claim).and_then(|mut claim| claim.query_row(values, head_of)))
}

pub(super) fn release(file: &Connection, thread: &str, owner: &str) -> Done<()> {
    let release = "UPDATE thread SET owner = NULL, until = NULL WHERE name = ?1 AND owner = ?2";
    asked(file.prepare_cached(release).and_then(|mut release| release.execute([thread, owner])))?;
    Ok(())
}

/// Adds batches that follow each other in one thread.
pub(super) fn append(file: &Connection, batches: &[&Batch], now: Time) -> Done<()> {
    let (Some(first), Some(last)) = (batches.first(), batches.last()) else { return Ok(()) };
    let Batch { thread, owner, after, .. } = first;
    let last = last.entries.last().map_or(last.after, |entry| entry.seq);
    let advance = "UPDATE thread SET tip = ?1, last = ?1, at = ?2
        WHERE name = ?3 AND owner = ?4 AND last = ?5 RETURNING id";
    let values = params![number(last), number(now.as_micros()), thread, owner, number(*after)];
    let advanced = file
        .prepare_cached(advance)
        .and_then(|mut advance| advance.query_row(values, |row| row.get::<_, i64>(0)).optional());
    let Some(id) = asked(advanced)? else { return Err(conflict(thread)) };
    let insert = "INSERT INTO entry (thread, seq, parent, base, kind, step, at, body)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let mut insert = asked(file.prepare_cached(insert))?;
    for entry in batches.iter().flat_map(|batch| &batch.entries) {
        asked(insert.execute(params![
            id,
            number(entry.seq),
            number(entry.parent),
            number(entry.base),
            entry.kind.as_str(),
            number(entry.step),
            number(entry.at.as_micros()),
            entry.body,
        ]))?;
    }
    Ok(())
}

pub(super) fn read(file: &Connection, thread: &str, span: Span) -> Done<Vec<Entry>> {
    let read = "SELECT seq, parent, base, kind, step, entry.at, body FROM entry
        JOIN thread ON thread.id = entry.thread
        WHERE name = ?1 AND seq BETWEEN ?2 AND ?3 ORDER BY seq";
    let values = params![thread, number(span.from), number(span.to)];
    asked(
        file.prepare_cached(read).and_then(|mut read| read.query_map(values, entry_of)?.collect()),
    )
}

pub(super) fn marks(
    file: &Connection,
    thread: &str,
    span: Span,
    kind: Option<EntryKind>,
) -> Done<Vec<Mark>> {
    let list = "SELECT seq, parent, base, kind, step, entry.at, length(body) FROM entry
        JOIN thread ON thread.id = entry.thread
        WHERE name = ?1 AND seq BETWEEN ?2 AND ?3 AND (?4 IS NULL OR kind = ?4) ORDER BY seq";
    let kind = kind.map(EntryKind::as_str);
    let values = params![thread, number(span.from), number(span.to), kind];
    asked(file.prepare_cached(list).and_then(|mut list| list.query_map(values, mark_of)?.collect()))
}

pub(super) fn head(file: &Connection, thread: &str) -> Done<Option<Head>> {
    let head = "SELECT tip, last FROM thread WHERE name = ?1";
    let found = file.prepare_cached(head);
    asked(found.and_then(|mut found| found.query_row([thread], head_of).optional()))
}

pub(super) fn thread(file: &Connection, thread: &str, present: Present) -> Done<Option<Thread>> {
    let found = file.prepare_cached(concat!(listed!(), " WHERE name = ?1"));
    let thread_of = |row: &Row<'_>| thread_of(row, present);
    asked(found.and_then(|mut found| found.query_row([thread], thread_of).optional()))
}

pub(super) fn threads(
    file: &Connection,
    after: &str,
    limit: u32,
    present: Present,
) -> Done<Vec<Thread>> {
    let thread_of = |row: &Row<'_>| thread_of(row, present);
    let list = concat!(listed!(), " WHERE name > ?1 ORDER BY name LIMIT ?2");
    let values = params![after, limit];
    asked(
        file.prepare_cached(list).and_then(|mut list| list.query_map(values, thread_of)?.collect()),
    )
}

pub(super) fn remove(file: &Connection, thread: &str, owner: &str, span: Span) -> Done<u64> {
    let held = "SELECT id FROM thread WHERE name = ?1 AND owner = ?2";
    let found = file.prepare_cached(held).and_then(|mut held| {
        held.query_row([thread, owner], |row| row.get::<_, i64>(0)).optional()
    });
    let Some(id) = asked(found)? else { return Err(conflict(thread)) };
    let remove = "DELETE FROM entry WHERE thread = ?1 AND seq BETWEEN ?2 AND ?3";
    let values = params![id, number(span.from), number(span.to)];
    let removed = file.prepare_cached(remove).and_then(|mut remove| remove.execute(values));
    Ok(u64::try_from(asked(removed)?).unwrap_or(u64::MAX))
}

pub(super) fn delete(file: &Connection, thread: &str, present: Present) -> Done<bool> {
    refuse_held(file, thread, "", present)?;
    let delete = "DELETE FROM thread WHERE name = ?1";
    let removed = file.prepare_cached(delete).and_then(|mut delete| delete.execute([thread]));
    Ok(asked(removed)? > 0)
}

/// Fails if somebody else holds a thread.
fn refuse_held(file: &Connection, thread: &str, owner: &str, present: Present) -> Done<()> {
    let held = "SELECT owner, until FROM thread WHERE name = ?1 AND owner <> ?2";
    let found = file.prepare_cached(held);
    let found = found.and_then(|mut held| held.query_row([thread, owner], held_of).optional());
    let Some((holder, until)) = asked(found)? else { return Ok(()) };
    match present.end_of(&holder, until) {
        Some(until) => Err(busy(thread, until).with("owner", holder)),
        None => Ok(()),
    }
}

fn held_of(row: &Row<'_>) -> rusqlite::Result<(String, Time)> {
    Ok((row.get(0)?, Time::from_micros(count(row, 1)?)))
}

fn head_of(row: &Row<'_>) -> rusqlite::Result<Head> {
    Ok(Head { tip: count(row, 0)?, last: count(row, 1)? })
}

fn entry_of(row: &Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry {
        seq: count(row, 0)?,
        parent: count(row, 1)?,
        base: count(row, 2)?,
        kind: kind_of(row)?,
        step: count(row, 4)?,
        at: Time::from_micros(count(row, 5)?),
        body: row.get(6)?,
    })
}

fn mark_of(row: &Row<'_>) -> rusqlite::Result<Mark> {
    Ok(Mark {
        seq: count(row, 0)?,
        parent: count(row, 1)?,
        base: count(row, 2)?,
        kind: kind_of(row)?,
        step: count(row, 4)?,
        at: Time::from_micros(count(row, 5)?),
        size: count(row, 6)?,
    })
}

fn kind_of(row: &Row<'_>) -> rusqlite::Result<EntryKind> {
    let kind: String = row.get(3)?;
    let unknown = || {
        let problem = format!("an entry of an unknown kind: {kind}").into();
        rusqlite::Error::FromSqlConversionFailure(3, Type::Text, problem)
    };
    EntryKind::named(&kind).ok_or_else(unknown)
}

fn thread_of(row: &Row<'_>, present: Present) -> rusqlite::Result<Thread> {
    let owner: Option<String> = row.get(4)?;
    let until: Option<i64> = row.get(5)?;
    let until = until.map(|until| Time::from_micros(u64::try_from(until).unwrap_or_default()));
    let held = owner.zip(until).and_then(|(owner, until)| {
        let until = present.end_of(&owner, until)?;
        Some((owner, until))
    });
    Ok(Thread {
        name: row.get(0)?,
        head: Head { tip: count(row, 1)?, last: count(row, 2)? },
        at: Time::from_micros(count(row, 3)?),
        held,
        size: count(row, 6)?,
    })
}

/// SQLite counts with a sign; nothing of ours is ever so large.
fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

fn asked<T>(answer: rusqlite::Result<T>) -> Done<T> {
    answer.map_err(|error| match error {
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::InvalidColumnType(..) => fault::corrupt(&error.to_string()),
        error => fault::of(&error),
    })
}
