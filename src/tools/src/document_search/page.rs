//! Reading a document part by part.

use antiphon_core::{Fault, FaultCode};
use rusqlite::{Connection, OptionalExtension, params};
use schemars::JsonSchema;
use serde::Serialize;

use crate::document::text::slice;
use crate::document::{CharRange, DocumentHeading};

/// The most headings of an outline.
const OUTLINE: usize = 60;

/// How many similar paths a refusal names.
const SIMILAR: usize = 5;

/// Which part of which document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// The path within the folder, possibly with `#` and an anchor to begin at.
    pub path: String,
    /// Where to begin, in characters; by default at the anchor or the beginning.
    pub start: Option<usize>,
    /// The most characters.
    pub characters: usize,
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DocumentPage {
    /// The path within the folder.
    pub path: String,
    /// The title of the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The text of the part.
    pub text: String,
    /// Where it stands in the text of the document, in characters.
    pub range: CharRange,
    /// How many characters the document has.
    pub characters: usize,
    /// Headings with their positions; only with the beginning of a document.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outline: Vec<DocumentHeading>,
    /// Whether the document is longer than what was read of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// Reads a part. The outer error is one of the database, the inner one a fault of the request.
pub(super) fn read_page(
    database: &Connection,
    request: &PageRequest,
) -> rusqlite::Result<Result<DocumentPage, Fault>> {
    let given = request.path.trim().trim_start_matches("./");
    let (path, anchor) = match given.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (given, None),
    };
    let columns = "SELECT id, path, title, characters, truncated, outline FROM documents
        WHERE path = ?1 AND refusal IS NULL";
    let found = database.query_row(columns, [path], |row| {
        let characters: i64 = row.get(3)?;
        let outline: String = row.get(5)?;
        let page = DocumentPage {
            path: row.get(1)?,
            title: row.get(2)?,
            text: String::new(),
            range: CharRange::default(),
            characters: usize::try_from(characters).unwrap_or_default(),
            outline: serde_json::from_str(&outline).unwrap_or_default(),
            truncated: row.get(4)?,
        };
        Ok((row.get::<_, i64>(0)?, page))
    });
    let Some((id, mut page)) = found.optional()? else { return unknown(database, path).map(Err) };
    let at_anchor = anchor.and_then(|anchor| {
        page.outline
            .iter()
            .find(|heading| heading.anchor.as_deref() == Some(anchor))
            .map(|heading| heading.start)
    });
    if let (Some(anchor), None, None) = (anchor, at_anchor, request.start) {
        let message = format!("the document `{}` has no anchor: {anchor}", page.path);
        return Ok(Err(
            Fault::new(FaultCode::DocumentUnknown, message).hint("leave the anchor out")
        ));
    }
    let start = request.start.or(at_anchor).unwrap_or_default().min(page.characters);
    let end = (start + request.characters).min(page.characters);
    page.range = CharRange { start, end };
    page.text = text(database, id, page.range)?;
    if start > 0 {
        page.outline.clear();
    }
    shorten(&mut page.outline);
    Ok(Ok(page))
}

/// Keeps as many levels of an outline as fit.
fn shorten(outline: &mut Vec<DocumentHeading>) {
    for level in (1..=DocumentHeading::TERM).rev() {
        if outline.len() <= OUTLINE {
            return;
        }
        outline.retain(|heading| heading.level < level);
    }
}

/// The characters of a range.
fn text(database: &Connection, document: i64, range: CharRange) -> rusqlite::Result<String> {
    let mut statement = database.prepare_cached(
        "SELECT start, body FROM chunks WHERE document = ?1 AND start < ?3 AND start + characters > ?2
            ORDER BY start",
    )?;
    let bound = |at: usize| i64::try_from(at).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![document, bound(range.start), bound(range.end)])?;
    let mut text = String::new();
    while let Some(row) = rows.next()? {
        let start = usize::try_from(row.get::<_, i64>(0)?).unwrap_or_default();
        let body: String = row.get(1)?;
        let part = CharRange {
            start: range.start.saturating_sub(start),
            end: range.end.saturating_sub(start),
        };
        text.push_str(slice(&body, part));
    }
    Ok(text)
}

/// A refusal with paths that are meant perhaps.
fn unknown(database: &Connection, path: &str) -> rusqlite::Result<Fault> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let mut statement = database.prepare_cached(
        "SELECT path FROM documents WHERE refusal IS NULL AND instr(lower(path), lower(?1)) > 0
            ORDER BY length(path), path LIMIT ?2",
    )?;
    let similar = statement.query_map(params![stem, bound_of(SIMILAR)], |row| row.get(0))?;
    let similar: Vec<String> =
        if stem.is_empty() { Vec::new() } else { similar.collect::<Result<_, _>>()? };
    let fault = Fault::new(
        FaultCode::DocumentUnknown,
        format!("there is no document with this path: {path}"),
    );
    Ok(if similar.is_empty() {
        fault.hint("use a path that `search_documents` returned")
    } else {
        fault.hint(format!("similar paths are {}", similar.join(", ")))
    })
}

fn bound_of(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
