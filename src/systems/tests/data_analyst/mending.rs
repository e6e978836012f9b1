//! Queries that spell names in another way than the schema, or look for values where there are none.

use antiphon_systems::data_analyst::sql::column_owner::give_owners;
use antiphon_systems::data_analyst::sql::known_names::quote_names;
use antiphon_systems::data_analyst::sql::misplaced_value::{misplaced_value, query_by_key};
use antiphon_systems::data_analyst::sql::{KnownReference, KnownTable, NamedValue};
use antiphon_systems::data_analyst::{Config, TraceEventKind};
use serde_json::{Value as Json, json};

use crate::scene::{Scene, ScriptedRun, query, said};

fn tables() -> Vec<KnownTable> {
    let table = |name: &str, columns: &[&str]| KnownTable {
        name: name.to_owned(),
        columns: columns.iter().map(|name| (*name).to_owned()).collect(),
        ..KnownTable::default()
    };
    vec![
        table("shop.Order Head", &["ord_no", "status", "Sales (EUR)", "order", "a.b", "2023"]),
        table("itm", &["Item Name", "Item", "net-eur", "createdAt", "größe m"]),
    ]
}

#[test]
fn names_get_the_quotes_that_they_need() {
    for (given, written) in [
        ("SELECT ord_no FROM Order Head", r#"SELECT ord_no FROM "Order Head""#),
        ("SELECT h.status FROM order  head AS h", r#"SELECT h.status FROM "Order Head" AS h"#),
        ("SELECT 1 FROM shop.order_head h", r#"SELECT 1 FROM shop."Order Head" h"#),
        ("SELECT i.Item_Name FROM itm i", r#"SELECT i."Item Name" FROM itm i"#),
        ("SELECT 1 FROM OrderHead", r#"SELECT 1 FROM "Order Head""#),
        ("SELECT sum(Sales (EUR)) FROM t", r#"SELECT sum("Sales (EUR)") FROM t"#),
        ("SELECT net-eur, Größe m FROM itm i", r#"SELECT "net-eur", "größe m" FROM itm i"#),
    ] {
        assert_eq!(quote_names(given, &tables(), "SQLite"), written);
    }
}

#[test]
fn what_may_mean_something_else_stays_as_it_is() {
    for query in [
        r#"SELECT "Order Head", [Order Head], `Order Head` FROM "Order Head""#,
        "SELECT 'Order Head' FROM itm -- Order Head\n",
        "SELECT /* Order Head */ 'it''s an Order Head' FROM itm",
        "SELECT 'Order Head",
        // `Item` is a column, `a` may be an alias, and 2023 is a number.
        "SELECT Item Name FROM itm ORDER BY 1",
        "SELECT a.b FROM itm AS a WHERE a.x = 2023",
        "SELECT Order Header, border Head FROM itm",
        // The query has that name itself.
        "WITH order_head AS\n(SELECT 1 AS x) SELECT x FROM order_head",
        "WITH order_head (x, y) AS MATERIALIZED (SELECT 1) SELECT x FROM order_head",
        "SELECT count(*) AS order_head FROM itm ORDER BY order_head",
        "SELECT CAST(x AS Order Head) FROM itm",
        "SELECT createdAt FROM itm",
    ] {
        assert_eq!(quote_names(query, &tables(), "SQLite"), query);
    }
}

#[test]
fn keywords_functions_and_types_are_no_names() {
    let names = ["paid", "Not Paid", "kg", "Max(kg)", "count(*)", "Order #", "Count #", "status"];
    let more = ["Case Status", "warehouse", "From Warehouse", "Date", "Count"];
    let columns = names.into_iter().chain(more).map(str::to_owned).collect();
    let table = KnownTable { name: "t".to_owned(), columns, ..KnownTable::default() };
    for query in [
        "SELECT count(*), max(kg) FROM t WHERE NOT paid ORDER BY status",
        "SELECT CASE status WHEN 1 THEN 2 END, name FROM warehouse",
        "SELECT x::date, date '2024-01-01', CAST(x AS date), count (kg) FROM t",
    ] {
        for dialect in ["SQLite", "PostgreSQL"] {
            assert_eq!(quote_names(query, std::slice::from_ref(&table), dialect), query);
        }
    }
}

#[test]
fn capitals_count_where_the_database_folds_them() {
    let query = "SELECT createdAt, ord_no FROM itm";
    let quoted = r#"SELECT "createdAt", ord_no FROM itm"#;
    assert_eq!(quote_names(query, &tables(), "PostgreSQL"), quoted);
    let mut both = tables();
    both[0].columns.push("createdat".to_owned());
    assert_eq!(quote_names(query, &both, "PostgreSQL"), query);
}

#[test]
fn a_word_that_two_names_join_to_is_none_of_them() {
    let mut both = tables();
    both[0].columns.push("net eur".to_owned());
    let query = "SELECT net_eur FROM itm";
    assert_eq!(quote_names(query, &both, "SQLite"), query);
    assert_eq!(quote_names(query, &tables(), "SQLite"), r#"SELECT "net-eur" FROM itm"#);
}

fn shop() -> Vec<KnownTable> {
    let table = |name: &str, columns: &[&str], is_whole| KnownTable {
        name: name.to_owned(),
        columns: columns.iter().map(|name| (*name).to_owned()).collect(),
        is_whole,
        ..KnownTable::default()
    };
    vec![
        table("itm", &["itm_id", "Item Name", "discontinued"], true),
        table("public.pos", &["itm_id", "qty", "ord_no"], true),
        table("Order Head", &["ord_no", "status"], true),
        table("wide", &["a"], false),
    ]
}

#[test]
fn a_column_is_taken_from_the_only_table_of_the_query_that_has_it() {
    for (given, mended) in [
        (
            r#"SELECT sum(CASE WHEN T1."Item Name" = 'Gift' THEN T2.qty END) FROM pos T1 JOIN itm AS T2 ON T1.itm_id = T2.itm_id WHERE t1.Discontinued = 0"#,
            r#"SELECT sum(CASE WHEN T2."Item Name" = 'Gift' THEN T1.qty END) FROM pos T1 JOIN itm AS T2 ON T1.itm_id = T2.itm_id WHERE T2.Discontinued = 0"#,
        ),
        (
            r#"SELECT pos.status FROM public.pos, "Order Head" WHERE pos.ord_no = "Order Head".ord_no"#,
            r#"SELECT "Order Head".status FROM public.pos, "Order Head" WHERE pos.ord_no = "Order Head".ord_no"#,
        ),
    ] {
        assert_eq!(give_owners(given, &shop()), mended);
    }
}

#[test]
fn a_query_whose_meaning_would_change_stays_as_it_is() {
    for query in [
        "SELECT T1.itm_id, T2.qty FROM itm T1 JOIN pos T2 ON T1.itm_id = T2.itm_id",
        // It joins by a column that one of them does not have.
        "SELECT T2.discontinued FROM itm T1 JOIN pos T2 ON T1.qty = T2.qty",
        // Nobody has it, or it may be anybody's.
        "SELECT T1.price FROM itm T1 JOIN pos T2 ON T1.itm_id = T2.itm_id",
        "SELECT T1.qty FROM itm T1 JOIN pos T2 USING (itm_id) JOIN pos T3 USING (itm_id)",
        "SELECT w.qty FROM wide w JOIN pos T2 ON w.a = T2.itm_id",
        // More than one query, or a table that is none.
        "SELECT T2.qty FROM pos T1 JOIN itm T2 USING (itm_id) WHERE 1 IN (SELECT 1)",
        "SELECT T2.qty FROM pos T1 JOIN nothing T2 USING (itm_id)",
        "SELECT 'T2.qty' FROM pos T1 JOIN itm T2 USING (itm_id) -- T2.qty",
        "SELECT x.qty FROM pos T1 JOIN itm T2 USING (itm_id)",
        "",
    ] {
        assert_eq!(give_owners(query, &shop()), query);
    }
}

/// DA-53 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_query_without_the_quotes_of_a_name_runs_with_them() {
    let run = Scene::measures(&json!({}))
        .queries(&["SELECT sum(price_eur) AS eur FROM scrap_log WHERE day > '2026'"], "10 euros.")
        .role("composer", [said("10 euros.")])
        .ask("What do all prices add up to?")
        .await;
    let quoted = r#"SELECT sum(price_eur) AS eur FROM "scrap log" WHERE day > '2026'"#;
    assert_eq!((run.answer(), run.ran()), ("10 euros.", vec![quoted.to_owned()]));
}

#[tokio::test]
async fn a_review_may_leave_out_quotes_too() {
    let reviewed = "SELECT sum(price_eur) AS eur FROM Scrap Log WHERE price_eur > 0";
    let run = Scene::measures(&json!({}))
        .role("sql_writer", [query("SELECT sum(price_eur) AS eur FROM scrap log")])
        .role("sql_reviewer", [json!({ "sql": reviewed })])
        .role("sql_answerer", [said("10 euros.")])
        .role("composer", [said("10 euros.")])
        .ask("What do all prices add up to?")
        .await;
    let ran = run.ran();
    assert_eq!(ran.last().unwrap(), &reviewed.replace("Scrap Log", "\"scrap log\""));
    let decisions = run.events(TraceEventKind::Decision);
    let mut mended = decisions.iter().filter(|(text, _)| text == "query mended");
    assert_eq!(mended.next_back().unwrap().1["written"], reviewed);
}

async fn orders(question: &str, queries: &[&str], answer: &str) -> ScriptedRun {
    Scene::new(&json!({}))
        .queries(queries, answer)
        .role("composer", [said(answer)])
        .ask(question)
        .await
}

fn feedback(run: &ScriptedRun) -> String {
    let requests = run.requests("sql_writer");
    requests.get(1).unwrap().messages.last().unwrap().content.to_string()
}

#[tokio::test]
async fn an_unknown_column_is_told_with_the_tables_that_have_it() {
    let wrong = "SELECT r.net_eur FROM regions r";
    let right = "SELECT sum(net_eur) AS n FROM orders";
    let run = orders("What is the sum?", &[wrong, right], "It is 42.").await;
    assert!(feedback(&run).contains("`net_eur` is a column of: orders"));
    let misspelt = "SELECT sum(net_euro) FROM orders";
    let run = orders("What is the sum?", &[misspelt, right], "It is 42.").await;
    assert!(feedback(&run).contains("did you mean `net_eur`?"));
}

const IN_NORTH: &str = "How many orders come from the region North?";
const WRONG: &str = "SELECT count(*) AS n FROM orders WHERE region = 'North'";

/// DA-54 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_value_of_the_table_that_a_key_refers_to_is_looked_up_there() {
    let run = orders(IN_NORTH, &[WRONG], "There are 2.").await;
    let by_key = "SELECT count(*) AS n FROM orders WHERE region \
                  IN (SELECT code FROM regions WHERE name = 'North')";
    assert_eq!((run.answer(), run.ran()), ("There are 2.", vec![WRONG.into(), by_key.into()]));
    assert_eq!(run.result.state.sql.query, by_key);
}

const TRIPS: &str = "CREATE TABLE trips (origin TEXT, goal TEXT);
    INSERT INTO trips VALUES ('Ulm', 'Bern'), ('Ulm', 'Basel');";
const FROM_BERN: &str = "SELECT count(*) AS n FROM trips WHERE origin = 'Bern'";

async fn trips(settings: &Json, queries: &[&str], answer: &str) -> ScriptedRun {
    let mut scene = Scene::of_tables(TRIPS, &["trips"]);
    scene.config = Config::from_json(settings).unwrap();
    let scene = scene.queries(queries, answer).role("composer", [said(answer)]);
    scene.ask("How many trips have to do with Bern?").await
}

/// DA-54 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn nothing_found_in_the_wrong_column_is_looked_at_again() {
    let right = "SELECT count(*) AS n FROM trips WHERE goal = 'Bern'";
    let run = trips(&json!({}), &[FROM_BERN, right], "There is 1.").await;
    assert_eq!((run.answer(), run.ran().len()), ("There is 1.", 2));
    let told = "no row has `origin` 'Bern', which is a value of `trips.goal`";
    assert!(feedback(&run).contains(told), "{}", feedback(&run));
    assert!(feedback(&run).contains("write the same query again"));
    let error = run.result.state.sql.attempts[0].error.clone().unwrap();
    assert_eq!(error.kind, "MisplacedValue");
}

#[tokio::test]
async fn a_query_that_is_kept_although_it_finds_nothing_is_the_answer() {
    let run = trips(&json!({}), &[FROM_BERN, FROM_BERN], "There are 0.").await;
    assert_eq!((run.answer(), run.requests("sql_writer").len()), ("There are 0.", 2));
}

#[tokio::test]
async fn nothing_is_the_result_of_the_last_attempt() {
    let settings = json!({"max_sql_attempts": 1});
    let run = trips(&settings, &[FROM_BERN], "There are 0.").await;
    assert_eq!((run.answer(), run.ran().len()), ("There are 0.", 1));
}

#[tokio::test]
async fn a_query_that_the_database_accepts_is_run_as_it_is() {
    let script = r#"CREATE TABLE t (shop TEXT, "net eur" REAL, cost REAL);
        INSERT INTO t VALUES ('a', 1, 5), ('b', 2, 3);"#;
    let sql = "SELECT shop, cost net_eur FROM t ORDER BY net_eur";
    let tables =
        KnownTable { name: "t".into(), columns: vec!["net eur".into()], ..KnownTable::default() };
    assert_ne!(quote_names(sql, &[tables], "SQLite"), sql, "it would be another order");
    let run = Scene::of_tables(script, &["t"])
        .queries(&[sql], "a and b.")
        .role("composer", [said("a and b.")])
        .ask("Which shops are there?")
        .await;
    assert_eq!(run.ran(), [sql]);
    assert_eq!(run.result.output.data.as_ref().unwrap().rows[0]["shop"], "b");
}

#[tokio::test]
async fn a_query_that_fails_in_both_forms_is_told_with_the_error_of_its_own() {
    let wrong = "SELECT r.net_eur, o.elsewhere FROM orders o, regions r";
    let right = "SELECT sum(net_eur) AS n FROM orders";
    let run = orders("What is the sum?", &[wrong, right], "It is 42.").await;
    assert_eq!(run.answer(), "It is 42.");
    assert!(feedback(&run).contains("no such column: r.net_eur"), "{}", feedback(&run));
    assert_eq!(run.result.state.sql.attempts[0].query, wrong);
}

#[test]
fn a_value_is_looked_up_only_by_a_key_of_the_tables_that_are_read() {
    let table = |name: &str, columns: &[&str]| KnownTable {
        name: name.to_owned(),
        columns: columns.iter().map(|name| (*name).to_owned()).collect(),
        ..KnownTable::default()
    };
    let (mut orders, mut other) = (table("orders", &["code", "kg"]), table("other", &["code"]));
    let regions = table("regions", &["code", "region_id", "name"]);
    let north =
        NamedValue { table: "regions".into(), column: "name".into(), value: "North".into() };
    let columns = ["code".to_owned(), "name".to_owned()];
    let query = "SELECT sum(kg) FROM orders WHERE code = 'North'";
    let mended = |tables: &[KnownTable]| {
        query_by_key(query, (&columns, std::slice::from_ref(&north)), tables, "SQLite")
    };
    let by = |key: &str| {
        let among = format!("code IN (SELECT {key} FROM regions WHERE name = 'North')");
        Some(query.replace("code = 'North'", &among))
    };
    assert_eq!(mended(&[orders.clone(), other.clone(), regions.clone()]), by("code"));
    // A key of a table that is not read says nothing.
    let reference =
        KnownReference { column: "code".into(), table: "regions".into(), key: "region_id".into() };
    other.references = vec![reference.clone()];
    assert_eq!(mended(&[orders.clone(), other.clone(), regions.clone()]), by("code"));
    // A number of an order is none of a region, whatever both are called.
    orders.primary_key = vec!["code".into()];
    assert_eq!(mended(&[orders.clone(), other.clone(), regions.clone()]), None);
    orders.references = vec![reference];
    assert_eq!(mended(&[orders.clone(), other, regions]), by("region_id"));
    assert_eq!(mended(&[orders]), None);
}

#[test]
fn only_values_of_other_columns_are_misplaced() {
    let at = |column: &str, value: &str| NamedValue {
        table: "t".to_owned(),
        column: column.to_owned(),
        value: value.to_owned(),
    };
    let named = [at("city", "Bern"), at("Home Town", "Bern"), at("name", "O'Hara")];
    let columns = ["code", "city", "Home Town", "name"].map(str::to_owned);
    for query in [
        "SELECT 1 FROM u WHERE City = 'bern'",
        "SELECT 1 FROM u WHERE u.\"Home Town\" = 'Bern'",
        "SELECT 1 FROM u WHERE lower(code) = 'bern'",
        "SELECT 'Bern' FROM u WHERE code = 'Basel'",
        "SELECT 1 FROM u WHERE code NOT IN ('Bern') AND code NOT LIKE 'Bern' AND code <> 'Bern'",
        // Its values are not known.
        "SELECT 1 FROM u WHERE r = 'Bern'",
        "SELECT 1 FROM u",
    ] {
        assert_eq!(misplaced_value(query, &columns, &named), None, "{query}");
    }
    for query in [
        "SELECT 1 FROM u WHERE u.code = 'Bern' AND x = 'y'",
        "SELECT 1 FROM u WHERE x = 'it''s' AND code LIKE 'bern'",
        "SELECT 1 FROM u WHERE code IN ('bern', 'x') -- it's",
        "SELECT 1 FROM u WHERE u.\"code\" = 'Bern'",
    ] {
        let told = misplaced_value(query, &columns, &named).unwrap();
        assert_eq!(told, "no row has `code` 'Bern', which is a value of `t.city`", "{query}");
    }
    assert!(misplaced_value("SELECT 1 WHERE city = 'o''hara'", &columns, &named).is_some());
}
