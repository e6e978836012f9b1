//! Tasks beside a failed one whose code nothing can stop: the run waits for them.

use std::sync::Arc;

use antiphon_core::channel::Reducer;
use antiphon_core::effect::Ending;
use antiphon_core::event::EventKind;
use antiphon_core::graph::{Graph, NodePolicy, START};
use antiphon_core::run::Options;
use antiphon_core::task::TaskOutcome;
use antiphon_core::{Category, FaultCode};
use serde_json::{Value, json};

use crate::support::{
    BEGIN, Script, TestDriver, chain, fan, folded, ms, nested, options, policy, stored,
};

/// A node `fails` beside a node `works`.
fn beside() -> Arc<Graph<Value>> {
    fan(&["fails", "works"], &[("log", Reducer::Append)]).build().unwrap()
}

/// `fails` after 1 ms, and `works` for a second.
fn script() -> Script {
    Script::new()
        .fails("fails", Category::Tool)
        .takes("fails", ms(1))
        .writes("works", "log", json!("works"))
        .unstoppable("works", ms(1000))
}

/// Runs until a task is asked to stop.
fn until_cancelled(driver: &mut TestDriver) {
    while driver.cancelled.is_empty() {
        if matches!(driver.step(), antiphon_core::effect::Effect::Wait(_)) && !driver.answer_one() {
            driver.now = driver.now + ms(1);
        }
    }
}

#[test]
fn a_failed_run_waits_for_it_and_a_resumed_one_does_not_repeat_it() {
    let graph = beside();
    let mut driver = stored(&graph, script());
    assert_eq!(driver.fails().code, "tool");
    assert_eq!(driver.now, BEGIN + ms(1000));
    assert_eq!(driver.cancelled.len(), 1, "what can be stopped would be");
    let repaired = script().writes("fails", "log", json!("repaired"));
    let mut resumed = TestDriver::resume(&graph, repaired, folded(&graph, &driver.commits));
    assert_eq!(resumed.complete(), json!({"log": ["repaired", "works"]}));
    assert_eq!(resumed.started, ["fails"]);
}

#[test]
fn a_caller_who_cancels_does_not_wait_for_it() {
    let mut driver = stored(&beside(), script());
    until_cancelled(&mut driver);
    driver.run.cancel("the user left", driver.now);
    let now = driver.now;
    assert_eq!(driver.ends(), Ending::Cancelled("the user left".into()));
    assert_eq!(driver.now, now);
    let mut early = stored(&beside(), script());
    while early.tasks.is_empty() {
        early.step();
    }
    early.run.cancel("early", early.now);
    assert_eq!(early.ends(), Ending::Cancelled("early".into()));
    assert_eq!(early.now, BEGIN);
    // Ctrl-C reaches a driver as an exception of the node that its thread runs.
    let inner = beside();
    let mut graph = chain(&[]);
    graph.add_node(nested("inner", Arc::clone(&inner)));
    graph.edge(START, "inner");
    for graph in [inner, graph.build().unwrap()] {
        let mut interrupted = stored(&graph, script().fails("fails", Category::Cancelled));
        assert_eq!(interrupted.fails().code, "cancelled");
        assert_eq!(interrupted.now, BEGIN + ms(1));
    }
}

#[test]
fn its_own_deadline_bounds_the_wait() {
    let mut graph = fan(&["fails"], &[("log", Reducer::Append)]);
    let timeout = Some(ms(100));
    graph.add_node(policy(NodePolicy { timeout, ..NodePolicy::default() }, "works"));
    graph.edge(START, "works");
    let mut driver = stored(&graph.build().unwrap(), script());
    assert_eq!(driver.fails().code, "tool");
    assert_eq!(driver.now, BEGIN + ms(100));
}

#[test]
fn a_deadline_around_it_bounds_the_wait() {
    for options in [
        Options { step_timeout: Some(ms(100)), ..options() },
        Options {
            limits: antiphon_core::budget::Limits { wall_time: Some(ms(100)), ..options().limits },
            ..options()
        },
    ] {
        let mut driver = TestDriver::with(&beside(), script(), json!({}), options);
        assert_eq!(driver.fails().code, "tool", "the first reason counts");
        assert_eq!(driver.now, BEGIN + ms(100));
    }
}

#[test]
fn its_failure_is_an_event_and_its_question_is_not_asked() {
    let mut driver = stored(&beside(), script().fails("works", Category::State));
    assert_eq!(driver.fails().code, "tool", "the first failure is raised");
    let codes: Vec<_> =
        driver.of_kind(EventKind::Error).iter().map(|e| e.data["code"].clone()).collect();
    assert_eq!(codes, ["tool", "state"]);
    let asks = script().node("works", |_| TaskOutcome::Ask(json!("which?")));
    let mut driver = stored(&beside(), asks);
    assert_eq!(driver.fails().code, "tool");
    assert!(driver.of_kind(EventKind::Interrupt).is_empty());
}

