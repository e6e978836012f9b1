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
}

/// What a query consists of, without spaces and comments.
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
        first if is_word_sign(first) => {
            return text.find(|sign| !is_word_sign(sign)).unwrap_or(text.len());
        }
        first => return first.len_utf8(),
    };
    text[open..].find(&end).map_or(text.len(), |at| open + at + end.len())
}

/// Whether a character may be part of a name without quotes.
pub(super) fn is_word_sign(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}
