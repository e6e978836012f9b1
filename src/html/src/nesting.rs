//! How deep the elements of a page are nested, without parsing it.

/// Browsers nest no deeper either.
const MAX_NESTING: usize = 512;

/// Elements without content, and those whose end tag is usually left out.
const UNCOUNTED: [&str; 27] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track",
    "wbr", "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "option",
    "optgroup", "colgroup", "param",
];

/// Whether more elements may be open at some place of `html` than a parser can handle: it compares
/// each tag with all that are open. Takes linear time.
pub(crate) fn is_too_deep(html: &str) -> bool {
    let mut depth = 0_usize;
    for tag in tags(html) {
        let closing = tag.starts_with('/');
        let name = tag.trim_start_matches('/').split(|c: char| !c.is_ascii_alphanumeric()).next();
        let name = name.unwrap_or_default().to_ascii_lowercase();
        if name.is_empty() || UNCOUNTED.contains(&name.as_str()) {
            continue;
        }
        if closing {
            depth = depth.saturating_sub(1);
        } else if !tag.ends_with('/') {
            depth += 1;
        }
        if depth > MAX_NESTING {
            return true;
        }
    }
    false
}

/// `html` with a space in place of each tag, for pages that cannot be parsed.
pub fn without_tags(html: &str) -> String {
    let mut text = String::with_capacity(html.len() / 4);
    let mut rest = html;
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(before);
        text.push(' ');
        rest = after.split_once('>').map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    text
}

/// What stands between `<` and `>`.
fn tags(html: &str) -> impl Iterator<Item = &str> {
    let mut rest = html;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once('<')?;
        let (tag, after) = after.split_once('>')?;
        rest = after;
        Some(tag)
    })
}
