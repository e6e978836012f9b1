//! Queries of a real PostgreSQL server, whose URL is in `ANTIPHON_TEST_POSTGRES`.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, TimestampMicrosecondType};
use arrow_ipc::reader::StreamReader;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use antiphon_net::Secret;
use antiphon_runtime::{CallContext, SystemClock};
use antiphon_tools::sql::{
    CellValue, Database, PostgresDatabase, PostgresOptions, QueryLimits, QueryParameters,
    QueryPolicy, QueryTable, SqlDialect, SqlTools, TableKind, TableName,
};
use serde_json::json;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use super::corpus::{ROWS, SECRET, TABLES, hostile, legitimate, policy};

const SCHEMA: &str = "
    CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL, region text, joined date);
    COMMENT ON TABLE customers IS 'Everybody who has bought something';
    COMMENT ON COLUMN customers.region IS 'north or south';
    CREATE TABLE products (id int PRIMARY KEY, name text NOT NULL UNIQUE, category text,
        price numeric(10, 2), tags jsonb);
    CREATE TABLE orders (id int PRIMARY KEY, customer_id int REFERENCES customers,
        amount numeric(10, 2), status text, ordered_at timestamptz, note text);
    CREATE INDEX orders_customer ON orders (customer_id);
    CREATE TABLE order_items (order_id int REFERENCES orders (id),
        product_id int REFERENCES products (id), quantity int,
        PRIMARY KEY (order_id, product_id));
    CREATE TABLE salaries (customer_id int, token text);
    CREATE VIEW sales_by_region AS SELECT region, sum(amount) AS total
        FROM orders JOIN customers ON customers.id = orders.customer_id GROUP BY region;
    CREATE SCHEMA hidden; CREATE TABLE hidden.vault AS SELECT 'TOKEN-7731-PRIVATE' AS token;
    CREATE SEQUENCE counter;
    CREATE FUNCTION drain_orders() RETURNS bigint LANGUAGE sql AS
        'WITH gone AS (DELETE FROM orders RETURNING 1) SELECT count(*) FROM gone';
    CREATE FUNCTION peek_salaries() RETURNS SETOF text LANGUAGE sql SECURITY DEFINER AS
        'SELECT token FROM salaries';";

/// A database of its own on the server of the tests.
pub(super) struct TestServer {
    client: Client,
    base: String,
    name: String,
    login: String,
}

impl TestServer {
    /// None without a server.
    pub(super) async fn start() -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let url = std::env::var("ANTIPHON_TEST_POSTGRES").ok()?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("sql_{}_{number}", std::process::id());
        let login = format!("analyst_{}_{number}", std::process::id());
        let admin = connect(&url).await;
        admin.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
        admin
            .batch_execute(&format!("CREATE ROLE {login} LOGIN PASSWORD 'word-of-{login}'"))
            .await
            .unwrap();
        let base = url.rsplit_once('/').unwrap().0.to_owned();
        let client = connect(&format!("{base}/{name}")).await;
        client.batch_execute(SCHEMA).await.unwrap();
        client.batch_execute(ROWS).await.unwrap();
        let grant = format!("GRANT SELECT ON {} TO {login}", TABLES.join(", "));
        client.batch_execute(&grant).await.unwrap();
        client.batch_execute("ANALYZE").await.unwrap();
        Some(Self { client, base, name, login })
    }

    /// The database through the login that owns everything.
    pub(super) fn superuser(&self) -> PostgresDatabase {
        open(&format!("{}/{}", self.base, self.name), policy(SqlDialect::Postgres))
    }

    /// The database through a login that may read the allowed tables.
    pub(super) fn analyst(&self) -> PostgresDatabase {
        open(&self.analyst_url(), policy(SqlDialect::Postgres))
    }

    fn analyst_url(&self) -> String {
        self.analyst_url_at(&self.place())
    }

    /// Host and port.
    pub(super) fn place(&self) -> String {
        self.base.rsplit_once('@').unwrap().1.to_owned()
    }

    /// The same login at another host and port, which lead to the server.
    pub(super) fn analyst_url_at(&self, place: &str) -> String {
        let Self { login, name, .. } = self;
        format!("postgresql://{login}:word-of-{login}@{place}/{name}")
    }

    /// What could have changed: rows, objects, sequences.
    pub(super) async fn fingerprint(&self) -> String {
        let sql = "SELECT md5((SELECT string_agg(o::text, '|' ORDER BY id) FROM orders o)
                || (SELECT string_agg(c::text, '|' ORDER BY id) FROM customers c)
                || (SELECT string_agg(s::text, '|' ORDER BY token) FROM salaries s)
                || (SELECT string_agg(n.nspname || '.' || c.relname, '|' ORDER BY c.oid)
                    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                    WHERE n.nspname !~ '^pg_(toast|temp)')
                || (SELECT count(*) FROM pg_proc) || (SELECT count(*) FROM pg_extension)
                || (SELECT count(*) FROM pg_largeobject_metadata)
                || (SELECT count(*) FROM pg_trigger) || (SELECT count(*) FROM pg_rewrite)
                || (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
                || (SELECT last_value || '-' || is_called FROM counter))";
        let rows = self.client.simple_query(sql).await.unwrap();
        let row = rows.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        });
        row.unwrap()
    }
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

