//! A page as it was read, kept so that quotations can be checked later.

use std::fmt::Write as _;

use ring::digest::{SHA256, digest};

use super::quote::find_quote;
use crate::document::{CharRange, DocumentText, PageLink};

/// The text of a page with the facts about it. Positions in it are characters of `document.text`.
///
/// ```
/// use antiphon_tools::document::DocumentText;
/// use antiphon_tools::page_reader::StoredPage;
/// let text = DocumentText { text: "Tea is a drink.\n".into(), ..DocumentText::default() };
/// let page = StoredPage::new("https://example.com/".into(), "text", text);
/// let range = page.find_quote("is  a drink")[0];
/// assert_eq!(page.excerpt(range).text, "is a drink");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPage {
    /// The SHA-256 of the text in hexadecimal digits: the same text has the same id.
    pub id: String,
    /// Where it was read, after redirects.
    pub url: String,
    /// Its format: `html`, `pdf`, `markdown`, `text`, `json`, …
    pub format: &'static str,
    /// The canonical text, its title and headings.
    pub document: DocumentText,
    /// The author, in the page's words.
    pub byline: Option<String>,
    /// The date of publication, in the page's words.
    pub published: Option<String>,
    /// Its links, numbered from 1 in the order of the text.
    pub links: Vec<PageLink>,
    /// The number of characters of the text.
    pub characters: usize,
}

/// A part of a page that knows where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageExcerpt<'p> {
    /// The id of the page.
    pub page: &'p str,
    /// Where it stands in the page's text.
    pub range: CharRange,
    /// The text of that range, exactly.
    pub text: &'p str,
}

impl StoredPage {
    /// A page with that text.
    pub fn new(url: String, format: &'static str, document: DocumentText) -> Self {
        let id = text_id(&document.text);
        let characters = document.text.chars().count();
        let (byline, published) = (None, None);
        Self { id, url, format, document, byline, published, links: Vec::new(), characters }
    }

    /// The text of a range, which is cut at the end of the page.
    pub fn excerpt(&self, range: CharRange) -> PageExcerpt<'_> {
        let start = range.start.min(self.characters);
        let range = CharRange { start, end: range.end.clamp(start, self.characters) };
        PageExcerpt { page: &self.id, range, text: self.document.slice(range) }
    }

    /// Where `quote` stands: see [`find_quote`].
    pub fn find_quote(&self, quote: &str) -> Vec<CharRange> {
        find_quote(&self.document.text, quote)
    }

    /// The excerpt of at most `limit` characters that begins at `offset`. It ends between paragraphs, lines or words
    /// if there is such a place in its second half.
    pub fn excerpt_from(&self, offset: usize, limit: usize) -> PageExcerpt<'_> {
        let whole = self.excerpt(CharRange { start: offset, end: offset.saturating_add(limit) });
        if whole.range.end == self.characters {
            return whole;
        }
        let length = ["\n\n", "\n", " "].into_iter().find_map(|mark| {
            let before = whole.text.get(..whole.text.rfind(mark)? + mark.len())?;
            Some(before.chars().count()).filter(|length| *length > limit / 2)
        });
        let start = whole.range.start;
        let end = length.map_or(whole.range.end, |length| start + length);
        self.excerpt(CharRange { start, end })
    }

    /// The links within a range.
    pub fn links_in(&self, range: CharRange) -> impl Iterator<Item = &PageLink> {
        let inside =
            move |link: &&PageLink| link.range.start >= range.start && link.range.start < range.end;
        self.links.iter().filter(inside)
    }
}

/// The id of a page with that text.
pub fn text_id(text: &str) -> String {
    hexadecimal(digest(&SHA256, text.as_bytes()).as_ref())
}

/// Bytes as digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}
