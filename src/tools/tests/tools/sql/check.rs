//! The check of a statement alone, without any database.

use antiphon_tools::sql::{ParameterKey, QueryPolicy, SqlDialect, check};

use super::corpus::{hostile, legitimate, policy};

const DIALECTS: [SqlDialect; 2] = [SqlDialect::Sqlite, SqlDialect::Postgres];

#[test]
fn every_hostile_query_is_refused() {
    for dialect in DIALECTS {
        let queries = hostile(dialect);
        assert!(queries.len() >= 100, "{dialect}: {}", queries.len());
        let passed: Vec<_> = queries
            .iter()
            .filter(|query| check(&query.sql, &policy(dialect)).is_ok())
            .map(|query| format!("{}: {}", query.kind, query.sql))
            .collect();
        assert!(passed.is_empty(), "{dialect} admits:\n{}", passed.join("\n"));
    }
}

#[test]
fn every_legitimate_query_is_admitted() {
    for dialect in DIALECTS {
        let queries = legitimate(dialect);
        assert!(queries.len() >= 60, "{dialect}: {}", queries.len());
        let refused: Vec<_> = queries
            .iter()
            .filter_map(|query| {
                let fault = check(&query.sql, &policy(dialect)).err()?;
                Some(format!("{}\n    {fault}", query.sql))
            })
            .collect();
        assert!(refused.is_empty(), "{dialect} refuses:\n{}", refused.join("\n"));
    }
}

#[test]
fn a_refusal_is_a_matter_of_policy_and_says_why() {
    let policy = policy(SqlDialect::Postgres);
    for (sql, code, reason) in [
        ("DELETE FROM orders", "query_refused", "statement"),
        ("SELECT 1; SELECT 2", "query_refused", "statements"),
        ("SELECT pg_sleep(1)", "query_refused", "function"),
        ("SELECT * FROM orders FOR UPDATE", "query_refused", "clause"),
        ("SELECT 'x'::regclass", "query_refused", "expression"),
        ("SELECT E'x'", "query_refused", "literal"),
        ("SELECT (1", "query_refused", "syntax"),
        ("SELECT a * FROM orders", "query_refused", "syntax"),
        ("SELECT", "query_refused", "clause"),
        ("SELECT count(*) FROM orders GROUP BY 'status'", "query_refused", "key"),
        ("SELECT status FROM orders ORDER BY 'status'", "query_refused", "key"),
    ] {
        let fault = check(sql, &policy).unwrap_err();
        assert_eq!(fault.code, code, "{sql}");
        assert_eq!(fault.category.as_str(), "policy", "{sql}");
        assert_eq!(fault.details["reason"], reason, "{sql}: {fault}");
        assert!(fault.hint.is_some(), "{sql}");
    }
    let fault = check("SELECT * FROM public.salaries", &policy).unwrap_err();
    assert_eq!(fault.code, "query_table_forbidden");
    assert_eq!(fault.details["table"], "salaries");
    assert!(fault.hint.as_deref().unwrap().contains("orders, products"), "{fault:?}");
}

#[test]
fn who_asks_for_the_schema_is_told_what_shows_it() {
    let policy = QueryPolicy::new(SqlDialect::Sqlite);
    for (sql, message) in [
        ("PRAGMA table_info(orders)", "the query is refused: it is not a SELECT but: PRAGMA"),
        ("pragma table_list", "the query is refused: it is not a SELECT but: PRAGMA"),
        ("DESCRIBE orders", "the query is refused: it is not a SELECT but: DESCRIBE"),
        ("show tables", "the query is refused: it is not a SELECT but: SHOW"),
        (
            "SELECT * FROM pragma_table_info('orders')",
            "the query calls a function that is not allowed: pragma_table_info",
        ),
        (
            "SELECT * FROM sqlite_master",
            "the table does not exist or may not be read: sqlite_master",
        ),
    ] {
        let fault = check(sql, &policy).unwrap_err();
        assert_eq!(fault.message, message);
        let hint = fault.hint.as_deref().unwrap();
        assert!(hint.contains("`sql_schema`"), "{sql}: {hint}");
    }
}

#[test]
fn the_canonical_text_has_no_comments_and_plain_quoting() {
    let policy = policy(SqlDialect::Sqlite);
    for (sql, canonical) in [
        ("select  id\nfrom orders -- all\n;", "select id from orders"),
        ("SELECT/**/id/**/FROM/**/orders", "SELECT id FROM orders"),
        ("SELECT [id], `note` FROM \"orders\"", "SELECT \"id\", \"note\" FROM \"orders\""),
        ("SELECT 'it''s -- no comment'", "SELECT 'it''s -- no comment'"),
        ("SELECT o.id,count( * )FROM orders o", "SELECT o.id,count( * )FROM orders o"),
        ("SELECT 1--1\n+2", "SELECT 1 + 2"),
        (
            "SELECT id FROM orders WHERE note = '\\''; --'",
            "SELECT id FROM orders WHERE note = '\\''; --'",
        ),
    ] {
        let checked = check(sql, &policy);
        assert_eq!(checked.unwrap().text(), canonical, "{sql}");
    }
}