fn open(url: &str, policy: QueryPolicy) -> PostgresDatabase {
    PostgresDatabase::open(&Secret::new(url), policy, PostgresOptions::default()).unwrap()
}

async fn run(database: &dyn Database, sql: &str) -> Result<QueryTable, antiphon_core::Fault> {
    let query = database.check(sql)?;
    database.execute(&query, &QueryParameters::None, &QueryLimits::default()).await
}

#[tokio::test]
async fn legitimate_queries_return_their_rows() {
    let Some(server) = TestServer::start().await else { return };
    for database in [server.analyst(), server.superuser()] {
        for query in legitimate(SqlDialect::Postgres) {
            let checked = database.check(&query.sql).unwrap();
            let parameters = QueryParameters::from_json(query.parameters).unwrap();
            let outcome = database.execute(&checked, &parameters, &QueryLimits::default()).await;
            let table = outcome.unwrap_or_else(|fault| panic!("{}\n{fault}", query.sql));
            assert!(!table.columns.is_empty(), "{}", query.sql);
        }
    }
}

#[tokio::test]
async fn hostile_queries_change_nothing_and_read_no_secret() {
    let Some(server) = TestServer::start().await else { return };
    let database = server.superuser();
    let before = server.fingerprint().await;
    for query in hostile(SqlDialect::Postgres) {
        let outcome = run(&database, &query.sql).await;
        assert!(outcome.is_err(), "{}", query.sql);
        assert!(!format!("{outcome:?}").contains(SECRET), "{}", query.sql);
    }
    assert_eq!(server.fingerprint().await, before);
}

#[tokio::test]
async fn cells_keep_their_types_and_every_digit() {
    let Some(server) = TestServer::start().await else { return };
    let sql = "SELECT 9007199254740993 AS big, 12345678901234567890.10::numeric AS decimal, \
               'NaN'::float8 AS nan, true AS yes, date '2026-02-01' AS day, \
               timestamptz '2026-02-01 10:00:00.123456+02' AS at, '{\"a\": [1]}'::jsonb AS json, \
               '\\x00ff'::bytea AS bytes, NULL::int AS none, ARRAY[1, 2] AS list, \
               interval '1 day 2 hours' AS span, 1 AS a, 2 AS a";
    let table = run(&server.analyst(), sql).await.unwrap();
    let text = |text: &str| CellValue::Text(text.to_owned());
    let expected = [
        CellValue::Integer(9_007_199_254_740_993),
        CellValue::Decimal("12345678901234567890.10".to_owned()),
        CellValue::Boolean(true),
        text("2026-02-01"),
        text("2026-02-01 08:00:00.123456+00"),
        CellValue::Json(json!({"a": [1]})),
        CellValue::Blob(vec![0, 255], 2),
        CellValue::Null,
        text("{1,2}"),
        text("1 day 02:00:00"),
        CellValue::Integer(1),
        CellValue::Integer(2),
    ];
    let mut row = table.rows[0].clone();
    assert!(matches!(row.remove(2), CellValue::Float(value) if value.is_nan()));
    assert_eq!(row, expected);
    let column = |index: usize| {
        (table.columns[index].name.as_str(), table.columns[index].data_type.as_str())
    };
    assert_eq!(column(1), ("decimal", "numeric"));
    assert_eq!(column(5), ("at", "timestamptz"));
    assert_eq!(column(12), ("a_2", "int4"));
}

