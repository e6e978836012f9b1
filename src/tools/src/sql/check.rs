//! What a statement may consist of.
//!
//! A query is read into tokens and written again from these, without comments and with plain
//! quoting: the canonical text. Only this text is parsed, checked and executed, so whatever a
//! comment or an unusual quotation means to one parser and not to another is gone. The syntax
//! tree is then compared with lists of what is allowed; what is on no list is refused.

use std::collections::BTreeSet;
use std::thread;

use antiphon_core::{Fault, FaultCode};
use sqlparser::ast::{Statement, Visit};
use sqlparser::parser::Parser;

use super::fault;
use super::parameters::ParameterKey;
use super::policy::{QueryPolicy, TableName};

mod canonical;
mod clauses;
mod expressions;
mod scopes;
mod visitor;

use canonical::CanonicalQuery;
use visitor::QueryVisitor;

/// The longest query in bytes.
const LONGEST: usize = 20_000;

/// The deepest nesting of parentheses and subqueries that is parsed.
const DEEPEST: usize = 60;

/// What statements begin with that ask for the schema.
const SCHEMA_WORDS: [&str; 4] = ["PRAGMA", "DESCRIBE", "DESC", "SHOW"];

/// A chain of operators nests the tree once for each, which the depth of parentheses does not
/// bound; the tree is therefore walked and dropped on a stack that holds [`LONGEST`] of them.
const STACK: usize = 256 << 20;

/// A query that may be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedQuery {
    text: String,
    parameters: Vec<ParameterKey>,
    tables: BTreeSet<TableName>,
}

impl CheckedQuery {
    /// A query of the host's own code, of which no part is checked: only the connection keeps it
    /// from writing. Never pass a text to it that a model or a user had a part in.
    pub fn trusted(text: impl Into<String>) -> Self {
        Self { text: text.into(), parameters: Vec::new(), tables: BTreeSet::new() }
    }

    /// The canonical text, which is what the database executes.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The values that its placeholders stand for, in the order in which they are bound.
    pub fn parameters(&self) -> &[ParameterKey] {
        &self.parameters
    }

    /// The tables and views that it reads.
    pub const fn tables(&self) -> &BTreeSet<TableName> {
        &self.tables
    }
}

/// Checks each part of a query against the policy.
///
/// ```
/// use antiphon_tools::sql::{QueryPolicy, SqlDialect, check};
/// let policy = QueryPolicy::new(SqlDialect::Sqlite).tables(&["cities"])?;
/// let query = check("select name from cities -- all of them", &policy)?;
/// assert_eq!(query.text(), "select name from cities");
/// assert_eq!(check("delete from cities", &policy).unwrap_err().code, "query_refused");
/// assert_eq!(check("select * from staff", &policy).unwrap_err().code, "query_table_forbidden");
/// # Ok::<(), antiphon_core::Fault>(())
/// ```
///
/// # Errors
/// A `Policy` fault `query_refused` or `query_table_forbidden`.
pub fn check(sql: &str, policy: &QueryPolicy) -> Result<CheckedQuery, Fault> {
    if sql.len() > LONGEST {
        let what = format!("it has more bytes than {LONGEST}: {}", sql.len());
        return Err(fault::refused("size", &what));
    }
    let failed = |problem: &str| {
        Fault::new(FaultCode::QueryFailed, format!("the query cannot be checked: {problem}"))
            .hint("stop some threads or processes")
    };
    thread::scope(|scope| {
        let worker = thread::Builder::new()
            .name("antiphon-sql-check".to_owned())
            .stack_size(STACK)
            .spawn_scoped(scope, || checked(sql, policy))
            .map_err(|error| failed(&error.to_string()))?;
        // A panic of the parser must not end the process; the query is not executed.
        worker.join().unwrap_or_else(|_| Err(failed("the parser panicked")))
    })
}

fn checked(sql: &str, policy: &QueryPolicy) -> Result<CheckedQuery, Fault> {
    let dialect = policy.dialect();
    let CanonicalQuery { text, parameters } = canonical::rewrite(sql, dialect)?;
    let word = text.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
    if SCHEMA_WORDS.contains(&word.as_str()) {
        return Err(fault::asks_for_schema(&word));
    }
    let parser = dialect.parser();
    let statements = Parser::new(parser.as_ref())
        .with_recursion_limit(DEEPEST)
        .try_with_sql(&text)
        .and_then(|mut parser| parser.parse_statements())
        .map_err(|error| fault::unparsed(dialect.name(), &error.to_string()))?;
    let query = match statements.as_slice() {
        [Statement::Query(query)] => query,
        [] => return Err(fault::refused("empty", "it is empty")),
        [other] => {
            let what = if matches!(other, Statement::Explain { .. }) {
                "EXPLAIN is not a SELECT".to_owned()
            } else {
                format!("it is not a SELECT but: {word}")
            };
            return Err(fault::refused("statement", &what));
        }
        many => {
            let what = format!("it consists of more than one statement: {}", many.len());
            return Err(fault::refused("statements", &what));
        }
    };
    let mut visitor = QueryVisitor::new(policy);
    if let std::ops::ControlFlow::Break(fault) = query.visit(&mut visitor) {
        return Err(*fault);
    }
    let tables = visitor.into_tables();
    Ok(CheckedQuery { text, parameters, tables })
}
