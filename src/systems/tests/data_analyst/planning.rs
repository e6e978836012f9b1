//! The plan: the time, the words of a question, preferences, and the planner's model.

use std::collections::BTreeSet;

use antiphon_core::Time;
use antiphon_models::ScriptedReply;
use antiphon_runtime::ManualClock;
use antiphon_systems::data_analyst::heuristic::select;
use antiphon_systems::data_analyst::secret_name::names_secret;
use antiphon_systems::data_analyst::temporal::attach_time;
use antiphon_systems::data_analyst::{AgentName, AgentRequest, Config};
use antiphon_systems::{Outcome, SystemConfig, SystemInput};
use serde_json::{Map, json};
use std::sync::Arc;

use crate::scene::{Scene, asked, assigned, plan, said};

fn candidates_of(request: &AgentRequest, config: &Config) -> Vec<&'static str> {
    let all = BTreeSet::from(AgentName::AGENTS);
    let found = select(request, config, &all);
    found.candidates.into_iter().map(AgentName::as_str).collect()
}

fn candidates(question: &str) -> Vec<&'static str> {
    candidates_of(&AgentRequest::from(question), &Config::default())
}

/// DA-01 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn tables_of_the_database_are_listed_without_a_query() {
    assert_eq!(candidates("List all tables in the database"), ["sql"]);
    let run = Scene::new(&json!({}))
        .role("sql_answerer", [said("There are 2 tables: orders and regions.")])
        .role("composer", [said("The tables orders and regions.")])
        .ask("List all tables in the database")
        .await;
    assert_eq!(run.results(), [("sql", "succeeded".to_owned(), String::new())]);
    let data = run.result.output.data.as_ref().unwrap();
    let tables: Vec<_> = data.rows.iter().map(|row| (&row["table"], &row["kind"])).collect();
    let (table, [orders, regions]) = (json!("table"), [json!("orders"), json!("regions")]);
    assert_eq!(tables, [(&orders, &table), (&regions, &table)], "`salaries` may not be read");
    assert_eq!((data.row_count, data.truncated), (2, false));
    assert_eq!(run.answer(), "The tables orders and regions.");
    assert_eq!(run.result.outcome, Outcome::Answered);
    assert_eq!(run.requests("planner").len(), 0, "a choice of one is none");
    assert_eq!(run.requests("sql_writer").len(), 0, "the words are plain");
    assert_eq!(run.ran(), [""; 0], "nothing is queried");
}

/// DA-02 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn endpoints_of_the_api_are_listed_without_a_request() {
    let question = "List me all the API points available to you";
    assert_eq!(candidates(question), ["api_docs", "sql"]);
    let run = Scene::new(&json!({}))
        .with_api([])
        .role("planner", [plan(&["api_docs", "sql"])])
        .role("api_answerer", [said("There are GET /v1/orders, GET /v1/orders/:id and more.")])
        .role("sql_writer", [json!({"sql": "", "missing": "endpoints of an API"})])
        .role("composer", [said("GET /v1/orders, GET /v1/orders/:id and POST /v1/orders.")])
        .ask(question)
        .await;
    let data = run.result.output.data.as_ref().unwrap();
    let listed: Vec<_> = data.rows.iter().map(|row| (&row["method"], &row["path"])).collect();
    let texts = ["GET", "POST", "/v1/orders", "/v1/orders/:id"].map(|text| json!(text));
    let [get, post, orders, one] = &texts;
    assert_eq!(listed, [(get, orders), (get, one), (post, orders)]);
    assert_eq!(run.answer(), "GET /v1/orders, GET /v1/orders/:id and POST /v1/orders.");
    let api = run.api.as_ref().unwrap();
    assert_eq!(api.calls.lock().unwrap().len(), 0, "nothing is sent");
    assert_eq!(api.lookups.lock().unwrap()[1], json!({"question": question, "all": true}));
    assert_eq!(run.requests("api_planner").len(), 0, "the words are plain");
}

