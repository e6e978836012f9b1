//! The protection of a schema, as chosen when it was created.

use antiphon_runtime::store::{EntryBatch, EntryTag, conflict};
use tokio_postgres::types::Type;

use super::fault::{self, PostgresResult};
use super::link::{BoundValue, Connection};
use super::row::tag_of;
use super::statements::number;

/// The tag of the store; `proposed` becomes the tag of a new one.
pub(super) async fn of(link: &Connection, proposed: &EntryTag) -> PostgresResult<EntryTag> {
    let found = "SELECT tag FROM @.antiphon WHERE tag IS NOT NULL";
    if let Some(row) = link.row(found, &[]).await? {
        return tag_of(&row, 0);
    }
    let begin = "UPDATE @.antiphon SET tag = $1 WHERE tag IS NULL";
    link.change(begin, &[(&proposed.as_bytes(), Type::BYTEA)]).await?;
    match link.row(found, &[]).await? {
        Some(row) => tag_of(&row, 0),
        None => Err(fault::corrupt("its protection tag is missing").into()),
    }
}

pub(super) async fn set(link: &Connection, tag: &EntryTag) -> PostgresResult<()> {
    link.change("UPDATE @.antiphon SET tag = $1", &[(&tag.as_bytes(), Type::BYTEA)]).await?;
    Ok(())
}

/// Replaces tags and bodies. Must run in a transaction.
pub(super) async fn replace(link: &Connection, batch: &EntryBatch) -> PostgresResult<()> {
    let replace = "WITH held AS (
            UPDATE @.thread SET tag = $4
            WHERE sha256(name) = sha256($1) AND owner = $2 AND last = $3
            RETURNING id
        ), replaced AS (
            UPDATE @.entry AS entry SET tag = other.tag, body = other.body
            FROM held, unnest($5::bigint[], $6::bytea[], $7::bytea[]) AS other (seq, tag, body)
            WHERE entry.thread = held.id AND entry.seq = other.seq
        )
        SELECT 1 FROM held";
    let (name, owner) = (batch.thread.as_bytes(), batch.owner.as_bytes());
    let (after, tag) = (number(batch.after), batch.tag.as_bytes());
    let entries = &batch.entries;
    let seqs: Vec<_> = entries.iter().map(|entry| number(entry.seq)).collect();
    let tags: Vec<_> = entries.iter().map(|entry| entry.tag.as_bytes()).collect();
    let bodies: Vec<_> = entries.iter().map(|entry| entry.body.as_slice()).collect();
    let values: [BoundValue<'_>; 7] = [
        (&name, Type::BYTEA),
        (&owner, Type::BYTEA),
        (&after, Type::INT8),
        (&tag, Type::BYTEA),
        (&seqs, Type::INT8_ARRAY),
        (&tags, Type::BYTEA_ARRAY),
        (&bodies, Type::BYTEA_ARRAY),
    ];
    match link.row(replace, &values).await? {
        Some(_) => Ok(()),
        None => Err(conflict(&batch.thread).into()),
    }
}