#[tokio::test]
async fn columns_of_arrow_have_the_types_of_the_database() {
    let Some(server) = TestServer::start().await else { return };
    let database = server.analyst();
    let sql = "SELECT 12345678901234567890.10::numeric AS price, date '2026-02-01' AS day, \
               time '10:00:00.5' AS hour, timestamp '2026-02-01 10:00:00' AS local, \
               timestamptz '2026-02-01 10:00:00.25+02' AS at, ARRAY[1, 2] AS list, true AS yes, \
               '{\"a\": 1}'::jsonb AS json, '\\x00ff'::bytea AS raw, 'infinity'::date AS never \
               UNION ALL SELECT -1.5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL";
    let query = database.check(sql).unwrap();
    let limits = QueryLimits { preview: Some(0), ..QueryLimits::default() };
    let table = database.execute(&query, &QueryParameters::None, &limits).await.unwrap();
    let mut batches = StreamReader::try_new(&*table.arrow.unwrap(), None)
        .unwrap()
        .map(Result::unwrap)
        .collect::<Vec<_>>();
    let batch = batches.remove(0);
    let types =
        batch.schema().fields().iter().map(|it| it.data_type().to_string()).collect::<Vec<_>>();
    assert_eq!(
        types,
        [
            "Decimal128(38, 2)",
            "Date32",
            "Time64(µs)",
            "Timestamp(µs)",
            "Timestamp(µs, \"UTC\")",
            "Utf8",
            "Boolean",
            "Utf8",
            "Binary",
            "Utf8",
        ]
    );
    let prices = batch.column(0).as_primitive::<Decimal128Type>();
    assert_eq!((prices.value(0), prices.value(1)), (1_234_567_890_123_456_789_010, -150));
    assert_eq!(
        batch.column(4).as_primitive::<TimestampMicrosecondType>().value(0),
        1_769_932_800_250_000
    );
    assert_eq!(batch.column(7).as_string::<i32>().value(0), "{\"a\":1}");
    assert!(
        batch.columns().iter().all(|column| column.is_null(1) || column.data_type().is_numeric())
    );
}

#[tokio::test]
async fn rows_and_cells_are_limited_by_the_server() {
    let Some(server) = TestServer::start().await else { return };
    let database = server.analyst();
    let limits = QueryLimits { rows: 3, cell: 4, ..QueryLimits::default() };
    let sql = "SELECT n, repeat('é', 1000) AS long, decode(repeat('ab', 9), 'hex') AS bytes \
               FROM generate_series(1, 1000000) AS n";
    let query = database.check(sql).unwrap();
    let table = database.execute(&query, &QueryParameters::None, &limits).await.unwrap();
    assert!((table.rows.len(), table.truncated, table.cells_cut) == (3, true, true));
    assert_eq!(table.rows[2][0], CellValue::Integer(3));
    assert_eq!(table.rows[2][1], CellValue::Text("éééé…".to_owned()));
    assert_eq!(table.rows[2][2], CellValue::Blob(vec![0xab; 4], 9));
}

#[tokio::test]
async fn a_query_beyond_its_time_is_cancelled_and_the_next_one_works() {
    let Some(server) = TestServer::start().await else { return };
    let database = server.analyst();
    let limits = QueryLimits { timeout: Duration::from_millis(100), ..QueryLimits::default() };
    let query =
        database.check("SELECT count(*) FROM generate_series(1, 100000000000) AS n").unwrap();
    let fault = database.execute(&query, &QueryParameters::None, &limits).await.unwrap_err();
    assert_eq!(fault.code, "query_timeout");
    assert_eq!(run(&database, "SELECT 1 AS one").await.unwrap().rows.len(), 1);
}

#[tokio::test]
async fn a_dropped_query_is_cancelled_on_the_server() {
    let Some(server) = TestServer::start().await else { return };
    let database = server.analyst();
    let sql = "SELECT count(*) FROM generate_series(1, 100000000000) AS dropped";
    let query = database.check(sql).unwrap();
    let limits = QueryLimits { timeout: Duration::from_mins(10), ..QueryLimits::default() };
    let active = async || {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%AS dropped%' AND pid <> pg_backend_pid()";
        server.client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0)
    };
    let no_parameters = QueryParameters::None;
    let mut running = Box::pin(database.execute(&query, &no_parameters, &limits));
    while active().await == 0 {
        tokio::select! {
            biased;
            _ = &mut running => panic!("it takes hours"),
            () = tokio::task::yield_now() => {}
        }
    }
    drop(running);
    while active().await > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_error_of_the_server_names_the_place_in_the_query() {
    let Some(server) = TestServer::start().await else { return };
    let database = server.analyst();
    let fault = run(&database, "SELECT id, amuont FROM orders").await.unwrap_err();
    assert_eq!(fault.code, "query_failed");
    assert_eq!(
        fault.message,
        "the query failed: column \"amuont\" does not exist (42703) (at `amuont FROM orders`)"
    );
    assert_eq!(fault.details["position"], 12);
    let division = run(&database, "SELECT 1 / (id - id) FROM orders").await.unwrap_err();
    assert!(division.message.contains("division by zero"), "{division}");
    // The connection is used again after an error.
    assert!(run(&database, "SELECT 1 AS one").await.is_ok());
}

