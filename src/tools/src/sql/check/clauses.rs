//! The clauses that a query may have.

use antiphon_core::Fault;
use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, JoinOperator, LimitClause, OrderByKind, Query, Select,
    SelectFlavor, SelectItem, SetExpr, TableAlias, TableFactor, Value, WildcardAdditionalOptions,
};

use super::expressions::check_type;
use crate::sql::fault;

pub(super) fn refuse(clause: &str) -> Result<(), Fault> {
    Err(fault::refused("clause", &format!("it contains a clause that is not allowed: {clause}")))
}

/// Refuses the first clause that is there.
fn none_of(clauses: &[(bool, &str)]) -> Result<(), Fault> {
    clauses.iter().find(|(is_there, _)| *is_there).map_or(Ok(()), |(_, name)| refuse(name))
}

pub(super) fn check_query(query: &Query) -> Result<(), Fault> {
    let Query {
        with,
        body,
        order_by,
        limit_clause,
        fetch: _,
        locks,
        for_clause,
        settings,
        format_clause,
        pipe_operators,
    } = query;
    none_of(&[
        (!locks.is_empty(), "FOR UPDATE or FOR SHARE"),
        (for_clause.is_some(), "FOR XML or FOR JSON"),
        (settings.is_some(), "SETTINGS"),
        (format_clause.is_some(), "FORMAT"),
        (!pipe_operators.is_empty(), "|>"),
    ])?;
    if let Some(with) = with {
        for cte in &with.cte_tables {
            none_of(&[(cte.from.is_some(), "FROM after WITH")])?;
            check_alias(Some(&cte.alias))?;
        }
    }
    if let Some(order_by) = order_by {
        none_of(&[
            (matches!(order_by.kind, OrderByKind::All(_)), "ORDER BY ALL"),
            (order_by.interpolate.is_some(), "INTERPOLATE"),
        ])?;
        if let OrderByKind::Expressions(keys) = &order_by.kind {
            keys.iter().try_for_each(|key| check_key("ORDER BY", &key.expr))?;
        }
    }
    if let Some(LimitClause::LimitOffset { limit_by, .. }) = limit_clause {
        none_of(&[(!limit_by.is_empty(), "LIMIT BY")])?;
    }
    check_body(body)
}

fn check_body(body: &SetExpr) -> Result<(), Fault> {
    match body {
        SetExpr::Select(_) | SetExpr::Query(_) => Ok(()),
        SetExpr::SetOperation { left, right, .. } => {
            check_body(left)?;
            check_body(right)
        }
        SetExpr::Values(values) => {
            none_of(&[(values.explicit_row || values.value_keyword, "VALUE or ROW")])
        }
        SetExpr::Insert(_) => refuse("INSERT"),
        SetExpr::Update(_) => refuse("UPDATE"),
        SetExpr::Delete(_) => refuse("DELETE"),
        SetExpr::Merge(_) => refuse("MERGE"),
        SetExpr::Table(_) => refuse("TABLE"),
    }
}

pub(super) fn check_select(select: &Select) -> Result<(), Fault> {
    none_of(&[
        (select.projection.is_empty(), "SELECT without columns"),
        (select.into.is_some(), "INTO"),
        (!select.optimizer_hints.is_empty(), "a hint"),
        (select.select_modifiers.is_some(), "a modifier of SELECT"),
        (select.top.is_some(), "TOP"),
        (select.exclude.is_some(), "EXCLUDE"),
        (!select.lateral_views.is_empty(), "LATERAL VIEW"),
        (select.prewhere.is_some(), "PREWHERE"),
        (!select.connect_by.is_empty(), "CONNECT BY"),
        (!select.cluster_by.is_empty(), "CLUSTER BY"),
        (!select.distribute_by.is_empty(), "DISTRIBUTE BY"),
        (!select.sort_by.is_empty(), "SORT BY"),
        (select.qualify.is_some(), "QUALIFY"),
        (select.value_table_mode.is_some(), "AS VALUE or AS STRUCT"),
        (select.flavor != SelectFlavor::Standard, "FROM before SELECT"),
        (matches!(select.distinct, Some(Distinct::All)), "ALL"),
    ])?;
    match &select.group_by {
        GroupByExpr::All(_) => refuse("GROUP BY ALL")?,
        GroupByExpr::Expressions(keys, modifiers) => {
            none_of(&[(!modifiers.is_empty(), "WITH ROLLUP")])?;
            keys.iter().try_for_each(|key| check_key("GROUP BY", key))?;
        }
    }
    select.projection.iter().try_for_each(check_item)?;
    select.from.iter().flat_map(|table| &table.joins).try_for_each(check_join)
}

