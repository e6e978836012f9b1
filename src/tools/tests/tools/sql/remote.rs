//! A database behind two tools of somebody else.

use std::sync::{Arc, Mutex};

use antiphon_core::{Category, Fault, ToolOutcome, ToolSpec};
use antiphon_runtime::{CallContext, ManualClock, Tool};
use antiphon_tools::sql::{RemoteSqlSettings, RemoteSqlTools};
use async_trait::async_trait;
use serde_json::{Value as Json, json};

/// A tool that returns what it is told, and remembers what it was asked.
struct Told {
    spec: ToolSpec,
    replies: Mutex<Vec<ToolOutcome>>,
    asked: Mutex<Vec<Json>>,
}

#[async_trait]
impl Tool for Told {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: Json, _cx: &CallContext) -> ToolOutcome {
        self.asked.lock().unwrap().push(arguments);
        let mut replies = self.replies.lock().unwrap();
        if replies.len() > 1 { replies.remove(0) } else { replies[0].clone() }
    }
}

fn told(name: &str, replies: impl IntoIterator<Item = ToolOutcome>) -> Arc<Told> {
    let spec = ToolSpec::new(name, "", json!({"type": "object"}));
    let replies = Mutex::new(replies.into_iter().collect());
    Arc::new(Told { spec, replies, asked: Mutex::default() })
}

fn orders() -> Json {
    let columns = json!([{"name": "id", "type": "integer", "nullable": false}, {"name": "net"}]);
    json!({"result": [{"schema": "public", "table": "orders", "columns": columns}]})
}

fn opened(schema: &Arc<Told>, query: &Arc<Told>, settings: &Json) -> Vec<Arc<dyn Tool>> {
    let mut all = json!({"dialect": "postgresql", "tables": ["orders"]});
    for (key, value) in settings.as_object().unwrap() {
        all[key] = value.clone();
    }
    let settings: RemoteSqlSettings = serde_json::from_value(all).unwrap();
    RemoteSqlTools::of(schema.clone(), query.clone(), &settings).unwrap()
}

async fn call(tool: &Arc<dyn Tool>, arguments: Json) -> ToolOutcome {
    tool.call(arguments, &CallContext::new(Arc::new(ManualClock::default()))).await
}

async fn queried(reply: Json, settings: &Json) -> (ToolOutcome, Vec<Json>) {
    let query = told("query", [Ok(reply)]);
    let tools = opened(&told("schema", [Ok(orders())]), &query, settings);
    let found = call(&tools[2], json!({"query": "SELECT id, net FROM orders"})).await;
    let asked = query.asked.lock().unwrap().clone();
    (found, asked)
}

#[tokio::test]
async fn rows_come_as_lists_or_maps_and_in_every_wrapping_of_the_protocol() {
    let lists = json!({"success": true, "columns": ["id", "net"], "data": [[1, 2.5]]});
    let maps = json!({"success": true, "columns": ["id", "net"], "data": [{"net": 2.5, "id": 1}]});
    let parts = |value: &Json| json!({"content": [{"type": "text", "text": value.to_string()}]});
    for reply in [lists.clone(), maps, parts(&lists), json!(lists.to_string())] {
        let (found, asked) = queried(reply, &json!({})).await;
        let found = found.unwrap();
        assert_eq!((&found["rows"], &found["row_count"]), (&json!([[1, 2.5]]), &json!(1)));
        assert_eq!(found["columns"][1]["name"], "net");
        let text = "SELECT * FROM (SELECT id, net FROM orders) AS limited LIMIT 1001";
        assert_eq!(asked, [json!({"query": text})]);
    }
}

#[tokio::test]
async fn rows_and_cells_beyond_the_limits_are_cut_and_say_so() {
    let data = json!([[1, "abcdef"], [2, "b"]]);
    let reply = json!({"columns": ["id", "net"], "data": data});
    let (found, _) = queried(reply, &json!({"max_rows": 1, "max_cell": 3})).await;
    let found = found.unwrap();
    assert_eq!(found["rows"], json!([[1, "abc…"]]));
    assert_eq!((&found["truncated"], &found["cells_cut"]), (&json!(true), &json!(true)));
}

