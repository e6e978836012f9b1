//! The statements for Postgres. Every value is bound; `@` is the store's schema.

use std::time::Duration;

use antiphon_core::{Fault, Time};
use antiphon_runtime::store::{
    Entry, EntryBatch, EntryKind, EntryMark, EntryRange, EntryTag, StoredThreadInfo, ThreadHead,
    busy, conflict,
};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::fault::PostgresResult;
use super::link::{BoundValue, Connection};
use super::query::{DeleteQuery, MarksQuery, ReadQuery};
use super::row::{at, count, entry_of, head_of, mark_of, text, thread_of};

/// The columns that `head_of` reads.
macro_rules! head {
    ($thread:literal) => {
        concat!(
            "last, (SELECT coalesce(max(seq), 0) FROM @.entry AS entry WHERE entry.thread = ",
            $thread,
            ".id), tag"
        )
    };
}

/// An instant in microseconds. Instants out of range can only come from outside; they are
/// clamped.
macro_rules! micros {
    ($instant:literal) => {
        concat!(
            "(extract(epoch FROM least(greatest(",
            $instant,
            ", 'epoch'::timestamptz), '9999-12-31'::timestamptz)) * 1000000)::bigint"
        )
    };
}

/// The columns that `thread_of` reads.
macro_rules! listed {
    () => {
        concat!(
            "SELECT ",
            head!("thread"),
            ", name, ",
            micros!("at"),
            ", CASE WHEN until > clock_timestamp() THEN owner END, ",
            micros!("until"),
            ", (SELECT coalesce(sum(length(body)), 0)::bigint
                FROM @.entry AS entry WHERE entry.thread = thread.id)
            FROM @.thread AS thread"
        )
    };
}

pub(super) async fn claim(
    link: &Connection,
    thread: &str,
    owner: &str,
    term: Duration,
) -> PostgresResult<ThreadHead> {
    // If another writer has just committed, `last` is still the old number.
    let claim = concat!(
        "INSERT INTO @.thread AS held (name, last, tag, at, owner, until)
        VALUES ($1, 0, '', clock_timestamp(), $2, clock_timestamp() + $3 * interval '1 microsecond')
        ON CONFLICT (sha256(name)) DO UPDATE
        SET owner = $2, until = clock_timestamp() + $3 * interval '1 microsecond'
        WHERE held.owner IS NULL OR held.owner = $2
            OR (held.until > clock_timestamp()) IS NOT TRUE
        RETURNING ",
        head!("held")
    );
    let micros = i64::try_from(term.as_micros()).unwrap_or(i64::MAX);
    let (name, owner) = (thread.as_bytes(), owner.as_bytes());
    let values: [BoundValue<'_>; 3] =
        [(&name, Type::BYTEA), (&owner, Type::BYTEA), (&micros, Type::INT8)];
    loop {
        if let Some(row) = link.row(claim, &values).await? {
            return head_of(&row);
        }
        // The lease may have been released since.
        if let Some(busy) = busy_fault(link, thread).await? {
            return Err(busy.into());
        }
    }
}

pub(super) async fn release(link: &Connection, thread: &str, owner: &str) -> PostgresResult<()> {
    let release = "WITH held AS (
            SELECT id, last > 0 OR EXISTS (SELECT 1 FROM @.entry WHERE thread = held.id) AS stays
            FROM @.thread AS held WHERE sha256(name) = sha256($1) AND owner = $2 FOR UPDATE
        ), ended AS (
            DELETE FROM @.thread USING held WHERE thread.id = held.id AND NOT stays
        )
        UPDATE @.thread SET owner = NULL, until = NULL FROM held
        WHERE thread.id = held.id AND stays";
    let (thread, owner) = (thread.as_bytes(), owner.as_bytes());
    link.change(release, &[(&thread, Type::BYTEA), (&owner, Type::BYTEA)]).await?;
    Ok(())
}

