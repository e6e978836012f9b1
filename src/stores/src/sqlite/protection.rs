//! The protection of a file, as chosen when it was created.

use antiphon_core::Fault;
use antiphon_runtime::store::EntryTag;
use rusqlite::{Connection, OptionalExtension};

use super::fault;

/// The tag of the store; `proposed` becomes the tag of a new one.
pub(super) fn of(file: &Connection, proposed: &EntryTag) -> Result<EntryTag, Fault> {
    if let Some(found) = found(file)? {
        return Ok(found);
    }
    let begin = "INSERT OR IGNORE INTO store (id, tag) VALUES (1, ?1)";
    file.execute(begin, [proposed.as_bytes()]).map_err(|error| fault::of(&error))?;
    found(file)?.ok_or_else(|| fault::corrupt("its protection tag is missing"))
}

pub(super) fn set(file: &Connection, tag: &EntryTag) -> Result<(), Fault> {
    let set = "UPDATE store SET tag = ?1 WHERE id = 1";
    file.execute(set, [tag.as_bytes()]).map_err(|error| fault::of(&error)).map(|_| ())
}

fn found(file: &Connection) -> Result<Option<EntryTag>, Fault> {
    let tag = |row: &rusqlite::Row<'_>| Ok(EntryTag::new(row.get_ref(0)?.as_blob()?));
    let found = file.query_row("SELECT tag FROM store WHERE id = 1", [], tag).optional();
    found.map_err(|error| fault::of(&error))
}
