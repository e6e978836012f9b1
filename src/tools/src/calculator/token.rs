//! The tokens of an expression.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Zero};

use super::error::{CalculationError, MathError, Span};
use super::moment::Moment;

/// The largest power of ten in a literal: `1e19000` still fits the size of numbers.
const MAX_EXPONENT: u32 = 19_000;

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind {
    Number(BigRational),
    /// A name, with the modules of Python and JavaScript cut off: `math.sqrt` is `sqrt`.
    Name(String),
    /// A zone of the IANA database, such as `Europe/Berlin`.
    Zone(String),
    Moment(Moment),
    /// An operator or a bracket, in one spelling: `×` is `*`, `**` is `^`.
    Symbol(&'static str),
    /// A raised integer, such as `²`.
    Superscript(i32),
    /// The end of a statement.
    Break,
    End,
}

/// A token with its place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) span: Span,
}

/// Operators and brackets, the longer ones first, and how the parser calls them.
const SYMBOLS: &[(&str, &str)] = &[
    ("**", "^"),
    ("//", "//"),
    ("->", "to"),
    ("==", "=="),
    ("!=", "!="),
    ("<=", "<="),
    (">=", ">="),
    ("≤", "<="),
    ("≥", ">="),
    ("≠", "!="),
    ("→", "to"),
    ("+", "+"),
    ("-", "-"),
    ("−", "-"),
    ("–", "-"),
    ("*", "*"),
    ("×", "*"),
    ("·", "*"),
    ("⋅", "*"),
    ("∗", "*"),
    ("/", "/"),
    ("÷", "/"),
    ("∕", "/"),
    ("^", "^"),
    ("%", "%"),
    ("!", "!"),
    ("(", "("),
    (")", ")"),
    ("[", "["),
    ("]", "]"),
    (",", ","),
    ("<", "<"),
    (">", ">"),
    ("=", "="),
    ("√", "√"),
];

/// Prefixes that models copy from programming languages and that say nothing here.
const MODULES: &[&str] = &["math", "Math", "statistics", "np", "numpy"];

/// The first part of the names of zones.
const AREAS: &[&str] = &[
    "Africa",
    "America",
    "Antarctica",
    "Arctic",
    "Asia",
    "Atlantic",
    "Australia",
    "Europe",
    "Indian",
    "Pacific",
    "Etc",
];

/// The tokens of an expression; the last one is [`TokenKind::End`].
pub(super) fn tokens(expression: &str) -> Result<Vec<Token>, CalculationError> {
    let mut reader = TokenReader { text: expression.chars().collect(), position: 0 };
    let mut found = Vec::new();
    loop {
        let token = reader.next()?;
        let ended = token.kind == TokenKind::End;
        found.push(token);
        if ended {
            return Ok(found);
        }
    }
}

struct TokenReader {
    text: Vec<char>,
    position: usize,
}

impl TokenReader {
    fn next(&mut self) -> Result<Token, CalculationError> {
        while self.peek(0).is_some_and(|c| c.is_whitespace() && c != '\n') {
            self.position += 1;
        }
        let start = self.position;
        let kind = self.kind().map_err(|error| {
            let end = self.position.max(start + 1);
            error.at(Span { start, end })
        })?;
        Ok(Token { kind, span: Span { start, end: self.position } })
    }

    fn kind(&mut self) -> Result<TokenKind, MathError> {
        let Some(first) = self.peek(0) else { return Ok(TokenKind::End) };
        if first == '\n' || first == ';' {
            self.position += 1;
            return Ok(TokenKind::Break);
        }
        if let Some((moment, length)) = Moment::read(self.rest())? {
            self.position += length;
            return Ok(TokenKind::Moment(moment));
        }
        if first.is_ascii_digit() || (first == '.' && self.digit_at(1)) {
            return self.number();
        }
        if is_name_start(first) {
            return Ok(self.name());
        }
        if let Some(raised) = self.superscript() {
            return Ok(TokenKind::Superscript(raised));
        }
        self.symbol(first)
    }

    fn symbol(&mut self, first: char) -> Result<TokenKind, MathError> {
        for (spelling, name) in SYMBOLS {
            if self.starts_with(spelling) {
                self.position += spelling.chars().count();
                return Ok(TokenKind::Symbol(name));
            }
        }
        let error = MathError::new("unexpected character");
        Err(match first {
            '$' | '€' | '£' | '¥' => error.hint("leave out currency signs: 1200 * 1.08"),
            '\\' => error.hint("write plain arithmetic, not LaTeX: sqrt(2) * 3/4"),
            '{' | '}' => error.hint("use ( ) to group and [ ] for lists"),
            '"' | '\'' => error.hint("write names and dates without quotes: weekday(2024-02-29)"),
            '|' => error.hint("write abs(x)"),
            '∞' => error.hint("results are finite numbers"),
            _ => error,
        })
    }

    /// A decimal number, or an integer after `0x`, `0o` or `0b`. Decimals are exact.
    fn number(&mut self) -> Result<TokenKind, MathError> {
        if self.peek(0) == Some('0') {
            let radix = match self.peek(1) {
                Some('x' | 'X') => 16,
                Some('o' | 'O') => 8,
                Some('b' | 'B') if matches!(self.peek(2), Some('0' | '1')) => 2,
                _ => 10,
            };
            if radix != 10 {
                return self.integer_of_radix(radix);
            }
        }
        let whole = self.digits();
        let mut fraction = String::new();
        if self.peek(0) == Some('.') && !self.name_at(1) {
            self.position += 1;
            fraction = self.digits();
        }
        self.refuse_separators(&whole, &fraction)?;
        let exponent = self.exponent()?;
        let scale = exponent - i64::try_from(fraction.len()).unwrap_or(i64::MAX);
        let power = u32::try_from(scale.unsigned_abs()).unwrap_or(u32::MAX);
        if power > MAX_EXPONENT || whole.len() + fraction.len() > MAX_EXPONENT as usize {
            let limit = format!("numbers have up to {MAX_EXPONENT} digits");
            return Err(MathError::new("the number is too large or too small").hint(limit));
        }
        let digits = format!("{whole}{fraction}");
        let digits: BigInt = digits.parse().unwrap_or_else(|_| BigInt::zero());
        let ten = BigInt::from(10).pow(power);
        Ok(TokenKind::Number(if scale < 0 {
            BigRational::new(digits, ten)
        } else {
            BigRational::new(digits * ten, BigInt::one())
        }))
    }

