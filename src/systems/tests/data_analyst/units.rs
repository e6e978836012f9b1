//! Queries in another unit than the question asks for, and names that need quotes.

use antiphon_systems::data_analyst::sql::KnownTable;
use antiphon_systems::data_analyst::sql::date_difference::date_difference;
use serde_json::json;

use crate::scene::{Scene, ScriptedRun, said};

async fn run_queries(question: &str, queries: &[&str], answer: &str) -> ScriptedRun {
    Scene::measures(&json!({}))
        .queries(queries, answer)
        .role("composer", [said(answer)])
        .ask(question)
        .await
}

/// DA-47 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_sum_of_another_unit_is_refused_until_the_query_converts_it() {
    let question = "How many tonnes of scrap were there in total?";
    let wrong = "SELECT sum(scrap_kg) AS total FROM \"scrap log\"";
    let right = "SELECT sum(scrap_kg) / 1000.0 AS scrap_t FROM \"scrap log\"";
    let mended = run_queries(question, &[wrong, right], "It was 2.5 tonnes.").await;
    assert_eq!((mended.answer(), mended.ran()), ("It was 2.5 tonnes.", vec![right.to_owned()]));
    let feedback = mended.requests("sql_writer")[1].messages.last().unwrap().content.to_string();
    for part in [
        "`scrap_kg` is measured in kg, and the question asks for t",
        "divide it by 1000.0 in the query",
    ] {
        assert!(feedback.contains(part), "{part} in {feedback}");
    }

    let refused = run_queries(question, &[wrong; 4], "2500").await;
    assert_eq!(refused.results(), [("sql", "failed".to_owned(), "UnitMismatch".to_owned())]);
    assert!(refused.ran().is_empty());
    let reason = refused.result.reason.as_deref().unwrap();
    assert!(reason.contains("measured in kg"), "{reason}");
}

#[tokio::test]
async fn a_query_is_not_held_against_units_that_it_does_not_answer_in() {
    let log = "FROM \"scrap log\"";
    for (question, query) in [
        ("How many kilos of scrap were there?", "sum(scrap_kg) AS n"),
        ("How many days had scrap?", "count(DISTINCT day) AS n"),
        ("How many days had more than 5 minutes?", "count(*) AS n"),
        ("How long did it take in hours?", "sum(duration_min) / 60.0 AS n"),
        ("How long did it take in days?", "sum(duration_min) / 60.0 / 24 AS n"),
        ("What was the scrap of 2 tonnes of iron?", "sum(scrap_kg) AS n"),
        ("Which was the second largest amount of scrap?", "max(scrap_kg) AS n"),
        ("How warm was it in °F?", "avg(temp_c) * 9.0 / 5 + 32 AS n"),
        ("What did it cost in total, in euros?", "sum(price_eur) AS n"),
    ] {
        let query = format!("SELECT {query} {log}");
        let asked = run_queries(question, &[query.as_str()], "The query found it.").await;
        assert_eq!(asked.ran(), [query], "{question}");
    }
}

#[tokio::test]
async fn each_kind_of_unit_has_its_own_advice() {
    for (question, column, advice) in [
        ("How warm was it in Fahrenheit?", "temp_c", "\"temp_c\" * 9.0 / 5 + 32"),
        ("How long did it take in hours?", "duration_min", "divide it by 60.0"),
        ("How long did it take in seconds?", "duration_min", "multiply it by 60.0"),
        (
            "What did it cost in dollars?",
            "price_eur",
            "say in `missing` that `price_eur` is in EUR",
        ),
    ] {
        let query = format!("SELECT max({column}) AS n FROM \"scrap log\"");
        let asked = run_queries(question, &[query.as_str(); 4], "unused").await;
        let requests = asked.requests("sql_writer");
        let feedback = requests[1].messages.last().unwrap().content.to_string();
        assert!(feedback.contains(advice), "{advice} in {feedback}");
        assert!(asked.ran().is_empty(), "{question}");
    }
}

