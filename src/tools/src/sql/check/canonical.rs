//! The canonical text of a query: its tokens, without comments and with plain quoting.

use antiphon_core::Fault;
use sqlparser::tokenizer::{Token, Tokenizer, Whitespace, Word};

use crate::sql::dialect::SqlDialect;
use crate::sql::fault;
use crate::sql::parameters::ParameterKey;

/// The canonical text and its placeholders.
pub(super) struct CanonicalQuery {
    pub(super) text: String,
    pub(super) parameters: Vec<ParameterKey>,
}

/// Reads a query into tokens and writes these.
pub(super) fn rewrite(sql: &str, dialect: SqlDialect) -> Result<CanonicalQuery, Fault> {
    if let Some(character) =
        sql.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
    {
        let what = format!("it contains a control character: {}", character.escape_default());
        return Err(fault::refused("character", &what));
    }
    let parser = dialect.parser();
    let tokens = Tokenizer::new(parser.as_ref(), sql)
        .tokenize()
        .map_err(|error| fault::unparsed(dialect.name(), &error.to_string()))?;
    let mut writer = TokenWriter::new(dialect);
    let mut tokens = without_last_semicolon(&tokens).iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            Token::Whitespace(space) => writer.space(space)?,
            Token::Colon | Token::AtSign if writer.brackets == 0 => match tokens.peek() {
                Some(Token::Word(word)) if word.quote_style.is_none() => {
                    tokens.next();
                    writer.placeholder(ParameterKey::Name(word.value.clone()))?;
                }
                _ => writer.token(token)?,
            },
            token => writer.token(token)?,
        }
    }
    Ok(CanonicalQuery { text: writer.text, parameters: writer.parameters })
}

fn without_last_semicolon(tokens: &[Token]) -> &[Token] {
    let is_end = |token: &Token| matches!(token, Token::Whitespace(_) | Token::EOF);
    let last = tokens.iter().rposition(|token| !is_end(token));
    match last.and_then(|last| tokens.split_at_checked(last)) {
        Some((before, [Token::SemiColon, ..])) => before,
        _ => tokens,
    }
}

/// Whether no space is needed on the side of this token that is next to another one.
fn is_separate(token: &Token) -> bool {
    matches!(
        token,
        Token::LParen | Token::RParen | Token::Comma | Token::LBracket | Token::RBracket
    )
}

struct TokenWriter {
    dialect: SqlDialect,
    text: String,
    parameters: Vec<ParameterKey>,
    /// The token before, and whether a space or comment follows it.
    last: Option<Token>,
    spaced: bool,
    /// The number of square brackets that are open: a colon between them is that of a slice.
    brackets: usize,
}

impl TokenWriter {
    const fn new(dialect: SqlDialect) -> Self {
        let parameters = Vec::new();
        let text = String::new();
        Self { dialect, text, parameters, last: None, spaced: false, brackets: 0 }
    }

    /// A comment becomes a space. `MySQL`'s `/*! … */` is executed there, and `MariaDB`'s
    /// `/*M! … */`; nobody writes them for another database.
    fn space(&mut self, space: &Whitespace) -> Result<(), Fault> {
        if let Whitespace::MultiLineComment(comment) = space
            && (comment.starts_with('!') || comment.starts_with("M!"))
        {
            return Err(fault::refused("comment", "it contains an executable comment"));
        }
        self.spaced = true;
        Ok(())
    }