/// Appends a batch; returns whether it was appended. It is not if the lease was lost or another
/// writer has appended.
pub(super) async fn append(link: &Connection, batch: &EntryBatch) -> PostgresResult<bool> {
    let append = "WITH moved AS (
            UPDATE @.thread AS thread
            SET last = $4, at = clock_timestamp(), tag = CASE WHEN $4 = $3 THEN thread.tag ELSE $5 END
            WHERE sha256(name) = sha256($1) AND owner = $2 AND last = $3
                AND ($14::bytea IS NULL OR EXISTS (
                    SELECT 1 FROM @.entry AS entry
                    WHERE entry.thread = thread.id AND entry.seq = $3 AND entry.tag = $14
                ))
            RETURNING id
        ), added AS (
            INSERT INTO @.entry (thread, seq, parent, base, kind, step, at, tag, body)
            SELECT moved.id, entry.*
            FROM moved, unnest($6, $7, $8, $9, $10, $11, $12, $13) AS entry
        )
        SELECT 1 FROM moved";
    let (name, owner) = (batch.thread.as_bytes(), batch.owner.as_bytes());
    let (after, last) = (number(batch.after), number(last(batch)));
    let tag = batch.tag.as_bytes();
    let columns = Columns::of(&batch.entries);
    let mut values: Vec<BoundValue<'_>> = vec![
        (&name, Type::BYTEA),
        (&owner, Type::BYTEA),
        (&after, Type::INT8),
        (&last, Type::INT8),
        (&tag, Type::BYTEA),
    ];
    values.extend(columns.bound());
    let expected = expected(batch);
    values.push((&expected, Type::BYTEA));
    Ok(link.row(append, &values).await?.is_some())
}

/// Appends batches of different threads in one statement; returns which of them were appended.
pub(super) async fn append_all(
    link: &Connection,
    batches: &[&EntryBatch],
) -> PostgresResult<Vec<bool>> {
    let append = "WITH batch AS (
            SELECT * FROM unnest(
                $1::bytea[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bytea[], $15::bytea[]
            ) WITH ORDINALITY AS batch (name, owner, after, last, tag, expected, place)
        ), moved AS (
            UPDATE @.thread AS thread
            SET last = batch.last, at = clock_timestamp(),
                tag = CASE WHEN batch.last = batch.after THEN thread.tag ELSE batch.tag END
            FROM batch
            WHERE sha256(thread.name) = sha256(batch.name)
                AND thread.owner = batch.owner AND thread.last = batch.after
                AND (batch.expected IS NULL OR EXISTS (
                    SELECT 1 FROM @.entry AS entry
                    WHERE entry.thread = thread.id AND entry.seq = batch.after
                        AND entry.tag = batch.expected
                ))
            RETURNING thread.id, batch.place
        ), added AS (
            INSERT INTO @.entry (thread, seq, parent, base, kind, step, at, tag, body)
            SELECT moved.id, seq, parent, base, kind, step, entry.at, entry.tag, body
            FROM moved JOIN unnest($6, $7, $8, $9, $10, $11, $12, $13, $14)
                AS entry (seq, parent, base, kind, step, at, tag, body, place) USING (place)
        )
        SELECT place FROM moved";
    let threads = of_each(batches, |batch| batch.thread.as_bytes());
    let owners = of_each(batches, |batch| batch.owner.as_bytes());
    let afters = of_each(batches, |batch| number(batch.after));
    let lasts = of_each(batches, |batch| number(last(batch)));
    let tags = of_each(batches, |batch| batch.tag.as_bytes());
    let columns = Columns::of(batches.iter().flat_map(|batch| &batch.entries));
    let places: Vec<i64> = (1..)
        .zip(batches)
        .flat_map(|(place, batch)| batch.entries.iter().map(move |_| place))
        .collect();
    let mut values: Vec<BoundValue<'_>> = vec![
        (&threads, Type::BYTEA_ARRAY),
        (&owners, Type::BYTEA_ARRAY),
        (&afters, Type::INT8_ARRAY),
        (&lasts, Type::INT8_ARRAY),
        (&tags, Type::BYTEA_ARRAY),
    ];
    values.extend(columns.bound());
    values.push((&places, Type::INT8_ARRAY));
    let expected = of_each(batches, expected);
    values.push((&expected, Type::BYTEA_ARRAY));
    let mut added = vec![false; batches.len()];
    for row in link.rows_of(append, &values).await? {
        let place = usize::try_from(count(&row, 0)?).unwrap_or_default();
        if let Some(added) = added.get_mut(place.wrapping_sub(1)) {
            *added = true;
        }
    }
    Ok(added)
}

/// Whether a batch is in its thread. Called after the server process that may have appended it
/// was terminated, so the answer cannot change.
pub(super) async fn contains(link: &Connection, batch: &EntryBatch) -> PostgresResult<bool> {
    let span = EntryRange { from: batch.after + 1, to: last(batch) };
    Ok(!batch.entries.is_empty() && read(link, &batch.thread, span).await? == batch.entries)
}

