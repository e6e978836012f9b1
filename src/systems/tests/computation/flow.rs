//! What happens after what.

use antiphon_core::Category;
use antiphon_runtime::sandbox::{GuestFault, GuestFaultKind, JobOutcome as Ran};
use antiphon_systems::Outcome;
use antiphon_systems::computation::{Config, Task};
use serde_json::json;

use crate::scene::{Scene, plan, raised, result, sales, words};

/// CO-01 of `docs/systems/computation.md`.
#[tokio::test]
async fn code_that_computes_is_put_into_words() {
    let run = Scene::new(&json!({}))
        .role("planner", [plan("result = 7")])
        .role("summariser", [words("Seven were sold.", &["Most in the south."])])
        .runs([result(json!(7))])
        .answer(sales())
        .await;
    assert_eq!(run.answer.output.answer, "Seven were sold.");
    assert_eq!(run.answer.output.highlights, ["Most in the south."]);
    assert_eq!(run.answer.outcome, Outcome::Answered);
    assert!(run.answer.output.is_summarised);
    assert_eq!(run.answer.output.computed.unwrap().locals["result"], json!(7));
    assert_eq!(run.answer.output.attempts.len(), 1);
    assert_eq!(run.sandbox.ran(), ["result = 7"]);
}

/// CO-02 of `docs/systems/computation.md`.
#[tokio::test]
async fn the_inputs_are_put_into_one_interpreter_and_described_first() {
    let run = Scene::new(&json!({}))
        .role("planner", [plan("result = 7")])
        .role("summariser", [words("Seven.", &[])])
        .runs([result(json!(7))])
        .answer(sales())
        .await;
    let jobs = run.sandbox.jobs.lock().unwrap();
    assert!(jobs[0].code.contains("_described(\"sales\", sales)"), "{}", jobs[0].code);
    assert!(jobs[0].inputs.contains_key("sales"));
    assert!(jobs[1].inputs.is_empty(), "they are there already");
    assert_eq!(*run.sandbox.opened.lock().unwrap(), 1);
}

/// CO-03 of `docs/systems/computation.md`.
#[tokio::test]
async fn a_mistake_goes_back_to_the_model_and_the_next_code_finds_a_clean_interpreter() {
    let run = Scene::new(&json!({}))
        .role("planner", [plan("result = sales['netto']"), plan("result = 7")])
        .role("summariser", [words("Seven.", &[])])
        .runs([raised("KeyError", "'netto'"), result(json!(7))])
        .answer(sales())
        .await;
    assert_eq!(run.answer.outcome, Outcome::Answered);
    let [first, second] = &*run.answer.output.attempts else { panic!("two attempts") };
    assert_eq!(first.fault.as_ref().unwrap().exception.as_deref(), Some("KeyError"));
    assert!(second.fault.is_none());
    assert_eq!(*run.sandbox.opened.lock().unwrap(), 2);
    let jobs = run.sandbox.jobs.lock().unwrap();
    let again = jobs.iter().find(|job| job.code == "result = 7").unwrap();
    assert!(again.inputs.contains_key("sales"), "a clean interpreter gets the inputs again");
    let requests = run.model.requests();
    let prompt = requests[1].messages.last().unwrap().content.to_string();
    assert!(prompt.contains("KeyError: 'netto'") && prompt.contains("line 2"), "{prompt}");
}

/// CO-04 of `docs/systems/computation.md`.
#[tokio::test]
async fn attempts_are_limited_and_the_last_mistake_is_reported() {
    let run = Scene::new(&json!({"max_attempts": 2}))
        .role("planner", [plan("a"), plan("b"), plan("c")])
        .runs([raised("NameError", "a"), raised("NameError", "b")])
        .answer(Task::new("What is it?"))
        .await;
    assert_eq!(run.answer.outcome, Outcome::RetryLimit);
    assert_eq!(run.answer.output.answer, "");
    assert_eq!(run.sandbox.ran(), ["a", "b"]);
    assert_eq!(run.answer.output.attempts.last().unwrap().fault.as_ref().unwrap().message, "b");
    assert!(run.answer.output.computed.is_none());
}

