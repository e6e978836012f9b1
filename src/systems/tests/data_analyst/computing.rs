//! The computation agent: the system `computation` within the analyst.

use antiphon_core::event::EventKind;
use antiphon_runtime::sandbox::{GuestFaultKind, JobOutcome};
use antiphon_systems::Outcome;
use serde_json::{Value as Json, json};

use crate::scene::{Scene, asked, assigned, guest_failure, plan, said};

fn code(python: &str) -> Json {
    json!({"reasoning": "add them up", "python": python, "explain": "adds"})
}

fn worded(answer: &str) -> Json {
    json!({"answer": answer, "highlights": []})
}

/// DA-29 of `docs/systems/data-analyst.md`; `tests/systems/test_data_analyst.py` runs real code.
#[tokio::test]
async fn code_has_the_rows_of_the_agents_before_it() {
    let scene = Scene::new(&json!({}))
        .with_sandbox([assigned(json!({"result": 42.0, "table": [{"region": "n", "net": 22.0}]}))])
        .role("planner", [plan(&["sql", "computation"])])
        .queries(&["SELECT region, net_eur FROM orders ORDER BY id"], "Three orders.")
        .role("coder", [code("result = sum(row['net_eur'] for row in sql_rows)")])
        .role("summariser", [worded("It is 42.")])
        .role("composer", [said("It is 42.")]);
    let jobs = scene.sandbox.as_ref().unwrap().jobs.clone();
    let run = scene.ask("Count, then compare").await;
    let first = jobs.lock().unwrap()[0].clone();
    assert_eq!(first.inputs["sql_rows"][1], json!({"region": "s", "net_eur": 20.0}));
    assert_eq!(run.result.outcome, Outcome::Answered);
    let computed = &run.result.output.agent_results[1];
    assert_eq!(computed.answer.as_deref(), Some("It is 42."));
    assert_eq!(computed.tabular.as_ref().unwrap().columns, ["region", "net"]);
    assert_eq!(
        run.result.output.data.as_ref().unwrap().columns,
        ["region", "net_eur"],
        "the first table"
    );
}

/// DA-44 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn the_coder_and_the_composer_are_told_that_rows_are_missing() {
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500) \
                   SELECT i FROM n";
    let run = Scene::with_rows(&json!({}), 1_000)
        .with_sandbox([assigned(json!({"result": 7}))])
        .role("planner", [plan(&["sql", "computation"])])
        .queries(&[numbers], "There are more than 1000 rows.")
        .role("coder", [code("result = 7")])
        .role("summariser", [worded("It is 7.")])
        .role("composer", [said("It is 7, of the first 1000 rows.")])
        .ask("Count, then compare")
        .await;
    assert_eq!(run.answer(), "It is 7, of the first 1000 rows.");
    for (role, note) in [
        ("coder", "only the first 1000 rows of the result"),
        ("sql_answerer", "(cut: only the first 1000 rows were read, there are more)"),
        ("composer", "(cut: only the first 1000 rows were read, there are more)"),
    ] {
        let asked = &run.requests(role)[0].messages;
        let asked: String = asked.iter().map(|message| message.content.to_string()).collect();
        assert!(asked.contains(note), "{role}: {asked}");
    }
    assert_eq!(run.result.output.metadata["truncated"], json!(["sql"]));
}

/// More rows than JSON shows, then a computation with them.
fn of_many_rows(packages: &Json) -> Scene {
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500) \
                   SELECT i FROM n";
    Scene::new(&json!({ "packages": packages }))
        .with_sandbox([assigned(json!({"result": 7}))])
        .role("planner", [plan(&["sql", "computation"])])
        .queries(&[numbers], "There are 1500 rows.")
}

/// DA-50 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn code_that_reads_arrow_has_all_rows() {
    let scene = of_many_rows(&json!(["pandas", "pyarrow"]))
        .role("coder", [code("result = 7")])
        .role("summariser", [worded("It is 7.")])
        .role("composer", [said("It is 7.")]);
    let jobs = scene.sandbox.as_ref().unwrap().jobs.clone();
    let run = scene.ask("Count, then compare").await;
    assert_eq!(run.answer(), "It is 7.");
    let first = jobs.lock().unwrap()[0].clone();
    assert!(!first.inputs.contains_key("sql_rows"));
    let tables: Vec<_> = first.tables.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(tables, ["sql_rows"]);
}

/// DA-50 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn nothing_is_computed_with_the_first_of_many_rows() {
    let scene = of_many_rows(&json!(["numpy"])).role("composer", [said("There are 1500 rows.")]);
    let jobs = scene.sandbox.as_ref().unwrap().jobs.clone();
    let run = scene.ask("Count, then compare").await;
    assert!(jobs.lock().unwrap().is_empty());
    let error = run.result.output.agent_results[1].error.as_ref().unwrap();
    assert_eq!(error.kind, "MissingRows");
    assert!(error.message.starts_with("code would have 1000 of 1500 rows"), "{}", error.message);
    assert_eq!(run.result.output.metadata["partial"], true);
}