#[tokio::test]
async fn the_overview_shows_keys_comments_and_estimates() {
    let Some(server) = TestServer::start().await else { return };
    for database in [server.analyst(), server.superuser()] {
        let tables = database.tables().await.unwrap();
        let names: Vec<_> = tables.iter().map(|table| table.name.table.as_str()).collect();
        assert_eq!(names, ["customers", "order_items", "orders", "products", "sales_by_region"]);
        assert_eq!(tables[0].comment.as_deref(), Some("Everybody who has bought something"));
        assert_eq!((tables[2].rows, tables[4].rows), (Some(4), None));
        assert_eq!(tables[4].kind, TableKind::View);

        let schema = database.schema(&TableName::new("public", "order_items")).await.unwrap();
        assert_eq!(schema.columns[1].primary_key, Some(2));
        let targets: Vec<_> =
            schema.foreign_keys.iter().map(|key| key.table.table.as_str()).collect();
        assert_eq!(targets, ["orders", "products"]);
        let schema = database.schema(&TableName::new("public", "products")).await.unwrap();
        assert_eq!(schema.unique, [["name"]]);
        assert_eq!(schema.columns[3].data_type, "numeric(10,2)");
        let hidden = TableName::new("public", "salaries");
        assert_eq!(database.schema(&hidden).await.unwrap_err().code, "query_table_forbidden");
        let sample = database.sample(&hidden, &QueryLimits::default()).await;
        assert_eq!(sample.unwrap_err().code, "query_table_forbidden");
    }
}

#[tokio::test]
async fn a_table_with_capitals_is_described_by_the_name_that_it_is_listed_with() {
    let Some(server) = TestServer::start().await else { return };
    let made = r#"CREATE TABLE "Order Head" ("createdAt" date); CREATE TABLE plain (a int)"#;
    server.client.batch_execute(made).await.unwrap();
    let url = format!("{}/{}", server.base, server.name);
    let database = Arc::new(open(&url, QueryPolicy::new(SqlDialect::Postgres)));
    let tools = SqlTools::of(&(database as Arc<_>), QueryLimits::default(), QueryLimits::columns());
    let schema = tools.iter().find(|tool| tool.spec().name == "sql_schema").unwrap();
    let cx = CallContext::new(Arc::new(SystemClock::default()));
    for (given, name) in [
        ("Order Head", "Order Head"),
        ("\"Order Head\"", "Order Head"),
        ("public.Order Head", "Order Head"),
        ("PLAIN", "plain"),
    ] {
        let found = schema.call(json!({"tables": [given], "sample_rows": 1}), &cx).await.unwrap();
        assert_eq!(found["tables"][0]["name"], name, "{given}");
    }
    let fault = schema.call(json!({"tables": ["Orders Head"]}), &cx).await.unwrap_err();
    assert_eq!(fault.code, "query_table_forbidden");
    assert!(fault.message.contains("orders head"), "{fault}");
}

#[tokio::test]
async fn no_error_contains_the_password() {
    let Some(server) = TestServer::start().await else { return };
    let right = server.analyst_url();
    let policy = || policy(SqlDialect::Postgres);
    let wrong = right.replace("word-of-", "wrong-word-");
    let fault = run(&open(&wrong, policy()), "SELECT 1 AS one").await.unwrap_err();
    assert_eq!(fault.code, "database_login_failed");
    assert!(!format!("{fault:?}").contains("wrong-word"), "{fault:?}");

    let closed = "postgresql://u:wrong-word@127.0.0.1:1/none";
    let fault = run(&open(closed, policy()), "SELECT 1 AS one").await.unwrap_err();
    assert_eq!(fault.code, "database_unreachable");
    assert!(!format!("{fault:?}").contains("wrong-word"), "{fault:?}");

    let absent = format!("{right}_none");
    let fault = run(&open(&absent, policy()), "SELECT 1 AS one").await.unwrap_err();
    assert_eq!(fault.code, "database_unreachable");

    let plain = format!("{right}?sslmode=require");
    let fault = run(&open(&plain, policy()), "SELECT 1 AS one").await.unwrap_err();
    assert_eq!(fault.code, "database_unreachable");
}

#[test]
fn a_url_that_cannot_be_used_is_never_quoted() {
    for url in [
        "mysql://u:hunter2@host/db",
        "postgresql://u:hunter2@host:port/db",
        "postgresql://",
        "postgresql://u:hunter2@host/db?sslmode=maybe",
        "postgresql://u:hunter2@host/db?channel=x",
        "postgresql://u:hunter2@host/db?sslrootcert=/none",
        "postgresql://u:hunter2@host/db?sslmode=verify-full&sslrootcert=/none",
    ] {
        let policy = QueryPolicy::new(SqlDialect::Postgres);
        let opened = PostgresDatabase::open(&Secret::new(url), policy, PostgresOptions::default());
        let fault = opened.unwrap_err();
        assert_eq!(fault.code, "tool_setting_invalid", "{url}");
        assert!(!format!("{fault:?}").contains("hunter2"), "{fault:?}");
    }
}
