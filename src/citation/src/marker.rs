//! Citations in a text: what stands in square brackets, outside of code and links.

use crate::block::{BlockKind, blocks, item_mark};
use crate::span::TextSpan;

/// Square brackets in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BracketedText {
    /// With the brackets.
    pub span: TextSpan,
    /// Between the brackets.
    pub label: String,
}

/// A link in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinkText {
    /// From the bracket, or the mark of an image, to the end; of a bare address, the address.
    pub(crate) span: TextSpan,
    /// What is shown.
    pub(crate) label: String,
    pub(crate) url: String,
}

/// What stands in square brackets outside of code and links, in order.
///
/// ```
/// use antiphon_citation::brackets;
/// let text = "It is [0], `[1]` and [here](http://a.b) [2, 3].";
/// let labels: Vec<_> = brackets(text).into_iter().map(|it| it.label).collect();
/// assert_eq!(labels, ["0", "2, 3"]);
/// ```
pub fn brackets(text: &str) -> Vec<BracketedText> {
    let shut = shut(text);
    let links = links(text);
    let is_free = |at: usize| {
        let point = TextSpan::new(at, at + 1);
        !shut.iter().any(|span| span.overlaps(point))
            && !links.iter().any(|link| link.span.overlaps(point))
    };
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = find(text, '[', from) {
        from = start + 1;
        let Some(end) = find(text, ']', start) else { break };
        let label = text.get(start + 1..end).unwrap_or_default();
        if is_free(start) && !label.contains(['[', '\n']) && !is_task(text, start, label) {
            let span = TextSpan::new(start, end + 1);
            found.push(BracketedText { span, label: label.to_owned() });
            from = end + 1;
        }
    }
    found
}

/// The positions of all square brackets outside of code, links and the boxes of tasks.
pub(crate) fn bracket_positions(text: &str) -> Vec<usize> {
    let mut spans = shut(text);
    spans.extend(links(text).into_iter().map(|link| link.span));
    let is_free = |at: &usize| !spans.iter().any(|span| span.overlaps(TextSpan::new(*at, *at + 1)));
    let is_box = |at: usize| {
        let start = text.get(..=at).and_then(|text| text.rfind('[')).unwrap_or(at);
        let label = text.get(start + 1..).and_then(|rest| rest.split(']').next());
        is_task(text, start, label.unwrap_or_default())
    };
    let all = text.match_indices(['[', ']']).map(|(at, _)| at);
    all.filter(is_free).filter(|at| !is_box(*at)).collect()
}

/// The numbers of a citation such as `0` or `0, 2`.
pub(crate) fn indices(label: &str) -> Option<Vec<usize>> {
    let number = |part: &str| part.trim().parse().ok().filter(|_| part.trim().len() <= 4);
    label.split([',', ';']).map(number).collect()
}

/// The links of a text outside of code: `[label](url)`, `<url>` and addresses by themselves.
pub(crate) fn links(text: &str) -> Vec<LinkText> {
    let shut = shut(text);
    let is_free = |at: usize| !shut.iter().any(|span| span.overlaps(TextSpan::new(at, at + 1)));
    let mut found: Vec<LinkText> = Vec::new();
    let mut from = 0;
    while let Some(middle) = text.get(from..).and_then(|rest| rest.find("](")).map(|at| from + at) {
        from = middle + 2;
        let Some(open) = text.get(..middle).and_then(opening) else { continue };
        let Some(close) = closing(text, middle + 2) else { continue };
        if !is_free(open) {
            continue;
        }
        let is_image = text.get(..open).is_some_and(|before| before.ends_with('!'));
        let target = text.get(middle + 2..close).unwrap_or_default().trim();
        let url = target.split_whitespace().next().unwrap_or_default();
        found.push(LinkText {
            span: TextSpan::new(open - usize::from(is_image), close + 1),
            label: text.get(open + 1..middle).unwrap_or_default().to_owned(),
            url: url.trim_matches(['<', '>']).to_owned(),
        });
        from = close + 1;
    }
    let bare = addresses(text).into_iter().filter(|link| {
        is_free(link.span.start) && !found.iter().any(|it| it.span.overlaps(link.span))
    });
    let bare: Vec<LinkText> = bare.collect();
    found.extend(bare);
    found.sort_by_key(|link| link.span);
    found
}