#[test]
fn placeholders_become_the_numbers_of_the_database() {
    let sqlite = policy(SqlDialect::Sqlite);
    let query =
        check("SELECT * FROM orders WHERE id = :b OR id = :a OR note = :b", &sqlite).unwrap();
    assert_eq!(query.text(), "SELECT * FROM orders WHERE id = ?1 OR id = ?2 OR note = ?1");
    let names = ["b", "a"].map(|name| ParameterKey::Name(name.to_owned()));
    assert_eq!(query.parameters(), names);

    let postgres = policy(SqlDialect::Postgres);
    let query = check("SELECT * FROM orders WHERE id = $2 AND note = $1", &postgres).unwrap();
    assert_eq!(query.text(), "SELECT * FROM orders WHERE id = $1 AND note = $2");
    assert_eq!(query.parameters(), [2, 1].map(ParameterKey::Position));
    let query = check("SELECT (ARRAY[1,2,3])[1:2], amount::text FROM orders", &postgres).unwrap();
    assert!(query.parameters().is_empty());

    let mixed = check("SELECT * FROM orders WHERE id = $1 AND note = :a", &postgres).unwrap_err();
    assert_eq!(mixed.details["reason"], "placeholder");
}

#[test]
fn a_query_names_the_tables_that_it_reads_but_not_its_own_expressions() {
    let policy = policy(SqlDialect::Postgres);
    let sql = "WITH o AS (SELECT * FROM orders) SELECT * FROM o JOIN Customers AS c ON true";
    let tables: Vec<_> =
        check(sql, &policy).unwrap().tables().iter().map(ToString::to_string).collect();
    assert_eq!(tables, ["public.customers", "public.orders"]);
}

#[test]
fn without_a_list_all_tables_but_those_of_the_system_are_allowed() {
    for dialect in DIALECTS {
        let policy = QueryPolicy::new(dialect);
        assert!(check("SELECT * FROM anything", &policy).is_ok());
    }
    let sqlite = QueryPolicy::new(SqlDialect::Sqlite);
    assert!(check("SELECT * FROM sqlite_master", &sqlite).is_err());
    assert!(check("SELECT * FROM sqlite_master", &sqlite.system_tables(true)).is_ok());
    let postgres = QueryPolicy::new(SqlDialect::Postgres);
    assert!(check("SELECT * FROM pg_class", &postgres).is_err());
    assert!(check("SELECT * FROM information_schema.tables", &postgres).is_err());
    assert!(check("SELECT * FROM pg_class", &postgres.system_tables(true)).is_ok());
}

#[test]
fn further_functions_and_schemas_can_be_allowed() {
    let policy = QueryPolicy::new(SqlDialect::Postgres)
        .default_schema("shop")
        .tables(&["orders", "audit.\"Log\""])
        .unwrap()
        .functions(&["crm.score"]);
    assert!(check("SELECT crm.score(id) FROM shop.orders", &policy).is_ok());
    assert!(check("SELECT * FROM audit.\"Log\"", &policy).is_ok());
    assert!(check("SELECT * FROM audit.log", &policy).is_err());
    assert!(check("SELECT * FROM public.orders", &policy).is_err());
    assert!(check("SELECT score(id) FROM orders", &policy).is_err());
}

#[test]
fn an_empty_or_malformed_list_of_tables_is_an_error() {
    let policy = || QueryPolicy::new(SqlDialect::Postgres);
    for names in [&[][..], &["a.b.c"], &[""], &["a."], &["\"a"]] {
        let fault = policy().tables(names).unwrap_err();
        assert_eq!(fault.code, "tool_setting_invalid", "{names:?}");
    }
}

#[test]
fn long_and_deep_queries_are_refused_and_end_no_thread() {
    for dialect in DIALECTS {
        let policy = policy(dialect);
        for sql in [
            format!("SELECT 1{}", " + 1".repeat(4_900)),
            format!("SELECT {}1", "-".repeat(9_000).replace("--", "- -")),
            format!("SELECT {}1{}", "(".repeat(5_000), ")".repeat(5_000)),
            format!("SELECT {}1{}", "(SELECT ".repeat(1_000), ")".repeat(1_000)),
            format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(900)),
            format!("SELECT {}1", "NOT ".repeat(4_000)),
            format!("SELECT 1{}", "::int".repeat(3_000)),
            "SELECT 1 ".repeat(10_000),
        ] {
            // Refused or admitted, but decided.
            let _ = check(&sql, &policy);
        }
        assert!(check(&" ".repeat(20_001), &policy).is_err());
    }
}