/// CO-05 of `docs/systems/computation.md`.
#[tokio::test]
async fn code_without_a_result_has_failed_but_a_last_expression_will_do() {
    let expression = Ran { value: Some(json!(7)), ..Ran::default() };
    let run = Scene::new(&json!({"summarise": false}))
        .role("planner", [plan("x = 7"), plan("7")])
        .runs([Ran::default(), expression])
        .answer(Task::new("What is 3 + 4?"))
        .await;
    let [first, second] = &*run.answer.output.attempts else { panic!("two attempts") };
    assert!(first.fault.as_ref().unwrap().message.contains("`result`"));
    assert!(second.fault.is_none());
    assert_eq!((run.answer.output.answer.as_str(), run.answer.output.is_summarised), ("7", false));
}

/// CO-06 of `docs/systems/computation.md`.
#[tokio::test]
async fn a_result_that_is_too_large_goes_back_to_the_model() {
    let mut large = Ran::default();
    let fault = GuestFault::new(GuestFaultKind::ResultTooLarge, "more than 64 KiB");
    large.local_errors.insert("result".into(), fault);
    let run = Scene::new(&json!({"summarise": false}))
        .role("planner", [plan("result = list(range(10**6))"), plan("result = 1")])
        .runs([large, result(json!(1))])
        .answer(Task::new("How many?"))
        .await;
    let first = run.answer.output.attempts[0].fault.as_ref().unwrap();
    assert_eq!(first.kind, GuestFaultKind::ResultTooLarge);
    assert_eq!(run.answer.outcome, Outcome::Answered);
}

#[tokio::test]
async fn inputs_that_the_sandbox_refuses_end_the_question_before_the_model_is_asked() {
    let fault = GuestFault::new(GuestFaultKind::ResultTooLarge, "the table `sales` is too large");
    let refused = Ran { error: Some(fault), ..Ran::default() };
    let mut scene = Scene::new(&json!({})).role("planner", [plan("result = 7")]);
    scene.sandbox.described = Some(refused.clone());
    let run = scene.runs([refused]).answer(sales()).await;
    assert_eq!(run.answer.outcome, Outcome::Error);
    let error = run.answer.error.unwrap();
    assert_eq!(error.code, "sandbox_input_invalid");
    assert_eq!(error.message, "the table `sales` is too large");
    assert_eq!(run.model.requests().len(), 0);
}

#[tokio::test]
async fn inputs_whose_description_alone_is_too_large_are_named_to_the_model() {
    let fault = GuestFault::new(GuestFaultKind::ResultTooLarge, "more than 100000 parts");
    let cut = Ran { error: Some(fault), ..Ran::default() };
    let mut scene = Scene::new(&json!({"summarise": false})).role("planner", [plan("result = 7")]);
    scene.sandbox.described = Some(cut);
    let run = scene.runs([Ran::default(), result(json!(7))]).answer(sales()).await;
    assert_eq!(run.answer.outcome, Outcome::Answered, "{:?}", run.answer.error);
    assert!(run.model.requests()[0].messages.last().unwrap().content.to_string().contains("sales"));
}

/// CO-07 of `docs/systems/computation.md`.
#[tokio::test]
async fn a_model_that_finds_no_words_takes_the_number_away_from_nobody() {
    let run = Scene::new(&json!({"max_reasks": 0}))
        .role("planner", [plan("result = 7")])
        .role("summariser", ["no object"])
        .runs([result(json!(7))])
        .answer(Task::new("How much?"))
        .await;
    assert_eq!(run.answer.outcome, Outcome::Answered);
    assert_eq!((run.answer.output.answer.as_str(), run.answer.output.is_summarised), ("7", false));
    assert_eq!(run.answer.error.unwrap().category, Category::ModelOutput);
}