/// DA-48 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn names_that_need_quotes_have_them_and_functions_of_others_have_a_form() {
    let month = "SELECT count(*) AS n FROM \"scrap log\" WHERE MONTH(day) = 3";
    let right = "SELECT count(*) AS n FROM \"scrap log\" WHERE strftime('%m', day) = '03'";
    let mended = run_queries("How many entries in March?", &[month, right], "1 entry").await;
    let requests = mended.requests("sql_writer");
    let read = requests[0].messages[1].content.to_string();
    for part in ["Table \"scrap log\" (2 rows)", "- \"order\" INTEGER", "- scrap_kg REAL"] {
        assert!(read.contains(part), "{part} in {read}");
    }
    let feedback = requests[1].messages.last().unwrap().content.to_string();
    let form = "SQLite has no month(), write instead: CAST(strftime('%m', d) AS INTEGER)";
    assert!(feedback.contains(form), "{feedback}");
    assert_eq!(mended.ran(), [right]);
}

/// DA-56 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn dates_that_are_texts_are_not_subtracted_as_texts() {
    let wrong = "SELECT max(o.updated_at - p.updated_at) AS days FROM orders o, orders p";
    let right = "SELECT max(julianday(o.updated_at) - julianday(p.updated_at)) AS days \
                 FROM orders o, orders p";
    let run = Scene::new(&json!({}))
        .queries(&[wrong, right], "It is 1 day.")
        .role("composer", [said("It is 1 day.")])
        .ask("How many days lie between the first and the last update in the database?")
        .await;
    assert_eq!((run.answer(), run.ran()), ("It is 1 day.", vec![right.to_owned()]));
    let feedback = run.requests("sql_writer")[1].messages.last().unwrap().content.to_string();
    let hint = "write julianday(o.updated_at) - julianday(p.updated_at)";
    assert!(feedback.contains(hint), "{feedback}");
}

#[test]
fn other_differences_may_be_written() {
    let dates = ["lent", "due"].map(str::to_owned).to_vec();
    let loan = KnownTable { name: "loan".into(), date_texts: dates, ..KnownTable::default() };
    for query in [
        "SELECT julianday(due) - julianday(lent) FROM loan",
        "SELECT fee - discount FROM loan",
        "SELECT date(due, '-1 day') FROM loan",
        "SELECT due - 1 FROM loan",
        "SELECT -due FROM loan",
        "SELECT due -- lent\n FROM loan",
        "SELECT 'due - lent' FROM loan",
        "SELECT due -",
        "WITH t AS (SELECT julianday(due) AS due FROM loan) SELECT due - lent FROM t",
    ] {
        assert_eq!(date_difference(query, std::slice::from_ref(&loan)), None, "{query}");
    }
    let query = "SELECT \"due\"-lent FROM loan";
    assert!(date_difference(query, std::slice::from_ref(&loan)).is_some());
    let columns = vec!["due".to_owned()];
    let debt = KnownTable { name: "debt".into(), columns, ..KnownTable::default() };
    let both = [loan, debt];
    let is_wrong = |query: &str| date_difference(query, &both).is_some();
    for query in [
        query,
        "SELECT loan.due - lent FROM loan",
        "SELECT l.due - l.lent FROM loan AS l JOIN debt d ON d.due = l.fee",
        "SELECT max(due - lent) FROM main.loan WHERE fee > 2",
        "SELECT julianday(l.due) AS due, l.due - l.lent FROM loan l",
    ] {
        assert!(is_wrong(query), "another table does not matter: {query}");
    }
    for query in [
        "SELECT due - lent FROM loan, debt",
        "SELECT d.due - l.lent FROM loan l, debt d",
        "SELECT due - lent FROM (SELECT 5 AS due, lent FROM loan)",
        "SELECT x.due - x.lent FROM (SELECT due, lent FROM loan) x",
        "SELECT z.due - z.lent FROM loan l",
    ] {
        assert!(!is_wrong(query), "`due` may be a number: {query}");
    }
}
