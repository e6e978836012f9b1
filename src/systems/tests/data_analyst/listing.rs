//! Questions about the schema and about the API itself, whose lists are made by code.

use antiphon_systems::data_analyst::TraceEventKind;
use serde_json::{Value as Json, json};

use crate::scene::{Scene, ScriptedRun, asked, query, said};

fn listing(schema: &str, tables: &[&str]) -> Json {
    json!({"sql": "", "schema": schema, "tables": tables})
}

async fn listed(settings: Json, replies: Vec<Json>, answer: &str) -> ScriptedRun {
    let mut scene = Scene::new(&settings);
    scene.config.check_query = false;
    scene.config.compose_single = false;
    scene
        .role("sql_writer", replies)
        .role("sql_answerer", [said(answer), said(answer)])
        .ask("Which tables and columns are there?")
        .await
}

/// Whether a model is asked what is meant, of all agents but one.
async fn is_left_to_a_model(question: &str, disabled: &str) -> bool {
    let run = Scene::new(&json!({"check_query": false}))
        .with_api([])
        .role("sql_writer", [listing("tables", &[])])
        .role("sql_answerer", [said("orders and regions.")])
        .role("api_planner", [json!({"make_request": false, "method": "", "path": ""})])
        .role("api_answerer", [said("orders.")])
        .role("composer", [said("orders and regions.")])
        .ask(asked(question, json!({"disable_agents": [disabled]})))
        .await;
    assert_eq!(run.results().len(), 1, "{question}");
    !run.requests("sql_writer").is_empty() || !run.requests("api_planner").is_empty()
}

#[tokio::test]
async fn only_the_plainest_words_need_no_model() {
    for (question, is_left) in [
        ("List all tables in the database", false),
        ("Which tables does the database have?", false),
        ("show me the tables of this db, please", false),
        ("List all tables", true),
        ("Which tables in the database have no rows?", true),
        ("List all free tables in the database", true),
        ("Do not list the tables of the database", true),
    ] {
        assert_eq!(is_left_to_a_model(question, "api_docs").await, is_left, "{question}");
    }
    for (question, is_left) in [
        ("List me all the API points available to you", false),
        ("Which endpoints are there in the API?", false),
        ("List all endpoints of this API", false),
        ("Which endpoints of the API are slow?", true),
        ("List all the points of the endpoint", true),
    ] {
        assert_eq!(is_left_to_a_model(question, "sql").await, is_left, "{question}");
    }
}

#[tokio::test]
async fn a_database_with_tables_in_its_data_leaves_the_question_to_the_model() {
    let scene = Scene::of_tables("CREATE TABLE tables (seats INTEGER);", &["tables"]);
    let run = scene
        .queries(&["SELECT seats FROM tables"], "There are none.")
        .role("composer", [said("There are none.")])
        .ask("List all tables in the database")
        .await;
    assert_eq!(run.ran(), ["SELECT seats FROM tables"]);
}

