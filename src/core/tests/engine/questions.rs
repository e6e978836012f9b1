//! Questions: a task that waits for an answer from outside.

use std::time::Duration;

use antiphon_core::budget::Limits;
use antiphon_core::channel::{ChannelId, Reducer};
use antiphon_core::effect::{Ending, Question};
use antiphon_core::event::EventKind;
use antiphon_core::graph::START;
use antiphon_core::task::TaskOutcome;
use serde_json::{Value, json};

use crate::support::{Call, Finish, Script, TestDriver, chain, driver, fan, nested};

/// Asks until it has been answered so often, then writes the answers.
fn asks(times: usize) -> impl Fn(&mut Call<'_>) -> TaskOutcome<Value> + Send + Sync + 'static {
    move |call| {
        let answers = call.answers();
        if answers.len() < times {
            return TaskOutcome::Ask(json!({"number": answers.len()}));
        }
        call.done([("log", json!(answers))])
    }
}

fn answer(driver: &mut TestDriver, question: &Question<Value>, value: Value) {
    driver.run.answer(&question.id, value, driver.now).unwrap();
}

/// EN-22 of `docs/engine.md`.
#[test]
fn a_question_pauses_the_run_and_an_answer_continues_it() {
    let graph = chain(&["a", "b"]).build().unwrap();
    let mut driver = driver(&graph, Script::new().node("a", asks(1)));
    let asked = driver.pauses();
    assert_eq!(asked.len(), 1);
    assert_eq!((&asked[0].path, &asked[0].value), (&vec!["a".to_owned()], &json!({"number": 0})));
    assert_eq!(driver.of_kind(EventKind::Interrupt)[0].data["id"], json!(asked[0].id));
    answer(&mut driver, &asked[0], json!("yes"));
    assert_eq!(driver.complete(), json!({"log": [["yes"]]}));
    assert_eq!(driver.started, ["a", "a", "b"]);
    assert_eq!(driver.tasks[1].attempt, 1, "an answer is not a further attempt");
}

#[test]
fn a_task_finds_all_its_answers_in_the_order_it_asked() {
    let graph = chain(&["a"]).build().unwrap();
    let mut driver = driver(&graph, Script::new().node("a", asks(3)));
    let mut ids = vec![];
    for number in 0..3 {
        let asked = driver.pauses();
        assert_eq!(asked[0].value["number"], number);
        ids.push(asked[0].id.clone());
        answer(&mut driver, &asked[0], json!(number));
    }
    assert_eq!(driver.complete(), json!({"log": [[0, 1, 2]]}));
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 3, "each question has its own id");
}

#[test]
fn siblings_finish_before_the_run_pauses() {
    let graph = fan(&["a", "b"], &[("log", Reducer::Append)]).build().unwrap();
    let script = Script::new()
        .node("a", asks(1))
        .writes("b", "log", json!("b"))
        .takes("b", crate::support::ms(100));
    let mut driver = driver(&graph, script);
    let asked = driver.pauses();
    assert_eq!(driver.state(), json!({}), "the superstep is not over");
    answer(&mut driver, &asked[0], json!(1));
    assert_eq!(driver.complete(), json!({"log": [[1], "b"]}));
    assert_eq!(driver.started, ["a", "b", "a"], "only what asked runs again");
}

#[test]
fn ids_are_the_same_whenever_the_same_run_asks_the_same_question() {
    let ids = |finish| {
        let inner = chain(&["deep"]).build().unwrap();
        let mut graph = fan(&["a", "b"], &[("log", Reducer::Append)]);
        graph.add_node(nested("c", inner));
        graph.edge(START, "c");
        let script = Script::new().node("a", asks(1)).node("b", asks(1)).node("deep", asks(1));
        let mut driver = driver(&graph.build().unwrap(), script);
        driver.finish = finish;
        driver.pauses()
    };
    let asked = ids(Finish::InOrder);
    assert_eq!(asked, ids(Finish::Backwards));
    let paths: Vec<_> = asked.iter().map(|question| question.path.join("/")).collect();
    assert_eq!(paths, ["a", "b", "c/deep"], "in the order of the tasks");
    assert!(asked.iter().all(|question| question.id.len() == 32));
    assert!(asked[0].id != asked[1].id && asked[1].id != asked[2].id);
}

#[test]
fn questions_that_are_not_answered_are_reported_again() {
    let graph = fan(&["a", "b"], &[("log", Reducer::Append)]).build().unwrap();
    let mut driver = driver(&graph, Script::new().node("a", asks(1)).node("b", asks(1)));
    let asked = driver.pauses();
    answer(&mut driver, &asked[1], json!("second"));
    let rest = driver.pauses();
    assert_eq!(rest, asked[..1]);
    answer(&mut driver, &rest[0], json!("first"));
    assert_eq!(driver.complete(), json!({"log": [["first"], ["second"]]}));
}

#[test]
fn an_unknown_id_is_refused() {
    let graph = chain(&["a"]).build().unwrap();
    let mut driver = driver(&graph, Script::new().node("a", asks(1)));
    let asked = driver.pauses();
    let fault = driver.run.answer("no such id", json!(1), driver.now).unwrap_err();
    assert_eq!(fault.code, "question_unknown");
    answer(&mut driver, &asked[0], json!(1));
    let again = driver.run.answer(&asked[0].id, json!(1), driver.now).unwrap_err();
    assert_eq!(again.code, "question_unknown", "a question is answered once");
    driver.complete();
}