    /// Refuses what would be read as another number: `1,000` and `1.000.000`.
    fn refuse_separators(&self, whole: &str, fraction: &str) -> Result<(), MathError> {
        let separators = || {
            let hint = "write 1234567.89: no separators of thousands, a point before decimals";
            MathError::new("a number with separators").hint(hint)
        };
        if self.peek(0) == Some('.') && self.digit_at(1) && !fraction.is_empty() {
            return Err(separators());
        }
        let after_comma = self.position > whole.len()
            && fraction.is_empty()
            && self.text.get(self.position - whole.len() - 1) == Some(&',');
        if after_comma && whole.len() == 3 && whole.starts_with('0') {
            return Err(separators());
        }
        Ok(())
    }

    fn integer_of_radix(&mut self, radix: u32) -> Result<TokenKind, MathError> {
        self.position += 2;
        let start = self.position;
        while self.peek(0).is_some_and(|c| c.is_ascii_alphanumeric()) {
            self.position += 1;
        }
        let digits = self.since(start);
        match BigInt::parse_bytes(digits.as_bytes(), radix) {
            Some(value) => Ok(TokenKind::Number(value.into())),
            None => Err(MathError::new(format!("not an integer to the base {radix}"))),
        }
    }

    /// Digits, with `_` between them.
    fn digits(&mut self) -> String {
        let mut found = String::new();
        while let Some(c) = self.peek(0) {
            match c {
                '0'..='9' => found.push(c),
                '_' if !found.is_empty() && self.digit_at(1) => {}
                _ => break,
            }
            self.position += 1;
        }
        found
    }

    /// The exponent of `1.5e-3`; 0 if there is none, as in `2e` and `2 e`.
    fn exponent(&mut self) -> Result<i64, MathError> {
        if !matches!(self.peek(0), Some('e' | 'E')) {
            return Ok(0);
        }
        let signed = matches!(self.peek(1), Some('+' | '-' | '−'));
        if !self.digit_at(1 + usize::from(signed)) {
            return Ok(0);
        }
        let negative = matches!(self.peek(1), Some('-' | '−'));
        self.position += 1 + usize::from(signed);
        let digits = self.digits();
        let size: i64 = digits.parse().map_err(|_| MathError::new("the exponent is too large"))?;
        Ok(if negative { -size } else { size })
    }

    fn name(&mut self) -> TokenKind {
        let mut name = self.name_part();
        if MODULES.contains(&name.as_str()) && self.peek(0) == Some('.') && self.name_at(1) {
            self.position += 1;
            name = self.name_part();
        }
        if AREAS.contains(&name.as_str()) && self.peek(0) == Some('/') {
            while self.peek(0) == Some('/') && self.name_at(1) {
                name.push('/');
                self.position += 1;
                name.push_str(&self.zone_part());
            }
            return TokenKind::Zone(name);
        }
        TokenKind::Name(name)
    }

    fn name_part(&mut self) -> String {
        let start = self.position;
        while self.peek(0).is_some_and(|c| is_name_start(c) || c.is_ascii_digit()) {
            self.position += 1;
        }
        self.since(start)
    }

    fn zone_part(&mut self) -> String {
        let start = self.position;
        while self.peek(0).is_some_and(|c| c.is_ascii_alphanumeric() || "_-+".contains(c)) {
            self.position += 1;
        }
        self.since(start)
    }

    fn superscript(&mut self) -> Option<i32> {
        let start = self.position;
        let negative = self.peek(0) == Some('⁻');
        self.position += usize::from(negative);
        let mut value: i32 = 0;
        let first = self.position;
        while let Some(digit) = self.peek(0).and_then(raised_digit) {
            value = value.saturating_mul(10).saturating_add(digit);
            self.position += 1;
        }
        if self.position == first {
            self.position = start;
            return None;
        }
        Some(if negative { -value } else { value })
    }

    fn since(&self, start: usize) -> String {
        self.text.get(start..self.position).unwrap_or_default().iter().collect()
    }

    fn rest(&self) -> &[char] {
        self.text.get(self.position..).unwrap_or_default()
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.position + ahead).copied()
    }

    fn digit_at(&self, ahead: usize) -> bool {
        self.peek(ahead).is_some_and(|c| c.is_ascii_digit())
    }

    fn name_at(&self, ahead: usize) -> bool {
        self.peek(ahead).is_some_and(is_name_start)
    }

    fn starts_with(&self, spelling: &str) -> bool {
        spelling.chars().enumerate().all(|(ahead, c)| self.peek(ahead) == Some(c))
    }
}

/// Letters, and the signs that are names of units: `°C`, `µm`, `″`.
fn is_name_start(c: char) -> bool {
    c.is_alphabetic() && raised_digit(c).is_none() || matches!(c, '_' | '°' | '′' | '″')
}

fn raised_digit(c: char) -> Option<i32> {
    "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().zip(0..).find_map(|(raised, digit)| (raised == c).then_some(digit))
}
