//! Other code that has to come to the same result.

use antiphon_runtime::sandbox::JobOutcome;
use antiphon_systems::Outcome;
use serde_json::{Value as Json, json};

use crate::scene::{Scene, ScriptedRun, plan, raised, result, sales};

const FIRST: &str = "result = sum(row['net'] for row in sales)";
const OTHER: &str = "result = pd.DataFrame(sales)['net'].sum()";

fn number(value: i64) -> Json {
    json!({"count": 1, "rows": [[format!("n{value}")]]})
}

async fn ask(
    (settings, model_name): (Json, &'static str),
    replies: impl IntoIterator<Item = Json>,
    runs: impl IntoIterator<Item = JobOutcome>,
    rows: impl IntoIterator<Item = Json>,
) -> ScriptedRun {
    let mut scene = Scene::new(&settings).role("planner", replies).runs(runs);
    scene.sandbox.rows.lock().unwrap().extend(rows);
    scene.model_name = model_name;
    scene.answer(sales()).await
}

fn small() -> (Json, &'static str) {
    (json!({"summarise": false}), "local:1.5b")
}

/// CO-24 of `docs/systems/computation.md`.
#[tokio::test]
async fn a_small_model_writes_other_code_without_a_look_at_the_first() {
    let runs = [result(json!(7)), result(json!(7))];
    let run = ask(small(), [plan(FIRST), plan(OTHER)], runs, [number(7), number(7)]).await;
    assert_eq!((run.answer.outcome, &*run.answer.output.answer), (Outcome::Answered, "7"));
    let codes: Vec<&str> = run.answer.output.attempts.iter().map(|it| &*it.python).collect();
    assert_eq!(codes.len(), 2);
    assert!(codes[1].ends_with(OTHER), "{codes:?}");
    let requests = run.model.requests();
    let [first, second] = [0, 1].map(|at| requests[at].messages.clone());
    assert_eq!((first.len(), second.len()), (2, 2));
    assert_eq!(first[1].content.text(), second[1].content.text());
    let reasons = |at: usize| requests[at].messages[0].content.text().contains("\"reasoning\":");
    assert!(reasons(0) && !reasons(1), "the other way to begin");
}

#[tokio::test]
async fn different_results_are_no_answer() {
    let runs = [result(json!(7)), result(json!(8))];
    let run = ask(small(), [plan(FIRST), plan(OTHER)], runs, [number(7), number(8)]).await;
    assert_eq!((run.answer.outcome, &*run.answer.output.answer), (Outcome::NoAnswer, ""));
    let reason = run.answer.reason.unwrap();
    assert_eq!(reason, "two pieces of code came to different results: `7`, and `8`");
}

#[tokio::test]
async fn the_setting_decides_for_a_model_of_any_size() {
    let both = || [result(json!(7)), result(json!(8))];
    let rows = || [number(7), number(8)];
    let settings = |cross_check: bool| json!({"summarise": false, "cross_check": cross_check});
    for (settings, model_name, requests) in [
        (json!({"summarise": false}), "test:scripted", 1),
        (settings(true), "test:scripted", 2),
        (settings(false), "local:1.5b", 1),
    ] {
        let replies = [plan(FIRST), plan(OTHER)];
        let run = ask((settings, model_name), replies, both(), rows()).await;
        assert_eq!(run.model.requests().len(), requests);
        let expected = if requests == 2 { Outcome::NoAnswer } else { Outcome::Answered };
        assert_eq!(run.answer.outcome, expected, "{model_name}");
    }
}

#[tokio::test]
async fn other_code_has_attempts_of_its_own_and_reads_only_its_own_mistakes() {
    let replies = [plan("result = 1 / 0"), plan(FIRST), plan("result = no"), plan(OTHER)];
    let runs = [
        raised("ZeroDivisionError", "division by zero"),
        result(json!(7)),
        raised("NameError", "name 'no' is not defined"),
        result(json!(7)),
    ];
    let settings = (json!({"summarise": false, "cross_check": true}), "test:scripted");
    let run = ask(settings, replies, runs, [number(7), number(7)]).await;
    assert_eq!((run.answer.outcome, &*run.answer.output.answer), (Outcome::Answered, "7"));
    let requests = run.model.requests();
    let texts = |at: usize| {
        let messages = requests[at].messages.iter();
        messages.map(|message| message.content.text().into_owned()).collect::<String>()
    };
    assert!(texts(1).contains("division by zero"));
    assert!(!texts(2).contains("division by zero") && !texts(2).contains(FIRST));
    assert!(texts(3).contains("'no' is not defined") && !texts(3).contains("division by zero"));
}

#[tokio::test]
async fn other_code_that_misses_something_is_no_answer() {
    let missing = json!({"missing": "the prices", "python": "result = 0", "explain": ""});
    let run = ask(small(), [plan(FIRST), missing], [result(json!(7))], [number(7)]).await;
    assert_eq!(run.answer.outcome, Outcome::NoAnswer);
    let reason = run.answer.reason.unwrap();
    assert_eq!(reason, "the inputs do not hold what is asked for: the prices");
}

#[tokio::test]
async fn a_result_that_cannot_be_compared_is_not_checked() {
    let run = ask(small(), [plan(FIRST)], [result(json!(7))], [json!(null)]).await;
    assert_eq!((run.answer.outcome, run.model.requests().len()), (Outcome::Answered, 1));
    let runs = [result(json!(7)), result(json!(7))];
    let run = ask(small(), [plan(FIRST), plan(OTHER)], runs, [number(7)]).await;
    let reason = run.answer.reason.unwrap();
    assert!(reason.ends_with("`7`, and one that cannot be compared"), "{reason}");
}

#[tokio::test]
async fn other_code_that_comes_to_nothing_confirms_nothing() {
    let runs = || [result(json!(7)), raised("KeyError", "no"), raised("KeyError", "no")];
    let codes = || [plan(FIRST), plan(OTHER), plan(OTHER)];
    let run = ask(small(), codes(), runs(), [number(7)]).await;
    assert_eq!(run.answer.outcome, Outcome::NoAnswer);
    assert!(run.answer.output.computed.is_none());
    let reason = run.answer.reason.unwrap();
    assert_eq!(reason, "code came to `7`, and other code to no result");
}
