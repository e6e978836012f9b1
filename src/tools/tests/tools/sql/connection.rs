//! The connections alone: the corpus of hostile queries, with the check of statements left out.

use std::path::Path;
use std::time::Duration;

use antiphon_tools::sql::{
    CheckedQuery, Database, QueryLimits, QueryParameters, SqlDialect, SqliteDatabase,
};

use super::corpus::{CANARY, HostileQuery, SECRET, contents, hostile, policy, sqlite_file};
use super::postgres::TestServer;

/// Short, so that a query that sleeps is known by its failure; shorter for one that does nothing
/// else.
fn limits(query: &HostileQuery) -> QueryLimits {
    let timeout = Duration::from_millis(if query.kind == "sleep" { 250 } else { 2_000 });
    QueryLimits { timeout, ..QueryLimits::default() }
}

#[tokio::test]
async fn a_sqlite_connection_changes_nothing_and_reads_no_hidden_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = sqlite_file(folder.path());
    let database = SqliteDatabase::open(path, policy(SqlDialect::Sqlite)).unwrap();
    let before = contents(folder.path());
    for query in hostile(SqlDialect::Sqlite) {
        let unchecked = CheckedQuery::trusted(&query.sql);
        let outcome = database.execute(&unchecked, &QueryParameters::None, &limits(&query)).await;
        assert!(!format!("{outcome:?}").contains(SECRET), "{}", query.sql);
        assert_eq!(contents(folder.path()), before, "{}", query.sql);
    }
    assert!(!Path::new(CANARY).exists());
}

#[tokio::test]
async fn a_postgres_connection_changes_nothing_and_sleeps_no_longer_than_its_limit() {
    let Some(server) = TestServer::start().await else { return };
    let before = server.fingerprint().await;
    // A login that may do everything, and one that may only read its tables.
    for database in [server.superuser(), server.analyst()] {
        for query in hostile(SqlDialect::Postgres) {
            let unchecked = CheckedQuery::trusted(&query.sql);
            let outcome =
                database.execute(&unchecked, &QueryParameters::None, &limits(&query)).await;
            if query.kind == "file" || query.kind == "sleep" {
                assert!(outcome.is_err(), "{}: {outcome:?}", query.sql);
            }
            assert!(!format!("{outcome:?}").contains("root:"), "{}: {outcome:?}", query.sql);
        }
        assert_eq!(server.fingerprint().await, before);
        assert!(!Path::new(CANARY).exists());
    }
}

#[tokio::test]
async fn a_postgres_login_without_rights_reads_no_hidden_table() {
    let Some(server) = TestServer::start().await else { return };
    let database = server.analyst();
    for query in hostile(SqlDialect::Postgres) {
        let unchecked = CheckedQuery::trusted(&query.sql);
        if query.kind == "sleep" || query.sql.contains("peek_salaries") {
            continue;
        }
        let outcome = database.execute(&unchecked, &QueryParameters::None, &limits(&query)).await;
        assert!(!format!("{outcome:?}").contains(SECRET), "{}", query.sql);
    }
}
