//! Markdown and plain text. Both are their own canonical text; Markdown has headings besides.

use super::text::{DocumentHeading, DocumentText};

/// The text of a plain text file, at most `limit` characters.
pub fn plain_text(text: &str, limit: usize) -> DocumentText {
    let mut canonical = String::with_capacity(text.len());
    let mut length = 0;
    let mut truncated = false;
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    for character in text.chars() {
        if character.is_control() && character != '\n' && character != '\t' {
            continue;
        }
        if length == limit {
            truncated = true;
            break;
        }
        canonical.push(character);
        length += 1;
    }
    DocumentText { text: canonical, truncated, ..DocumentText::default() }
}

/// The text of a Markdown file with its headings, at most `limit` characters. The title is that of its front
/// matter, or its first heading.
///
/// ```
/// use antiphon_tools::document::markdown::markdown_text;
/// let page = markdown_text("# Tea\n\n## Green tea\n\nSteep for *two* minutes.\n", 1000);
/// assert_eq!(page.title.as_deref(), Some("Tea"));
/// assert_eq!(page.headings_at(20).last().unwrap().title, "Green tea");
/// ```
pub fn markdown_text(text: &str, limit: usize) -> DocumentText {
    let mut document = plain_text(text, limit);
    let mut reader = HeadingReader::default();
    let mut position = 0;
    for line in document.text.split_inclusive('\n') {
        reader.read(line, position);
        position += line.chars().count();
    }
    document.headings = reader.headings;
    let first = document.headings.first().map(|heading| heading.title.clone());
    document.title = reader.title.or(first);
    document
}

/// Finds the headings of a Markdown text line by line.
#[derive(Default)]
struct HeadingReader {
    headings: Vec<DocumentHeading>,
    title: Option<String>,
    /// The fence of the open code block.
    fence: Option<&'static str>,
    front_matter: bool,
    /// The line before, if it may be a heading that the next line underlines.
    before: Option<(String, usize)>,
}

impl HeadingReader {
    fn read(&mut self, line: &str, position: usize) {
        let text = line.trim();
        if position == 0 && text == "---" {
            self.front_matter = true;
            return;
        }
        if self.front_matter {
            self.front_matter = text != "---" && text != "...";
            if let Some(title) = text.strip_prefix("title:") {
                self.title = Some(title.trim().trim_matches(['"', '\'']).to_owned())
                    .filter(|t| !t.is_empty());
            }
            return;
        }
        if let Some(fence) = self.fence {
            if text.starts_with(fence) {
                self.fence = None;
            }
            return;
        }
        self.fence = ["```", "~~~"].into_iter().find(|fence| text.starts_with(fence));
        let before = self.before.take();
        if let Some((level, title)) = atx_heading(line) {
            self.push(level, title, position);
        } else if let Some((level, (title, start))) = underline(text).zip(before) {
            self.push(level, &title, start);
        } else if !text.is_empty()
            && self.fence.is_none()
            && !text.starts_with(['-', '*', '>', '|', '+'])
        {
            self.before = Some((text.to_owned(), position));
        }
    }

    fn push(&mut self, level: u8, title: &str, start: usize) {
        let title = title.trim().trim_end_matches('#').trim_end();
        if !title.is_empty() {
            self.headings.push(DocumentHeading {
                end: None,
                level,
                title: title.to_owned(),
                start,
                anchor: None,
            });
        }
    }
}

/// `## Title`.
fn atx_heading(line: &str) -> Option<(u8, &str)> {
    let text = line.trim_start_matches(' ');
    if line.len() - text.len() > 3 {
        return None;
    }
    let title = text.trim_start_matches('#');
    let level =
        u8::try_from(text.len() - title.len()).ok().filter(|level| (1..=6).contains(level))?;
    title.starts_with([' ', '\t']).then_some((level, title))
}

/// The level of a heading that such a line underlines.
fn underline(text: &str) -> Option<u8> {
    if text.is_empty() {
        None
    } else if text.chars().all(|c| c == '=') {
        Some(1)
    } else if text.len() > 1 && text.chars().all(|c| c == '-') {
        Some(2)
    } else {
        None
    }
}
