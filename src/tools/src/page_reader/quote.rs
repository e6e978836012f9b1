//! Finds quotations in a text by what a reader sees: white space and typographic marks do not matter, positions
//! do.

use crate::document::CharRange;

/// Where `quote` stands in `text`, in characters, from the first place on. Runs of white space are equal, as are
/// typographic and plain quotation marks, dashes and ellipses; soft hyphens and characters without width are
/// ignored. Letters are compared exactly.
///
/// ```
/// use antiphon_tools::page_reader::find_quote;
/// let text = "He said “no\u{a0}more” – twice.";
/// let found = find_quote(text, "\"no more\" - twice");
/// assert_eq!((found[0].start, found[0].end), (8, 25));
/// ```
pub fn find_quote(text: &str, quote: &str) -> Vec<CharRange> {
    let quote = plain_form(quote).text;
    let quote = quote.trim_matches(' ');
    if quote.is_empty() {
        return Vec::new();
    }
    let plain = plain_form(text);
    let mut found = Vec::new();
    // Bytes of the plain text are counted along with the matches, so that this is linear.
    let (mut byte, mut index) = (0, 0);
    for (start, matched) in plain.text.match_indices(quote) {
        index += count(&plain.text, byte, start);
        let last = index + matched.chars().count() - 1;
        byte = start;
        if let (Some(&start), Some(&last)) = (plain.origins.get(index), plain.origins.get(last)) {
            found.push(CharRange { start, end: last + 1 });
        }
    }
    found
}

fn count(text: &str, from: usize, to: usize) -> usize {
    text.get(from..to).map_or(0, |passed| passed.chars().count())
}

/// A text in plain form, and for each of its characters the index of the one that it stands for.
struct PlainForm {
    text: String,
    origins: Vec<usize>,
}

fn plain_form(text: &str) -> PlainForm {
    let mut plain = PlainForm { text: String::with_capacity(text.len()), origins: Vec::new() };
    for (index, character) in text.chars().enumerate() {
        if is_invisible(character) {
            continue;
        }
        if character.is_whitespace() {
            if !plain.text.ends_with(' ') {
                plain.text.push(' ');
                plain.origins.push(index);
            }
            continue;
        }
        if character == '…' {
            plain.text.push_str("...");
            plain.origins.extend([index; 3]);
            continue;
        }
        plain.text.push(plain_mark(character));
        plain.origins.push(index);
    }
    plain
}

const fn is_invisible(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
}

const fn plain_mark(character: char) -> char {
    match character {
        '‘' | '’' | '‚' | '‛' | '′' | '`' | '´' | '‹' | '›' => '\'',
        '“' | '”' | '„' | '‟' | '″' | '«' | '»' => '"',
        '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' => '-',
        other => other,
    }
}