#[test]
fn a_paused_run_can_be_cancelled() {
    let inner = chain(&["deep"]).build().unwrap();
    let mut graph = fan(&["a"], &[]);
    graph.add_node(nested("c", inner));
    graph.edge(START, "c");
    let mut driver =
        driver(&graph.build().unwrap(), Script::new().node("a", asks(1)).node("deep", asks(1)));
    assert_eq!(driver.pauses().len(), 2);
    driver.run.cancel("never mind", driver.now);
    assert_eq!(driver.ends(), Ending::Cancelled("never mind".into()));
    assert!(driver.run.questions().is_empty() && driver.cancelled.is_empty());
}

#[test]
fn the_budget_of_a_node_is_not_refilled_by_an_answer() {
    let mut graph = chain(&[]);
    let limits = Limits { tool_calls: Some(1), ..Default::default() };
    let limited = antiphon_core::graph::NodePolicy { limits, ..Default::default() };
    graph.add_node(crate::support::policy(limited, "a"));
    graph.edge(START, "a");
    let script = Script::new().node("a", |call| match call.tool() {
        Ok(()) => TaskOutcome::Ask(json!("more?")),
        Err(fault) => TaskOutcome::failed(fault),
    });
    let mut driver = driver(&graph.build().unwrap(), script);
    let asked = driver.pauses();
    answer(&mut driver, &asked[0], json!("yes"));
    assert!(matches!(driver.ends(), Ending::Budget(_)));
}

#[test]
fn the_time_of_a_pause_counts_for_no_limit() {
    let seconds =
        |limit| Limits { wall_time: Some(Duration::from_secs(limit)), ..Limits::default() };
    let mut graph = chain(&[]);
    let limited = antiphon_core::graph::NodePolicy { limits: seconds(3), ..Default::default() };
    graph.add_node(crate::support::policy(limited, "a"));
    graph.edge(START, "a");
    let script = Script::new().node("a", asks(2));
    let mut driver = TestDriver::new(&graph.build().unwrap(), script, json!({}), seconds(5));
    for _ in 0..2 {
        let asked = driver.pauses();
        driver.now = driver.now + Duration::from_hours(1);
        assert_eq!(
            driver.pauses(),
            asked,
            "a run that waits for a person does not run out of time"
        );
        answer(&mut driver, &asked[0], json!("yes"));
    }
    assert_eq!(driver.complete(), json!({"log": [["yes", "yes"]]}));
}

#[test]
fn a_question_outlives_a_retry() {
    let mut graph = chain(&[]);
    let retry = Some(antiphon_core::RetryPolicy::default());
    let again = antiphon_core::graph::NodePolicy { retry, ..Default::default() };
    graph.add_node(crate::support::policy(again, "a"));
    graph.edge(START, "a");
    let script = Script::new().node("a", |call| match (call.answers().len(), call.task.attempt) {
        (0, _) => TaskOutcome::Ask(json!("?")),
        (_, 1) => TaskOutcome::failed(crate::support::fault(antiphon_core::Category::Timeout)),
        _ => call.done([("log", json!(call.answers()))]),
    });
    let mut driver = driver(&graph.build().unwrap(), script);
    let asked = driver.pauses();
    answer(&mut driver, &asked[0], json!("yes"));
    assert_eq!(driver.complete(), json!({"log": [["yes"]]}));
}

#[test]
fn what_finished_tasks_wrote_can_be_seen_at_a_pause_before_it_is_merged() {
    let mut graph =
        fan(&["ask", "other"], &[("log", Reducer::Append), ("mine", Reducer::Foreign(1))]);
    graph.channel("x", Reducer::Set);
    let script = Script::new()
        .node("ask", |call| match call.answers().first() {
            Some(answer) => call.done([("log", answer.clone())]),
            None => TaskOutcome::Ask(json!("?")),
        })
        .node("other", |call| call.done([("log", json!("other")), ("mine", json!(2))]))
        .reducer(1, |old, new| Ok(json!([old, new])));
    let mut driver = TestDriver::new(
        &graph.build().unwrap(),
        script,
        json!({"log": "in", "x": 1}),
        Limits::default(),
    );
    let asked = driver.pauses();
    let mut script = driver.script.clone();
    let preview = driver.run.preview(&mut script).unwrap();
    let names = |id: ChannelId| driver.run.graph(0).unwrap().channel(id).unwrap().name.to_string();
    let preview: Vec<_> = preview.into_iter().map(|(id, value)| (names(id), value)).collect();
    let expected = [("log", json!(["in", "other"])), ("mine", json!([null, 2]))];
    assert_eq!(preview, expected.map(|(name, value)| (name.to_owned(), value)));
    assert_eq!(driver.state(), json!({"log": ["in"], "x": 1}));
    driver.run.answer(&asked[0].id, json!("yes"), driver.now).unwrap();
    assert_eq!(
        driver.complete(),
        json!({"log": ["in", "yes", "other"], "mine": [null, 2], "x": 1})
    );
}
