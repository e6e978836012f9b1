//! The tools: which tables there are, what they consist of, and a query.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode, SideEffect, ToolOutcome};
use antiphon_runtime::{CallContext, Tool};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::database::{ColumnSchema, Database, TableSchema, TableSummary};
use super::dialect::SqlDialect;
use super::fault;
use super::limits::QueryLimits;
use super::parameters::QueryParameters;
use super::policy::TableName;
use super::settings::{SqlSettings, open_database};
use crate::registry::ToolFamily;
use crate::typed_tool::{ToolFunction, TypedTool};

/// The most tables of one overview.
const MOST_TABLES: usize = 200;

/// The most tables that one call describes.
const MOST_DESCRIBED: usize = 20;

/// The most columns of a table that a description lists.
const MOST_COLUMNS: usize = 200;

/// The most rows of a sample.
const MOST_SAMPLES: usize = 10;

/// The tools `sql_tables`, `sql_schema` and `sql_query`.
#[derive(Debug)]
pub struct SqlTools;

impl SqlTools {
    /// The tools over any database. `limits` are those of results in JSON, `columns` those of
    /// queries whose caller takes attachments.
    pub fn of(
        database: &Arc<dyn Database>,
        limits: QueryLimits,
        columns: QueryLimits,
    ) -> Vec<Arc<dyn Tool>> {
        let dialect = database.policy().dialect();
        let shared = || SharedDatabase { database: Arc::clone(database), limits };
        let time = limits.timeout * 2 + Duration::from_secs(30);
        let query = query_description(dialect);
        vec![
            Arc::new(
                TypedTool::new(
                    "sql_tables",
                    "List the tables and views of the database, with their first columns.",
                    SideEffect::Read,
                    ListTables(shared()),
                )
                .timeout(time),
            ),
            Arc::new(
                TypedTool::new(
                    "sql_schema",
                    "Describe tables: columns with types, keys, references, and sample rows if \
                     asked for.",
                    SideEffect::Read,
                    DescribeTables(shared()),
                )
                .timeout(time),
            ),
            Arc::new(
                TypedTool::new(
                    "sql_query",
                    &query,
                    SideEffect::Read,
                    RunQuery { shared: shared(), columns },
                )
                .timeout(time),
            ),
        ]
    }
}

/// What `sql_query` does, for models.
pub(super) fn query_description(dialect: SqlDialect) -> String {
    format!(
        "Run one read-only SELECT query in {dialect} and return its rows. Bind values with \
         parameters instead of writing them into the query."
    )
}

impl ToolFamily for SqlTools {
    const NAME: &'static str = "sql";
    const DESCRIPTION: &'static str = "Read a SQLite or PostgreSQL database with SQL.";
    type Settings = SqlSettings;

    fn open(settings: SqlSettings) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        let (limits, columns) = (settings.limits()?, settings.column_limits()?);
        Ok(Self::of(&open_database(&settings)?, limits, columns))
    }
}

#[derive(Debug)]
struct SharedDatabase {
    database: Arc<dyn Database>,
    limits: QueryLimits,
}

impl SharedDatabase {
    fn short(&self, name: &TableName) -> String {
        name.short(self.database.policy().schema())
    }

    fn parse(&self, name: &str) -> Result<TableName, Fault> {
        let policy = self.database.policy();
        TableName::parse(name, policy.dialect(), policy.schema())
            .map_err(|_| fault::forbidden_table(&TableName::new(policy.schema(), name), policy))
    }

    /// The schema of a table, which is named as in a query, or as `sql_tables` names it: there,
    /// capitals are not folded.
    async fn schema(&self, name: &str) -> Result<TableSchema, Fault> {
        let queried = self.parse(name)?;
        let found = self.database.schema(&queried).await;
        let listed = TableName::listed(name, self.database.policy().schema());
        match found {
            Err(fault) if fault.code == FaultCode::QueryTableForbidden && listed != queried => {
                match self.database.schema(&listed).await {
                    Err(other) if other.code == fault.code => Err(fault),
                    found => found,
                }
            }
            found => found,
        }
    }
}

struct ListTables(SharedDatabase);

/// The arguments of `sql_tables`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListTablesArguments {
    /// Only tables whose name or comment contains this text.
    #[serde(default)]
    pub(super) contains: Option<String>,
}

#[async_trait]
impl ToolFunction for ListTables {
    type Arguments = ListTablesArguments;

    async fn call(&self, arguments: ListTablesArguments, _cx: &CallContext) -> ToolOutcome {
        let Self(shared) = self;
        let wanted = arguments.contains.unwrap_or_default().to_lowercase();
        let matches = |table: &TableSummary| {
            let comment = table.comment.as_deref().unwrap_or_default();
            table.name.to_string().to_lowercase().contains(&wanted)
                || comment.to_lowercase().contains(&wanted)
        };
        let tables: Vec<_> = shared.database.tables().await?.into_iter().filter(matches).collect();
        let shown: Vec<Json> = tables
            .iter()
            .take(MOST_TABLES)
            .map(|table| {
                let mut shown = json!({
                    "name": shared.short(&table.name),
                    "kind": table.kind,
                    "columns": table.columns,
                });
                let more = (table.column_count > table.columns.len()).then_some(table.column_count);
                set(&mut shown, "column_count", more);
                set(&mut shown, "rows", table.rows);
                set(&mut shown, "comment", table.comment.as_deref().map(excerpt));
                shown
            })
            .collect();
        let mut result =
            json!({"dialect": shared.database.policy().dialect().name(), "tables": shown});
        let more = tables.len().checked_sub(MOST_TABLES).filter(|more| *more > 0);
        set(&mut result, "more_tables", more);
        Ok(result)
    }
}

