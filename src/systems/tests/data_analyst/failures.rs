//! Every failure of an agent and of a role is an event of the trace, with its kind.

use antiphon_core::{Fault, FaultCode};
use antiphon_models::ScriptedReply;
use antiphon_runtime::sandbox::GuestFaultKind;
use antiphon_systems::Outcome;
use antiphon_systems::data_analyst::{AgentResult, TraceEventKind};
use serde_json::{Value as Json, json};

use crate::scene::{Scene, ScriptedRun, asked, assigned, guest_failure, plan, query, said};

const COUNT: &str = "SELECT count(*) AS n FROM orders";

fn down() -> ScriptedReply {
    ScriptedReply::fault(Fault::new(FaultCode::ModelUnreachable, "the model is down"))
}

/// The errors of the trace: the message, whose they are, and the kind.
fn errors(run: &ScriptedRun) -> Vec<(String, String, String)> {
    let state = &run.result.state;
    let errors = state.trace.iter().filter(|event| event.event_type == TraceEventKind::Error);
    let text = |value: Option<&Json>| value.and_then(Json::as_str).unwrap_or_default().to_owned();
    let shown = errors.map(|event| {
        let whose = event.data.get("role").map_or_else(
            || event.agent.map_or("", |agent| agent.as_str()).to_owned(),
            |role| text(Some(role)),
        );
        let is_told = ["error", "differences"].iter().any(|key| event.data.contains_key(*key));
        assert!(is_told, "{event:?}");
        (event.message.clone().unwrap_or_default(), whose, text(event.data.get("type")))
    });
    shown.collect()
}

fn of(message: &str, whose: &str, kind: &str) -> (String, String, String) {
    (message.to_owned(), whose.to_owned(), kind.to_owned())
}

fn of_api(plan: Json) -> Scene {
    Scene::new(&json!({"max_reasks": 0})).with_api([]).role("api_planner", [plan.clone(), plan])
}

/// DA-58 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn the_last_event_of_an_agent_that_has_failed_is_its_failure() {
    let nothing = "SELECT max(net_eur) AS most FROM orders WHERE id = 99";
    let mut without_database = Scene::new(&json!({}));
    without_database.database = None;
    let sql = |replies: &[Json]| {
        Scene::new(&json!({"check_query": false})).role("sql_writer", replies.to_vec())
    };
    let declined = json!({"make_request": false, "method": "GET", "path": "/v1/orders", "reason": "it is private"});
    let write = json!({"make_request": true, "method": "POST", "path": "/v1/orders"});
    let unlisted = json!({"make_request": true, "method": "GET", "path": "/v9"});
    let mut no_endpoint = Scene::new(&json!({})).with_api([]);
    *no_endpoint.api.as_mut().unwrap().endpoints.lock().unwrap() = json!([]);
    let no_tables = Scene::of_tables("CREATE TABLE t (a)", &["other"]);
    for (scene, agent, kind) in [
        (sql(&[query(nothing)]), "sql", "NoValue"),
        (sql(&[json!({"missing": "prices", "sql": ""})]), "sql", "NotInData"),
        (
            sql(&[
                query("DROP TABLE orders"),
                query("DROP TABLE orders"),
                query("DROP TABLE orders"),
                query("DROP TABLE orders"),
            ]),
            "sql",
            "QueryError",
        ),
        (without_database, "sql", "ConfigurationError"),
        (no_tables, "sql", "NoTables"),
        (of_api(declined), "api_docs", "PlanningDeclined"),
        (of_api(write), "api_docs", "MethodNotAllowed"),
        (of_api(unlisted), "api_docs", "PlanningValidationError"),
        (no_endpoint, "api_docs", "MissingContext"),
    ] {
        let disabled = if agent == "sql" { "api_docs" } else { "sql" };
        let question = if agent == "sql" { "How many orders?" } else { "Which endpoint?" };
        let scene = scene.role("composer", [said("It is not known.")]);
        let run = scene.ask(asked(question, json!({"disable_agents": [disabled]}))).await;
        assert_eq!(run.results(), [(agent, "failed".to_owned(), kind.to_owned())]);
        let last = run.result.output.agent_results[0].clone();
        let all = errors(&run);
        assert_eq!(all.last(), Some(&of("failed", agent, kind)), "{all:?}");
        let of_agents = all.iter().filter(|(message, ..)| message == "failed").count();
        assert_eq!(of_agents, 1, "{last:?}");
    }
}

