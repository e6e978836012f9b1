//! What an answer is worth: words that state the result alone, and questions without an answer.

use antiphon_core::{Category, Fault};
use antiphon_models::ScriptedReply;
use antiphon_runtime::sandbox::HostFunction;
use antiphon_systems::Outcome;
use antiphon_systems::computation::{Answer, Task};
use serde_json::{Map, Value as Json, json};

use crate::scene::{Scene, ScriptedRun, plan, raised, result, sales, words};

/// A question whose result is `value`, and what the model says of it, one after the other.
async fn said(question: &str, value: Json, answers: &[&str]) -> Answer {
    let summaries = answers.iter().map(|answer| words(answer, &["It is 7.", "North has 99."]));
    let shown = format!("result: {value}");
    let mut scene = Scene::new(&json!({}))
        .role("planner", [plan("result = penguins['bill_mm'].max()")])
        .role("summariser", summaries.map(ScriptedReply::from).collect::<Vec<_>>())
        .runs([result(value)]);
    scene.sandbox.shown = shown;
    scene.sandbox.columns = columns();
    let run = scene.answer(Task { question: question.to_owned(), ..sales() }).await;
    assert_eq!(run.answer.outcome, Outcome::Answered);
    run.answer.output
}

fn columns() -> Json {
    json!([{"name": "bill_mm", "missing": 2}, {"name": "body_mass_g", "missing": 0}])
}

/// CO-12 of `docs/systems/computation.md`.
#[tokio::test]
async fn words_that_contradict_the_result_are_asked_for_again_with_the_difference() {
    let cases = [
        (json!(2), "June", "It is 2.", "June"),
        (json!(35.6), "35.6 degrees Fahrenheit", "It is 35.6 mm.", "degrees Fahrenheit"),
        (json!(35.6), "35.6 on 2023-04-15", "35.6", "2023-04-15"),
        (json!(40), "It is 1200000.", "It is 40.", "1200000"),
        (json!(40), "It doubled to 40.", "It is 40.", "doubled"),
        (json!("Adelie"), "It is the gentoo.", "Most are Adelie.", "Adelie"),
        (json!(0.254), "It is 2.54%.", "It is 25.4 %.", "2.54"),
    ];
    for (value, wrong, right, difference) in cases {
        let answer = said("How long is the bill?", value, &[wrong, right]).await;
        assert_eq!((&*answer.answer, answer.is_summarised), (right, true));
        let [rejected] = &*answer.rejected_wordings else { panic!("{wrong}") };
        assert_eq!(rejected.answer, wrong);
        assert!(rejected.differences.join("\n").contains(difference), "{:?}", rejected.differences);
    }
}

/// CO-13 of `docs/systems/computation.md`.
#[tokio::test]
async fn the_plain_value_replaces_words_that_contradict_it_twice() {
    let answer = said("How long?", json!(35.6), &["36.7 mm", "It is long."]).await;
    assert_eq!((&*answer.answer, answer.is_summarised), ("35.6", false));
    assert_eq!(answer.rejected_wordings.len(), 2);
    let yes = said("Sind alle Schnäbel lang?", json!(true), &["Ja, alle 7.", "Ja, alle 8."]).await;
    assert_eq!(yes.answer, "Ja");
}

#[tokio::test]
async fn further_facts_are_left_out_if_the_result_does_not_have_them() {
    let answer = said("How long?", json!(7), &["It is 7 mm."]).await;
    assert_eq!(answer.highlights, ["It is 7."]);
}

async fn run_task(task: Task, plans: Vec<Json>, results: Vec<Json>) -> ScriptedRun {
    let mut scene = Scene::new(&json!({"summarise": false}))
        .role("planner", plans)
        .runs(results.into_iter().map(result));
    scene.sandbox.columns = columns();
    scene.answer(task).await
}

/// CO-14 of `docs/systems/computation.md`.
#[tokio::test]
async fn a_planner_that_misses_data_ends_the_question_without_code() {
    let missing = json!({
        "reasoning": "", "missing": "the price of a penguin", "python": "result = 0", "explain": "",
    });
    let run = run_task(sales(), vec![missing], vec![]).await;
    assert_eq!(run.answer.outcome, Outcome::NoAnswer);
    assert!(run.answer.reason.unwrap().contains("the price of a penguin"));
    assert_eq!((run.answer.output.answer.as_str(), run.sandbox.ran().len()), ("", 0));
}

