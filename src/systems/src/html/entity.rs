//! Entities of HTML as the signs that they stand for.

use std::borrow::Cow;

/// The longest entity between `&` and `;`.
const LONGEST: usize = 10;
/// Named entities that models write.
const NAMED: [(&str, char); 42] = [
    ("amp", '&'),
    ("apos", '\''),
    ("auml", 'ä'),
    ("bull", '•'),
    ("cent", '¢'),
    ("colon", ':'),
    ("copy", '©'),
    ("deg", '°'),
    ("eacute", 'é'),
    ("egrave", 'è'),
    ("euro", '€'),
    ("frac12", '½'),
    ("ge", '≥'),
    ("gt", '>'),
    ("hellip", '…'),
    ("laquo", '«'),
    ("ldquo", '“'),
    ("le", '≤'),
    ("lsquo", '‘'),
    ("lt", '<'),
    ("mdash", '—'),
    ("micro", 'µ'),
    ("middot", '·'),
    ("minus", '−'),
    ("nbsp", '\u{a0}'),
    ("ndash", '–'),
    ("ne", '≠'),
    ("ouml", 'ö'),
    ("para", '¶'),
    ("plusmn", '±'),
    ("pound", '£'),
    ("quot", '"'),
    ("raquo", '»'),
    ("rarr", '→'),
    ("rdquo", '”'),
    ("reg", '®'),
    ("rsquo", '’'),
    ("sect", '§'),
    ("szlig", 'ß'),
    ("times", '×'),
    ("trade", '™'),
    ("uuml", 'ü'),
];

/// A text with the entities replaced that are known; others stay as they are.
pub(super) fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        decoded.push_str(before);
        let end = after.char_indices().take(LONGEST + 1).find(|(_, sign)| *sign == ';');
        let found = end.and_then(|(end, _)| Some((sign(after.get(..end)?)?, end)));
        if let Some((sign, end)) = found {
            decoded.push(sign);
            rest = after.get(end + 1..).unwrap_or_default();
        } else {
            decoded.push('&');
            rest = after;
        }
    }
    decoded.push_str(rest);
    Cow::Owned(decoded)
}

fn sign(name: &str) -> Option<char> {
    let Some(number) = name.strip_prefix('#') else {
        return NAMED.iter().find(|(known, _)| *known == name).map(|(_, sign)| *sign);
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(code).filter(|sign| !sign.is_control() || matches!(sign, '\n' | '\t'))
}
