//! The queries of the corpora, and the databases that they are asked of.

use std::path::{Path, PathBuf};

use antiphon_tools::sql::{QueryPolicy, SqlDialect};
use rusqlite::Connection;
use serde::Deserialize;
use serde_json::Value as Json;

/// What only the forbidden table contains.
pub(super) const SECRET: &str = "TOKEN-7731-PRIVATE";

/// What hostile queries try to create.
pub(super) const CANARY: &str = "/tmp/antiphon_canary";

/// The tables that may be read; `salaries` is not among them.
pub(super) const TABLES: [&str; 5] =
    ["customers", "products", "orders", "order_items", "sales_by_region"];

#[derive(Deserialize)]
pub(super) struct HostileQuery {
    pub(super) kind: String,
    pub(super) sql: String,
}

#[derive(Deserialize)]
pub(super) struct LegitimateQuery {
    pub(super) sql: String,
    #[serde(default)]
    pub(super) parameters: Json,
}

fn read<T: for<'de> Deserialize<'de>>(text: &str) -> Vec<T> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(super) fn hostile(dialect: SqlDialect) -> Vec<HostileQuery> {
    read(match dialect {
        SqlDialect::Sqlite => include_str!("hostile.sqlite.jsonl"),
        SqlDialect::Postgres => include_str!("hostile.postgres.jsonl"),
    })
}

pub(super) fn legitimate(dialect: SqlDialect) -> Vec<LegitimateQuery> {
    read(match dialect {
        SqlDialect::Sqlite => include_str!("legitimate.sqlite.jsonl"),
        SqlDialect::Postgres => include_str!("legitimate.postgres.jsonl"),
    })
}

pub(super) fn policy(dialect: SqlDialect) -> QueryPolicy {
    QueryPolicy::new(dialect).tables(&TABLES).unwrap()
}

/// The rows, in both dialects.
pub(super) const ROWS: &str = "
    INSERT INTO customers VALUES (1, 'Ada', 'north', '2024-01-02'), (2, 'Bo', 'south', '2025-05-06'),
        (3, 'Cy', 'north', '2025-07-08');
    INSERT INTO products VALUES (1, 'Pen', 'office', 2.50, '{\"color\": \"red\", \"sizes\": [\"s\", \"m\"]}'),
        (2, 'Cup', 'kitchen', 7.25, '{\"color\": \"blue\", \"sizes\": []}');
    INSERT INTO orders VALUES (1, 1, 25.50, 'paid', '2026-01-05 10:00:00', NULL),
        (2, 1, 99.90, 'open', '2026-02-06 11:30:00', 'urgent'),
        (3, 2, 120.00, 'paid', '2026-02-20 09:15:00', 'it''s'),
        (4, 3, 15.00, 'cancelled', '2026-03-01 00:00:00', NULL);
    INSERT INTO order_items VALUES (1, 1, 3), (2, 2, 1), (3, 1, 10), (3, 2, 2);
    INSERT INTO salaries VALUES (1, 'TOKEN-7731-PRIVATE'), (2, 'TOKEN-7731-PRIVATE-2');";

pub(super) const SQLITE_SCHEMA: &str = "
    CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, region TEXT, joined DATE);
    CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, category TEXT,
        price NUMERIC, tags TEXT);
    CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers,
        amount NUMERIC, status TEXT, ordered_at TIMESTAMP, note TEXT);
    CREATE INDEX orders_customer ON orders (customer_id);
    CREATE TABLE order_items (order_id INTEGER REFERENCES orders (id),
        product_id INTEGER REFERENCES products (id), quantity INTEGER,
        PRIMARY KEY (order_id, product_id));
    CREATE TABLE salaries (customer_id INTEGER, token TEXT);
    CREATE VIEW sales_by_region AS SELECT region, sum(amount) AS total
        FROM orders JOIN customers ON customers.id = orders.customer_id GROUP BY region;";

/// A file with the tables of the corpora.
pub(super) fn sqlite_file(folder: &Path) -> PathBuf {
    let path = folder.join("shop.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(SQLITE_SCHEMA).unwrap();
    connection.execute_batch(ROWS).unwrap();
    connection.close().unwrap();
    path
}

/// The files of a folder with their contents.
pub(super) fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        paths.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
    files.sort();
    files
}
