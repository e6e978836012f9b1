//! The tags of HTML, one after the other. Attributes may hold `>` between quotation marks.

/// A tag or a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HtmlToken<'h> {
    /// The text between two tags, with its entities.
    Text(&'h str),
    /// `<name …>`, and whether it ends with `/>`.
    Open { name: &'h str, attributes: &'h str, is_closed: bool },
    /// `</name>`.
    Close(&'h str),
    /// A comment, or an instruction.
    Other,
}

/// A token with the bytes from where it starts to where it ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlacedToken<'h> {
    pub(super) token: HtmlToken<'h>,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The tokens of a text. Linear in its length.
pub(super) fn tokens(html: &str) -> impl Iterator<Item = PlacedToken<'_>> {
    let mut at = 0;
    // Behind the last `>` there is no tag, and nothing is looked for.
    let last = html.rfind('>').unwrap_or_default();
    std::iter::from_fn(move || {
        let rest = html.get(at..).filter(|rest| !rest.is_empty())?;
        let (token, length) =
            if at < last { next(rest) } else { (HtmlToken::Text(rest), rest.len()) };
        let start = at;
        at += length;
        Some(PlacedToken { token, start, end: at })
    })
}

fn next(rest: &str) -> (HtmlToken<'_>, usize) {
    if let Some(found) = tag(rest) {
        return found;
    }
    // A `<` that begins no tag is text.
    let signs = rest.char_indices().skip(1).filter(|(_, sign)| *sign == '<');
    let ends = |at: &usize| rest.get(*at..).is_some_and(begins);
    let end = signs.map(|(at, _)| at).find(ends).unwrap_or(rest.len());
    (HtmlToken::Text(rest.get(..end).unwrap_or_default()), end)
}

fn begins(rest: &str) -> bool {
    let mut signs = rest.chars().skip(1);
    matches!(signs.next(), Some(sign) if sign.is_ascii_alphabetic() || matches!(sign, '/' | '!' | '?'))
}

fn tag(rest: &str) -> Option<(HtmlToken<'_>, usize)> {
    if !rest.starts_with('<') || !begins(rest) {
        return None;
    }
    if rest.starts_with("<!--") {
        let end = rest.find("-->").map_or(rest.len(), |end| end + 3);
        return Some((HtmlToken::Other, end));
    }
    let end = closing(rest)?;
    let inside = rest.get(1..end - 1).unwrap_or_default();
    if inside.starts_with(['!', '?']) {
        return Some((HtmlToken::Other, end));
    }
    if let Some(name) = inside.strip_prefix('/') {
        return Some((HtmlToken::Close(name.trim()), end));
    }
    let is_closed = inside.ends_with('/');
    let inside = inside.trim_end_matches('/');
    let split = inside.find(char::is_whitespace).unwrap_or(inside.len());
    let (name, attributes) = inside.split_at(split);
    Some((HtmlToken::Open { name, attributes, is_closed }, end))
}

/// Where the tag at the beginning ends.
fn closing(rest: &str) -> Option<usize> {
    let mut quote = None;
    for (at, sign) in rest.char_indices() {
        match (quote, sign) {
            (None, '>') => return Some(at + 1),
            (None, '"' | '\'') => quote = Some(sign),
            (Some(open), sign) if sign == open => quote = None,
            _ => {}
        }
    }
    // A quotation mark that is left open does not swallow the text.
    rest.find('>').map(|at| at + 1)
}
