//! The SQL agent on a real SQLite database.

use antiphon_core::{Fault, FaultCode};
use antiphon_models::ScriptedReply;
use antiphon_systems::Outcome;
use antiphon_systems::data_analyst::{AgentRequest, TabularResult, TraceEventKind};
use serde_json::{Value as Json, json};

use crate::scene::{Scene, ScriptedRun, plan, query, said};

const COUNT: &str = "SELECT count(*) AS n FROM orders";

/// A database question with these queries, which nobody reviews.
async fn run_queries(queries: &[&str]) -> ScriptedRun {
    let scene = Scene::new(&json!({"check_query": false}))
        .role("sql_writer", queries.iter().map(|sql| query(sql)));
    let scene = scene.role("sql_answerer", [said("There are 3.")]);
    scene.role("composer", [said("That is all there is.")]).ask("How many orders?").await
}

/// DA-10 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn an_error_of_the_database_goes_back_to_the_model() {
    let run = Scene::new(&json!({"check_query": false}))
        .role("sql_writer", [query("SELECT sum(price) FROM orders"), query(COUNT)])
        .role("sql_answerer", [said("There are 3.")])
        .role("composer", [said("There are 3.")])
        .ask("How many orders?")
        .await;
    assert_eq!(run.results()[0].1, "succeeded");
    let second = &run.requests("sql_writer")[1].messages;
    let feedback = second.last().unwrap().content.to_string();
    assert!(feedback.contains("no such column: price"), "{feedback}");
    let earlier = second[second.len() - 2].content.to_string();
    assert!(earlier.contains("sum(price)"), "{earlier}");
    let (message, failed) = &run.events(TraceEventKind::Error)[0];
    assert_eq!((message.as_str(), &failed["attempt"]), ("attempt", &json!(1)));
    let succeeded = run.events(TraceEventKind::Message);
    assert!(
        succeeded.iter().any(|(text, data)| text == "succeeded" && data["attempt"] == json!(2))
    );
    let query = run.events(TraceEventKind::Tool);
    assert!(query.iter().any(|(text, data)| text == "query" && data["row_count"] == json!(1)));
}

/// DA-11 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn four_failed_queries_fail_the_agent_and_the_question_is_still_composed() {
    let wrong = [
        "SELECT a FROM orders",
        "SELECT b FROM orders",
        "SELECT c FROM orders",
        "SELECT d FROM orders",
    ];
    let run = run_queries(&wrong).await;
    assert_eq!(run.ran(), wrong, "each was tried once");
    assert_eq!(run.results(), [("sql", "failed".to_owned(), "QueryError".to_owned())]);
    let error = run.result.output.agent_results[0].error.as_ref().unwrap();
    assert_eq!(error.details["attempts"].as_array().unwrap().len(), 4);
    assert_eq!(run.answer(), "That is all there is.");
    assert_eq!(run.result.outcome, Outcome::NoAnswer);
    let reason = run.result.reason.as_deref();
    assert_eq!(reason, Some("sql: no query was found that the database accepts"));
    let composer = run.requests("composer")[0].messages[1].content.to_string();
    assert!(!composer.contains("no such column"), "errors are for the trace: {composer}");
}

/// DA-55 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_lone_null_is_no_answer() {
    let null = "SELECT sum(net_eur) AS total FROM orders WHERE id > 99";
    let run = run_queries(&[null]).await;
    assert_eq!(run.results(), [("sql", "failed".to_owned(), "NoValue".to_owned())]);
    assert_eq!(run.result.outcome, Outcome::NoAnswer);
    let reason = run.result.reason.as_deref().unwrap();
    assert!(reason.contains("no value there"), "{reason}");
    assert!(run.requests("sql_answerer").is_empty());
}

