//! Splits a text into words, numerals and signs, with their byte ranges.

use super::date::PartialDate;
use super::plain_text::is_number_sign;

/// A token of a text and its byte range.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TextToken<'t> {
    pub(super) kind: TokenKind<'t>,
    pub(super) text: &'t str,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The kind of a token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind<'t> {
    /// Letters.
    Word(&'t str),
    /// Letters, then digits: `Q3`.
    Label(&'t str),
    /// Digits with their separators.
    Numeral(&'t str),
    /// A date in digits, as it can be read.
    Date(Vec<PartialDate>),
    /// Hour and minute.
    Time(u32, u32),
    /// Anything else.
    Sign(char),
}

impl<'t> TextToken<'t> {
    /// The word, if it is one.
    pub(super) const fn word(&self) -> Option<&'t str> {
        match self.kind {
            TokenKind::Word(word) => Some(word),
            _ => None,
        }
    }

    /// The digits, if it is a numeral.
    pub(super) const fn numeral(&self) -> Option<&'t str> {
        match self.kind {
            TokenKind::Numeral(numeral) => Some(numeral),
            _ => None,
        }
    }

    /// Whether it is this sign.
    pub(super) fn is(&self, sign: char) -> bool {
        self.kind == TokenKind::Sign(sign)
    }
}

/// Signs between the digits of one number. A plain space is one only between groups of three.
pub(super) fn is_separator(sign: char) -> bool {
    matches!(sign, '.' | ',' | '\'' | '’' | '_') || is_blank(sign)
}

/// Letters and plain digits: what a word consists of. A `²` is neither.
pub(super) fn is_letter(sign: char) -> bool {
    sign.is_alphabetic() || sign.is_ascii_digit()
}

/// Spaces that do not break a line.
pub(super) const fn is_blank(sign: char) -> bool {
    matches!(sign, '\u{a0}' | '\u{202f}' | '\u{2009}')
}

/// All tokens, in order, without the spaces between them.
pub(super) fn scan(text: &str) -> Vec<TextToken<'_>> {
    let mut tokens: Vec<TextToken<'_>> = Vec::new();
    let mut start = 0;
    while let Some(rest) = text.get(start..).filter(|rest| !rest.is_empty()) {
        let Some(first) = rest.chars().next() else { break };
        if first.is_whitespace() {
            start += first.len_utf8();
            continue;
        }
        let before = text.get(..start).and_then(|text| text.chars().next_back());
        let (kind, length) = next_token(rest, first, before);
        let own = rest.get(..length).unwrap_or_default();
        tokens.push(TextToken { kind, text: own, start, end: start + length });
        start += length;
    }
    tokens
}

fn next_token(rest: &str, first: char, before: Option<char>) -> (TokenKind<'_>, usize) {
    let signs = number_signs(rest);
    // After a letter a single one is a part of its name: m², CO₂.
    let is_suffix = before.is_some_and(char::is_alphabetic)
        && rest.get(..signs).is_some_and(|signs| signs.chars().count() == 1);
    if signs > 0 && !is_suffix {
        let length = label_length(rest);
        return (TokenKind::Label(rest.get(..length).unwrap_or_default()), length);
    }
    let starts_number = first.is_ascii_digit()
        || first == '.' && rest.chars().nth(1).is_some_and(|next| next.is_ascii_digit());
    if starts_number {
        if let Some((dates, length)) = PartialDate::in_digits(rest) {
            return (TokenKind::Date(dates), length);
        }
        if let Some((hour, minute, length)) = time(rest) {
            return (TokenKind::Time(hour, minute), length);
        }
        let length = numeral(rest);
        // Digits of two kinds are no number: 10².
        if rest.get(length..).is_some_and(|rest| number_signs(rest) > 0) {
            let length = label_length(rest);
            return (TokenKind::Label(rest.get(..length).unwrap_or_default()), length);
        }
        return (TokenKind::Numeral(rest.get(..length).unwrap_or_default()), length);
    }
    if first.is_alphabetic() && !is_number_sign(first) {
        let length =
            rest.find(|sign: char| !is_letter(sign) || is_number_sign(sign)).unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or_default();
        let has_digit = word.chars().any(|sign| sign.is_ascii_digit());
        return (if has_digit { TokenKind::Label(word) } else { TokenKind::Word(word) }, length);
    }
    (TokenKind::Sign(first), first.len_utf8())
}

/// How long the run of number signs is that a text begins with.
fn number_signs(text: &str) -> usize {
    text.find(|sign: char| !is_number_sign(sign)).unwrap_or(text.len())
}

/// How long the run of letters, digits and number signs of all kinds is.
fn label_length(text: &str) -> usize {
    let is_part = |sign: char| is_letter(sign) || is_number_sign(sign) || is_separator(sign);
    let run = text.find(|sign: char| !is_part(sign)).unwrap_or(text.len());
    text.get(..run).map_or(run, |run| run.trim_end_matches(is_separator).len())
}

/// How long the number is that a text begins with.
fn numeral(text: &str) -> usize {
    let mut end = digits(text.strip_prefix('.').unwrap_or(text));
    if text.starts_with('.') {
        return end + 1;
    }
    let mut is_spaced = end <= 3;
    loop {
        let rest = text.get(end..).unwrap_or_default();
        let Some(sign) = rest.chars().next() else { break };
        let after = rest.get(sign.len_utf8()..).unwrap_or_default();
        let next = digits(after);
        let continues = if sign == ' ' { is_spaced && next == 3 } else { is_separator(sign) };
        if !continues || next == 0 {
            break;
        }
        is_spaced &= sign == ' ' || is_blank(sign);
        end += sign.len_utf8() + next;
    }
    end + exponent(text.get(end..).unwrap_or_default())
}

/// How long the exponent is that a text begins with; 0 if there is none.
fn exponent(text: &str) -> usize {
    let Some(after) = text.strip_prefix(['e', 'E']) else { return 0 };
    let signed = after.strip_prefix(['+', '-']).unwrap_or(after);
    let count = digits(signed);
    let is_word = signed.get(count..).and_then(|rest| rest.chars().next());
    if count == 0 || is_word.is_some_and(char::is_alphabetic) {
        return 0;
    }
    text.len() - signed.len() + count
}

/// `14:35`, with or without seconds.
fn time(text: &str) -> Option<(u32, u32, usize)> {
    let (hour, length) = two_digits(text)?;
    let (minute, more) = two_digits(text.get(length..)?.strip_prefix(':')?)?;
    if hour > 23 || minute > 59 || more != 2 {
        return None;
    }
    let end = length + 1 + more;
    let seconds = text.get(end..)?.strip_prefix(':').and_then(two_digits);
    let end = seconds.filter(|(_, more)| *more == 2).map_or(end, |(_, more)| end + 1 + more);
    Some((hour, minute, end))
}

fn two_digits(text: &str) -> Option<(u32, usize)> {
    let length = digits(text);
    if !(1..=2).contains(&length) {
        return None;
    }
    Some((text.get(..length)?.parse().ok()?, length))
}

/// How many digits a text begins with.
pub(super) fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}