fn cells(run: &ScriptedRun, column: &str) -> Vec<String> {
    let data = run.result.output.data.as_ref().unwrap();
    data.rows.iter().map(|row| row[column].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn columns_have_types_keys_and_descriptions() {
    let descriptions = json!({"descriptions": {"orders.net_eur": "net, in euros"}});
    let replies = vec![listing("columns", &[])];
    let run = listed(descriptions, replies, "There are 6 columns in 2 tables.").await;
    assert_eq!(run.answer(), "There are 6 columns in 2 tables.");
    let data = run.result.output.data.as_ref().unwrap();
    assert_eq!(data.columns, ["table", "column", "type", "key", "description"]);
    assert_eq!(cells(&run, "column"), ["id", "region", "net_eur", "updated_at", "code", "name"]);
    assert_eq!(cells(&run, "type")[..3], ["INTEGER", "TEXT", "REAL"]);
    assert_eq!(cells(&run, "key")[..2], ["primary key", "refers to regions.code"]);
    assert_eq!(cells(&run, "description")[2], "net, in euros");
    let [(_, data)] = &run.events(TraceEventKind::Tool)[1..] else { panic!("one list") };
    assert_eq!((&data["schema"], &data["row_count"]), (&json!("columns"), &json!(6)));
    assert_eq!(run.ran(), [""; 0]);
}

#[tokio::test]
async fn a_list_of_one_table_leaves_the_others_out() {
    let run = listed(json!({}), vec![listing("columns", &["Regions"])], "code and name.").await;
    assert_eq!(cells(&run, "column"), ["code", "name"]);
    let run = listed(json!({}), vec![listing("tables", &["regions"])], "regions.").await;
    assert_eq!(cells(&run, "table"), ["regions"]);
}

#[tokio::test]
async fn a_table_that_may_not_be_read_is_not_described() {
    for schema in ["tables", "columns"] {
        let replies = vec![listing(schema, &["orders", "salaries"]), listing(schema, &["orders"])];
        let run = listed(json!({}), replies, "That is orders.").await;
        assert!(cells(&run, "table").iter().all(|table| table == "orders"));
        let again = run.requests("sql_writer")[1].messages.last().unwrap().content.to_string();
        assert!(again.contains("may not be read: salaries"), "{again}");
        assert!(again.contains("it has orders, regions"), "{again}");
    }
}

#[tokio::test]
async fn a_reply_with_a_query_or_with_what_is_missing_asks_for_no_list() {
    let mut both = query("SELECT count(*) AS n FROM orders");
    both["schema"] = json!("tables");
    let run = listed(json!({}), vec![both], "There are 3.").await;
    assert_eq!(run.ran(), ["SELECT count(*) AS n FROM orders"]);
    let mut missing = listing("tables", &[]);
    missing["missing"] = json!("the profit");
    let run = listed(json!({}), vec![missing], "unused").await;
    assert_eq!(run.results()[0].2, "NotInData");
}

#[tokio::test]
async fn a_query_of_the_catalogue_asks_for_a_list() {
    for sql in [
        "SELECT name FROM sqlite_master WHERE type = 'table'",
        "SELECT name FROM tables",
        "SELECT table_name\nFROM information_schema.tables WHERE table_schema = 'public';",
        "SHOW TABLES",
    ] {
        let run = listed(json!({}), vec![query(sql)], "orders and regions.").await;
        assert_eq!(cells(&run, "table"), ["orders", "regions"], "{sql}");
        assert_eq!(run.ran(), [""; 0]);
    }
    for sql in [
        "PRAGMA table_info(regions)",
        "SELECT name FROM pragma_table_info('regions')",
        "SELECT column_name FROM information_schema.columns WHERE table_name = 'regions'",
        "DESCRIBE regions;",
    ] {
        let run = listed(json!({}), vec![query(sql)], "code and name.").await;
        assert_eq!(cells(&run, "column"), ["code", "name"], "{sql}");
    }
}

#[tokio::test]
async fn a_query_of_the_catalogue_that_is_after_more_is_refused_as_others() {
    for sql in [
        "SELECT name FROM sqlite_master JOIN orders ON id = rootpage",
        "SELECT sql FROM sqlite_master",
        "PRAGMA table_info(salaries)",
        "SELECT name FROM pragma_table_info('salaries')",
        "SELECT * FROM sqlite_master, orders",
        "SELECT count(*) AS n FROM tables WHERE is_free = 1",
    ] {
        let replies = vec![query(sql), query("SELECT count(*) AS n FROM orders")];
        let run = listed(json!({}), replies, "There are 3.").await;
        assert_eq!(run.ran(), ["SELECT count(*) AS n FROM orders"], "{sql}");
    }
}

#[tokio::test]
async fn a_model_reads_a_list_whole_and_may_state_how_long_it_is() {
    let rows = json!({"preview_rows": 1});
    let run = listed(rows, vec![listing("tables", &[])], "orders and regions: 2.").await;
    assert_eq!(run.answer(), "orders and regions: 2.");
    let read = run.requests("sql_answerer")[0].messages.last().unwrap().content.to_string();
    assert!(read.contains("regions | table"), "{read}");
    let run = listed(json!({}), vec![listing("tables", &[])], "There are 9 tables.").await;
    assert_eq!(run.answer(), "table | kind\norders | table\nregions | table\n(2 rows in all)");
}

#[tokio::test]
async fn a_plan_of_a_call_lists_nothing() {
    let run = Scene::new(&json!({}))
        .with_api([Ok(json!({"status": 200, "data": {"orders": 3}}))])
        .role(
            "api_planner",
            [json!({
                "make_request": true, "list_endpoints": true, "method": "GET", "path": "/v1/orders",
            })],
        )
        .role("api_answerer", [said("3 orders.")])
        .role("composer", [said("3 orders.")])
        .ask(asked("Which orders does the endpoint return?", json!({"disable_agents": ["sql"]})))
        .await;
    assert_eq!(run.api.as_ref().unwrap().calls.lock().unwrap().len(), 1);
    assert_eq!(run.answer(), "3 orders.");
}
