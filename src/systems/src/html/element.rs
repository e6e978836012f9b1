//! Finding an element in a longer text.

use super::token::{HtmlToken, tokens};

/// Elements that an answer can begin with.
const BLOCKS: [&str; 26] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "center",
    "details",
    "div",
    "dl",
    "figure",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "html",
    "main",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "ul",
    "hgroup",
];
/// Elements without content.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];
/// How many open elements are told apart.
const DEEPEST: usize = 256;
/// Elements within a sentence.
const INLINE: [&str; 10] = ["a", "b", "br", "code", "em", "i", "li", "span", "strong", "td"];

/// Whether a text has an element that people write in answers.
pub fn has_element(text: &str) -> bool {
    tokens(text).any(|placed| match placed.token {
        HtmlToken::Open { name, .. } => is_one_of(name, &BLOCKS) || is_one_of(name, &INLINE),
        _ => false,
    })
}

/// The text from the first block to the end tag that matches it, with the blocks that follow; to
/// the end if there is none. None without a block.
///
/// ```
/// use antiphon_systems::html::first_element;
/// let reply = "Sure: <div><div>a</div>b</div> Done.";
/// assert_eq!(first_element(reply), Some("<div><div>a</div>b</div>"));
/// ```
pub fn first_element(text: &str) -> Option<&str> {
    let mut start = None;
    let mut end = text.len();
    let mut open: Vec<&str> = Vec::new();
    for placed in tokens(text) {
        match placed.token {
            HtmlToken::Open { name, is_closed, .. } => {
                let is_void = is_closed || is_one_of(name, &VOID);
                if start.is_none() && !is_one_of(name, &BLOCKS) {
                    continue;
                }
                if start.is_some() && open.is_empty() && !is_one_of(name, &BLOCKS) {
                    break;
                }
                start.get_or_insert(placed.start);
                if is_void && open.is_empty() {
                    end = placed.end;
                } else if !is_void && open.len() < DEEPEST {
                    open.push(name);
                    end = text.len();
                }
            }
            HtmlToken::Close(name) => {
                let matching = open.iter().rposition(|one| one.eq_ignore_ascii_case(name));
                if let Some(position) = matching {
                    open.truncate(position);
                    if open.is_empty() {
                        end = placed.end;
                    }
                }
            }
            HtmlToken::Text(words) => {
                if start.is_some() && open.is_empty() && !words.trim().is_empty() {
                    break;
                }
            }
            HtmlToken::Other => {}
        }
    }
    text.get(start?..end).map(str::trim_end)
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}