/// DA-03 of `docs/systems/data-analyst.md`.
#[test]
fn candidates_follow_the_numbers_of_keywords() {
    for (question, expected) in [
        ("Count the rows of the endpoint", &["sql"][..]),
        ("Count, then compare", &["sql", "computation"]),
        ("Estimate the ratio by group", &["sql", "computation"]),
        ("Who are we?", &["sql"]),
    ] {
        assert_eq!(candidates(question), expected, "{question}");
    }
    let without_database = BTreeSet::from([AgentName::ApiDocs, AgentName::Computation]);
    for (question, expected) in [
        ("Estimate the ratio by group", AgentName::Computation),
        ("Which endpoint?", AgentName::ApiDocs),
        ("Call GET /v1/users", AgentName::ApiDocs),
    ] {
        let found = select(&AgentRequest::from(question), &Config::default(), &without_database);
        assert_eq!(found.candidates, [expected], "{question}");
    }
}

/// DA-42 of `docs/systems/data-analyst.md`.
#[test]
fn the_sql_agent_is_a_candidate_whenever_there_is_a_database() {
    for (question, expected) in [
        ("What is the revenue of the north?", &["sql", "computation"][..]),
        ("Compare north and south", &["sql", "computation"]),
        ("Compute the median price", &["sql", "computation"]),
        ("Which endpoint?", &["api_docs", "sql"]),
        ("What is behind the endpoint?", &["api_docs", "sql", "computation"]),
    ] {
        assert_eq!(candidates(question), expected, "{question}");
    }
    let question = "What is the revenue of the north?";
    let config = Config::default();
    let prefers = asked(question, json!({"prefer_agents": ["computation"]}));
    assert_eq!(candidates_of(&prefers, &config), ["computation", "sql"]);
    let disables = asked(question, json!({"disable_agents": ["computation"]}));
    assert_eq!(candidates_of(&disables, &config), ["sql"]);
    let disables = asked(question, json!({"disable_agents": ["sql"]}));
    assert_eq!(candidates_of(&disables, &config), ["computation"]);
    let only = BTreeSet::from([AgentName::Computation, AgentName::ApiDocs]);
    let found = select(&AgentRequest::from(question), &config, &only);
    assert_eq!(found.candidates, [AgentName::Computation], "without a database");
}

/// DA-43 of `docs/systems/data-analyst.md`.
#[test]
fn a_question_for_a_drawing_is_for_code_too() {
    for question in [
        "Plot the sales",
        "Show a chart of the sales per region",
        "List a histogram of prices",
        "Visualise the orders",
    ] {
        assert_eq!(candidates(question), ["sql", "computation"], "{question}");
    }
    let config = Config::from_json(&json!({"keyword_mode": "word"})).unwrap();
    assert_eq!(candidates_of(&"Count the charters".into(), &config), ["sql"]);
    assert_eq!(candidates_of(&"Two charts".into(), &config), ["sql", "computation"]);
}

#[test]
fn keywords_within_words_count_unless_the_settings_say_otherwise() {
    let question = "Which country has which capital?";
    assert_eq!(candidates(question), ["api_docs", "sql"], "`count` and `api` are within words");
    let config = Config::from_json(&json!({"keyword_mode": "word"})).unwrap();
    assert_eq!(candidates_of(&AgentRequest::from(question), &config), ["sql"]);
    let own = json!({"keywords": {"computation": ["capital"]}});
    let config = Config::from_json(&own).unwrap();
    assert_eq!(candidates_of(&AgentRequest::from(question), &config), ["sql", "computation"]);
}

/// DA-04 of `docs/systems/data-analyst.md`.
#[test]
fn preferred_agents_come_first_and_are_not_added() {
    let both = "Count, then compare";
    let prefers = |agents: &[&str]| asked(both, json!({ "prefer_agents": agents }));
    let config = Config::default();
    assert_eq!(candidates_of(&prefers(&["computation"]), &config), ["computation", "sql"]);
    assert_eq!(candidates_of(&prefers(&["api_docs"]), &config), ["sql", "computation"]);
    let adds = Config::from_json(&json!({"add_preferred": true})).unwrap();
    let found = candidates_of(&prefers(&["api_docs"]), &adds);
    assert_eq!(found, ["api_docs", "sql", "computation"]);
}

/// DA-05 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_question_whose_agents_are_all_disabled_is_explained() {
    let disabled = json!({"disable_agents": ["sql", "api_docs", "computation"]});
    let run = Scene::new(&json!({})).ask(asked("How many?", disabled)).await;
    let output = &run.result.output;
    assert_eq!(
        output.answer,
        "The question was not worked on: every agent for the question is disabled."
    );
    assert_eq!(output.planner.as_ref().unwrap().confidence, Some(0.0));
    assert!(output.agent_results.is_empty());
    assert_eq!(output.metadata["composer_fallback"], json!(false));
    assert_eq!(run.result.outcome, Outcome::NoAnswer);
    assert_eq!(run.model.requests().len(), 0);
}