/// CO-15 of `docs/systems/computation.md`.
#[tokio::test]
async fn a_result_that_is_no_value_goes_back_once_and_is_then_no_answer() {
    let empty = [
        json!(null),
        json!(""),
        json!("nan"),
        json!([]),
        json!({}),
        json!([null, {"$": "float", "v": "nan"}]),
        json!({"$": "float", "v": "nan"}),
        json!({"$": "tuple", "v": []}),
        json!({"$": "object", "type": "NaTType", "repr": "NaT"}),
    ];
    for value in empty {
        let plans = vec![plan("result = a"), plan("result = b")];
        let run = run_task(sales(), plans, vec![value.clone(), value.clone()]).await;
        assert_eq!(run.answer.outcome, Outcome::NoAnswer, "{value}");
        let reason = run.answer.reason.unwrap();
        assert!(reason.starts_with("the code computed"), "{value}: {reason}");
        let requests = run.model.requests();
        let again = requests[1].messages.last().unwrap().content.text();
        assert!(again.contains(&*reason) && again.contains("condition"), "{again}");
    }
    for value in [json!(0), json!(false), json!([0]), json!("no")] {
        let run = run_task(sales(), vec![plan("result = a")], vec![value.clone()]).await;
        assert_eq!(run.answer.outcome, Outcome::Answered, "{value}");
    }
}

/// CO-16 of `docs/systems/computation.md`.
#[tokio::test]
async fn a_name_that_no_input_has_is_no_answer_before_a_model_is_asked() {
    for question in ["What is the mean of `weight`?", "What is the mean flipper_length?"] {
        let task = Task { question: question.to_owned(), ..sales() };
        let run = run_task(task, vec![], vec![]).await;
        assert_eq!(run.answer.outcome, Outcome::NoAnswer);
        assert!(run.answer.reason.unwrap().contains("no input has"));
        assert_eq!(run.model.requests().len(), 0);
    }
    for question in ["What is the mean of `bill_mm`?", "How large is Body_Mass_G in 2020?"] {
        let task = Task { question: question.to_owned(), ..sales() };
        let run = run_task(task, vec![plan("result = 1")], vec![json!(1)]).await;
        assert_eq!(run.answer.outcome, Outcome::Answered, "{question}");
    }
}

/// CO-17 of `docs/systems/computation.md`.
#[tokio::test]
async fn the_columns_that_code_reads_are_listed_with_what_speaks_against_them() {
    let ask = |question: &str, python: &str| {
        let task = Task { question: question.to_owned(), ..sales() };
        run_task(task, vec![plan(python)], vec![json!(7)])
    };
    let named = ask("How long is the longest bill?", "sales.bill_mm.max()").await.answer.output;
    assert_eq!(named.sources[0].columns.len(), 1);
    assert_eq!((named.sources[0].rows, &*named.sources[0].columns[0].name), (344, "bill_mm"));
    assert_eq!(named.doubts, ["`bill_mm` of `sales` has no value in 2 of 344 rows"]);
    let other = ask("What is the mean salary?", "sales['body_mass_g'].mean() # bill_mm").await;
    let [doubt] = &*other.answer.output.doubts else { panic!("{:?}", other.answer.output.doubts) };
    assert!(doubt.ends_with("the question does not name: `body_mass_g`"), "{doubt}");
    let query = ask("How many weigh over 3 kg?", "len(sales.query(\"body_mass_g > 3000\"))").await;
    assert_eq!(query.answer.output.sources[0].columns[0].name, "body_mass_g");
}

/// CO-18 of `docs/systems/computation.md`.
#[tokio::test]
async fn a_result_that_does_not_fit_the_question_is_no_answer() {
    let misfit = json!({"fits": false, "answer": "It is 7.", "highlights": []});
    let mut scene = Scene::new(&json!({}))
        .role("planner", [plan("result = sales['body_mass_g'].mean()")])
        .role("summariser", [misfit])
        .runs([result(json!(7))]);
    scene.sandbox.columns = columns();
    let task = Task { question: "What is the mean salary?".to_owned(), ..sales() };
    let run = scene.answer(task).await;
    assert_eq!(run.answer.outcome, Outcome::NoAnswer);
    assert_eq!(run.answer.output.answer, "");
    assert!(run.answer.reason.unwrap().contains("`body_mass_g`"));
}