#[tokio::test]
async fn a_small_writer_is_told_the_time_only_where_the_question_needs_it() {
    for (model, question, is_told) in [
        ("local:qwen-1.5b", "How many orders came in today?", true),
        ("local:qwen-1.5b", "How many orders are there?", false),
        ("test:scripted", "How many orders are there?", true),
    ] {
        let mut scene = Scene::new(&json!({})).queries(&[COUNT], "There are 3.");
        scene.model_name = model;
        let context = json!({"shop": "Lyon"});
        let request = json!({"question": question, "context": context});
        let run = scene
            .role("composer", [said("There are 3.")])
            .ask(serde_json::from_value::<AgentRequest>(request).unwrap())
            .await;
        let shown = run.requests("sql_writer")[0].messages[1].content.to_string();
        assert_eq!(shown.contains("current_date"), is_told, "{shown}");
        assert!(shown.contains("Lyon"), "{shown}");
        assert!(run.result.state.context.contains_key("current_date"));
    }
}

#[tokio::test]
async fn a_query_that_failed_is_not_run_again() {
    let run = run_queries(&["SELECT a FROM orders", "SELECT a FROM orders", COUNT]).await;
    assert_eq!(run.ran(), ["SELECT a FROM orders", COUNT]);
    assert_eq!(run.result.state.sql.attempts.len(), 3);
}

/// DA-12 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn what_does_not_only_read_never_reaches_the_database() {
    for evil in [
        "DELETE FROM orders",
        "SELECT 1; DROP TABLE orders",
        "WITH d AS (DELETE FROM orders RETURNING *) SELECT * FROM d",
        "SELECT * INTO t FROM orders",
        "SELECT load_extension('x')",
        "/* x */ UPDATE orders SET net_eur = 0",
        "PRAGMA writable_schema = 1",
        "CREATE TABLE t AS SELECT * FROM orders",
        "ATTACH DATABASE 'x' AS y",
        "",
    ] {
        let run = run_queries(&[evil, evil, evil, evil]).await;
        assert_eq!(run.results()[0].1, "failed", "{evil}");
        assert!(run.ran().is_empty(), "{evil} was run");
        let attempts = &run.result.state.sql.attempts;
        let kind = &attempts[0].error.as_ref().unwrap().kind;
        assert_eq!(kind, if evil.is_empty() { "NoQuery" } else { "UnsafeQuery" }, "{evil}");
    }
}

/// DA-13 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_word_in_a_name_or_a_text_is_no_statement() {
    let sql = "SELECT updated_at, 'drop me' AS note FROM orders ORDER BY id";
    let run = Scene::new(&json!({}))
        .queries(&[sql], "Two were updated.")
        .role("composer", [said("Two were updated.")])
        .ask("Which orders?")
        .await;
    assert_eq!(run.ran(), [sql]);
    let data = run.result.output.data.as_ref().unwrap();
    assert_eq!(data.rows[0]["note"], "drop me");
}

/// DA-14 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_table_outside_the_list_is_refused_wherever_it_stands() {
    for evil in [
        "SELECT * FROM salaries",
        "SELECT * FROM main.salaries",
        "SELECT id FROM orders WHERE id IN (SELECT eur FROM salaries)",
        "SELECT o.id FROM orders o JOIN salaries AS o2 ON o2.eur = o.id",
        "WITH x AS (SELECT * FROM salaries) SELECT * FROM x",
    ] {
        let run = run_queries(&[evil, evil, evil, evil]).await;
        assert!(run.ran().is_empty(), "{evil} was run");
        let kind = &run.result.state.sql.attempts[0].error.as_ref().unwrap().kind;
        assert_eq!(kind, "TableNotAllowed", "{evil}");
    }
    let own = "WITH salaries AS (SELECT 3 AS eur) SELECT eur FROM salaries";
    assert_eq!(run_queries(&[own]).await.ran(), [own], "it is the CTE that is read");
}

