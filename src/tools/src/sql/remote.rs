//! A database behind two tools of somebody else, such as those of an MCP server: one describes
//! tables, the other runs a query. Queries are parsed and compared with the policy here, before
//! each call, whatever the server checks itself.

use std::sync::Arc;

use antiphon_core::{Category, Fault, FaultCode, SideEffect, ToolOutcome};
use antiphon_runtime::{CallContext, Tool};
use async_trait::async_trait;
use serde_json::{Map, Value as Json, json};

use super::check::{CheckedQuery, check};
use super::family::{
    DescribeTablesArguments, ListTablesArguments, RunQueryArguments, query_description,
};
use super::fault;
use super::limits::QueryLimits;
use super::policy::{QueryPolicy, TableName};
use super::remote_reply::{payload, read_rows, read_tables};
use super::remote_settings::RemoteSqlSettings;
use crate::typed_tool::{ToolFunction, TypedTool};

/// How often a call is made that does not reach the server.
const ATTEMPTS: usize = 3;
/// The most rows of a sample.
const MOST_SAMPLES: usize = 10;
/// Columns of a table that an overview lists.
const FIRST_COLUMNS: usize = 6;

/// The tools `sql_tables`, `sql_schema` and `sql_query` over two tools of somebody else.
///
/// `schema` takes `{"tables": [...]}` and returns a list of `{"schema", "table", "full_name",
/// "columns": [{"name", "type", "nullable"}]}`. `query` takes `{"query", "params"}` and returns
/// `{"success", "columns", "data", "row_count", "error"}`; `data` is a list of lists or of objects.
#[derive(Debug)]
pub struct RemoteSqlTools;

impl RemoteSqlTools {
    /// The tools.
    ///
    /// # Errors
    /// A `Validation` fault `tool_setting_invalid`: a setting is wrong, or no table is named.
    pub fn of(
        schema: Arc<dyn Tool>,
        query: Arc<dyn Tool>,
        settings: &RemoteSqlSettings,
    ) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        let (policy, limits) = settings.read()?;
        let dialect = policy.dialect();
        let tables = settings.tables.iter();
        let names = tables.map(|name| TableName::parse(name, dialect, policy.schema()));
        let tables = names.collect::<Result<Vec<_>, _>>()?;
        let remote = Arc::new(RemoteDatabase { schema, query, policy, limits, tables });
        let read = SideEffect::Read;
        Ok(vec![
            Arc::new(TypedTool::new(
                "sql_tables",
                "List the tables and views of the database, with their first columns.",
                read,
                ListTables(Arc::clone(&remote)),
            )),
            Arc::new(TypedTool::new(
                "sql_schema",
                "Describe tables: columns with types, and sample rows if asked for.",
                read,
                DescribeTables(Arc::clone(&remote)),
            )),
            Arc::new(TypedTool::new(
                "sql_query",
                &query_description(dialect),
                read,
                RunQuery(remote),
            )),
        ])
    }
}

struct RemoteDatabase {
    schema: Arc<dyn Tool>,
    query: Arc<dyn Tool>,
    policy: QueryPolicy,
    limits: QueryLimits,
    /// The tables that may be read, in the order in which they were named.
    tables: Vec<TableName>,
}

impl RemoteDatabase {
    fn short(&self, name: &TableName) -> String {
        name.short(self.policy.schema())
    }

    /// What the server knows of tables, in their order; those that it does not know are left out.
    async fn describe(&self, tables: &[TableName], cx: &CallContext) -> Result<Vec<Json>, Fault> {
        let names: Vec<String> = tables.iter().map(TableName::to_string).collect();
        let reply = self.call(&self.schema, json!({"tables": names}), cx).await?;
        let found = read_tables(&reply).ok_or_else(|| unreadable(&self.schema, "tables"))?;
        let described = tables.iter().filter_map(|name| {
            let mut table = found.iter().find(|table| is_named(table, name))?.to_json();
            table.insert("name".to_owned(), json!(self.short(name)));
            Some(Json::Object(table))
        });
        Ok(described.collect())
    }

    /// Runs a query that was checked, with at most one row more than are kept.
    async fn run(
        &self,
        query: &CheckedQuery,
        parameters: Option<Json>,
        rows: usize,
        cx: &CallContext,
    ) -> ToolOutcome {
        let text = format!("SELECT * FROM ({}) AS limited LIMIT {}", query.text(), rows + 1);
        let mut arguments = json!({"query": text});
        if let (Some(parameters), Some(fields)) = (parameters, arguments.as_object_mut()) {
            fields.insert("params".to_owned(), parameters);
        }
        let called = self.call(&self.query, arguments, cx);
        let reply = tokio::select! {
            biased;
            reply = called => reply?,
            () = cx.clock.sleep(self.limits.timeout) => {
                return Err(fault::timeout(self.limits.timeout));
            }
        };
        if reply.get("success") == Some(&Json::Bool(false)) {
            let problem = reply.get("error").filter(|error| !error.is_null());
            let problem = match problem {
                Some(Json::String(error)) => error.clone(),
                Some(error) => error.to_string(),
                None => "the server does not say why".to_owned(),
            };
            return Err(fault::failed(&problem, query.text(), None)
                .hint("correct the query; the message is the server's own"));
        }
        read_rows(&reply, rows, &self.limits).ok_or_else(|| unreadable(&self.query, "rows"))
    }