#[tokio::test]
async fn a_row_that_looks_like_a_tagged_value_is_a_row() {
    let scene = Scene::new(&json!({}))
        .with_sandbox([assigned(json!({"result": 1}))])
        .role("planner", [plan(&["sql", "computation"])])
        .queries(&["SELECT 'object' AS \"$\", 2 AS v FROM orders LIMIT 1"], "One.")
        .role("coder", [code("result = 1")])
        .role("summariser", [worded("It is 1.")])
        .role("composer", [said("It is 1.")]);
    let jobs = scene.sandbox.as_ref().unwrap().jobs.clone();
    scene.ask("Count, then compare").await;
    let inputs = &jobs.lock().unwrap()[0].inputs;
    assert_eq!(inputs["sql_rows"][0], json!({"$": "dict", "v": [["$", "object"], ["v", 2]]}));
}

#[tokio::test]
async fn integers_beyond_those_of_floats_reach_code_with_every_digit() {
    let columns = "9007199254740992 AS exact, 9007199254740993 AS big, -9007199254740993 AS low";
    let query = format!("SELECT {columns} FROM orders LIMIT 1");
    let scene = Scene::new(&json!({}))
        .with_sandbox([assigned(json!({"result": 1}))])
        .role("planner", [plan(&["sql", "computation"])])
        .queries(&[&query], "One.")
        .role("coder", [code("result = 1")])
        .role("summariser", [worded("It is 1.")])
        .role("composer", [said("It is 1.")]);
    let jobs = scene.sandbox.as_ref().unwrap().jobs.clone();
    scene.ask("Count, then compare").await;
    let row = &jobs.lock().unwrap()[0].inputs["sql_rows"][0];
    assert_eq!(row["exact"], json!(9_007_199_254_740_992_i64));
    assert_eq!(row["big"], json!({"$": "int", "v": "9007199254740993"}));
    assert_eq!(row["low"], json!({"$": "int", "v": "-9007199254740993"}));
}

/// DA-27 of `docs/systems/data-analyst.md`; `tests/systems/test_data_analyst.py` runs real code.
/// DA-28 of `docs/systems/data-analyst.md`, likewise.
#[tokio::test]
async fn code_that_the_sandbox_refuses_is_tried_once_more_and_then_fails_by_its_kind() {
    for (kind, expected) in [
        (GuestFaultKind::Denied, "SandboxViolation"),
        (GuestFaultKind::TimeLimit, "SandboxTimeout"),
        (GuestFaultKind::MemoryLimit, "SandboxMemory"),
        (GuestFaultKind::PythonError, "ComputationError"),
    ] {
        let run = Scene::new(&json!({}))
            .with_sandbox([guest_failure(kind, "no"), guest_failure(kind, "no")])
            .role("coder", [code("open('x')"), code("open('y')")])
            .role("composer", [said("It could not be computed.")])
            .ask(asked("Compute and estimate it", json!({"disable_agents": ["sql"]})))
            .await;
        assert_eq!(run.results(), [("computation", "failed".to_owned(), expected.to_owned())]);
        assert_eq!(run.result.outcome, Outcome::NoAnswer);
    }
}

#[tokio::test]
async fn code_of_a_small_model_that_comes_to_two_results_fails_by_that() {
    let value = |number: i64| JobOutcome {
        value: Some(json!({"count": 1, "rows": [[format!("n{number}")]]})),
        ..JobOutcome::default()
    };
    let results = [7, 8].map(|number| [assigned(json!({"result": number})), value(number)]);
    let mut scene = Scene::new(&json!({}))
        .with_sandbox(results.into_iter().flatten())
        .role("coder", [code("result = 7"), code("result = 8")])
        .role("composer", [said("It could not be computed.")]);
    scene.model_name = "local:1.5b";
    let run = scene.ask(asked("Compute and estimate it", json!({"disable_agents": ["sql"]}))).await;
    let differ = ("computation", "failed".to_owned(), "CandidatesDisagree".to_owned());
    assert_eq!(run.results(), [differ]);
    assert_eq!(run.result.outcome, Outcome::NoAnswer);
}

#[tokio::test]
async fn calls_of_models_within_the_computation_count_and_are_shown() {
    let run = Scene::new(&json!({"compose_single": false}))
        .with_sandbox([assigned(json!({"result": 7}))])
        .role("coder", [code("result = 7")])
        .role("summariser", [worded("It is 7.")])
        .ask(asked("Compute it", json!({"disable_agents": ["sql"]})))
        .await;
    assert_eq!(run.answer(), "It is 7.");
    assert_eq!(run.result.spent.model_calls, 2);
    let shown = run.result.events.iter().filter(|event| event.kind == EventKind::ModelReply);
    assert_eq!(shown.count(), 2);
    assert!(run.result.events.iter().any(|event| &*event.name == "code_ran"));
}
