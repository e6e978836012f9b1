//! Cuts text that is meant to be JSON into tokens. What is inside quotes is
//! one token, so nothing in it can pass for a comment, a colon or a bracket.

/// A kind of bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bracket {
    /// `{` and `}`.
    Brace,
    /// `[` and `]`.
    Square,
}

/// A token. White space and comments are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonToken<'a> {
    Open(Bracket),
    Close(Bracket),
    Colon,
    Comma,
    /// What stands between two equal quotes, escapes untouched.
    Quoted {
        body: &'a str,
        /// False when the text ends before the second quote.
        closed: bool,
    },
    /// A run of letters, digits and `_ $ + - .`.
    Word(&'a str),
    /// A character that has no place outside quotes.
    Stray,
}

/// A token and its place, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpannedJsonToken<'a> {
    pub(crate) token: JsonToken<'a>,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// The tokens of a text, from left to right, in linear time.
#[derive(Clone, Debug)]
pub(crate) struct JsonTokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> JsonTokens<'a> {
    /// Starts at byte `at`, which is a character boundary.
    pub(crate) const fn new(text: &'a str, at: usize) -> Self {
        Self { text, at }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let inked = rest.trim_start_matches(is_blank);
            self.at += rest.len() - inked.len();
            match comment(inked) {
                0 => return,
                length => self.at += length,
            }
        }
    }
}

impl<'a> Iterator for JsonTokens<'a> {
    type Item = SpannedJsonToken<'a>;

    fn next(&mut self) -> Option<SpannedJsonToken<'a>> {
        self.skip_blanks();
        let start = self.at;
        let rest = self.rest();
        let first = rest.chars().next()?;
        let (token, length) = match first {
            '{' => (JsonToken::Open(Bracket::Brace), 1),
            '}' => (JsonToken::Close(Bracket::Brace), 1),
            '[' => (JsonToken::Open(Bracket::Square), 1),
            ']' => (JsonToken::Close(Bracket::Square), 1),
            ':' => (JsonToken::Colon, 1),
            ',' => (JsonToken::Comma, 1),
            '"' | '\'' => quoted(rest, first),
            _ => match word(rest) {
                "" => (JsonToken::Stray, first.len_utf8()),
                word => (JsonToken::Word(word), word.len()),
            },
        };
        self.at += length;
        Some(SpannedJsonToken { token, start, end: self.at })
    }
}

/// White space, and the byte order mark that some models start with.
pub(crate) fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

/// The word that `text` starts with; empty for none.
pub(crate) fn word(text: &str) -> &str {
    let end =
        text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$' | '+' | '-' | '.')));
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// The length of the comment that `text` starts with; 0 for none.
fn comment(text: &str) -> usize {
    if text.starts_with('#') || text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    match text.strip_prefix("/*") {
        Some(inside) => inside.find("*/").map_or(text.len(), |end| end + 4),
        None => 0,
    }
}

/// The quoted token that `text` starts with, and its length with the quotes.
fn quoted(text: &str, quote: char) -> (JsonToken<'_>, usize) {
    let inside = text.get(1..).unwrap_or_default();
    let mut escaped = false;
    for (at, byte) in inside.bytes().enumerate() {
        if escaped {
            escaped = false;
        } else if byte == b'\\' {
            escaped = true;
        } else if char::from(byte) == quote {
            let body = inside.get(..at).unwrap_or_default();
            return (JsonToken::Quoted { body, closed: true }, at + 2);
        }
    }
    (JsonToken::Quoted { body: inside, closed: false }, text.len())
}
