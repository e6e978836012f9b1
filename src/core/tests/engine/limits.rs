//! Budgets: what may be spent, and where a spent one leads.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::budget::{Budget, BudgetCharge, BudgetDimension, BudgetUsage, Limits};
use antiphon_core::channel::Reducer;
use antiphon_core::effect::Ending;
use antiphon_core::event::EventKind;
use antiphon_core::graph::{Graph, Node, NodePolicy, NodeWork, START};
use antiphon_core::model::Usage;
use antiphon_core::task::TaskOutcome;
use serde_json::{Value, json};

use crate::support::{Call, Script, TestDriver, chain, fan, nested};

fn calls(call: &mut Call<'_>) -> TaskOutcome<Value> {
    match call.model() {
        Ok(()) => call.done([("log", json!("called"))]),
        Err(fault) => TaskOutcome::failed(fault),
    }
}

fn five(on_budget: bool) -> (Arc<Graph<Value>>, Script) {
    let names = ["one", "two", "three", "four", "five"];
    let mut graph = chain(&names);
    graph.node("wrap up");
    if on_budget {
        graph.on_budget("wrap up");
    }
    let script = names.iter().fold(Script::new(), |script, name| script.node(name, calls));
    (graph.build().unwrap(), script.writes("wrap up", "log", json!("wrapped up")))
}

/// EN-18 of `docs/engine.md`.
#[test]
fn three_calls_of_five_lead_to_the_budget_edge_after_the_third() {
    let (graph, script) = five(true);
    let limits = Limits { model_calls: Some(3), ..Limits::default() };
    let mut driver = TestDriver::new(&graph, script, json!({}), limits);
    assert_eq!(driver.complete(), json!({"log": ["called", "called", "called", "wrapped up"]}));
    assert_eq!(driver.started, ["one", "two", "three", "four", "wrap up"]);
    let usage = Usage { input_tokens: 30, output_tokens: 3 };
    let expected = BudgetUsage { supersteps: 5, model_calls: 3, usage, ..BudgetUsage::default() };
    assert_eq!(driver.run.budget().spent(), &expected);
    let budget = driver.of_kind(EventKind::Budget);
    assert_eq!(budget.len(), 1);
    assert_eq!(budget[0].data["dimension"], "model_calls");
}

#[test]
fn without_a_budget_edge_the_run_ends_with_what_is_done() {
    let (graph, script) = five(false);
    let limits = Limits { model_calls: Some(3), ..Limits::default() };
    let mut driver = TestDriver::new(&graph, script, json!({}), limits);
    assert_eq!(driver.ends(), Ending::Budget(BudgetDimension::ModelCalls));
    assert_eq!(driver.state(), json!({"log": ["called", "called", "called"]}));
    assert_eq!(driver.events.last().unwrap().data["outcome"], "budget");
}

#[test]
fn tokens_are_counted_after_the_fact_and_stop_the_next_call() {
    let (graph, script) = five(true);
    for limits in [
        Limits { input_tokens: Some(15), ..Limits::default() },
        Limits { output_tokens: Some(2), ..Limits::default() },
    ] {
        let mut driver = TestDriver::new(&graph, script.clone(), json!({}), limits);
        driver.complete();
        assert_eq!(driver.run.budget().spent().model_calls, 2);
    }
}

#[test]
fn a_loop_without_end_is_stopped_after_a_thousand_supersteps() {
    let mut graph = chain(&["a"]);
    graph.edge("a", "a");
    let mut driver =
        TestDriver::new(&graph.build().unwrap(), Script::new(), json!({}), Limits::default());
    assert_eq!(driver.ends(), Ending::Budget(BudgetDimension::Supersteps));
    assert_eq!((driver.run.supersteps(), driver.started.len()), (1000, 1000));
}

#[test]
fn what_follows_a_budget_edge_is_bounded_too() {
    let mut graph = chain(&["a"]);
    graph.node("wrap up");
    graph.edge("a", "a").edge("wrap up", "a").on_budget("wrap up");
    let limits = Limits { supersteps: Some(5), ..Limits::default() };
    let mut driver = TestDriver::new(&graph.build().unwrap(), Script::new(), json!({}), limits);
    assert_eq!(driver.ends(), Ending::Budget(BudgetDimension::Supersteps));
    let grace = 3;
    assert_eq!(driver.started.len(), 5 + grace, "as many as there are nodes");
    assert_eq!(driver.run.budget().spent().supersteps, 8);
}

#[test]
fn a_budget_edge_may_lead_to_a_graph() {
    let mut graph = chain(&["a"]);
    graph.add_node(nested("wrap up", chain(&["one", "two"]).build().unwrap()));
    graph.edge("a", "a").on_budget("wrap up");
    let limits = Limits { supersteps: Some(2), ..Limits::default() };
    let script = Script::new().writes("two", "log", json!("wrapped up"));
    let mut driver = TestDriver::new(&graph.build().unwrap(), script, json!({}), limits);
    assert_eq!(driver.complete(), json!({"log": ["wrapped up"]}));
}

#[test]
fn nested_budget_edges_do_not_feed_each_other_for_ever() {
    let mut inner = chain(&["deep", "deeper"]);
    inner.node("wrap up");
    inner.on_budget("wrap up");
    let mut graph = chain(&[]);
    graph.add_node(nested("sub", inner.build().unwrap()));
    graph.node("last");
    graph.edge(START, "sub").edge("sub", "sub").edge("last", "sub").on_budget("last");
    let limits = Limits { supersteps: Some(10), ..Limits::default() };
    let mut driver = TestDriver::new(&graph.build().unwrap(), Script::new(), json!({}), limits);
    assert_eq!(driver.ends(), Ending::Budget(BudgetDimension::Supersteps));
    assert!(driver.run.budget().spent().supersteps < 40);
}

