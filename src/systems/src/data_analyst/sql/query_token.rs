//! The words and signs of a query.

use std::ops::Range;

/// A word, a name in quotes, a literal or a sign.
pub(super) struct QueryToken<'q> {
    /// Where it stands.
    pub(super) place: Range<usize>,
    /// As it stands there.
    pub(super) text: &'q str,
}

impl<'q> QueryToken<'q> {
    /// The name that it is, without quotes; none for a literal or a sign.
    pub(super) fn name(&self) -> Option<&'q str> {
        let first = self.text.chars().next()?;
        match first {
            '"' | '`' | '[' => self.text.get(1..self.text.len().checked_sub(1)?),
            first => (first.is_alphabetic() || first == '_').then_some(self.text),
        }
    }

    /// Whether it is that word, in any case.
    pub(super) fn is_word(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word)
    }

    /// The number that it is.
    pub(super) fn number(&self) -> Option<f64> {
        let is_number = self.text.starts_with(|sign: char| sign.is_ascii_digit());
        if is_number { self.text.parse().ok() } else { None }
    }

    /// The text that it is, without quotes; none for anything but a literal.
    pub(super) fn literal(&self) -> Option<String> {
        let inner = self.text.strip_prefix('\'')?;
        Some(inner.strip_suffix('\'').unwrap_or(inner).replace("''", "'"))
    }
}

/// What a query consists of, in its order, without spaces and comments.
pub(super) fn tokens(query: &str) -> Vec<QueryToken<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = query.get(at..)
        && let Some(first) = rest.chars().next()
    {
        let length = token_length(rest, first);
        let text = &rest[..length];
        let is_comment = text.starts_with("--") || text.starts_with("/*");
        if !first.is_whitespace() && !is_comment {
            tokens.push(QueryToken { place: at..at + length, text });
        }
        at += length;
    }
    tokens
}

/// The length of what begins a text, of which this is the first character.
pub(super) fn token_length(text: &str, first: char) -> usize {
    let (end, open) = match first {
        '\'' | '"' | '`' => (first.to_string(), 1),
        '[' => ("]".to_owned(), 1),
        '-' if text.starts_with("--") => ("\n".to_owned(), 2),
        '/' if text.starts_with("/*") => ("*/".to_owned(), 2),
        '0'..='9' => {
            let is_digit = |sign: char| sign.is_ascii_digit() || matches!(sign, '.' | 'e' | 'E');
            return text.find(|sign| !is_digit(sign)).unwrap_or(text.len());
        }
        first if is_word_sign(first) => {
            return text.find(|sign| !is_word_sign(sign)).unwrap_or(text.len());
        }
        first => return first.len_utf8(),
    };
    let mut at = open;
    loop {
        let Some(found) = text[at..].find(&end) else { return text.len() };
        at += found + end.len();
        // A quote that is doubled is one within the text.
        let is_doubled = matches!(first, '\'' | '"' | '`') && text[at..].starts_with(first);
        if !is_doubled {
            return at;
        }
        at += end.len();
    }
}

/// Whether a character may be part of a name without quotes.
pub(super) fn is_word_sign(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

/// The place of the bracket that closes the one at `open`.
pub(super) fn closing(tokens: &[QueryToken<'_>], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    (open..tokens.len()).find(|place| {
        match tokens.get(*place).map(|token| token.text) {
            Some("(") => depth += 1,
            Some(")") => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })
}

/// The place of the bracket that the one at `close` closes.
pub(super) fn opening(tokens: &[QueryToken<'_>], close: usize) -> Option<usize> {
    let mut depth = 0_usize;
    (0..=close).rev().find(|place| {
        match tokens.get(*place).map(|token| token.text) {
            Some(")") => depth += 1,
            Some("(") => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })
}
