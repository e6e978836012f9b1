//! The canonical text of a document, with positions that citations refer to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A range of a text in Unicode scalar values, the indices of a Python `str`; `end` is exclusive.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
pub struct CharRange {
    /// The index of the first character.
    pub start: usize,
    /// The index after the last character.
    pub end: usize,
}

impl CharRange {
    /// The number of characters.
    pub const fn len(&self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// Whether it holds no character.
    pub const fn is_empty(&self) -> bool {
        self.end <= self.start
    }
}

/// A heading, or a term that the document defines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentHeading {
    /// 1 to 6 as in HTML; [`DocumentHeading::TERM`] for a defined term, for instance the signature of
    /// a function.
    pub level: u8,
    /// Its text on one line.
    pub title: String,
    /// Where it begins in the text, in characters.
    pub start: usize,
    /// The fragment of a URL that leads to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
    /// Where the explanation of a defined term ends, in characters. A heading ends at the next one of its level or
    /// above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<usize>,
}

impl DocumentHeading {
    /// The level of a defined term, below all headings.
    pub const TERM: u8 = 7;

    /// Whether it has ended where a later one begins. Terms may explain each other within.
    fn is_over(&self, later: &Self) -> bool {
        match self.end {
            Some(end) if later.level == Self::TERM => end <= later.start,
            _ => self.level >= later.level,
        }
    }
}

/// What a document says, as text that can be quoted: every quotation is a range of it.
///
/// The text is Markdown without emphasis and link addresses: headings begin with `#`, list items with
/// `- `, code stands between fences, cells of a table are separated by `|`. Lines end in a line feed; there are
/// no control characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentText {
    /// The title, if the document has one.
    pub title: Option<String>,
    /// The canonical text.
    pub text: String,
    /// Headings and defined terms in their order.
    pub headings: Vec<DocumentHeading>,
    /// What links to other places, in order; a passage that consists of links is a table of contents.
    pub links: Vec<CharRange>,
    /// Whether the text was cut at its limit.
    pub truncated: bool,
}

impl DocumentText {
    /// The text of a range; a range beyond the end is cut.
    pub fn slice(&self, range: CharRange) -> &str {
        slice(&self.text, range)
    }

    /// The headings and terms that lead to a position, from the outermost.
    pub fn headings_at(&self, position: usize) -> Vec<&DocumentHeading> {
        let mut path: Vec<&DocumentHeading> = Vec::new();
        for heading in self.headings.iter().take_while(|heading| heading.start <= position) {
            while path.last().is_some_and(|last| last.is_over(heading)) {
                path.pop();
            }
            path.push(heading);
        }
        path.retain(|heading| heading.end.is_none_or(|end| end > position));
        path
    }
}

/// The text of a range in characters; a range beyond the end is cut.
pub fn slice(text: &str, range: CharRange) -> &str {
    let start = byte_index(text, range.start);
    let rest = text.get(start..).unwrap_or_default();
    rest.get(..byte_index(rest, range.len())).unwrap_or_default()
}

/// The byte at which a character begins; the length of the text if it has fewer.
fn byte_index(text: &str, character: usize) -> usize {
    if text.is_ascii() {
        return character.min(text.len());
    }
    text.char_indices().nth(character).map_or(text.len(), |(byte, _)| byte)
}