pub(super) async fn read(
    link: &Connection,
    thread: &str,
    span: EntryRange,
) -> PostgresResult<Vec<Entry>> {
    let read = "SELECT seq, parent, base, kind, step, entry.at, entry.tag, body
        FROM @.entry AS entry JOIN @.thread AS thread ON thread.id = entry.thread
        WHERE sha256(name) = sha256($1) AND seq BETWEEN $2 AND $3 ORDER BY seq";
    let (from, to) = (number(span.from), number(span.to));
    let name = thread.as_bytes();
    let values: [BoundValue<'_>; 3] =
        [(&name, Type::BYTEA), (&from, Type::INT8), (&to, Type::INT8)];
    link.rows(read, &values).await?.iter().map(entry_of).collect()
}

pub(super) async fn marks(
    link: &Connection,
    thread: &str,
    span: EntryRange,
    kind: Option<EntryKind>,
) -> PostgresResult<Vec<(EntryMark, EntryTag)>> {
    let list = "SELECT seq, parent, base, kind, step, entry.at, entry.tag, length(body)::bigint
        FROM @.entry AS entry JOIN @.thread AS thread ON thread.id = entry.thread
        WHERE sha256(name) = sha256($1) AND seq BETWEEN $2 AND $3
            AND ($4::text IS NULL OR kind = $4) ORDER BY seq";
    let (from, to) = (number(span.from), number(span.to));
    let (name, kind) = (thread.as_bytes(), kind.map(EntryKind::as_str));
    let values: [BoundValue<'_>; 4] =
        [(&name, Type::BYTEA), (&from, Type::INT8), (&to, Type::INT8), (&kind, Type::TEXT)];
    link.rows(list, &values).await?.iter().map(mark_of).collect()
}

/// As [`read`], for several threads.
pub(super) async fn read_all(
    link: &Connection,
    queries: &[ReadQuery],
) -> PostgresResult<Vec<Vec<Entry>>> {
    let read = "SELECT seq, parent, base, kind, step, entry.at, entry.tag, body, place
        FROM unnest($1::bytea[], $2::bigint[], $3::bigint[])
            WITH ORDINALITY AS asked (name, first, final, place)
            JOIN @.thread AS thread ON sha256(thread.name) = sha256(asked.name)
            JOIN @.entry AS entry ON entry.thread = thread.id AND seq BETWEEN first AND final
        ORDER BY place, seq";
    let names = of_all(queries, |query| query.thread.as_bytes());
    let from = of_all(queries, |query| number(query.span.from));
    let to = of_all(queries, |query| number(query.span.to));
    let values: [BoundValue<'_>; 3] =
        [(&names, Type::BYTEA_ARRAY), (&from, Type::INT8_ARRAY), (&to, Type::INT8_ARRAY)];
    placed(queries.len(), &link.rows_of(read, &values).await?, entry_of)
}

/// As [`marks`], for several threads.
pub(super) async fn marks_all(
    link: &Connection,
    queries: &[MarksQuery],
) -> PostgresResult<Vec<Vec<(EntryMark, EntryTag)>>> {
    let list = "SELECT seq, parent, base, entry.kind, step, entry.at, entry.tag,
            length(body)::bigint, place
        FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::text[])
            WITH ORDINALITY AS asked (name, first, final, kind, place)
            JOIN @.thread AS thread ON sha256(thread.name) = sha256(asked.name)
            JOIN @.entry AS entry ON entry.thread = thread.id AND seq BETWEEN first AND final
                AND (asked.kind IS NULL OR entry.kind = asked.kind)
        ORDER BY place, seq";
    let names = of_all(queries, |query| query.thread.as_bytes());
    let from = of_all(queries, |query| number(query.span.from));
    let to = of_all(queries, |query| number(query.span.to));
    let kinds = of_all(queries, |query| query.kind.map(EntryKind::as_str));
    let values: [BoundValue<'_>; 4] = [
        (&names, Type::BYTEA_ARRAY),
        (&from, Type::INT8_ARRAY),
        (&to, Type::INT8_ARRAY),
        (&kinds, Type::TEXT_ARRAY),
    ];
    placed(queries.len(), &link.rows_of(list, &values).await?, mark_of)
}

/// Groups rows by their query, whose number (from 1) is in the ninth column.
fn placed<T>(
    count_of: usize,
    rows: &[Row],
    of: impl Fn(&Row) -> PostgresResult<T>,
) -> PostgresResult<Vec<Vec<T>>> {
    let mut answers: Vec<Vec<T>> = (0..count_of).map(|_| Vec::new()).collect();
    for row in rows {
        let place = usize::try_from(count(row, 8)?).unwrap_or_default();
        if let Some(answer) = answers.get_mut(place.wrapping_sub(1)) {
            answer.push(of(row)?);
        }
    }
    Ok(answers)
}

pub(super) async fn head(link: &Connection, thread: &str) -> PostgresResult<Option<ThreadHead>> {
    let head = concat!(
        "SELECT ",
        head!("thread"),
        " FROM @.thread AS thread WHERE sha256(name) = sha256($1)"
    );
    let found = link.row(head, &[(&thread.as_bytes(), Type::BYTEA)]).await?;
    found.as_ref().map(head_of).transpose()
}

pub(super) async fn thread(
    link: &Connection,
    thread: &str,
) -> PostgresResult<Option<StoredThreadInfo>> {
    let found = concat!(listed!(), " WHERE sha256(name) = sha256($1)");
    let found = link.row(found, &[(&thread.as_bytes(), Type::BYTEA)]).await?;
    found.as_ref().map(thread_of).transpose()
}

pub(super) async fn threads(
    link: &Connection,
    after: &str,
    limit: u32,
) -> PostgresResult<Vec<StoredThreadInfo>> {
    let list = concat!(
        listed!(),
        " WHERE substr(name, 1, 500) >= substr($1, 1, 500) AND name > $1
        ORDER BY substr(name, 1, 500), name LIMIT $2"
    );
    let limit = i64::from(limit);
    let values: [BoundValue<'_>; 2] = [(&after.as_bytes(), Type::BYTEA), (&limit, Type::INT8)];
    link.rows(list, &values).await?.iter().map(thread_of).collect()
}

pub(super) async fn recent(link: &Connection, prefix: &str) -> PostgresResult<Vec<(String, Time)>> {
    // Text has no greatest byte to compare with.
    let list = concat!(
        "SELECT name, ",
        micros!("at"),
        " FROM @.thread
        WHERE substr(name, 1, 500) >= $1 AND substr(name, 1, 500) < $1 || '\\xff'::bytea
        ORDER BY at DESC"
    );
    let rows = link.rows(list, &[(&prefix.as_bytes(), Type::BYTEA)]).await?;
    rows.iter().map(|row| Ok((text(row, 0)?, Time::from_micros(count(row, 1)?)))).collect()
}

/// Must run in a transaction.
pub(super) async fn remove(
    link: &Connection,
    thread: &str,
    owner: &str,
    span: EntryRange,
) -> PostgresResult<u64> {
    let held = "SELECT id FROM @.thread
        WHERE sha256(name) = sha256($1) AND owner = $2 FOR UPDATE";
    let (name, owner) = (thread.as_bytes(), owner.as_bytes());
    let values: [BoundValue<'_>; 2] = [(&name, Type::BYTEA), (&owner, Type::BYTEA)];
    let Some(held) = link.row(held, &values).await? else { return Err(conflict(thread).into()) };
    let id: i64 = at(&held, 0)?;
    let remove = "DELETE FROM @.entry WHERE thread = $1 AND seq BETWEEN $2 AND $3";
    let (from, to) = (number(span.from), number(span.to));
    link.change(remove, &[(&id, Type::INT8), (&from, Type::INT8), (&to, Type::INT8)]).await
}

/// Deletes those of the threads that exist and that nobody holds. Must run in a transaction.
pub(super) async fn delete_all(
    link: &Connection,
    queries: &mut [DeleteQuery],
) -> PostgresResult<Vec<Result<bool, Fault>>> {
    // In the order of their rows, so that two deletions never deadlock.
    let lock = concat!(
        "SELECT place, id, CASE WHEN until > clock_timestamp() THEN owner END, ",
        micros!("until"),
        " FROM @.thread AS thread
            JOIN unnest($1::bytea[]) WITH ORDINALITY AS asked (name, place)
            ON sha256(thread.name) = sha256(asked.name)
        ORDER BY id FOR UPDATE OF thread"
    );
    let names: Vec<_> = queries.iter().map(|query| query.thread.as_bytes()).collect();
    let rows = link.rows_of(lock, &[(&names, Type::BYTEA_ARRAY)]).await?;
    let mut answers: Vec<_> = queries.iter().map(|query| Ok(query.removed)).collect();
    let mut ids = Vec::new();
    for row in rows {
        let place = usize::try_from(count(&row, 0)?).unwrap_or_default().wrapping_sub(1);
        let (Some(query), Some(answer)) = (queries.get_mut(place), answers.get_mut(place)) else {
            continue;
        };
        let id: i64 = at(&row, 1)?;
        if *query.found.get_or_insert(id) != id {
            continue;
        }
        if at::<Option<&[u8]>>(&row, 2)?.is_some() {
            let until = Time::from_micros(count(&row, 3)?);
            *answer = Err(busy(&query.thread, until).with("owner", text(&row, 2)?));
            continue;
        }
        ids.push(id);
        (query.removed, *answer) = (true, Ok(true));
    }
    if !ids.is_empty() {
        // Appends lock the row of their thread: all that was appended is visible now.
        let delete = "WITH emptied AS (DELETE FROM @.entry WHERE thread = ANY($1))
            DELETE FROM @.thread WHERE id = ANY($1)";
        link.change(delete, &[(&ids, Type::INT8_ARRAY)]).await?;
    }
    Ok(answers)
}

/// The fault of a thread that another owner holds.
async fn busy_fault(link: &Connection, thread: &str) -> PostgresResult<Option<Fault>> {
    let held = concat!(
        "SELECT owner, ",
        micros!("until"),
        " FROM @.thread
        WHERE sha256(name) = sha256($1) AND owner IS NOT NULL AND until > clock_timestamp()"
    );
    let Some(row) = link.row(held, &[(&thread.as_bytes(), Type::BYTEA)]).await? else {
        return Ok(None);
    };
    let until = Time::from_micros(count(&row, 1)?);
    Ok(Some(busy(thread, until).with("owner", text(&row, 0)?)))
}

fn expected(batch: &EntryBatch) -> Option<&[u8]> {
    batch.expected.as_ref().map(EntryTag::as_bytes)
}

fn last(batch: &EntryBatch) -> u64 {
    batch.entries.last().map_or(batch.after, |entry| entry.seq)
}

/// Entries as arrays, one per column.
struct Columns<'a> {
    seq: Vec<i64>,
    parent: Vec<i64>,
    base: Vec<i64>,
    kind: Vec<&'static str>,
    step: Vec<i64>,
    at: Vec<i64>,
    tag: Vec<&'a [u8]>,
    body: Vec<&'a [u8]>,
}

impl<'a> Columns<'a> {
    fn of(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let entries: Vec<_> = entries.into_iter().collect();
        Self {
            seq: of_each(&entries, |entry| number(entry.seq)),
            parent: of_each(&entries, |entry| number(entry.parent)),
            base: of_each(&entries, |entry| number(entry.base)),
            kind: of_each(&entries, |entry| entry.kind.as_str()),
            step: of_each(&entries, |entry| number(entry.step)),
            at: of_each(&entries, |entry| number(entry.at.as_micros())),
            tag: of_each(&entries, |entry| entry.tag.as_bytes()),
            body: of_each(&entries, |entry| entry.body.as_slice()),
        }
    }

    fn bound(&self) -> [BoundValue<'_>; 8] {
        [
            (&self.seq, Type::INT8_ARRAY),
            (&self.parent, Type::INT8_ARRAY),
            (&self.base, Type::INT8_ARRAY),
            (&self.kind, Type::TEXT_ARRAY),
            (&self.step, Type::INT8_ARRAY),
            (&self.at, Type::INT8_ARRAY),
            (&self.tag, Type::BYTEA_ARRAY),
            (&self.body, Type::BYTEA_ARRAY),
        ]
    }
}

fn of_all<'a, T, U>(all: &'a [T], part: impl Fn(&'a T) -> U) -> Vec<U> {
    all.iter().map(part).collect()
}

fn of_each<'a, T, U>(all: &[&'a T], part: impl Fn(&'a T) -> U) -> Vec<U> {
    all.iter().map(|one| part(one)).collect()
}

/// Postgres has only signed integers; none of ours is so large.
pub(super) fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
