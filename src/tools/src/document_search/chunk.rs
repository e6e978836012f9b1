//! Parts of a document that are found and shown as one.

use crate::document::{CharRange, DocumentHeading, DocumentText};

use super::signs::has_signs;

/// A part grows to this many characters if its section is longer.
const TARGET: usize = 1_400;

/// A part is cut at the first good place after this many characters.
const LEAST: usize = 700;

/// Sections with fewer characters join the one before if they are its subsections.
const SMALL: usize = 160;

/// The most headings that lead to a part.
const PATH: usize = 5;

/// A part of a document.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DocumentChunk {
    pub(super) range: CharRange,
    /// The titles of the headings that lead to it, joined.
    pub(super) heading: String,
    /// The fragment of a URL that leads to it.
    pub(super) anchor: Option<String>,
    /// The share of its text that is links.
    pub(super) links: f64,
    pub(super) body: String,
    pub(super) has_signs: bool,
}

/// Divides a document at its headings, and long sections at paragraphs and lines. The bodies in their order are
/// the text of the document.
pub(super) fn divide(document: &DocumentText) -> Vec<DocumentChunk> {
    let mut chunks = Vec::new();
    let mut rest = document.text.as_str();
    let mut position = 0;
    for end in section_ends(document) {
        let (section, after) = split(rest, end - position);
        rest = after;
        position = divide_section(document, section, position, &mut chunks);
    }
    divide_section(document, rest, position, &mut chunks);
    chunks
}

/// Where sections end, in characters.
fn section_ends(document: &DocumentText) -> Vec<usize> {
    let mut ends: Vec<usize> = Vec::new();
    let mut level = 0;
    let mut over = ends_of_terms(document).into_iter().peekable();
    for heading in &document.headings {
        while let Some(end) = over.next_if(|end| *end <= heading.start) {
            if heading.start - end >= SMALL && ends.last().is_none_or(|last| *last < end) {
                ends.push(end);
                level = DocumentHeading::TERM;
            }
        }
        let last = ends.last().copied().unwrap_or_default();
        let small = heading.start.saturating_sub(last) < SMALL;
        if heading.start > last && !(small && heading.level > level) {
            ends.push(heading.start);
            level = heading.level;
        }
    }
    let last = ends.last().copied().unwrap_or_default();
    let length = document.text.chars().count();
    ends.extend(over.filter(|end| *end > last && *end + SMALL <= length));
    ends.dedup();
    ends
}

/// Where explanations of terms end, in order.
fn ends_of_terms(document: &DocumentText) -> Vec<usize> {
    let mut ends: Vec<usize> = document.headings.iter().filter_map(|one| one.end).collect();
    ends.sort_unstable();
    ends.dedup();
    ends
}

/// Divides one section; returns where it ends.
fn divide_section(
    document: &DocumentText,
    mut section: &str,
    mut start: usize,
    chunks: &mut Vec<DocumentChunk>,
) -> usize {
    while !section.is_empty() {
        let (body, rest) = section.split_at(cut(section));
        section = rest;
        let range = CharRange { start, end: start + body.chars().count() };
        start = range.end;
        chunks.push(describe(document, range, body));
    }
    start
}

fn describe(document: &DocumentText, range: CharRange, body: &str) -> DocumentChunk {
    // Headings at the very beginning belong to the part: its own, and those of small sections that joined.
    let within = |heading: &&DocumentHeading| {
        heading.start >= range.start && heading.start < range.end.min(range.start + SMALL)
    };
    let place = document.headings.iter().rfind(within).map_or(range.start, |heading| heading.start);
    let path = document.headings_at(place);
    let skipped = path.len().saturating_sub(PATH);
    let anchor = path.iter().rev().find_map(|heading| heading.anchor.clone());
    let linked: usize = document
        .links
        .iter()
        .map(|link| link.end.min(range.end).saturating_sub(link.start.max(range.start)))
        .sum();
    let visible = body.chars().filter(|c| !c.is_whitespace()).count().max(1);
    #[expect(clippy::cast_precision_loss, reason = "a share of some thousand characters")]
    let links = (linked as f64 / visible as f64).min(1.0);
    DocumentChunk {
        range,
        heading: path.into_iter().skip(skipped).map(name).collect::<Vec<_>>().join(" › "),
        anchor,
        links,
        body: body.to_owned(),
        has_signs: has_signs(body),
    }
}

/// The title of a heading. The parameters of a function are part of the text: they do not say what it is about.
fn name(heading: &DocumentHeading) -> &str {
    let title = heading.title.as_str();
    let (name, _) = title.split_once('(').unwrap_or((title, ""));
    let is_function = heading.level == DocumentHeading::TERM && !name.trim().is_empty();
    if is_function { name.trim_end() } else { title }
}

/// The byte at which the first part of a section ends.
fn cut(section: &str) -> usize {
    let byte = |characters: usize| section.char_indices().nth(characters).map(|(byte, _)| byte);
    let Some(limit) = byte(TARGET) else { return section.len() };
    let least = byte(LEAST).unwrap_or(limit);
    let window = section.get(least..limit).unwrap_or_default();
    for separator in ["\n\n", "\n", ". ", "。", " "] {
        if let Some(at) = window.rfind(separator) {
            return least + at + separator.len();
        }
    }
    limit
}

fn split(text: &str, characters: usize) -> (&str, &str) {
    let byte = text.char_indices().nth(characters).map_or(text.len(), |(byte, _)| byte);
    text.split_at(byte)
}