struct DescribeTables(SharedDatabase);

/// The arguments of `sql_schema`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DescribeTablesArguments {
    /// Names of tables or views, at most 20.
    #[schemars(length(min = 1, max = 20))]
    pub(super) tables: Vec<String>,
    /// How many rows of each table to show; 0 by default, at most 10.
    #[serde(default)]
    #[schemars(range(max = 10))]
    pub(super) sample_rows: usize,
}

#[async_trait]
impl ToolFunction for DescribeTables {
    type Arguments = DescribeTablesArguments;

    async fn call(&self, arguments: DescribeTablesArguments, _cx: &CallContext) -> ToolOutcome {
        let Self(shared) = self;
        let rows = arguments.sample_rows.min(MOST_SAMPLES);
        let limits = QueryLimits { rows, cell: shared.limits.cell.min(100), ..shared.limits };
        let mut described = Vec::new();
        for name in arguments.tables.iter().take(MOST_DESCRIBED) {
            let schema = shared.schema(name).await?;
            let mut shown = describe(&schema, shared);
            if rows > 0 {
                let sample = shared.database.sample(&schema.name, &limits).await?;
                set(&mut shown, "sample", Some(sample.to_json()));
            }
            described.push(shown);
        }
        Ok(json!({"tables": described}))
    }
}

fn describe(schema: &TableSchema, shared: &SharedDatabase) -> Json {
    let column = |column: &ColumnSchema| {
        let mut shown = json!({"name": column.name, "type": column.data_type});
        set(&mut shown, "not_null", (!column.nullable).then_some(true));
        set(&mut shown, "primary_key", column.primary_key);
        set(&mut shown, "comment", column.comment.as_deref().map(excerpt));
        shown
    };
    let columns: Vec<_> = schema.columns.iter().take(MOST_COLUMNS).map(column).collect();
    let mut shown = json!({
        "name": shared.short(&schema.name),
        "kind": schema.kind,
        "columns": columns,
    });
    let more = schema.columns.len().checked_sub(MOST_COLUMNS).filter(|more| *more > 0);
    set(&mut shown, "more_columns", more);
    let references: Vec<_> = schema
        .foreign_keys
        .iter()
        .map(|key| {
            let table = shared.short(&key.table);
            json!({"columns": key.columns, "table": table, "references": key.references})
        })
        .collect();
    set(&mut shown, "foreign_keys", Some(references).filter(|keys| !keys.is_empty()));
    set(&mut shown, "unique", Some(&schema.unique).filter(|unique| !unique.is_empty()));
    set(&mut shown, "rows", schema.rows);
    set(&mut shown, "comment", schema.comment.as_deref().map(excerpt));
    shown
}

struct RunQuery {
    shared: SharedDatabase,
    columns: QueryLimits,
}

/// The arguments of `sql_query`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunQueryArguments {
    /// One SELECT statement, without a semicolon.
    pub(super) query: String,
    /// Values of the placeholders: a list for $1, $2 or ?, an object for :name.
    #[serde(default)]
    pub(super) parameters: QueryParameterValues,
    /// Whether the query is only checked and not run; no by default.
    #[serde(default)]
    pub(super) check_only: bool,
}

/// The values of placeholders as a model writes them.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum QueryParameterValues {
    #[default]
    None,
    List(Vec<Json>),
    Named(Map<String, Json>),
}

impl QueryParameterValues {
    /// The values as a server gets them; none if there are none.
    pub(super) fn into_json(self) -> Option<Json> {
        match self {
            Self::None => None,
            Self::List(values) => Some(Json::Array(values)),
            Self::Named(values) => Some(Json::Object(values)),
        }
    }
}

impl From<QueryParameterValues> for QueryParameters {
    fn from(values: QueryParameterValues) -> Self {
        match values {
            QueryParameterValues::None => Self::None,
            QueryParameterValues::List(values) => Self::List(values),
            QueryParameterValues::Named(values) => Self::Named(values),
        }
    }
}

#[async_trait]
impl ToolFunction for RunQuery {
    type Arguments = RunQueryArguments;

    /// A caller that takes attachments gets the first rows in JSON, and all as columns of Arrow.
    async fn call(&self, arguments: RunQueryArguments, cx: &CallContext) -> ToolOutcome {
        let Self { shared, columns } = self;
        let query = shared.database.check(&arguments.query)?;
        if arguments.check_only {
            let tables: Vec<_> = query.tables().iter().map(|table| shared.short(table)).collect();
            return Ok(json!({"query": query.text(), "tables": tables}));
        }
        let parameters = QueryParameters::from(arguments.parameters);
        let limits = if cx.attachments.is_some() { columns } else { &shared.limits };
        let mut table = shared.database.execute(&query, &parameters, limits).await?;
        let arrow = table.arrow.take();
        let mut found = table.to_json();
        if let (Some(attachments), Some(arrow)) = (&cx.attachments, arrow) {
            set(&mut found, "arrow", Some(attachments.put(arrow)));
            set(&mut found, "digest", Some(format!("{:016x}", table.digest)));
        }
        Ok(found)
    }
}

fn set(fields: &mut Json, key: &str, value: Option<impl Serialize>) {
    if let (Some(value), Some(fields)) = (value, fields.as_object_mut()) {
        fields.insert(key.to_owned(), json!(value));
    }
}

/// The beginning of a comment.
fn excerpt(comment: &str) -> String {
    const LONGEST: usize = 300;
    match comment.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", comment.get(..end).unwrap_or_default()),
        None => comment.to_owned(),
    }
}
