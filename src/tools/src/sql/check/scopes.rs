//! The common table expressions that are in scope.

use std::collections::HashMap;

use sqlparser::ast::{Ident, Query};

use crate::sql::dialect::SqlDialect;

/// Which names stand for a `WITH` query rather than for a table.
///
/// Databases differ in whether an expression sees those after it and itself. A name counts as
/// one only where all agree; where they do not, it counts as a table, which must then be allowed.
pub(super) struct CteScopes {
    dialect: SqlDialect,
    /// The names that the query being visited sees, and those around it.
    open: Vec<Vec<String>>,
    /// What the queries of a `WITH` clause see, by their address in the tree.
    bodies: HashMap<*const Query, Vec<String>>,
}

impl CteScopes {
    pub(super) fn new(dialect: SqlDialect) -> Self {
        Self { dialect, open: Vec::new(), bodies: HashMap::new() }
    }

    pub(super) fn enter(&mut self, query: &Query) {
        let address: *const Query = query;
        let outer = self.bodies.remove(&address);
        let mut seen = outer.unwrap_or_else(|| self.open.last().cloned().unwrap_or_default());
        if let Some(with) = &query.with {
            for cte in &with.cte_tables {
                let name = self.fold(&cte.alias.name);
                let mut within = seen.clone();
                if with.recursive {
                    within.push(name.clone());
                }
                let body: *const Query = cte.query.as_ref();
                self.bodies.insert(body, within);
                seen.push(name);
            }
        }
        self.open.push(seen);
    }

    pub(super) fn leave(&mut self) {
        self.open.pop();
    }

    /// Whether a name without a schema stands for a `WITH` query here.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.open.last().is_some_and(|names| names.iter().any(|known| known == name))
    }

    fn fold(&self, name: &Ident) -> String {
        self.dialect.fold(&name.value, name.quote_style.is_some())
    }
}