/// CO-19 of `docs/systems/computation.md`.
#[tokio::test]
async fn a_small_model_whose_code_reads_another_column_is_asked_which_one_is_meant() {
    let ask_of = |question: &str, model_name, column: &str| {
        let reads_mass = plan("result = sales['body_mass_g'].mean()");
        let named = json!({"asked_for": "the salary", "column": column});
        let runs = [result(json!(7))];
        let mut scene = Scene::new(&json!({"summarise": false}))
            .role("planner", [reads_mass, named])
            .runs(runs);
        scene.sandbox.columns = columns();
        scene.model_name = model_name;
        scene.answer(Task { question: question.to_owned(), ..sales() })
    };
    let ask = |model_name, column: &str| ask_of("What is the mean salary?", model_name, column);
    let none = ask("local:1.5b", " None").await;
    assert_eq!(none.answer.outcome, Outcome::NoAnswer);
    let reason = none.answer.reason.unwrap();
    assert_eq!(reason, "no column holds what is asked for: the salary");
    assert_eq!(none.sandbox.ran().len(), 0, "its code is not run");
    let requests = none.model.requests();
    let asked = requests[1].messages[1].content.text();
    assert!(asked.contains("<columns>\nbill_mm\nbody_mass_g\n</columns>"), "{asked}");

    let other = ask("local:1.5b", "body_mass_g").await;
    let reason = other.answer.reason.unwrap();
    assert_eq!(reason, "no column is called like what is asked for: salary");
    for question in ["How heavy are they on average?", "Wie hoch ist der Lohn?"] {
        let other = ask_of(question, "local:1.5b", "body_mass_g").await;
        assert_eq!(other.answer.outcome, Outcome::Answered, "{question}");
        assert_eq!(other.model.requests().len(), 2);
    }
    let unread = |question: &str| {
        let none = json!({"asked_for": "the salary", "column": "none"});
        let mut scene = Scene::new(&json!({"summarise": false}))
            .role("planner", [plan("result = len(sales)"), none])
            .runs([result(json!(344))]);
        scene.sandbox.columns = columns();
        scene.model_name = "local:1.5b";
        scene.answer(Task { question: question.to_owned(), ..sales() })
    };
    assert_eq!(unread("What is the mean salary?").await.answer.outcome, Outcome::NoAnswer);
    assert_eq!(unread("How many rows are there?").await.answer.output.answer, "344");
    let large = ask("openai:gpt-5", "none").await;
    assert_eq!(large.answer.outcome, Outcome::Answered);
    assert_eq!(large.model.requests().len(), 1, "a large one says what is missing by itself");
}

#[tokio::test]
async fn an_unreadable_column_or_a_model_that_is_down_leaves_the_code_to_run() {
    let down = Fault::foreign(Category::ModelTransport, "model_unavailable", "the model is down");
    for reply in [ScriptedReply::from("I cannot tell."), ScriptedReply::fault(down)] {
        let code = ScriptedReply::json(&plan("result = sales['body_mass_g'].mean()"));
        let mut scene = Scene::new(&json!({"summarise": false}))
            .role("planner", [code, reply])
            .runs([result(json!(7))]);
        scene.sandbox.columns = columns();
        scene.model_name = "local:1.5b";
        let task = Task { question: "What is the mean salary?".to_owned(), ..sales() };
        let found = scene.answer(task).await.answer;
        assert_eq!((found.outcome, &*found.output.answer), (Outcome::Answered, "7"));
        assert!(found.error.is_none(), "{:?}", found.error);
    }
}

#[tokio::test]
async fn what_a_function_or_a_fact_may_answer_is_not_looked_for_among_the_columns() {
    let ask = |task: Task, python: &str| {
        let mut scene = Scene::new(&json!({"summarise": false}))
            .role("planner", [plan(python)])
            .runs([result(json!(7))]);
        scene.sandbox.columns = columns();
        scene.model_name = "local:1.5b";
        scene.answer(task)
    };
    let question = "What is the mean salary?".to_owned();
    let pay = HostFunction { name: "pay".to_owned(), doc: "Pays.".to_owned() };
    let with_function = Task { question: question.clone(), functions: vec![pay], ..sales() };
    let run = ask(with_function, "result = pay(sales['body_mass_g'])").await;
    assert_eq!(run.model.requests().len(), 1);
    let Json::Object(facts) = json!({"salary": 3}) else { unreachable!() };
    let with_fact = Task { question, facts, ..sales() };
    let run = ask(with_fact, "result = sales['body_mass_g'].count() * 3").await;
    assert_eq!(run.model.requests().len(), 1);
}