/// DA-15 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_review_is_taken_only_if_it_is_a_query_that_may_run() {
    let reviewed = |review: ScriptedReply| {
        Scene::new(&json!({"max_reasks": 0, "max_sql_attempts": 1}))
            .role("sql_writer", [query(COUNT)])
            .role("sql_reviewer", [review])
            .role("sql_answerer", [said("There are 3.")])
            .role("composer", [said("There they are.")])
            .ask("How many orders?")
    };
    let thrown_away = reviewed(json!({"sql": "select 1"}).into()).await;
    assert_eq!(thrown_away.ran(), [COUNT]);
    let corrected = "SELECT count(id) AS orders FROM orders";
    assert_eq!(reviewed(json!({ "sql": corrected }).into()).await.ran(), [corrected]);
    let evil = "DROP TABLE orders -- which is long enough";
    let blocked = reviewed(json!({ "sql": evil }).into()).await;
    assert_eq!(blocked.results()[0].1, "failed");
    assert_eq!(blocked.result.state.sql.attempts[0].error.as_ref().unwrap().kind, "UnsafeQuery");
    let down =
        reviewed(ScriptedReply::fault(Fault::new(FaultCode::ModelUnreachable, "down"))).await;
    assert_eq!(down.ran(), [COUNT], "without a reviewer the query is run as it was written");
    assert_eq!(down.result.outcome, Outcome::Answered);
}

/// DA-16 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_database_that_cannot_be_reached_fails_the_agent_at_once() {
    let scene = Scene::new(&json!({})).role("composer", [said("There is nothing.")]);
    let fault =
        Fault::new(FaultCode::DatabaseUnreachable, "the database `/secret/x` cannot be reached");
    *scene.database.as_ref().unwrap().fault.lock().unwrap() = Some(fault);
    let run = scene.ask("How many orders?").await;
    assert_eq!(run.results(), [("sql", "failed".to_owned(), "DatabaseUnavailable".to_owned())]);
    assert_eq!(run.requests("sql_writer").len(), 0);
    let composer = run.requests("composer")[0].messages[1].content.to_string();
    assert!(
        composer.contains("could not be reached") && !composer.contains("/secret"),
        "{composer}"
    );
}

/// DA-16 of `docs/systems/data-analyst.md`; `src/tools/tests/tools/sql/remote.rs` counts the
/// attempts to reach a server.
#[tokio::test]
async fn other_agents_work_although_the_database_cannot_be_reached() {
    let scene = Scene::new(&json!({}))
        .with_api([Ok(json!({"status": 200, "data": {"orders": 7}}))])
        .role("planner", [plan(&["sql", "api_docs"])])
        .role("api_planner", [json!({"make_request": true, "method": "GET", "path": "/v1/orders"})])
        .role("api_answerer", [said("There are 7.")])
        .role("composer", [said("The API has 7; the database could not be reached.")]);
    let fault = Fault::new(FaultCode::McpUnreachable, "the server is down");
    *scene.database.as_ref().unwrap().fault.lock().unwrap() = Some(fault);
    let run = scene.ask("Count the orders at the endpoint").await;
    let down = ("sql", "failed".to_owned(), "McpUnavailable".to_owned());
    assert_eq!(run.results(), [down, ("api_docs", "succeeded".to_owned(), String::new())]);
    assert_eq!(run.result.outcome, Outcome::Answered);
    assert_eq!(run.result.output.metadata["partial"], json!(true));
    let calls = run.database.as_ref().unwrap().calls.lock().unwrap().len();
    assert_eq!((calls, run.requests("sql_writer").len()), (1, 0), "no second attempt");
}

/// DA-17 of `docs/systems/data-analyst.md`.
#[test]
fn rows_as_lists_and_as_maps_are_the_same_table() {
    let lists = json!({"columns": ["a", "b"], "data": [[1, "x"], [2, null]]});
    let maps = json!({"columns": [{"name": "a"}, {"name": "b"}], "rows": [{"a": 1, "b": "x"}, {"b": null, "a": 2}]});
    let read = |table: &Json| TabularResult::read(table).unwrap();
    assert_eq!(read(&lists), read(&maps));
    assert_eq!(read(&lists).row_count, 2);
    let same = json!({"columns": ["a", "a", "a"], "rows": [[1, 2, 3]], "truncated": true});
    assert_eq!(read(&same).columns, ["a", "a_2", "a_3"]);
    assert!(read(&same).truncated);
    for broken in [
        json!({"columns": ["a"], "rows": [[1, 2]]}),
        json!({"columns": ["a"], "rows": [{"b": 1}]}),
        json!([1]),
    ] {
        assert_eq!(TabularResult::read(&broken), None, "{broken}");
    }
}

