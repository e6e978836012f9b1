//! Statements that write an index, and those that list it.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::json;

use crate::document::DocumentText;

use super::chunk::DocumentChunk;
use super::signs::spaced;
use super::walk::FoundFile;

/// What is known of a file.
#[derive(Clone, Debug)]
pub(super) struct StoredFile {
    pub(super) id: i64,
    pub(super) size: i64,
    pub(super) modified: i64,
    pub(super) checked: i64,
    pub(super) hash: Option<Vec<u8>>,
}

/// All files by path.
pub(super) fn files(database: &Connection) -> rusqlite::Result<HashMap<String, StoredFile>> {
    let mut statement =
        database.prepare("SELECT path, id, size, modified, checked, hash FROM documents")?;
    let rows = statement.query_map([], |row| {
        let file = StoredFile {
            id: row.get(1)?,
            size: row.get(2)?,
            modified: row.get(3)?,
            checked: row.get(4)?,
            hash: row.get(5)?,
        };
        Ok((row.get(0)?, file))
    })?;
    rows.collect()
}

/// How many documents can be found.
pub(super) fn count(database: &Connection) -> rusqlite::Result<usize> {
    let count: i64 =
        database.query_row("SELECT count(*) FROM documents WHERE refusal IS NULL", [], |row| {
            row.get(0)
        })?;
    Ok(usize::try_from(count).unwrap_or_default())
}

/// Documents without text: the reason and the path.
pub(super) fn refusals(database: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let mut statement = database
        .prepare("SELECT refusal, path FROM documents WHERE refusal IS NOT NULL ORDER BY path")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// Notes that the index has been complete once.
pub(super) fn note_complete(database: &Connection) -> rusqlite::Result<()> {
    database.execute("INSERT OR REPLACE INTO state(name, value) VALUES ('complete', 'yes')", [])?;
    Ok(())
}

/// Whether the index has been complete once.
pub(super) fn is_complete(database: &Connection) -> rusqlite::Result<bool> {
    let found =
        database.query_row("SELECT value FROM state WHERE name = 'complete'", [], |row| row.get(0));
    Ok(found.optional()?.is_some_and(|value: String| value == "yes"))
}

/// Removes a document.
pub(super) fn remove(database: &Connection, id: i64) -> rusqlite::Result<()> {
    for statement in [
        "INSERT INTO chunk_words(chunk_words, rowid, title, heading, body)
            SELECT 'delete', id, title, heading, body FROM chunks WHERE document = ?1",
        "DELETE FROM chunk_signs WHERE rowid IN (SELECT id FROM chunks WHERE document = ?1 AND has_signs)",
        "DELETE FROM chunks WHERE document = ?1",
        "DELETE FROM documents WHERE id = ?1",
    ] {
        database.prepare_cached(statement)?.execute([id])?;
    }
    Ok(())
}

/// Notes that a file was looked at and has not changed.
pub(super) fn touch(
    database: &Connection,
    id: i64,
    file: &FoundFile,
    checked: i64,
) -> rusqlite::Result<()> {
    let size = i64::try_from(file.size).unwrap_or(i64::MAX);
    let statement = "UPDATE documents SET size = ?2, modified = ?3, checked = ?4 WHERE id = ?1";
    database.prepare_cached(statement)?.execute(params![id, size, file.modified, checked])?;
    Ok(())
}

/// Adds a document, or the reason why it has no text; returns its id.
pub(super) fn add(
    database: &Connection,
    file: &FoundFile,
    checked: i64,
    hash: Option<&[u8]>,
    text: Result<&DocumentText, &str>,
) -> rusqlite::Result<i64> {
    let document = text.ok();
    let outline =
        json!(document.map(|text| text.headings.as_slice()).unwrap_or_default()).to_string();
    let characters = document.map_or(0, |text| text.text.chars().count());
    let statement = "INSERT INTO documents(
            path, format, size, modified, checked, hash, title, characters, truncated, outline, refusal
        ) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    database.prepare_cached(statement)?.insert(params![
        file.path,
        file.format.as_str(),
        i64::try_from(file.size).unwrap_or(i64::MAX),
        file.modified,
        checked,
        hash,
        document.and_then(|text| text.title.as_deref()),
        i64::try_from(characters).unwrap_or(i64::MAX),
        document.is_some_and(|text| text.truncated),
        outline,
        text.err(),
    ])
}

/// Adds the parts of a document.
pub(super) fn add_chunks(
    database: &Connection,
    document: i64,
    title: &str,
    chunks: &[DocumentChunk],
) -> rusqlite::Result<()> {
    let mut add = database.prepare_cached(
        "INSERT INTO chunks(document, start, characters, anchor, links, has_signs, title, heading, body)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    let mut add_words = database.prepare_cached(
        "INSERT INTO chunk_words(rowid, title, heading, body) VALUES (?1, ?2, ?3, ?4)",
    )?;
    let mut add_signs =
        database.prepare_cached("INSERT INTO chunk_signs(rowid, body) VALUES (?1, ?2)")?;
    for chunk in chunks {
        let start = i64::try_from(chunk.range.start).unwrap_or(i64::MAX);
        let characters = i64::try_from(chunk.range.len()).unwrap_or(i64::MAX);
        let id = add.insert(params![
            document,
            start,
            characters,
            chunk.anchor,
            chunk.links,
            chunk.has_signs,
            title,
            chunk.heading,
            chunk.body,
        ])?;
        add_words.execute(params![id, title, chunk.heading, chunk.body])?;
        if chunk.has_signs {
            let text = format!("{title} {} {}", chunk.heading, chunk.body);
            add_signs.execute(params![id, spaced(&text)])?;
        }
    }
    Ok(())
}