#[test]
fn an_agent_that_cannot_work_gives_way_to_one_that_can() {
    let request = AgentRequest::from("How many orders are there?");
    let only = BTreeSet::from([AgentName::ApiDocs]);
    let found = select(&request, &Config::default(), &only);
    assert_eq!(found.candidates, [AgentName::ApiDocs]);
    let nobody = select(&request, &Config::default(), &BTreeSet::new());
    assert_eq!(nobody.candidates, [AgentName::Sql], "which says what is missing");
}

/// DA-06 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_plan_that_cannot_be_used_leaves_the_candidates() {
    let scene = |replies: Vec<ScriptedReply>| {
        Scene::new(&json!({"max_parallel_agents": 1}))
            .with_sandbox([assigned(json!({"result": 3}))])
            .role("planner", replies)
            .queries(&["SELECT count(*) AS n FROM orders"], "There are 3.")
            .role("coder", [json!({"reasoning": "", "python": "result = 3", "explain": ""})])
            .role("summariser", [json!({"answer": "It is 3.", "highlights": []})])
            .role("composer", [said("There are 3 orders.")])
    };
    let unknown = scene(vec![plan(&["oracle", "sql2"]).into()]).ask("Count, then compare").await;
    assert_eq!(unknown.plan(), ["sql", "computation"]);
    let decision = unknown.result.output.planner.as_ref().unwrap();
    assert_eq!(decision.confidence, Some(0.9));
    let malformed = scene(vec!["nonsense".into(), "again".into()]).ask("Count, then compare").await;
    assert_eq!(malformed.plan(), ["sql", "computation"]);
    let decision = malformed.result.output.planner.as_ref().unwrap();
    assert_eq!((decision.confidence, &*decision.rationale), (Some(0.4), "heuristic"));
    assert_eq!(decision.guardrails["fallback"], json!(true));
    assert_eq!(malformed.result.outcome, Outcome::Answered);
    assert_eq!(malformed.result.error, None, "a plan by words is no failure of the question");
}

#[tokio::test]
async fn a_confidence_in_percent_is_a_share_and_only_known_agents_are_kept_once() {
    let reply = json!({"agents": ["SQL", "sql", "rm -rf"], "rationale": "r", "confidence": 80});
    let run = Scene::new(&json!({}))
        .with_sandbox([])
        .role("planner", [reply])
        .queries(&["SELECT count(*) AS n FROM orders"], "There are 3.")
        .role("composer", [said("There are 3.")])
        .ask("Count, then compare")
        .await;
    assert_eq!(run.plan(), ["sql"]);
    assert_eq!(run.result.output.planner.as_ref().unwrap().confidence, Some(0.8));
}

/// DA-07 of `docs/systems/data-analyst.md`.
#[test]
fn names_of_agents_are_read_leniently_and_unknown_ones_are_refused() {
    let given = json!({"question": "q", "prefer_agents": [" SQL ", null, "sql", "composer"]});
    let request = AgentRequest::read(&given).unwrap();
    assert_eq!(request.prefer_agents, [AgentName::Sql, AgentName::Composer]);
    let unknown = AgentRequest::read(&json!({"question": "q", "prefer_agents": ["foo"]}));
    let fault = unknown.unwrap_err();
    assert_eq!(fault.code, "input_invalid");
    assert!(fault.message.contains("foo"), "{}", fault.message);
}

/// DA-08 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_question_that_cannot_be_meant_is_refused_before_any_work() {
    let secret = json!({"context": {"api_bearer_token": "hunter2"}});
    for (request, code) in [
        (AgentRequest::from("  "), "question_blank"),
        (asked("q", json!({"max_turns": 0})), "input_invalid"),
        (asked("q", secret), "input_invalid"),
    ] {
        let (model, (_, result)) = Scene::new(&json!({})).try_ask(request).await;
        let fault = result.unwrap_err();
        assert_eq!(fault.code, code);
        assert!(!fault.message.contains("hunter2"), "a value is not repeated");
        assert_eq!(model.requests().len(), 0);
    }
}