#[tokio::test]
async fn more_rows_than_the_limit_are_left_out_and_the_table_says_so() {
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500) SELECT i FROM n";
    let run = Scene::with_rows(&json!({}), 1_000)
        .queries(&[sql], "Many.")
        .role("composer", [said("Many.")])
        .ask("Show all numbers")
        .await;
    let data = run.result.output.data.as_ref().unwrap();
    assert_eq!((data.row_count, data.truncated), (1000, true));
}

/// DA-50 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn of_a_result_the_first_rows_are_json_and_all_are_an_attachment() {
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500) SELECT i FROM n";
    let run = Scene::new(&json!({}))
        .queries(&[sql], "Many.")
        .role("composer", [said("Many.")])
        .ask("Show all numbers")
        .await;
    let data = run.result.output.data.as_ref().unwrap();
    assert_eq!((data.row_count, data.rows.len(), data.truncated), (1_500, 1_000, false));
    let bytes = run.result.attachments.get(data.arrow.as_ref().unwrap()).unwrap();
    assert!(bytes.starts_with(&[0xff; 4]), "an Arrow stream");
    let events = run.result.events.iter().map(|event| json!(event.data).to_string());
    for text in events.chain([json!(run.result.state).to_string(), json!(data).to_string()]) {
        assert!(!text.contains("/////"), "no such bytes in base64");
    }
}

/// DA-38 of `docs/systems/data-analyst.md`.
#[test]
fn cells_are_values_that_json_can_hold() {
    let table = json!({
        "columns": [
            {"name": "price", "type": "numeric"}, {"name": "huge", "type": "numeric"},
            {"name": "ratio", "type": "double precision"}, {"name": "day", "type": "date"},
            {"name": "word", "type": "text"}, {"name": "raw", "type": "bytea"},
        ],
        "rows": [["1.10", "12345678901234567890.12", "NaN", "2026-01-02", "NaN", {"base64": "AA==", "bytes": 1}]],
    });
    let read = TabularResult::read(&table).unwrap();
    let row = json!(read.rows[0]);
    assert_eq!(row["price"], json!(1.1), "exact, so a number");
    assert_eq!(row["huge"], json!("12345678901234567890.12"), "not exact as a number, so a text");
    assert_eq!(row["ratio"], Json::Null);
    assert_eq!(row["day"], json!("2026-01-02"));
    assert_eq!(row["word"], json!("NaN"), "a text is a text");
    assert_eq!(row["raw"], json!({"base64": "AA==", "bytes": 1}));
}

#[tokio::test]
async fn what_the_database_lacks_is_said_without_a_query() {
    let missing = json!({"missing": "the weather", "sql": ""});
    let run = Scene::new(&json!({}))
        .role("sql_writer", [missing])
        .role("composer", [said("The weather is not known.")])
        .ask("How was the weather?")
        .await;
    assert_eq!(run.results(), [("sql", "failed".to_owned(), "NotInData".to_owned())]);
    let reason = "sql: the database does not hold what is asked for: the weather";
    assert_eq!(run.result.reason.as_deref(), Some(reason));
    assert!(run.ran().is_empty());
}

#[tokio::test]
async fn the_writer_reads_columns_keys_values_and_descriptions() {
    let settings =
        json!({"descriptions": {"orders": "what was sold", "orders.net_eur": "net, in euros"}});
    let run = Scene::new(&settings)
        .queries(
            &["SELECT sum(net_eur) AS net_eur FROM orders WHERE region = 'n'"],
            "It was 22 euros.",
        )
        .role("composer", [said("It was 22 euros.")])
        .ask("How much was sold in the North?")
        .await;
    let read = run.requests("sql_writer")[0].messages[1].content.to_string();
    for part in [
        "Table orders (3 rows): what was sold",
        "- net_eur REAL: net, in euros",
        "- region TEXT; one of 'n', 's'; refers to regions.code",
        "- name TEXT; one of 'North', 'South'",
        "1 | n | 10.5 | 2026-01-02",
    ] {
        assert!(read.contains(part), "{part} in {read}");
    }
    assert!(!read.contains("salaries"), "only tables that may be read");
}