/// Refuses a text in place of a column: `SQLite` takes it for the same value in each row.
fn check_key(clause: &str, key: &Expr) -> Result<(), Fault> {
    let Expr::Value(value) = key else { return Ok(()) };
    let Value::SingleQuotedString(text) = &value.value else { return Ok(()) };
    let what = format!("{clause} has a text where a column belongs: '{text}'");
    let hint = "write columns without quotes, or in double quotes";
    Err(fault::refused("key", &what).hint(hint))
}

fn check_item(item: &SelectItem) -> Result<(), Fault> {
    match item {
        SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. } => Ok(()),
        SelectItem::ExprWithAliases { .. } => refuse("AS (…)"),
        SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) => {
            let plain = WildcardAdditionalOptions {
                wildcard_token: options.wildcard_token.clone(),
                ..WildcardAdditionalOptions::default()
            };
            none_of(&[(*options != plain, "an option of *")])
        }
    }
}

fn check_join(join: &sqlparser::ast::Join) -> Result<(), Fault> {
    none_of(&[(join.global, "GLOBAL")])?;
    match join.join_operator {
        JoinOperator::Join(_)
        | JoinOperator::Inner(_)
        | JoinOperator::Left(_)
        | JoinOperator::LeftOuter(_)
        | JoinOperator::Right(_)
        | JoinOperator::RightOuter(_)
        | JoinOperator::FullOuter(_)
        | JoinOperator::CrossJoin(_) => Ok(()),
        _ => refuse("a JOIN of another dialect"),
    }
}

pub(super) fn check_table_factor(factor: &TableFactor) -> Result<(), Fault> {
    match factor {
        TableFactor::Table {
            name: _,
            alias,
            args,
            with_hints,
            version,
            with_ordinality: _,
            partitions,
            json_path,
            sample,
            index_directives,
            inheritance,
        } => {
            none_of(&[
                (args.as_ref().is_some_and(|args| args.settings.is_some()), "SETTINGS"),
                (!with_hints.is_empty(), "WITH (…)"),
                (version.is_some(), "FOR SYSTEM_TIME"),
                (!partitions.is_empty(), "PARTITION"),
                (json_path.is_some(), "a path in FROM"),
                (sample.is_some(), "TABLESAMPLE"),
                (!index_directives.is_empty(), "INDEXED BY"),
                (inheritance.is_some(), "ONLY"),
            ])?;
            check_alias(alias.as_ref())
        }
        TableFactor::Derived { alias, sample, .. } => {
            none_of(&[(sample.is_some(), "TABLESAMPLE")])?;
            check_alias(alias.as_ref())
        }
        TableFactor::Function { alias, .. } => check_alias(alias.as_ref()),
        TableFactor::UNNEST { alias, with_offset, .. } => {
            none_of(&[(*with_offset, "WITH OFFSET")])?;
            check_alias(alias.as_ref())
        }
        TableFactor::NestedJoin { table_with_joins, alias } => {
            table_with_joins.joins.iter().try_for_each(check_join)?;
            check_alias(alias.as_ref())
        }
        other => {
            let what = format!("it reads from something that is no table: {other}");
            Err(fault::refused("table", &what))
        }
    }
}

fn check_alias(alias: Option<&TableAlias>) -> Result<(), Fault> {
    let Some(alias) = alias else { return Ok(()) };
    none_of(&[(alias.at.is_some(), "AT")])?;
    alias.columns.iter().filter_map(|column| column.data_type.as_ref()).try_for_each(check_type)
}
