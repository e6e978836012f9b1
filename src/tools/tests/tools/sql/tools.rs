//! The tools as agents call them.

use std::sync::Arc;

use antiphon_core::ToolOutcome;
use antiphon_runtime::{Attachments, CallContext, ManualClock, Tool};
use antiphon_tools::find;
use serde_json::{Value as Json, json};

use super::corpus::{TABLES, sqlite_file};

fn open(settings: &Json) -> Vec<Arc<dyn Tool>> {
    find("sql").unwrap().open(settings).unwrap()
}

async fn call(tools: &[Arc<dyn Tool>], name: &str, arguments: Json) -> ToolOutcome {
    let tool = tools.iter().find(|tool| tool.spec().name == name).unwrap();
    tool.call(arguments, &CallContext::new(Arc::new(ManualClock::default()))).await
}

#[tokio::test]
async fn an_agent_looks_the_schema_up_and_asks() {
    let folder = tempfile::tempdir().unwrap();
    let path = sqlite_file(folder.path());
    let url = format!("sqlite:///{}", path.display());
    let tools = open(&json!({"url": url, "tables": TABLES}));
    let names: Vec<_> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
    assert_eq!(names, ["sql_tables", "sql_schema", "sql_query"]);

    let tables = call(&tools, "sql_tables", json!({"contains": "order"})).await.unwrap();
    assert_eq!(tables["dialect"], "SQLite");
    assert_eq!(tables["tables"][0]["name"], "order_items");
    assert_eq!(tables["tables"][1]["rows"], 4);
    assert_eq!(tables["tables"].as_array().unwrap().len(), 2);

    let arguments = json!({"tables": ["orders", "\"customers\""], "sample_rows": 1});
    let schema = call(&tools, "sql_schema", arguments).await.unwrap();
    assert_eq!(
        schema["tables"][0]["foreign_keys"],
        json!([{"columns": ["customer_id"], "table": "customers", "references": ["id"]}])
    );
    assert_eq!(schema["tables"][0]["sample"]["row_count"], 1);
    assert_eq!(schema["tables"][1]["columns"][1]["not_null"], true);

    let query =
        "SELECT status, count(*) AS n FROM orders WHERE amount > :least GROUP BY 1 ORDER BY 1";
    let arguments = json!({"query": query, "parameters": {"least": 20}});
    let result = call(&tools, "sql_query", arguments).await.unwrap();
    assert_eq!(
        result,
        json!({
            "columns": [{"name": "status", "type": "TEXT"}, {"name": "n", "type": ""}],
            "row_count": 2,
            "rows": [["open", 1], ["paid", 2]],
        })
    );
    for (name, arguments, code) in [
        ("sql_query", json!({"query": "SELECT * FROM salaries"}), "query_table_forbidden"),
        ("sql_query", json!({"query": "DROP TABLE orders"}), "query_refused"),
        ("sql_schema", json!({"tables": ["salaries"]}), "query_table_forbidden"),
        ("sql_schema", json!({"tables": ["a.b.c"]}), "query_table_forbidden"),
    ] {
        assert_eq!(call(&tools, name, arguments).await.unwrap_err().code, code);
    }
}

#[tokio::test]
async fn a_caller_that_takes_attachments_gets_all_rows_as_columns_and_the_first_as_json() {
    const NUMBERS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE \
                           i < 1500) SELECT i FROM n";
    let folder = tempfile::tempdir().unwrap();
    let path = sqlite_file(folder.path()).display().to_string();
    for (most, in_json, in_columns) in
        [(None, (1_000, true), (1_500, false)), (Some(1_200), (1_200, true), (1_200, true))]
    {
        let tools = open(&json!({"url": path, "max_rows": most}));
        let found = call(&tools, "sql_query", json!({"query": NUMBERS})).await.unwrap();
        let is_cut = |found: &Json| found["truncated"] == true;
        assert_eq!((found["rows"].as_array().unwrap().len(), is_cut(&found)), in_json);
        assert_eq!(found.get("arrow"), None);
        let attachments = Attachments::default();
        let clock = Arc::new(ManualClock::default());
        let cx = CallContext { attachments: Some(attachments.clone()), ..CallContext::new(clock) };
        let found = tools[2].call(json!({"query": NUMBERS}), &cx).await.unwrap();
        assert_eq!(found["rows"].as_array().unwrap().len(), 1_000);
        assert_eq!((found["row_count"].as_u64().unwrap(), is_cut(&found)), in_columns);
        let bytes = attachments.get(found["arrow"].as_str().unwrap()).unwrap();
        assert!(bytes.starts_with(&[0xff; 4]), "an Arrow stream");
    }
}

#[test]
fn settings_that_do_not_fit_are_named_and_show_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let path = sqlite_file(folder.path()).display().to_string();
    for (settings, problem) in [
        (json!({}), "`url` is missing"),
        (json!({"url": "mysql://u:hunter2@h/d"}), "it begins with: mysql:"),
        (json!({"url": "nowhere.db"}), "there is no SQLite file at: nowhere.db"),
        (json!({"url": path, "tables": []}), "`tables` allows no table"),
        (json!({"url": path, "timeout": 0}), "`timeout` must be a number of seconds"),
        (json!({"url": path, "max_rows": 0}), "`max_rows` must be 1 to 10000000: 0"),
        (json!({"url": path, "schema": "x"}), "SQLite has no schemas"),
        (json!({"url": path, "colour": "red"}), "unknown setting of the tools `sql`: colour"),
        (json!({"url": 5}), "`url`"),
    ] {
        let fault = find("sql").unwrap().open(&settings).err().unwrap();
        assert_eq!(fault.code, "tool_setting_invalid", "{settings}");
        assert!(fault.message.contains(problem), "{fault}");
        assert!(!format!("{fault:?}").contains("hunter2"), "{fault:?}");
    }
}
