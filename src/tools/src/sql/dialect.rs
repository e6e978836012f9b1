//! The two dialects of SQL.

use std::fmt;

use sqlparser::dialect::{Dialect, PostgreSqlDialect, SQLiteDialect};
use sqlparser::tokenizer::Token;

/// A dialect of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SqlDialect {
    /// SQLite's.
    Sqlite,
    /// PostgreSQL's.
    Postgres,
}

impl SqlDialect {
    /// The name for a reader, such as `PostgreSQL`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        }
    }

    /// The schema of names without one.
    pub const fn default_schema(self) -> &'static str {
        match self {
            Self::Sqlite => "main",
            Self::Postgres => "public",
        }
    }

    pub(super) fn parser(self) -> Box<dyn Dialect> {
        match self {
            Self::Sqlite => Box::new(SQLiteDialect {}),
            Self::Postgres => Box::new(PostgreSqlDialect {}),
        }
    }

    /// The name that an identifier stands for: PostgreSQL folds unquoted ones to lower case,
    /// SQLite ignores the case of all.
    pub(super) fn fold(self, name: &str, quoted: bool) -> String {
        match self {
            Self::Postgres if quoted => name.to_owned(),
            Self::Postgres | Self::Sqlite => name.to_ascii_lowercase(),
        }
    }

    /// The longest identifier in bytes. PostgreSQL cuts longer ones, so that two different names
    /// may be the same table.
    pub(super) const fn longest_identifier(self) -> usize {
        match self {
            Self::Sqlite => 255,
            Self::Postgres => 63,
        }
    }

    /// Whether a token is a literal whose escapes differ from those of plain strings, for which
    /// parsers disagree most often.
    pub(super) const fn is_special_literal(self, token: &Token) -> bool {
        match token {
            Token::HexStringLiteral(_) => matches!(self, Self::Postgres),
            Token::DoubleQuotedString(_)
            | Token::TripleSingleQuotedString(_)
            | Token::TripleDoubleQuotedString(_)
            | Token::DollarQuotedString(_)
            | Token::SingleQuotedByteStringLiteral(_)
            | Token::DoubleQuotedByteStringLiteral(_)
            | Token::TripleSingleQuotedByteStringLiteral(_)
            | Token::TripleDoubleQuotedByteStringLiteral(_)
            | Token::SingleQuotedRawStringLiteral(_)
            | Token::DoubleQuotedRawStringLiteral(_)
            | Token::TripleSingleQuotedRawStringLiteral(_)
            | Token::TripleDoubleQuotedRawStringLiteral(_)
            | Token::NationalStringLiteral(_)
            | Token::QuoteDelimitedStringLiteral(_)
            | Token::NationalQuoteDelimitedStringLiteral(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_) => true,
            _ => false,
        }
    }
}

impl fmt::Display for SqlDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