#[tokio::test]
async fn descriptions_of_what_the_database_does_not_have_end_the_question() {
    for (name, hint) in [
        ("ordrs", "did you mean `orders`?"),
        ("orders.net_uer", "did you mean `orders.net_eur`?"),
        ("orders.xyz", "it has orders.id, orders.region, orders.net_eur, orders.updated_at"),
        ("salaries", "it has orders, regions"),
    ] {
        let settings = json!({"descriptions": {"orders.net_eur": "net", name: "?"}});
        let run = Scene::new(&settings).ask("How many orders?").await;
        assert_eq!(run.result.outcome, Outcome::Error);
        let fault = run.result.error.unwrap();
        assert_eq!(fault.code.as_str(), "system_setting_invalid");
        let message = format!("`descriptions` names what the database does not have: {name}");
        assert_eq!((&fault.message, fault.hint.as_deref()), (&message, Some(hint)));
    }
}

#[tokio::test]
async fn a_query_in_prose_or_a_fence_is_found() {
    for written in [
        "```sql\nSELECT count(*) AS n FROM orders;\n```",
        "Here it is: SELECT count(*) AS n FROM orders",
        "SELECT count(*) AS n FROM orders ; ",
    ] {
        assert_eq!(run_queries(&[written]).await.ran(), [COUNT], "{written}");
    }
}

#[tokio::test]
async fn an_answer_states_only_what_stands_in_the_rows() {
    let run = Scene::new(&json!({"check_query": false}))
        .role("sql_writer", [query(COUNT)])
        .role("sql_answerer", [said("There are 4 orders."), said("There are three orders.")])
        .role("composer", [said("There are three.")])
        .ask("How many orders?")
        .await;
    assert_eq!(
        run.result.output.agent_results[0].answer.as_deref(),
        Some("There are three orders.")
    );
    let again = run.requests("sql_answerer")[1].messages.last().unwrap().content.to_string();
    assert!(again.contains("the number `4` is not in the result"), "{again}");
    let twice = Scene::new(&json!({"check_query": false}))
        .role("sql_writer", [query(COUNT)])
        .role("sql_answerer", [said("There are 4 orders."), said("There are 5 orders.")])
        .role("composer", [said("There are three.")])
        .ask("How many orders?")
        .await;
    let answer = twice.result.output.agent_results[0].answer.as_deref();
    assert_eq!(answer, Some("n: 3"), "the plain value, after two that were wrong");
}

/// DA-52 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_ratio_in_words_is_one_of_two_numbers_of_the_rows() {
    let sql = "SELECT region, count(*) AS n FROM orders GROUP BY region ORDER BY n DESC";
    let tripled = "The north has three times as many, it tripled.";
    let run = Scene::new(&json!({"check_query": false}))
        .role("sql_writer", [query(sql)])
        .role("sql_answerer", [said("n has half as many as s."), said("n has 2, twice as many.")])
        .role("composer", [said(tripled), said("The north has twice as many.")])
        .ask("Compare the orders of both regions by count")
        .await;
    let wordings = run.result.output.agent_results[0].answer.as_deref();
    assert_eq!(wordings, Some("n has half as many as s."), "which is larger is not compared");
    assert_eq!(run.answer(), "The north has twice as many.");
    let again = run.requests("composer")[1].messages.last().unwrap().content.to_string();
    assert!(again.contains("`tripled` is not the ratio of two numbers"), "{again}");
}