#[test]
fn it_is_neither_tried_again_nor_handled() {
    let retry = Some(antiphon_core::RetryPolicy::default());
    let mut graph = fan(&["fails"], &[("log", Reducer::Append)]);
    graph.add_node(policy(NodePolicy { retry, ..NodePolicy::default() }, "works"));
    graph.edge(START, "works");
    graph.node("handler");
    graph.on_error_goto("works", "handler", None);
    let mut driver = stored(&graph.build().unwrap(), script().fails("works", Category::Timeout));
    assert_eq!(driver.fails().code, "tool");
    assert_eq!(driver.started, ["fails", "works"]);
}

#[test]
fn it_may_make_no_further_call() {
    let mut driver = stored(&beside(), script());
    until_cancelled(&mut driver);
    let id = driver.cancelled[0];
    let wanted = crate::support::tool("charge", &json!({}));
    assert_eq!(driver.run.begin_call(id, &wanted).unwrap_err().code, FaultCode::TaskCancelled);
    assert!(driver.run.is_under_way(id) && driver.run.awaits(id));
    assert!(!driver.run.let_finish(id), "it is asked once");
}

#[test]
fn a_spent_budget_waits_for_it_and_merges_it() {
    let mut graph = fan(&["fails", "works"], &[("log", Reducer::Append)]);
    graph.node("late");
    graph.on_budget("late");
    let spends = |call: &mut crate::support::Call<'_>| match call.model() {
        Ok(()) => call.done([]),
        Err(fault) => TaskOutcome::failed(fault),
    };
    let script = script().node("fails", spends).writes("late", "log", json!("late"));
    let limits = antiphon_core::budget::Limits { model_calls: Some(0), ..options().limits };
    let options = Options { limits, ..options() };
    let mut driver = TestDriver::with(&graph.build().unwrap(), script, json!({}), options);
    assert_eq!(driver.complete(), json!({"log": ["works", "late"]}));
}

#[test]
fn a_nested_graph_ends_after_what_it_is_at() {
    let inner = chain(&["works", "never"]).build().unwrap();
    let mut graph = fan(&["fails"], &[("log", Reducer::Append)]);
    graph.add_node(nested("inner", inner));
    graph.edge(START, "inner");
    let graph = graph.build().unwrap();
    let mut driver = stored(&graph, script());
    assert_eq!(driver.fails().code, "tool");
    assert_eq!(driver.now, BEGIN + ms(1000));
    assert_eq!(driver.started, ["fails", "inner/works"]);
    let repaired = script().writes("fails", "log", json!("repaired"));
    let mut resumed = TestDriver::resume(&graph, repaired, folded(&graph, &driver.commits));
    resumed.complete();
    assert_eq!(resumed.started, ["fails", "inner/never"], "what it was at is not repeated");
}

/// `fails` and `works` end in one instant, `fails` first: `works` has returned before the driver is
/// asked to stop it.
fn both_end(driver: &mut TestDriver) {
    while driver.tasks.len() < 2 {
        driver.step();
    }
    assert!(driver.answer_one() && driver.answer_one());
}

fn instant() -> Script {
    Script::new().fails("fails", Category::Tool).writes("works", "log", json!("works"))
}

fn repaired() -> Script {
    instant().writes("fails", "log", json!("repaired"))
}

#[test]
fn what_a_task_returns_before_it_is_stopped_is_kept() {
    let graph = beside();
    let mut around = chain(&[]);
    around.add_node(nested("inner", Arc::clone(&graph)));
    around.edge(START, "inner");
    let around = around.build().unwrap();
    for (graph, failed) in [(graph, "fails"), (around, "inner/fails")] {
        let mut driver = stored(&graph, instant());
        both_end(&mut driver);
        assert_eq!(driver.fails().code, "tool");
        let mut resumed = TestDriver::resume(&graph, repaired(), folded(&graph, &driver.commits));
        assert_eq!(resumed.complete(), json!({"log": ["repaired", "works"]}));
        assert_eq!(resumed.started, [failed]);
    }
}

#[test]
fn what_a_task_returns_after_the_caller_has_cancelled_is_not_kept() {
    let graph = beside();
    let mut driver = stored(&graph, instant());
    while driver.tasks.len() < 2 {
        driver.step();
    }
    driver.run.cancel("the user left", driver.now);
    assert!(driver.answer_one() && driver.answer_one());
    let id = driver.tasks[1].id;
    assert!(!driver.run.accepts(id, &TaskOutcome::Done(vec![].into())), "it has an outcome");
    driver.ends();
    let recovered = folded(&graph, &driver.commits);
    let mut resumed = TestDriver::resume(&graph, repaired(), recovered);
    assert_eq!(resumed.complete(), json!({"log": ["repaired", "works"]}));
    assert_eq!(resumed.started, ["fails", "works"]);
}
