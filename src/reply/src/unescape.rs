//! What a quoted text says.

/// The text between two quotes with its escapes resolved. Raw line breaks
/// stay; an escape that JSON does not know stays as it is written, because
/// `\d` and `C:\dir` are worth more than a guess; half a surrogate pair
/// becomes U+FFFD. Without the closing quote (`closed` is false), an escape
/// that the end cuts in two is dropped.
pub(crate) fn unescape(body: &str, closed: bool) -> String {
    let mut text = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.find('\\') {
        text.push_str(rest.get(..at).unwrap_or_default());
        rest = rest.get(at..).unwrap_or_default();
        let Some(length) = resolve(rest, &mut text) else {
            let cut = !closed && is_cut(rest);
            text.push_str(if cut { "" } else { "\\" });
            rest = if cut { "" } else { rest.get(1..).unwrap_or_default() };
            continue;
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    text.push_str(rest);
    text
}

/// Adds what the escape at the start of `text` stands for and tells its
/// length, or none if it is no escape.
fn resolve(text: &str, out: &mut String) -> Option<usize> {
    let plain = match text.chars().nth(1)? {
        c @ ('"' | '\'' | '\\' | '/') => c,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return resolve_unicode(text, out),
        _ => return None,
    };
    out.push(plain);
    Some(2)
}

fn resolve_unicode(text: &str, out: &mut String) -> Option<usize> {
    let first = unit(text)?;
    if let Some(c) = char::from_u32(first) {
        out.push(c);
        return Some(6);
    }
    let second = text.get(6..).and_then(unit).filter(|unit| (0xDC00..0xE000).contains(unit));
    match second {
        Some(second) if first < 0xDC00 => {
            let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            Some(12)
        }
        _ => {
            out.push(char::REPLACEMENT_CHARACTER);
            Some(6)
        }
    }
}

/// The UTF-16 unit of the `\uXXXX` that `text` starts with.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if hex { u32::from_str_radix(digits, 16).ok() } else { None }
}

/// Whether `text`, which is no whole escape, is the beginning of one.
fn is_cut(text: &str) -> bool {
    let Some(after) = text.strip_prefix('\\') else { return false };
    match after.strip_prefix('u') {
        Some(digits) => digits.len() < 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => after.is_empty(),
    }
}