    /// A call of a tool of the server; one that does not reach it is made again.
    async fn call(&self, tool: &Arc<dyn Tool>, arguments: Json, cx: &CallContext) -> ToolOutcome {
        let mut attempt = 1;
        loop {
            match tool.call(arguments.clone(), cx).await {
                Err(fault) if fault.category == Category::ToolTransport && attempt < ATTEMPTS => {
                    attempt += 1;
                }
                Ok(reply) => return payload(&reply).ok_or_else(|| unreadable(tool, "JSON")),
                Err(fault) => return Err(fault),
            }
        }
    }
}

/// Whether a description is that of a table. Servers may leave the schema out.
fn is_named(table: &super::remote_reply::RemoteTable, name: &TableName) -> bool {
    let is = |text: &str, part: &str| text.eq_ignore_ascii_case(part);
    is(&table.name, &name.table)
        && table.schema.as_deref().is_none_or(|schema| is(schema, &name.schema))
}

fn unreadable(tool: &Arc<dyn Tool>, what: &str) -> Fault {
    let name = &tool.spec().name;
    let message = format!("the reply of the tool holds no {what}: {name}");
    Fault::new(FaultCode::McpReplyInvalid, message)
}

struct ListTables(Arc<RemoteDatabase>);

#[async_trait]
impl ToolFunction for ListTables {
    type Arguments = ListTablesArguments;

    async fn call(&self, arguments: ListTablesArguments, cx: &CallContext) -> ToolOutcome {
        let Self(remote) = self;
        let wanted = arguments.contains.unwrap_or_default().to_lowercase();
        let is_wanted = |name: &&TableName| name.to_string().to_lowercase().contains(&wanted);
        let names: Vec<TableName> = remote.tables.iter().filter(is_wanted).cloned().collect();
        let known = match remote.describe(&names, cx).await {
            Ok(known) => known,
            // The names are enough to write a query.
            Err(fault) if fault.category == Category::Tool => Vec::new(),
            Err(fault) => return Err(fault),
        };
        let shown: Vec<Json> = names
            .iter()
            .map(|name| {
                let short = remote.short(name);
                let table = known.iter().find(|table| table["name"] == short);
                let columns = table.and_then(|table| table.get("columns")?.as_array());
                let columns: Vec<&Json> = columns
                    .into_iter()
                    .flatten()
                    .filter_map(|column| column.get("name"))
                    .take(FIRST_COLUMNS)
                    .collect();
                json!({"name": short, "columns": columns})
            })
            .collect();
        Ok(json!({"dialect": remote.policy.dialect().name(), "tables": shown}))
    }
}

struct DescribeTables(Arc<RemoteDatabase>);

#[async_trait]
impl ToolFunction for DescribeTables {
    type Arguments = DescribeTablesArguments;

    async fn call(&self, arguments: DescribeTablesArguments, cx: &CallContext) -> ToolOutcome {
        let Self(remote) = self;
        let (dialect, schema) = (remote.policy.dialect(), remote.policy.schema());
        let mut names = Vec::new();
        for given in &arguments.tables {
            let listed = TableName::listed(given, schema);
            let queried = TableName::parse(given, dialect, schema);
            let queried = queried.ok().filter(|name| remote.policy.allows_table(name));
            let name = queried.unwrap_or(listed);
            if !remote.policy.allows_table(&name) {
                return Err(fault::forbidden_table(&name, &remote.policy));
            }
            names.push(name);
        }
        let mut described = remote.describe(&names, cx).await?;
        let rows = arguments.sample_rows.min(MOST_SAMPLES);
        for (table, name) in described.iter_mut().zip(&names).filter(|_| rows > 0) {
            let text = format!("SELECT * FROM \"{}\".\"{}\"", name.schema, name.table);
            let sample = remote.run(&CheckedQuery::trusted(text), None, rows, cx).await?;
            if let Some(fields) = table.as_object_mut() {
                fields.insert("sample".to_owned(), sample);
            }
        }
        Ok(json!({"tables": described}))
    }
}

struct RunQuery(Arc<RemoteDatabase>);

#[async_trait]
impl ToolFunction for RunQuery {
    type Arguments = RunQueryArguments;

    async fn call(&self, arguments: RunQueryArguments, cx: &CallContext) -> ToolOutcome {
        let Self(remote) = self;
        let query = check(&arguments.query, &remote.policy)?;
        if arguments.check_only {
            let tables: Vec<_> = query.tables().iter().map(|table| remote.short(table)).collect();
            return Ok(json!({"query": query.text(), "tables": tables}));
        }
        let parameters = arguments.parameters.into_json();
        remote.run(&query, parameters, remote.limits.rows, cx).await
    }
}

impl super::remote_reply::RemoteTable {
    /// The table as `sql_schema` describes it.
    fn to_json(&self) -> Map<String, Json> {
        let columns: Vec<Json> = self
            .columns
            .iter()
            .map(|column| {
                let mut shown = json!({"name": column.name, "type": column.data_type});
                if let (false, Some(fields)) = (column.nullable, shown.as_object_mut()) {
                    fields.insert("not_null".to_owned(), json!(true));
                }
                shown
            })
            .collect();
        Map::from_iter([("columns".to_owned(), json!(columns))])
    }
}