#[test]
fn the_budget_edge_is_taken_once_for_each_dimension() {
    let mut graph = chain(&["a", "b"]);
    graph.node("wrap up");
    graph.on_budget("wrap up");
    let limits = Limits { model_calls: Some(1), tool_calls: Some(0), ..Limits::default() };
    let script = Script::new().node("a", calls).node("b", calls).node("wrap up", |call| match call
        .tool()
        .and_then(|()| call.model())
    {
        Ok(()) => call.done([]),
        Err(fault) => TaskOutcome::failed(fault),
    });
    let mut driver = TestDriver::new(&graph.build().unwrap(), script, json!({}), limits);
    assert_eq!(driver.ends(), Ending::Budget(BudgetDimension::ToolCalls));
    assert_eq!(driver.started, ["a", "b", "wrap up", "wrap up"]);
}

#[test]
fn what_was_done_beside_the_one_that_ran_out_is_merged() {
    let mut graph = fan(&["done", "spends"], &[("log", Reducer::Append)]);
    graph.node("after");
    graph.node("wrap up");
    graph.edge("done", "after").on_budget("wrap up");
    let limits = Limits { model_calls: Some(0), ..Limits::default() };
    let script = Script::new().writes("done", "log", json!("done")).node("spends", calls).writes(
        "wrap up",
        "log",
        json!("wrapped up"),
    );
    let mut driver = TestDriver::new(&graph.build().unwrap(), script, json!({}), limits);
    assert_eq!(driver.complete(), json!({"log": ["done", "wrapped up"]}));
    assert_eq!(driver.started, ["done", "spends", "wrap up"]);
}

#[test]
fn a_merge_that_fails_on_the_way_to_the_budget_edge_still_gets_there() {
    let mut graph =
        fan(&["odd", "spends"], &[("log", Reducer::Append), ("error", Reducer::Append)]);
    graph.channel("list", Reducer::Extend);
    graph.node("wrap up");
    graph.on_error_record("odd", antiphon_core::channel::ChannelId(1)).on_budget("wrap up");
    let limits = Limits { model_calls: Some(0), ..Limits::default() };
    let script = Script::new()
        .writes("odd", "list", json!("no list"))
        .node("spends", calls)
        .writes("wrap up", "log", json!("wrapped up"));
    let mut driver = TestDriver::new(&graph.build().unwrap(), script, json!({}), limits);
    let state = driver.complete();
    assert_eq!(state["log"], json!(["wrapped up"]));
    assert_eq!(state["error"][0]["code"], "write_unmergeable");
}

#[test]
fn a_policy_for_failures_also_takes_a_spent_budget_where_there_is_no_edge() {
    let (_, script) = five(false);
    let mut graph = chain(&["one", "two"]);
    graph.node("wrap up");
    graph.on_error_goto("two", "wrap up", None);
    let limits = Limits { model_calls: Some(1), ..Limits::default() };
    let mut driver = TestDriver::new(&graph.build().unwrap(), script, json!({}), limits);
    assert_eq!(driver.complete(), json!({"log": ["called", "wrapped up"]}));
}

#[test]
fn what_is_left_to_a_task_is_the_least_of_the_budgets_around_it() {
    let mut graph = chain(&[]);
    let limits = Limits { model_calls: Some(2), supersteps: Some(9), ..Limits::default() };
    let policy = NodePolicy { limits, ..NodePolicy::default() };
    graph.add_node(Node { name: "a".into(), work: NodeWork::Call, policy });
    graph.edge(START, "a");
    let script = Script::new().node("a", |call| {
        call.model().unwrap();
        let left = call.run.budget_left(call.task.id);
        let expected = Limits {
            model_calls: Some(1),
            tool_calls: Some(4),
            output_tokens: Some(0),
            ..Limits::default()
        };
        assert_eq!(left, expected);
        call.done([])
    });
    let limits = Limits {
        model_calls: Some(7),
        tool_calls: Some(4),
        output_tokens: Some(1),
        wall_time: Some(Duration::from_secs(9)),
        ..Limits::default()
    };
    TestDriver::new(&graph.build().unwrap(), script, json!({}), limits).complete();
}

#[test]
fn the_lowest_of_two_limits_is_that_of_each_dimension() {
    let one = Limits { model_calls: Some(1), tool_calls: Some(5), ..Limits::default() };
    let wall_time = Some(Duration::from_secs(2));
    let other = Limits { tool_calls: Some(3), supersteps: Some(4), wall_time, ..Limits::default() };
    let least = [one.lowest(&other), other.lowest(&one)];
    let expected = Limits { model_calls: Some(1), ..other };
    assert_eq!(least, [expected.clone(), expected]);
    assert_eq!(one.lowest(&Limits::default()), one);
}

#[test]
fn a_budget_tells_what_it_allows() {
    let limits = Limits { model_calls: Some(1), tool_calls: Some(1), ..Limits::default() };
    let mut budget = Budget::new(limits);
    assert_eq!(budget.allows(BudgetCharge::Model), Ok(()));
    budget.charge(BudgetCharge::Model);
    assert_eq!(budget.allows(BudgetCharge::Model), Err(BudgetDimension::ModelCalls));
    assert_eq!(budget.allows(BudgetCharge::Tool), Ok(()));
    budget.charge(BudgetCharge::Tool);
    assert_eq!(budget.allows(BudgetCharge::Tool), Err(BudgetDimension::ToolCalls));
    let names: Vec<_> = BudgetDimension::ALL.iter().map(|dimension| dimension.as_str()).collect();
    assert!(names.contains(&"wall_time") && names.len() == 7);
}
