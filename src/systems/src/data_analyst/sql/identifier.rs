//! Names of tables and columns in queries.

use std::borrow::Cow;

/// Words that no query may have as a name without quotes.
const RESERVED: &str = "all and as between by case check column create cross default delete desc \
                        distinct drop else end except exists foreign from full group having in \
                        index inner insert intersect into is join key left like limit natural not \
                        null offset on or order outer primary references right select set table \
                        then to union unique update user using values when where with";

/// Whether a name means something else without quotes.
pub(super) fn is_reserved(name: &str) -> bool {
    RESERVED.split_whitespace().any(|word| word.eq_ignore_ascii_case(name))
}

/// A name in quotes.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A table, perhaps with its schema, in quotes.
pub(super) fn quoted_table(name: &str) -> String {
    name.split('.').map(quoted).collect::<Vec<_>>().join(".")
}

/// How names are written in a dialect.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdentifierStyle {
    /// Whether a name without quotes means the same in lower case.
    folds_case: bool,
}

impl IdentifierStyle {
    pub(super) fn of(dialect: &str) -> Self {
        Self { folds_case: dialect == "PostgreSQL" }
    }

    /// A name as a query has to have it: in quotes if it needs them.
    pub(super) fn name(self, name: &str) -> Cow<'_, str> {
        let is_letter = |sign: char| {
            sign.is_ascii_lowercase()
                || sign == '_'
                || sign.is_ascii_uppercase() && !self.folds_case
        };
        let is_word = name.chars().all(|sign| is_letter(sign) || sign.is_ascii_digit());
        if is_word && name.starts_with(is_letter) && !is_reserved(name) {
            return Cow::Borrowed(name);
        }
        Cow::Owned(quoted(name))
    }

    /// Whether a column has that name, as an error gives it.
    pub(super) fn is_same(self, column: &str, given: &str) -> bool {
        if self.folds_case { column == given } else { column.eq_ignore_ascii_case(given) }
    }

    /// A table, perhaps with its schema.
    pub(super) fn table(self, name: &str) -> String {
        name.split('.').map(|part| self.name(part)).collect::<Vec<_>>().join(".")
    }
}
