//! Queries of a SQLite file.

use antiphon_tools::sql::{
    CellValue, Database, QueryLimits, QueryParameters, QueryPolicy, SqlDialect, SqliteDatabase,
    TableName,
};
use rusqlite::Connection;
use serde_json::json;

use super::corpus::{CANARY, SECRET, contents, hostile, legitimate, policy, sqlite_file};

async fn run(
    database: &dyn Database,
    sql: &str,
) -> Result<antiphon_tools::sql::QueryTable, antiphon_core::Fault> {
    let query = database.check(sql)?;
    database.execute(&query, &QueryParameters::None, &QueryLimits::default()).await
}

#[tokio::test]
async fn legitimate_queries_return_their_rows() {
    let folder = tempfile::tempdir().unwrap();
    let database =
        SqliteDatabase::open(sqlite_file(folder.path()), policy(SqlDialect::Sqlite)).unwrap();
    for query in legitimate(SqlDialect::Sqlite) {
        let checked = database.check(&query.sql).unwrap();
        let parameters = QueryParameters::from_json(query.parameters).unwrap();
        let outcome = database.execute(&checked, &parameters, &QueryLimits::default()).await;
        let table = outcome.unwrap_or_else(|fault| panic!("{}\n{fault}", query.sql));
        assert!(!table.columns.is_empty(), "{}", query.sql);
    }
}

#[tokio::test]
async fn hostile_queries_change_no_byte_and_read_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let database =
        SqliteDatabase::open(sqlite_file(folder.path()), policy(SqlDialect::Sqlite)).unwrap();
    let before = contents(folder.path());
    for query in hostile(SqlDialect::Sqlite) {
        let outcome = run(&database, &query.sql).await;
        assert!(outcome.is_err(), "{}", query.sql);
        assert!(!format!("{:?}", outcome.unwrap_err()).contains(SECRET), "{}", query.sql);
    }
    assert_eq!(contents(folder.path()), before);
    assert!(!std::path::Path::new(CANARY).exists());
}

#[tokio::test]
async fn cells_keep_their_types_and_every_digit() {
    let folder = tempfile::tempdir().unwrap();
    let database =
        SqliteDatabase::open(sqlite_file(folder.path()), policy(SqlDialect::Sqlite)).unwrap();
    let sql = "SELECT 9007199254740993 AS big, 0.1 AS float, 'é' AS text, x'00ff' AS bytes, NULL AS none, id, id FROM orders LIMIT 1";
    let table = run(&database, sql).await.unwrap();
    let names: Vec<_> = table.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["big", "float", "text", "bytes", "none", "id", "id_2"]);
    assert_eq!(table.columns[5].data_type, "INTEGER");
    assert_eq!(
        table.rows[0],
        [
            CellValue::Integer(9_007_199_254_740_993),
            CellValue::Float(0.1),
            CellValue::Text("é".to_owned()),
            CellValue::Blob(vec![0, 255], 2),
            CellValue::Null,
            CellValue::Integer(1),
            CellValue::Integer(1),
        ]
    );
    assert_eq!(table.to_json()["rows"][0][3], json!({"base64": "AP8=", "bytes": 2}));
}

#[tokio::test]
async fn rows_cells_and_bytes_are_limited_and_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let database =
        SqliteDatabase::open(sqlite_file(folder.path()), policy(SqlDialect::Sqlite)).unwrap();
    let run = async |sql: &str, limits: QueryLimits| {
        let query = database.check(sql).unwrap();
        database.execute(&query, &QueryParameters::None, &limits).await.unwrap()
    };
    let limits = QueryLimits::default();
    let table = run("SELECT id FROM orders", QueryLimits { rows: 4, ..limits }).await;
    assert!((table.rows.len(), table.truncated) == (4, false));
    let table = run("SELECT id FROM orders", QueryLimits { rows: 3, ..limits }).await;
    assert!((table.rows.len(), table.truncated) == (3, true));
    assert_eq!(table.to_json()["truncated"], true);
    let table = run("SELECT 'ééééé', x'0102030405'", QueryLimits { cell: 2, ..limits }).await;
    assert!(table.cells_cut);
    assert_eq!(table.rows[0][0], CellValue::Text("éé…".to_owned()));
    assert_eq!(table.rows[0][1], CellValue::Blob(vec![1, 2], 5));
    let table =
        run("SELECT note FROM orders ORDER BY id", QueryLimits { bytes: 20, ..limits }).await;
    assert!(table.truncated && table.rows.len() == 3);
}

#[tokio::test]
async fn an_endless_query_ends_with_its_time_limit() {
    let folder = tempfile::tempdir().unwrap();
    let database =
        SqliteDatabase::open(sqlite_file(folder.path()), policy(SqlDialect::Sqlite)).unwrap();
    let sql =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let query = database.check(sql).unwrap();
    let limits =
        QueryLimits { timeout: std::time::Duration::from_millis(50), ..QueryLimits::default() };
    let fault = database.execute(&query, &QueryParameters::None, &limits).await.unwrap_err();
    assert_eq!(fault.code, "query_timeout");
}

