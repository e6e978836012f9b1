//! Scripts that put no spaces between words: each of their characters is a word of its own.

/// Whether a character belongs to such a script: Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese.
pub(super) const fn is_sign(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{3041}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}'
        | '\u{20000}'..='\u{3fffd}')
}

/// Whether a text has such characters.
pub(super) fn has_signs(text: &str) -> bool {
    !text.is_ascii() && text.chars().any(is_sign)
}

/// A text with spaces around each of them.
pub(super) fn spaced(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len() * 2);
    for character in text.chars() {
        if is_sign(character) {
            spaced.extend([' ', character, ' ']);
        } else {
            spaced.push(character);
        }
    }
    spaced
}