#[tokio::test]
async fn what_is_no_table_is_refused_and_what_the_server_says_goes_back() {
    let short = json!({"columns": ["id", "net"], "data": [[1]]});
    let no_list = json!({"success": true});
    for reply in [short, no_list, json!("prose")] {
        let (found, _) = queried(reply, &json!({})).await;
        assert_eq!(found.unwrap_err().code, "mcp_reply_invalid");
    }
    let failed = json!({"success": false, "error": "no such column: net"});
    let fault = queried(failed, &json!({})).await.0.unwrap_err();
    assert_eq!(fault.code, "query_failed");
    assert!(fault.message.contains("no such column: net"), "{fault}");
}

#[tokio::test]
async fn a_query_is_checked_before_the_server_gets_it() {
    let query = told("query", [Ok(json!({}))]);
    let tools = opened(&told("schema", [Ok(orders())]), &query, &json!({}));
    for (text, code) in [
        ("DELETE FROM orders", "query_refused"),
        ("SELECT 1; DROP TABLE orders", "query_refused"),
        ("SELECT * FROM salaries", "query_table_forbidden"),
        ("SELECT pg_sleep(9) FROM orders", "query_refused"),
    ] {
        let fault = call(&tools[2], json!({"query": text})).await.unwrap_err();
        assert_eq!(fault.code, code, "{text}");
    }
    let checked =
        call(&tools[2], json!({"query": "SELECT id FROM orders -- x", "check_only": true}));
    assert_eq!(checked.await.unwrap()["query"], "SELECT id FROM orders");
    assert!(query.asked.lock().unwrap().is_empty());
}

/// DA-16 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn tables_are_described_and_a_call_that_does_not_arrive_is_made_again() {
    let lost = || Fault::foreign(Category::ToolTransport, "mcp_unreachable", "it is down");
    let schema = told("schema", [Err(lost()), Err(lost()), Ok(orders())]);
    let sample = json!({"columns": ["id", "net"], "data": [[1, 2.5]]});
    let tools = opened(&schema, &told("query", [Ok(sample)]), &json!({}));
    let listed = call(&tools[0], json!({})).await.unwrap();
    assert_eq!(listed["dialect"], "PostgreSQL");
    assert_eq!(listed["tables"], json!([{"name": "orders", "columns": ["id", "net"]}]));
    assert_eq!(schema.asked.lock().unwrap().len(), 3);
    let described = call(&tools[1], json!({"tables": ["orders"], "sample_rows": 2})).await.unwrap();
    let table = &described["tables"][0];
    assert_eq!(table["columns"][0], json!({"name": "id", "type": "integer", "not_null": true}));
    assert_eq!(table["sample"]["rows"], json!([[1, 2.5]]));
    let hidden = call(&tools[1], json!({"tables": ["salaries"]})).await.unwrap_err();
    assert_eq!(hidden.code, "query_table_forbidden");

    let down = told("schema", [Err(lost())]);
    let tools = opened(&down, &told("query", [Ok(json!({}))]), &json!({}));
    assert_eq!(call(&tools[0], json!({})).await.unwrap_err().code, "mcp_unreachable");
    assert_eq!(down.asked.lock().unwrap().len(), 3, "twice more, and not again");
    let broken = Fault::foreign(Category::Tool, "tool_failed", "no");
    let tools = opened(&told("schema", [Err(broken)]), &told("query", []), &json!({}));
    let names = call(&tools[0], json!({})).await.unwrap();
    assert_eq!(names["tables"], json!([{"name": "orders", "columns": []}]), "names are enough");
}

#[test]
fn settings_name_a_dialect_and_tables() {
    let tool = || told("x", []);
    for settings in [
        json!({"dialect": "oracle", "tables": ["orders"]}),
        json!({"tables": ["orders"]}),
        json!({"dialect": "sqlite", "tables": []}),
        json!({"dialect": "sqlite", "tables": ["orders"], "max_rows": 0}),
    ] {
        let read: RemoteSqlSettings = serde_json::from_value(settings.clone()).unwrap();
        let fault = RemoteSqlTools::of(tool(), tool(), &read).err().unwrap();
        assert_eq!(fault.code, "tool_setting_invalid", "{settings}");
    }
}