#[tokio::test]
async fn a_small_model_is_not_asked_for_a_column_that_the_question_names_nor_twice() {
    let named = plan("result = sales['bill_mm'].max()");
    let mut scene =
        Scene::new(&json!({"summarise": false})).role("planner", [named]).runs([result(json!(7))]);
    scene.sandbox.columns = columns();
    scene.model_name = "local:1.5b";
    let task = Task { question: "How long is the longest bill?".to_owned(), ..sales() };
    assert_eq!(scene.answer(task).await.model.requests().len(), 1);

    let code = || plan("result = sales['body_mass_g'].mean()");
    let column = json!({"asked_for": "the weight", "column": "body_mass_g"});
    let mut scene = Scene::new(&json!({"summarise": false}))
        .role("planner", [code(), column, code()])
        .runs([raised("KeyError", "no"), result(json!(7))]);
    scene.sandbox.columns = columns();
    scene.model_name = "local:1.5b";
    let run = scene.answer(Task { question: "How heavy are they?".to_owned(), ..sales() }).await;
    assert_eq!(run.model.requests().len(), 3, "code, the column, and code again");
    assert_eq!(run.answer.outcome, Outcome::Answered);
}

/// CO-20 of `docs/systems/computation.md`.
#[tokio::test]
async fn zero_for_a_value_that_no_cell_holds_goes_back_once_and_is_then_the_answer() {
    let code = |month: &str| plan(&format!("result = len(sales[sales['day'] == '{month}'])"));
    let scene_of = |question: &str, absent: Json, second: i64, model_name| {
        let column = json!({"asked_for": "the day", "column": "day"});
        let asked = (model_name == "local:1.5b").then_some(column);
        let replies = [Some(code("May 2024")), asked, Some(code("2024-05"))];
        let mut scene = Scene::new(&json!({"summarise": false}))
            .role("planner", replies.into_iter().flatten())
            .runs([result(json!(0)), result(json!(second))]);
        scene.sandbox.columns = json!([{"name": "day", "missing": 0}]);
        scene.sandbox.absent = absent;
        scene.model_name = model_name;
        scene.answer(Task { question: question.to_owned(), ..sales() })
    };
    let ask = |absent: Json, second: i64| {
        scene_of("How many on that day?", absent, second, "test:scripted")
    };
    let mended = ask(json!(["May 2024"]), 5).await;
    assert_eq!(mended.answer.output.answer, "5");
    let requests = mended.model.requests();
    let again = requests[1].messages.last().unwrap().content.to_string();
    assert!(again.contains("no cell of the inputs holds `May 2024`"), "{again}");
    assert_eq!(ask(json!(["May 2024"]), 0).await.answer.output.answer, "0");
    assert_eq!(ask(json!([]), 5).await.answer.output.answer, "0", "it is there, and counted");
    let card = |name| scene_of("How many were paid by card?", json!(["2024-05"]), 0, name);
    let large = card("test:scripted").await.answer;
    assert_eq!(large.outcome, Outcome::Answered, "a large model that keeps to it is believed");
    let small = card("local:1.5b").await.answer;
    assert_eq!(small.outcome, Outcome::NoAnswer, "the code reads a column that is not asked for");
}

#[tokio::test]
async fn an_answer_may_state_the_question_the_facts_and_the_guidance() {
    let Json::Object(facts) = json!({"today": "2026-11-21"}) else { unreachable!() };
    let answer = "On 21 November 2026 there were 7 above 220 mm, worth 7 euros.";
    let run = Scene::new(&json!({"guidance": "Amounts are in euros."}))
        .role("planner", [plan("result = 7")])
        .role("summariser", [words(answer, &[])])
        .runs([result(json!(7))])
        .answer(Task { facts, inputs: Map::new(), ..Task::new("How many above 220 mm?") })
        .await;
    assert_eq!(run.answer.output.answer, answer);
}