/// DA-58 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_role_that_has_failed_is_an_event_also_if_the_question_is_answered() {
    for role in ["planner", "sql_reviewer", "sql_answerer", "summariser", "composer"] {
        let planned: ScriptedReply = plan(&["sql", "computation"]).into();
        let reviewed: ScriptedReply = json!({"sql": COUNT}).into();
        let worded: ScriptedReply = json!({"answer": "It is 6.", "highlights": []}).into();
        let or_down = |name: &str, reply: ScriptedReply| if role == name { down() } else { reply };
        let run = Scene::new(&json!({"max_reasks": 0}))
            .with_sandbox([assigned(json!({"result": 6}))])
            .role("planner", [or_down("planner", planned)])
            .role("sql_writer", [query(COUNT)])
            .role("sql_reviewer", [or_down("sql_reviewer", reviewed)])
            .role("sql_answerer", [or_down("sql_answerer", said("There are 3.").into())])
            .role(
                "coder",
                [json!({"reasoning": "", "python": "result = 2 * sql_rows[0]['n']", "explain": ""})],
            )
            .role("summariser", [or_down("summariser", worded)])
            .role("composer", [or_down("composer", said("Together 6.").into())])
            .ask("Count, then compare")
            .await;
        let kind = match role {
            "planner" => "PlannerError",
            "composer" => "ComposerError",
            _ => "ModelError",
        };
        assert_eq!(errors(&run), [of("role failed", role, kind)]);
        assert!(run.result.output.agent_results.iter().all(AgentResult::is_success), "{role}");
        let is_without_words = run.answer().contains('6');
        assert!(is_without_words, "{role}: {}", run.answer());
        assert_eq!(run.result.error, None, "{role}");
    }
}

#[tokio::test]
async fn a_question_whose_requests_have_all_failed_ends_with_their_error() {
    let refused = Fault::new(FaultCode::ModelKeyRefused, "the key was refused");
    for fault in [refused, Fault::new(FaultCode::ModelUnreachable, "the model is down")] {
        let code = fault.code.clone();
        let down = ScriptedReply::fault(fault);
        let run = Scene::new(&json!({}))
            .role("sql_writer", [down.clone()])
            .role("composer", [down])
            .ask("How many orders?")
            .await;
        assert_eq!(run.result.outcome, Outcome::Error);
        assert_eq!(run.answer(), "sql has no answer: the model could not be asked.");
        assert_eq!(run.result.reason.as_deref(), Some("no request to a model succeeded"));
        assert_eq!(run.result.error.as_ref().unwrap().code, code);
        assert_eq!(run.results()[0].2, "ModelError");
    }
}

#[tokio::test]
async fn an_agent_without_its_first_role_fails_and_the_others_go_on() {
    for (role, agent) in
        [("sql_writer", "sql"), ("api_planner", "api_docs"), ("coder", "computation")]
    {
        let planned = json!({"make_request": true, "method": "GET", "path": "/v1/orders"});
        let code = json!({"reasoning": "", "python": "result = 6", "explain": ""});
        let or_down = |name: &str, reply: Json| if role == name { down() } else { reply.into() };
        let run =
            Scene::new(&json!({"max_reasks": 0, "check_query": false, "add_preferred": true}))
                .with_api([Ok(json!({"status": 200, "data": {"orders": 3}}))])
                .with_sandbox([assigned(json!({"result": 6}))])
                .role("planner", [plan(&["sql", "api_docs", "computation"])])
                .role("sql_writer", [or_down("sql_writer", query(COUNT))])
                .role("sql_answerer", [said("There are 3.")])
                .role("api_planner", [or_down("api_planner", planned)])
                .role("api_answerer", [said("The API has 3.")])
                .role("coder", [or_down("coder", code)])
                .role("summariser", [json!({"answer": "It is 6.", "highlights": []})])
                .role("composer", [said("3 and 6."), said("3 and 6.")])
                .ask(asked("Compare", json!({"prefer_agents": ["sql", "api_docs", "computation"]})))
                .await;
        let failed: Vec<_> = run.results().into_iter().filter(|it| it.1 != "succeeded").collect();
        assert_eq!(failed, [(agent, "failed".to_owned(), "ModelError".to_owned())]);
        let all = errors(&run);
        assert!(all.contains(&of("failed", agent, "ModelError")), "{all:?}");
    }
}

#[tokio::test]
async fn a_computation_tells_of_its_variables_or_why_there_are_none() {
    let coded = json!({"reasoning": "", "python": "result = 6", "explain": ""});
    let scene = |outcomes: Vec<_>| {
        Scene::new(&json!({"max_computation_attempts": 1}))
            .with_sandbox(outcomes)
            .role("planner", [plan(&["sql", "computation"])])
            .role("sql_writer", [json!({"missing": "it", "sql": ""})])
            .role("coder", [coded.clone()])
            .role("summariser", [json!({"answer": "It is 6.", "highlights": []})])
            .role("composer", [said("It is 6."), said("Nothing is known.")])
    };
    let locals = json!({"result": 6, "rate": 0.5, "day": {"$": "date", "v": "2026-01-02"}, "long": "x".repeat(900)});
    let run = scene(vec![assigned(locals)]).ask("Count, then compare").await;
    let computed = run.events(TraceEventKind::Result);
    let found = &computed.iter().find(|(message, _)| message == "computed").unwrap().1["locals"];
    assert_eq!(found["result"], json!({"type": "int", "value": "6"}));
    assert_eq!(found["rate"]["type"], "float");
    assert_eq!(found["day"], json!({"type": "date", "value": "2026-01-02"}));
    assert!(found["long"]["value"].as_str().unwrap().len() < 560, "the beginning is enough");
    let broken = guest_failure(GuestFaultKind::PythonError, "NameError: x");
    let run = scene(vec![broken]).ask("Count, then compare").await;
    let all = errors(&run);
    for message in ["attempt", "failed"] {
        assert!(all.contains(&of(message, "computation", "ComputationError")), "{all:?}");
    }
}