/// Addresses that stand in a text by themselves.
fn addresses(text: &str) -> Vec<LinkText> {
    let mut found = Vec::new();
    // As many bytes as in the text.
    let lower = text.to_ascii_lowercase();
    for scheme in ["https://", "http://", "ftp://", "mailto:", "www."] {
        for (start, _) in lower.match_indices(scheme) {
            let before = text.get(..start).and_then(|text| text.chars().next_back());
            if before.is_some_and(|sign| sign.is_alphanumeric() || sign == '/') {
                continue;
            }
            let rest = text.get(start..).unwrap_or_default();
            let is_stop = |sign: char| {
                sign.is_whitespace() || matches!(sign, '<' | '>' | '"' | '|' | '[' | ']' | '`')
            };
            let url = rest.get(..rest.find(is_stop).unwrap_or(rest.len())).unwrap_or_default();
            let url = url.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '*', '_']);
            found.push(LinkText {
                span: TextSpan::new(start, start + url.len()),
                label: url.to_owned(),
                url: url.to_owned(),
            });
        }
    }
    found
}

/// Code: between fences, indented, or between back-ticks.
fn shut(text: &str) -> Vec<TextSpan> {
    let all = blocks(text);
    let mut found: Vec<TextSpan> =
        all.iter().filter(|it| it.kind == BlockKind::Code).map(|it| it.lines).collect();
    for block in all.iter().filter(|it| it.kind != BlockKind::Code) {
        let content = block.content.of(text).unwrap_or_default();
        let mut from = 0;
        while let Some(start) = find(content, '`', from) {
            let rest = content.get(start..).unwrap_or_default();
            let slashes = content.get(..start).unwrap_or_default();
            let slashes = slashes.len() - slashes.trim_end_matches('\\').len();
            if slashes % 2 == 1 {
                from = start + 1;
                continue;
            }
            let base = block.content.start + start;
            from = start
                + match code_span(rest) {
                    Some(length) => {
                        found.push(TextSpan::new(base, base + length));
                        length
                    }
                    None => ticks(rest),
                };
        }
    }
    found
}

/// How many back-ticks a text begins with.
fn ticks(text: &str) -> usize {
    text.len() - text.trim_start_matches('`').len()
}

/// The length of the code that a text begins with: between back-ticks and as many others.
///
/// ```
/// use antiphon_citation::code_span;
/// assert_eq!(code_span("`a` b"), Some(3));
/// assert_eq!(code_span("``a`b`` c"), Some(7));
/// assert_eq!(code_span("`a``"), None);
/// ```
pub fn code_span(text: &str) -> Option<usize> {
    let own = Some(ticks(text)).filter(|own| *own > 0)?;
    let mut at = own;
    loop {
        at += text.get(at..)?.find('`')?;
        let size = ticks(text.get(at..)?);
        at += size;
        if size == own {
            return Some(at);
        }
    }
}

/// The opening bracket that belongs to a closing one after this text.
fn opening(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, sign) in text.char_indices().rev() {
        match sign {
            ']' => depth += 1,
            '[' if depth == 0 => return Some(at),
            '[' => depth -= 1,
            '\n' => return None,
            _ => {}
        }
    }
    None
}

/// The bracket that closes an address.
fn closing(text: &str, from: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, sign) in text.get(from..)?.char_indices() {
        match sign {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(from + at),
            ')' => depth -= 1,
            '\n' => return None,
            _ => {}
        }
    }
    None
}

fn find(text: &str, sign: char, from: usize) -> Option<usize> {
    text.get(from..)?.find(sign).map(|at| from + at)
}

/// Whether it is the box of a task in a list.
fn is_task(text: &str, start: usize, label: &str) -> bool {
    let line = text.get(..start).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
    matches!(label, " " | "x" | "X") && matches!(line.trim(), "-" | "*" | "+")
}

/// Where the words before a citation end. The space after the mark of an item stays: without it
/// the item would be none.
pub(crate) fn words_end(before: &str) -> usize {
    let end = before.trim_end_matches([' ', '\u{a0}']).len();
    let line = before.rsplit('\n').next().unwrap_or_default().trim_start();
    let is_item = item_mark(line) == Some(line.trim_end().len());
    if is_item && before.len() > end { end + 1 } else { end }
}