/// CO-08 of `docs/systems/computation.md`.
#[tokio::test]
async fn a_sandbox_that_cannot_be_had_ends_the_question_before_the_model_is_asked() {
    let mut scene = Scene::new(&json!({})).role("planner", [plan("result = 7")]);
    scene.sandbox.is_missing = true;
    let run = scene.answer(sales()).await;
    assert_eq!(run.answer.outcome, Outcome::Error);
    assert_eq!(run.answer.error.unwrap().code, "sandbox_unavailable");
    assert_eq!(run.model.requests().len(), 0);
}

/// CO-09 of `docs/systems/computation.md`.
#[tokio::test]
async fn a_question_that_cannot_be_meant_is_refused_before_any_work() {
    let named = |name: &str| {
        let mut task = Task::new("How much?");
        task.inputs.insert(name.to_owned(), json!(1));
        task
    };
    let tasks = [
        (Task::new(" "), "question_blank"),
        (named("result"), "sandbox_input_invalid"),
        (named("two words"), "sandbox_input_invalid"),
        (named("x; import os"), "sandbox_input_invalid"),
        (named("lambda"), "sandbox_input_invalid"),
        (named("_hidden"), "sandbox_input_invalid"),
    ];
    for (task, code) in tasks {
        let (model, sandbox, answer) = Scene::new(&json!({})).try_answer(task).await;
        assert_eq!(answer.unwrap_err().code, code);
        assert_eq!((model.requests().len(), *sandbox.opened.lock().unwrap()), (0, 0));
    }
}

/// CO-10 of `docs/systems/computation.md`.
#[tokio::test]
async fn code_is_halted_when_nobody_waits_for_it_any_more() {
    let (reporter, mut hears) = tokio::sync::mpsc::unbounded_channel();
    let mut scene = Scene::new(&json!({})).role("planner", [plan("while True: pass")]);
    scene.sandbox.endless = Some(reporter);
    let question = tokio::spawn(scene.try_answer(Task::new("How long?")));
    assert_eq!(hears.recv().await, Some("begun"));
    question.abort();
    assert_eq!(hears.recv().await, Some("halted"));
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    let settings = [
        (json!({"max_attempts": 11}), "max_attempts"),
        (json!({"temperature": 3}), "temperature"),
        (json!({"max_shown": 1}), "max_shown"),
        (json!({"question_timeout_s": 0}), "question_timeout_s"),
        (json!({"rounds": 1}), "rounds"),
    ];
    for (setting, name) in settings {
        let fault = Config::from_json(&setting).unwrap_err();
        assert_eq!(fault.code, "system_setting_invalid");
        assert!(fault.message.contains(name), "{}", fault.message);
    }
}

/// CO-21 of `docs/systems/computation.md`.
#[tokio::test]
async fn a_known_secret_that_code_comes_to_is_in_no_prompt_and_in_no_result() {
    const SECRET: &str = "~key-of-a-computation-1";
    antiphon_runtime::redact::register(SECRET);
    let mut computed = result(json!(format!("the key {SECRET}")));
    computed.stdout = format!("found {SECRET}").into_bytes();
    let run = Scene::new(&json!({}))
        .role("planner", [plan("open(it)"), plan("result = it")])
        .role("summariser", [words("It is the key ***", &[])])
        .runs([raised("KeyError", SECRET), computed])
        .answer(sales())
        .await;
    assert_eq!(run.answer.outcome, Outcome::Answered);
    let output = &run.answer.output;
    assert_eq!(output.computed.as_ref().unwrap().locals["result"], "the key ***");
    let seen = format!("{:?} {:?} {:?}", output, run.answer.state, run.model.requests());
    assert!(seen.contains("found ***") && !seen.contains(SECRET), "{seen}");
}