#[tokio::test]
async fn an_error_of_the_database_names_the_place_in_the_query() {
    let folder = tempfile::tempdir().unwrap();
    let database =
        SqliteDatabase::open(sqlite_file(folder.path()), policy(SqlDialect::Sqlite)).unwrap();
    let fault = run(&database, "SELECT id, amuont FROM orders").await.unwrap_err();
    assert_eq!(fault.code, "query_failed");
    assert_eq!(fault.message, "the query failed: no such column: amuont (at `amuont FROM orders`)");
    assert_eq!(fault.details["position"], 12);
    assert!(fault.hint.as_deref().unwrap().contains("schema"));
}

#[tokio::test]
async fn parameters_must_fit_the_placeholders() {
    let folder = tempfile::tempdir().unwrap();
    let database =
        SqliteDatabase::open(sqlite_file(folder.path()), policy(SqlDialect::Sqlite)).unwrap();
    for (sql, parameters) in [
        ("SELECT * FROM orders WHERE id = ?", json!(null)),
        ("SELECT * FROM orders WHERE id = ?", json!([1, 2])),
        ("SELECT * FROM orders WHERE id = :a", json!({"b": 1})),
        ("SELECT * FROM orders", json!({"a": 1})),
        ("SELECT * FROM orders WHERE id = :a", json!([1])),
    ] {
        let query = database.check(sql).unwrap();
        let parameters = QueryParameters::from_json(parameters).unwrap();
        let outcome = database.execute(&query, &parameters, &QueryLimits::default()).await;
        assert_eq!(outcome.unwrap_err().code, "query_parameters_invalid", "{sql}");
    }
}

#[tokio::test]
async fn the_overview_shows_allowed_tables_in_the_order_of_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let database =
        SqliteDatabase::open(sqlite_file(folder.path()), policy(SqlDialect::Sqlite)).unwrap();
    let tables = database.tables().await.unwrap();
    let names: Vec<_> = tables.iter().map(|table| table.name.table.as_str()).collect();
    assert_eq!(names, ["customers", "order_items", "orders", "products", "sales_by_region"]);
    assert_eq!((tables[2].rows, tables[2].column_count), (Some(4), 6));
    assert_eq!(tables[4].rows, None);

    let schema = database.schema(&TableName::new("main", "orders")).await.unwrap();
    assert_eq!(schema.columns[0].primary_key, Some(1));
    assert_eq!(schema.columns[2].data_type, "NUMERIC");
    assert_eq!(schema.foreign_keys[0].table.table, "customers");
    assert_eq!(schema.foreign_keys[0].references, ["id"]);
    let schema = database.schema(&TableName::new("main", "products")).await.unwrap();
    assert_eq!(schema.unique, [["name"]]);

    let hidden = TableName::new("main", "salaries");
    assert_eq!(database.schema(&hidden).await.unwrap_err().code, "query_table_forbidden");
    let sample = database.sample(&hidden, &QueryLimits::default()).await.unwrap_err();
    assert_eq!(sample.code, "query_table_forbidden");
    let limits = QueryLimits { rows: 2, ..QueryLimits::default() };
    let sample = database.sample(&TableName::new("main", "orders"), &limits).await.unwrap();
    assert_eq!(sample.rows.len(), 2);
}

#[tokio::test]
async fn full_text_search_works_with_and_without_a_list() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("CREATE VIRTUAL TABLE pages USING fts5(body); INSERT INTO pages VALUES ('hello world');")
        .unwrap();
    connection.close().unwrap();
    let all = QueryPolicy::new(SqlDialect::Sqlite);
    for policy in [all.clone(), all.tables(&["pages"]).unwrap()] {
        let database = SqliteDatabase::open(&path, policy).unwrap();
        let query = database
            .check("SELECT snippet(pages, 0, '[', ']', '…', 5) FROM pages WHERE pages MATCH :words")
            .unwrap();
        let words = QueryParameters::from_json(json!({"words": "hello"})).unwrap();
        let table = database.execute(&query, &words, &QueryLimits::default()).await.unwrap();
        assert_eq!(table.rows[0][0], CellValue::Text("[hello] world".to_owned()));
        let names: Vec<_> =
            database.tables().await.unwrap().into_iter().map(|table| table.name.table).collect();
        assert_eq!(names, ["pages"]);
    }
}

#[tokio::test]
async fn a_file_that_is_missing_or_no_database_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let policy = || QueryPolicy::new(SqlDialect::Sqlite);
    let fault = SqliteDatabase::open(folder.path().join("none.db"), policy()).unwrap_err();
    assert_eq!(fault.code, "tool_setting_invalid");
    let path = folder.path().join("text.db");
    std::fs::write(&path, "no database, but a longer text".repeat(100)).unwrap();
    let database = SqliteDatabase::open(&path, policy()).unwrap();
    let fault = database.tables().await.unwrap_err();
    assert_eq!(fault.code, "database_unreachable");
}

#[tokio::test]
async fn a_dropped_query_stops() {
    let folder = tempfile::tempdir().unwrap();
    let path = sqlite_file(folder.path());
    let database = SqliteDatabase::open(&path, policy(SqlDialect::Sqlite)).unwrap();
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n, orders";
    let query = database.check(sql).unwrap();
    let limits =
        QueryLimits { timeout: std::time::Duration::from_mins(10), ..QueryLimits::default() };
    {
        let running = database.execute(&query, &QueryParameters::None, &limits);
        tokio::select! {
            _ = running => panic!("it is endless"),
            () = tokio::task::yield_now() => {}
        }
    }
    // The runtime of this test waits for its blocking threads when it ends, so that a query that
    // goes on would not let the test end.
}