    fn token(&mut self, token: &Token) -> Result<(), Fault> {
        if self.dialect.is_special_literal(token) {
            let what = format!("it contains a literal with special quoting: {token}");
            let fault = fault::refused("literal", &what);
            return Err(fault.hint("write texts in single quotes, with '' for a quote within"));
        }
        match token {
            Token::EOF => Ok(()),
            Token::SemiColon => {
                Err(fault::refused("statements", "it consists of more than one statement"))
            }
            Token::Word(word) => {
                let text = self.word(word)?;
                self.write(token, &text);
                Ok(())
            }
            Token::SingleQuotedString(text) => {
                self.write(token, &quoted(text, '\''));
                Ok(())
            }
            Token::HexStringLiteral(digits) if digits.chars().all(|c| c.is_ascii_hexdigit()) => {
                self.write(token, &format!("X'{digits}'"));
                Ok(())
            }
            Token::Placeholder(text) => self.placeholder(self.key(text)?),
            Token::Backslash
            | Token::CustomBinaryOperator(_)
            | Token::Char(_)
            | Token::HexStringLiteral(_)
            | Token::LBrace
            | Token::RBrace => {
                let what = format!("it contains characters that have no meaning here: {token}");
                Err(fault::refused("token", &what))
            }
            other => {
                self.brackets = match other {
                    Token::LBracket => self.brackets + 1,
                    Token::RBracket => self.brackets.saturating_sub(1),
                    _ => self.brackets,
                };
                let text = other.to_string();
                self.write(other, &text);
                Ok(())
            }
        }
    }

    fn word(&self, word: &Word) -> Result<String, Fault> {
        if word.value.len() > self.dialect.longest_identifier() {
            let what = format!("a name in it is too long: {}", word.value);
            return Err(fault::refused("identifier", &what));
        }
        match word.quote_style {
            None => Ok(word.value.clone()),
            Some('"' | '`' | '[') if !word.value.is_empty() => Ok(quoted(&word.value, '"')),
            Some(_) => {
                let what = format!("a name in it has unusual quotes: {word}");
                Err(fault::refused("identifier", &what))
            }
        }
    }

    /// What a placeholder of the tokenizer stands for.
    fn key(&self, text: &str) -> Result<ParameterKey, Fault> {
        let name = text.trim_start_matches(['?', '$']);
        if name.is_empty() && text == "?" {
            return Ok(ParameterKey::Position(self.parameters.len() + 1));
        }
        if let Ok(position) = name.parse::<usize>()
            && (1..=999).contains(&position)
        {
            return Ok(ParameterKey::Position(position));
        }
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if text.starts_with('$') && is_name {
            return Ok(ParameterKey::Name(name.to_owned()));
        }
        Err(fault::refused("placeholder", &format!("a placeholder in it is malformed: {text}")))
    }

    /// Writes the database's own form of a placeholder: `?1` or `$1`.
    fn placeholder(&mut self, key: ParameterKey) -> Result<(), Fault> {
        let known = self.parameters.iter().position(|other| *other == key);
        let mixed =
            |other: &ParameterKey| std::mem::discriminant(other) != std::mem::discriminant(&key);
        if self.parameters.iter().any(mixed) {
            let what = "its placeholders are partly numbered and partly named";
            return Err(fault::refused("placeholder", what));
        }
        let index = known.unwrap_or_else(|| {
            self.parameters.push(key);
            self.parameters.len() - 1
        });
        let sign = if self.dialect == SqlDialect::Sqlite { '?' } else { '$' };
        let text = format!("{sign}{}", index + 1);
        self.write(&Token::Placeholder(text.clone()), &text);
        Ok(())
    }

    fn write(&mut self, token: &Token, text: &str) {
        let is_dot = |other: &Token| *other == Token::Period;
        let is_word = |other: &Token| matches!(other, Token::Word(_));
        let space = match &self.last {
            None => false,
            Some(last) if is_dot(last) => !(is_word(token) || *token == Token::Mul),
            Some(last) if is_dot(token) => !(is_word(last) || *last == Token::RParen),
            Some(last) if is_separate(last) || is_separate(token) => self.spaced,
            Some(_) => true,
        };
        if space {
            self.text.push(' ');
        }
        self.text.push_str(text);
        self.last = Some(token.clone());
        self.spaced = false;
    }
}

fn quoted(text: &str, quote: char) -> String {
    let doubled = format!("{quote}{quote}");
    format!("{quote}{}{quote}", text.replace(quote, &doubled))
}