/// DA-09 of `docs/systems/data-analyst.md`.
#[test]
fn the_time_is_attached_where_it_is_missing() {
    let now = Time::from_micros(1_769_342_400_000_000);
    let all = attach_time(&Map::new(), now, true);
    let keys: Vec<&String> = all.keys().collect();
    assert_eq!(keys.len(), 4, "{keys:?}");
    assert_eq!(all["current_datetime_utc"], "2026-01-25T12:00:00.000000Z");
    assert_eq!(all["current_date_start_hour"], "2026-01-25 00");
    let given = Map::from_iter([("current_datetime_utc".to_owned(), json!("then"))]);
    assert_eq!(attach_time(&given, now, true)["current_datetime_utc"], "then");
    let own = Map::from_iter([("current_date".to_owned(), json!("2020-02-03"))]);
    assert_eq!(attach_time(&own, now, true)["current_date_end_hour"], "2020-02-03 23");
    assert!(!attach_time(&own, now, false).contains_key("current_date_end_hour"));
    assert_eq!(attach_time(&all, now, true), all, "nothing is missing");
}

#[tokio::test]
async fn models_read_the_time_and_the_planner_only_the_names_of_facts() {
    let mut scene = Scene::new(&json!({}))
        .with_sandbox([])
        .role("planner", [plan(&["sql"])])
        .queries(&["SELECT count(*) AS n FROM orders"], "There are 3.")
        .role("composer", [said("There are 3.")]);
    scene.clock = Arc::new(ManualClock::at(Time::from_micros(1_769_342_400_000_000)));
    let request = asked("Count, then compare", json!({"context": {"tenant": "blue"}}));
    let run = scene.ask(request).await;
    let writer = run.requests("sql_writer")[0].messages[1].content.to_string();
    assert!(writer.contains("2026-01-25 23") && writer.contains("blue"), "{writer}");
    let planner = run.requests("planner")[0].messages[1].content.to_string();
    assert!(planner.contains("tenant") && !planner.contains("blue"), "{planner}");
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    for (setting, name) in [
        (json!({"max_sql_attempts": 11}), "max_sql_attempts"),
        (json!({"preview_rows": 0}), "preview_rows"),
        (json!({"candidate_queries": 6}), "candidate_queries"),
        (json!({"fallback_confidence": 2}), "fallback_confidence"),
        (json!({"keywords": {"composer": ["x"]}}), "keywords"),
        (json!({"agent_timeout_s": 0}), "agent_timeout_s"),
        (json!({"question_timeout_s": -1}), "question_timeout_s"),
        (json!({"rounds": 1}), "rounds"),
    ] {
        let fault = Config::from_json(&setting).unwrap_err();
        assert_eq!(fault.code, "system_setting_invalid");
        assert!(fault.message.contains(name), "{}", fault.message);
    }
    assert_eq!(
        Config::setting_of(antiphon_core::budget::BudgetDimension::WallTime),
        Some("question_timeout_s")
    );
}

#[test]
fn a_key_that_names_a_secret_is_refused_at_any_depth() {
    for context in [json!({"api_token": "x"}), json!({"all": [{"login": {"password": "x"}}]})] {
        let given = json!({"question": "How many?", "context": context});
        let request: AgentRequest = serde_json::from_value(given).unwrap();
        assert_eq!(request.check().unwrap_err().code, "input_invalid");
    }
    let given = json!({"question": "How many?", "context": {"all": [{"region": "n"}]}});
    assert!(serde_json::from_value::<AgentRequest>(given).unwrap().check().is_ok());
}

/// As `tests/systems/test_data_analyst.py` has them for Python.
#[test]
fn names_of_secrets_are_told_by_whole_words() {
    for name in [
        "token",
        "api_token",
        "accessToken",
        "authtoken",
        "OAUTH_TOKEN",
        "api_tokens",
        "password",
        "passwords",
        "dbPassword",
        "client-secret",
        "clientSecret",
        "secrets",
        "api_key",
        "x-api-key",
        "apiKey",
        "APIKey",
        "apikey",
        "firebase_web_api_key",
        "credentials",
        "Authorization",
        "api_headers",
        "token_2",
    ] {
        assert!(names_secret(name), "{name}");
    }
    for name in [
        "tokens_sold",
        "tokensSold",
        "TOKENS_SOLD",
        "secretary",
        "secretaries",
        "tokenised",
        "passwordless",
        "api",
        "key",
        "keyboard",
        "therapy_key",
        "authorized",
        "",
    ] {
        assert!(!names_secret(name), "{name}");
    }
}