/// DA-39 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn queries_that_come_to_different_results_are_no_answer() {
    let asked = |queries: &[&str]| {
        let settings = json!({"check_query": false, "candidate_queries": queries.len()});
        Scene::new(&settings)
            .role("sql_writer", queries.iter().map(|sql| query(sql)))
            .role("sql_answerer", [said("There are 3.")])
            .role("composer", [said("That is all.")])
            .ask("How many orders?")
    };
    let same = asked(&[COUNT, "SELECT sum(1.0) AS orders FROM orders"]).await;
    assert_eq!(same.result.outcome, Outcome::Answered);
    assert_eq!(same.ran().len(), 2);
    let second = same.requests("sql_writer")[1].messages[1].content.to_string();
    assert!(second.contains("in another way") && second.contains(COUNT), "{second}");
    let most =
        asked(&["SELECT 4 AS n FROM orders LIMIT 1", COUNT, "SELECT count(id) FROM orders"]).await;
    assert_eq!(most.result.output.data.as_ref().unwrap().rows[0]["n"], json!(3));
    let apart = asked(&[COUNT, "SELECT count(updated_at) AS n FROM orders"]).await;
    assert_eq!(apart.results(), [("sql", "failed".to_owned(), "CandidatesDisagree".to_owned())]);
    let reason = "sql: two ways to find it out came to different results";
    assert_eq!(apart.result.reason.as_deref(), Some(reason));
    let ids = ["SELECT 4915112345678 AS id", "SELECT 4915112345999 AS id"];
    assert_eq!(asked(&ids).await.results()[0].2, "CandidatesDisagree");
    let sums = ["SELECT 0.1 + 0.2 AS n UNION SELECT 7", "SELECT 7.0 AS n UNION SELECT 0.3"];
    assert_eq!(asked(&sums).await.results()[0].2, "");
}

#[tokio::test]
async fn whole_numbers_are_compared_by_all_their_digits() {
    let run = Scene::new(&json!({"check_query": false}))
        .role("sql_writer", [query("SELECT 9007199254740993 AS id")])
        .role("sql_answerer", [said("It is 9007199254740992."), said("It is 9007199254740993.")])
        .role("composer", [said("It is 9007199254740993.")])
        .ask("Which order?")
        .await;
    assert_eq!(run.requests("sql_answerer").len(), 2);
    assert_eq!(run.answer(), "It is 9007199254740993.");
}

#[tokio::test]
async fn a_candidate_that_fails_leaves_the_others() {
    let settings = json!({"check_query": false, "candidate_queries": 2, "max_sql_attempts": 1});
    let run = Scene::new(&settings)
        .role("sql_writer", [query(COUNT), query("SELECT a FROM orders")])
        .role("sql_answerer", [said("There are 3.")])
        .role("composer", [said("There are 3.")])
        .ask("How many orders?")
        .await;
    assert_eq!(run.result.outcome, Outcome::Answered);
}

/// DA-40 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_person_is_asked_what_is_meant_and_the_answer_goes_to_the_writer() {
    let missing = json!({"missing": "turnover", "sql": ""});
    let scene = |replies: Vec<Json>| {
        Scene::new(&json!({"clarify": true, "check_query": false}))
            .role("sql_writer", replies)
            .role("sql_answerer", [said("It was 42 euros.")])
            .role("composer", [said("It was 42 euros.")])
    };
    let sum = query("SELECT sum(net_eur) AS net_eur FROM orders");
    let mut scene = scene(vec![missing, sum]);
    let model = scene.model();
    let system = scene.system(&model);
    let paused = system.ask("What was the turnover?", scene.session()).await.unwrap();
    assert_eq!(paused.outcome, Outcome::Paused);
    let asked = "the database does not hold what is asked for: turnover";
    assert_eq!(paused.questions[0].value, json!(asked));
    let answer = antiphon_runtime::Answers::Only(json!("the sum of net_eur"));
    let start = antiphon_systems::SystemStart::Continue(paused.paused.unwrap(), answer);
    let result = system.run(start, scene.session()).await.unwrap();
    assert_eq!(result.output.answer, "It was 42 euros.");
    let last = &model.requests()[1].messages[1].content.to_string();
    assert!(last.contains("<clarification>\nthe sum of net_eur"), "{last}");
}

#[tokio::test]
async fn units_are_known_from_the_descriptions_of_columns() {
    let ask = |settings: Json| {
        Scene::new(&settings)
            .role("sql_writer", [query("SELECT max(id) AS most FROM orders")])
            .role("sql_answerer", [said("It is 3 kilograms."), said("It is 3 kilograms.")])
            .ask("How much is it?")
    };
    let settings = json!({
        "check_query": false, "compose_single": false, "descriptions": {"orders.id": "weight in kg"},
    });
    assert_eq!(ask(settings).await.answer(), "It is 3 kilograms.");
    let without = json!({"check_query": false, "compose_single": false});
    assert_eq!(ask(without).await.answer(), "most: 3", "nothing says that it is a weight");
}
