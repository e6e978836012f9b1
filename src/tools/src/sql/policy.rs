//! What a query may read and call.

use std::collections::BTreeSet;
use std::fmt;

use antiphon_core::Fault;

use super::dialect::SqlDialect;
use super::{fault, functions};

/// The name of a table or view with its schema, folded as the dialect folds names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableName {
    /// The schema, such as `public`; `main` in SQLite.
    pub schema: String,
    /// The table or view.
    pub table: String,
}

impl TableName {
    /// A name without folding.
    pub fn new(schema: impl Into<String>, table: impl Into<String>) -> Self {
        Self { schema: schema.into(), table: table.into() }
    }

    /// Reads `table`, `schema.table` or `"Schema"."Table"` as a query would.
    ///
    /// # Errors
    /// A `Validation` fault `tool_setting_invalid` that names the text.
    pub fn parse(text: &str, dialect: SqlDialect, default_schema: &str) -> Result<Self, Fault> {
        let parts = split_name(text).ok_or_else(|| fault::bad_table_name(text))?;
        let mut names = parts.into_iter().map(|(name, quoted)| dialect.fold(&name, quoted));
        match (names.next(), names.next(), names.next()) {
            (Some(table), None, _) => Ok(Self::new(default_schema, table)),
            (Some(schema), Some(table), None) => Ok(Self::new(schema, table)),
            _ => Err(fault::bad_table_name(text)),
        }
    }

    /// Reads what [`TableName::short`] has written.
    pub(super) fn listed(text: &str, default_schema: &str) -> Self {
        let (schema, table) = text.split_once('.').unwrap_or((default_schema, text));
        Self::new(schema, table)
    }

    /// The name as a model writes it: without the schema if that is the default one.
    pub fn short(&self, default_schema: &str) -> String {
        if self.schema == default_schema { self.table.clone() } else { self.to_string() }
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.schema, self.table)
    }
}

/// The parts of a name between dots, each with whether it was quoted.
fn split_name(text: &str) -> Option<Vec<(String, bool)>> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    loop {
        let after = if let Some(quoted) = rest.strip_prefix('"') {
            let (name, after) = quoted.split_once('"')?;
            parts.push((name.to_owned(), true));
            after
        } else {
            let end = rest.find('.').unwrap_or(rest.len());
            let (name, after) = rest.split_at_checked(end)?;
            parts.push((name.to_owned(), false));
            after
        };
        let is_empty = parts.last().is_none_or(|(name, _)| name.is_empty());
        if is_empty || (!after.is_empty() && !after.starts_with('.')) {
            return None;
        }
        match after.strip_prefix('.') {
            Some(next) => rest = next,
            None => return Some(parts),
        }
    }
}

/// What a query may read and call. The default allows every table outside of the system
/// catalogues, and the functions that neither write, wait, nor leave the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryPolicy {
    dialect: SqlDialect,
    default_schema: String,
    tables: Option<BTreeSet<TableName>>,
    functions: BTreeSet<String>,
    system_tables: bool,
}

impl QueryPolicy {
    /// All tables except those of the system.
    pub fn new(dialect: SqlDialect) -> Self {
        Self {
            dialect,
            default_schema: dialect.default_schema().to_owned(),
            tables: None,
            functions: BTreeSet::new(),
            system_tables: false,
        }
    }

    /// Sets the schema of names without one.
    #[must_use]
    pub fn default_schema(mut self, schema: &str) -> Self {
        schema.clone_into(&mut self.default_schema);
        self
    }

    /// Allows only these tables and views, written as in a query. A view may read tables that are
    /// not in the list.
    ///
    /// # Errors
    /// A `Validation` fault `tool_setting_invalid`: the list is empty, or a name is malformed.
    pub fn tables<S: AsRef<str>>(mut self, names: &[S]) -> Result<Self, Fault> {
        if names.is_empty() {
            return Err(fault::no_tables());
        }
        let read = |name: &S| TableName::parse(name.as_ref(), self.dialect, &self.default_schema);
        self.tables = Some(names.iter().map(read).collect::<Result<_, _>>()?);
        Ok(self)
    }

    /// Allows further functions, such as those of an extension; `schema.name` for one that is not
    /// on the search path.
    #[must_use]
    pub fn functions<S: AsRef<str>>(mut self, names: &[S]) -> Self {
        self.functions.extend(names.iter().map(|name| name.as_ref().to_ascii_lowercase()));
        self
    }

    /// Allows the system catalogues, such as `information_schema` and `sqlite_schema`.
    #[must_use]
    pub const fn system_tables(mut self, allow: bool) -> Self {
        self.system_tables = allow;
        self
    }

    /// The dialect that queries are written in.
    pub const fn dialect(&self) -> SqlDialect {
        self.dialect
    }

    /// The schema of names without one.
    pub fn schema(&self) -> &str {
        &self.default_schema
    }

    /// Whether a query may read this table or view.
    pub fn allows_table(&self, table: &TableName) -> bool {
        match &self.tables {
            Some(tables) => tables.contains(table),
            None => self.system_tables || !is_system_table(self.dialect, table),
        }
    }

    /// Whether a query may call this function, by its folded name.
    pub fn allows_function(&self, name: &str) -> bool {
        functions::is_harmless(self.dialect, name) || self.functions.contains(name)
    }

    /// Whether a query may read the rows of this function.
    pub fn allows_table_function(&self, name: &str) -> bool {
        functions::is_harmless_table(self.dialect, name) || self.functions.contains(name)
    }

    /// The allowed tables, in the order of their names; `None` for all.
    pub const fn allowed_tables(&self) -> Option<&BTreeSet<TableName>> {
        self.tables.as_ref()
    }
}

/// Whether a table belongs to the system, or is a built-in virtual table.
fn is_system_table(dialect: SqlDialect, name: &TableName) -> bool {
    match dialect {
        SqlDialect::Postgres => {
            // Also tables without a schema: `pg_catalog` precedes every search path.
            name.schema.starts_with("pg_")
                || name.schema == "information_schema"
                || name.table.starts_with("pg_")
        }
        SqlDialect::Sqlite => {
            const BUILT_IN: &[&str] = &[
                "dbstat",
                "bytecode",
                "tables_used",
                "completion",
                "fsdir",
                "zipfile",
                "csv",
                "json_each",
                "json_tree",
                "generate_series",
                "carray",
                "wholenumber",
            ];
            name.schema == "temp"
                || name.table.starts_with("sqlite_")
                || name.table.starts_with("pragma_")
                || BUILT_IN.contains(&name.table.as_str())
        }
    }
}
