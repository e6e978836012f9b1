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
pub(crate) enum Token<'a> {
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
pub(crate) struct SpannedToken<'a> {
    pub(crate) token: Token<'a>,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// The tokens of a text, from left to right, in linear time.
#[derive(Clone, Debug)]
pub(crate) struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
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

impl<'a> Iterator for Tokens<'a> {
    type Item = SpannedToken<'a>;

    fn next(&mut self) -> Option<SpannedToken<'a>> {
        self.skip_blanks();
        let start = self.at;
        let rest = self.rest();
        let first = rest.chars().next()?;
        let (token, length) = match first {
            '{' => (Token::Open(Bracket::Brace), 1),
            '}' => (Token::Close(Bracket::Brace), 1),
            '[' => (Token::Open(Bracket::Square), 1),
            ']' => (Token::Close(Bracket::Square), 1),
            ':' => (Token::Colon, 1),
            ',' => (Token::Comma, 1),
            '"' | '\'' => quoted(rest, first),
            _ => match word(rest) {
                "" => (Token::Stray, first.len_utf8()),
                word => (Token::Word(word), word.len()),
            },
        };
        self.at += length;
        Some(SpannedToken { token, start, end: self.at })
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
fn quoted(text: &str, quote: char) -> (Token<'_>, usize) {
    let inside = text.get(1..).unwrap_or_default();
    let mut escaped = false;
    for (at, byte) in inside.bytes().enumerate() {
        if escaped {
            escaped = false;
        } else if byte == b'\\' {
            escaped = true;
        } else if char::from(byte) == quote {
            let body = inside.get(..at).unwrap_or_default();
            return (Token::Quoted { body, closed: true }, at + 2);
        }
    }
    (Token::Quoted { body: inside, closed: false }, text.len())
}
