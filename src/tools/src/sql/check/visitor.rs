//! The walk over the syntax tree.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use antiphon_core::Fault;
use sqlparser::ast::{
    Expr, Function, Ident, ObjectName, ObjectNamePart, Query, Select, Statement, TableFactor,
    Visitor,
};

use super::clauses;
use super::expressions;
use super::scopes::CteScopes;
use crate::sql::dialect::SqlDialect;
use crate::sql::fault;
use crate::sql::policy::{QueryPolicy, TableName};

/// The most queries, subqueries included.
const MOST_QUERIES: usize = 100;

/// Compares each part of a query with what is allowed, and collects the tables.
pub(super) struct QueryVisitor<'p> {
    policy: &'p QueryPolicy,
    scopes: CteScopes,
    tables: BTreeSet<TableName>,
    queries: usize,
    /// The relation of the table expression that was visited last: the tree must have no other.
    known_relation: Option<*const ObjectName>,
}

type Verdict = ControlFlow<Box<Fault>>;

fn refuse(fault: Fault) -> Verdict {
    ControlFlow::Break(Box::new(fault))
}

fn verdict(outcome: Result<(), Fault>) -> Verdict {
    outcome.map_or_else(refuse, ControlFlow::Continue)
}

impl<'p> QueryVisitor<'p> {
    pub(super) fn new(policy: &'p QueryPolicy) -> Self {
        let scopes = CteScopes::new(policy.dialect());
        Self { policy, scopes, tables: BTreeSet::new(), queries: 0, known_relation: None }
    }

    pub(super) fn into_tables(self) -> BTreeSet<TableName> {
        self.tables
    }

    fn table(&mut self, name: &ObjectName) -> Result<(), Fault> {
        let parts = self.folded(name)?;
        let table = match parts.as_slice() {
            [table] if self.scopes.contains(table) => return Ok(()),
            [table] => TableName::new(self.policy.schema(), table),
            [schema, table] => TableName::new(schema, table),
            _ => {
                let what = format!("a table's name has more than two parts: {name}");
                return Err(fault::refused("table", &what));
            }
        };
        if !self.policy.allows_table(&table) {
            return Err(fault::forbidden_table(&table, self.policy));
        }
        self.tables.insert(table);
        Ok(())
    }

    fn function(&self, function: &Function) -> Result<(), Fault> {
        expressions::check_call(function)?;
        let name = self.folded(&function.name)?.join(".");
        if self.policy.allows_function(&name) || self.policy.allows_table_function(&name) {
            return Ok(());
        }
        Err(fault::forbidden_function(&name, self.policy.dialect()))
    }

    fn table_function(&self, name: &ObjectName) -> Result<(), Fault> {
        let name = self.folded(name)?.join(".");
        if self.policy.allows_table_function(&name) {
            return Ok(());
        }
        Err(fault::forbidden_function(&name, self.policy.dialect()))
    }

    fn folded(&self, name: &ObjectName) -> Result<Vec<String>, Fault> {
        let fold = |part: &ObjectNamePart| match part {
            ObjectNamePart::Identifier(ident) => {
                Ok(self.policy.dialect().fold(&ident.value, ident.quote_style.is_some()))
            }
            ObjectNamePart::Function(_) => {
                Err(fault::refused("name", &format!("a name in it is computed: {name}")))
            }
        };
        name.0.iter().map(fold).collect()
    }
}

impl Visitor for QueryVisitor<'_> {
    type Break = Box<Fault>;

    fn pre_visit_query(&mut self, query: &Query) -> Verdict {
        self.queries += 1;
        if self.queries > MOST_QUERIES {
            let what = format!("it has more subqueries than {MOST_QUERIES}");
            return refuse(fault::refused("size", &what));
        }
        self.scopes.enter(query);
        verdict(clauses::check_query(query))
    }

    fn post_visit_query(&mut self, _query: &Query) -> Verdict {
        self.scopes.leave();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> Verdict {
        verdict(clauses::check_select(select))
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> Verdict {
        let address: *const ObjectName = relation;
        if self.known_relation.take() == Some(address) {
            return ControlFlow::Continue(());
        }
        refuse(fault::refused(
            "table",
            &format!("a table is named in an unusual place: {relation}"),
        ))
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> Verdict {
        if let Err(fault) = clauses::check_table_factor(factor) {
            return refuse(fault);
        }
        match factor {
            TableFactor::Table { name, args, .. } => {
                self.known_relation = Some(name);
                let is_call = args.is_some();
                verdict(if is_call { self.table_function(name) } else { self.table(name) })
            }
            TableFactor::Function { name, .. } => verdict(self.table_function(name)),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> Verdict {
        if let Expr::Function(function) = expression {
            return verdict(self.function(function));
        }
        if matches!(expression, Expr::Extract { .. }) && self.policy.dialect() == SqlDialect::Sqlite
        {
            return refuse(fault::forbidden_function("extract", SqlDialect::Sqlite));
        }
        verdict(expressions::check_expression(expression))
    }

    /// Databases read these words as keywords wherever they stand without quotes; the parser
    /// takes some of them for names.
    fn pre_visit_ident(&mut self, name: &Ident) -> Verdict {
        if name.quote_style.is_none() && is_reserved(&name.value) {
            let what = format!("a keyword stands in the place of a name: {name}");
            return refuse(fault::refused("syntax", &what));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_statement(&mut self, statement: &Statement) -> Verdict {
        let what = format!("it contains another statement: {statement}");
        refuse(fault::refused("statement", &what))
    }
}

fn is_reserved(word: &str) -> bool {
    const RESERVED: &[&str] = &[
        "select",
        "from",
        "where",
        "into",
        "union",
        "except",
        "intersect",
        "join",
        "on",
        "group",
        "order",
        "having",
        "limit",
        "returning",
        "insert",
        "update",
        "delete",
        "values",
        "with",
        "create",
        "drop",
        "alter",
        "table",
        "and",
        "or",
        "not",
        "case",
        "when",
        "then",
        "else",
        "using",
        "as",
        "distinct",
        "set",
        "in",
        "between",
        "exists",
        "is",
        "null",
        "default",
    ];
    RESERVED.iter().any(|reserved| word.eq_ignore_ascii_case(reserved))
}
