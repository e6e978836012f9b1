//! Graphs within graphs.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::budget::{BudgetCharge, BudgetDimension, Limits};
use antiphon_core::channel::{Reducer, WriteOp};
use antiphon_core::command::Update;
use antiphon_core::effect::Ending;
use antiphon_core::event::EventKind;
use antiphon_core::graph::{Graph, GraphBuilder, NodePolicy, START, Semantics};
use antiphon_core::run::{Options, Run};
use antiphon_core::task::{RetryVerdict, TaskOutcome};
use antiphon_core::{Category, Jitter, RetryPolicy};
use serde_json::{Value, json};

use crate::support::{BEGIN, End, Finish, Script, TestDriver, chain, choose, driver, nested, send};

/// `inner` as the node `sub` of a graph that shares `log` and `x` with it.
fn around(inner: Arc<Graph<Value>>, policy: NodePolicy) -> GraphBuilder<Value> {
    let mut graph = chain(&[]);
    graph.channel("x", Reducer::Set);
    graph.channel("outer", Reducer::Set);
    let mut node = nested("sub", inner);
    node.policy = policy;
    graph.add_node(node);
    graph.edge(START, "sub");
    graph
}

fn inner(names: &[&str]) -> GraphBuilder<Value> {
    let mut graph = chain(names);
    graph.channel("x", Reducer::Set);
    graph.channel("private", Reducer::Set);
    graph
}

fn new_driver(graph: &mut GraphBuilder<Value>, script: Script, input: Value) -> TestDriver {
    let graph = std::mem::replace(graph, Graph::builder("")).build().unwrap();
    TestDriver::new(&graph, script, input, Limits::default())
}

#[test]
fn channels_of_equal_name_pass_values_in_and_out() {
    let script = Script::new().node("deep", |call| {
        assert_eq!((call.get("log"), call.get("x")), (json!(["in"]), json!(1)));
        call.done([("log", json!("deep")), ("x", json!(2)), ("private", json!(3))])
    });
    let mut graph = around(inner(&["deep"]).build().unwrap(), NodePolicy::default());
    let mut driver = new_driver(&mut graph, script, json!({"log": "in", "x": 1, "outer": 0}));
    let state = driver.complete();
    assert_eq!(state, json!({"log": ["in", "deep"], "x": 2, "outer": 0}));
    assert_eq!(driver.started, ["sub/deep"]);
}

#[test]
fn only_what_it_wrote_itself_is_handed_back() {
    let mut graph = around(inner(&["deep"]).build().unwrap(), NodePolicy::default());
    graph.node("beside");
    graph.edge(START, "beside");
    let script = Script::new()
        .writes("deep", "private", json!(1))
        .node("beside", |call| call.done([("x", json!("beside")), ("log", json!("beside"))]));
    let mut driver = new_driver(&mut graph, script, json!({"x": "in", "log": "in"}));
    assert_eq!(driver.complete(), json!({"x": "beside", "log": ["in", "beside"]}));
}

#[test]
fn full_output_hands_back_all_it_holds() {
    let mut within = inner(&["deep"]);
    within.semantics(Semantics { full_output: true, ..Semantics::default() });
    let script = Script::new().writes("deep", "log", json!("deep"));
    let mut graph = around(within.build().unwrap(), NodePolicy::default());
    let mut driver = new_driver(&mut graph, script, json!({"log": "in", "x": 1}));
    let log = json!(["in", ["in", "deep"]]);
    assert_eq!(driver.complete(), json!({"log": log, "x": 1}), "the list is added as a part");
}

#[test]
fn full_output_does_not_write_again_what_is_written_once() {
    let mut within = Graph::builder("inner");
    within.channel("question", Reducer::Once);
    within.node("deep");
    within.edge(START, "deep").semantics(Semantics { full_output: true, ..Semantics::default() });
    let mut graph = Graph::builder("outer");
    graph.channel("question", Reducer::Once);
    graph.add_node(nested("sub", within.build().unwrap()));
    graph.edge(START, "sub");
    let mut driver = new_driver(&mut graph, Script::new(), json!({"question": "why"}));
    assert_eq!(driver.complete(), json!({"question": "why"}));
}

#[test]
fn a_loop_inside_hands_back_each_part_once_and_the_last_of_what_is_set() {
    let mut within = inner(&["deep"]);
    within.branch("deep", "again", 0, None);
    let script = Script::new()
        .node("deep", |call| {
            let count = call.get("x").as_i64().unwrap_or(0) + 1;
            call.done([("x", json!(count)), ("log", json!(count))])
        })
        .router(0, |view| {
            let on = view.named("x").and_then(Value::as_i64).unwrap_or(0) < 3;
            choose(on.then(|| crate::support::name("deep")))
        });
    let mut graph = around(within.build().unwrap(), NodePolicy::default());
    graph.semantics(Semantics { exclusive: true, ..Semantics::default() });
    assert_eq!(
        new_driver(&mut graph, script, json!({})).complete(),
        json!({"x": 3, "log": [1, 2, 3]})
    );
}

#[test]
fn what_it_resets_or_replaces_arrives_as_it_stands_inside() {
    for (first, expected) in [
        (WriteOp::Reset, json!(["after"])),
        (WriteOp::Replace(json!(["new"])), json!(["new", "after"])),
    ] {
        let script = Script::new()
            .writes("before", "log", json!("lost"))
            .node("clears", move |call| call.op("log", first.clone()))
            .writes("adds", "log", json!("after"));
        let mut graph =
            around(inner(&["before", "clears", "adds"]).build().unwrap(), NodePolicy::default());
        assert_eq!(
            new_driver(&mut graph, script, json!({"log": "in"})).complete()["log"],
            expected
        );
    }
}

#[test]
fn what_is_sent_to_it_is_its_input() {
    let mut graph = chain(&["hub"]);
    graph.channel("x", Reducer::Set);
    graph.add_node(nested("sub", inner(&["deep"]).build().unwrap()));
    graph.branch("hub", "scatter", 0, None);
    let script = Script::new()
        .router(0, |_| choose([1, 2].map(|x| send("sub", json!({"x": x, "unknown": 0})))))
        .node("deep", |call| call.done([("log", json!([call.get("x"), call.get("log")]))]));
    let mut driver = new_driver(&mut graph, script, json!({"log": "in"}));
    driver.finish = Finish::Backwards;
    assert_eq!(driver.complete()["log"], json!(["in", [1, null], [2, null]]));
    let mut deep = driver.started.clone();
    deep.sort();
    assert_eq!(deep, ["hub", "sub#0/deep", "sub#1/deep"]);
}

#[test]
fn its_failure_is_the_nodes_failure_to_retry_and_to_handle() {
    let retry =
        Some(RetryPolicy { max_attempts: 2, jitter: Jitter::None, ..RetryPolicy::default() });
    let mut graph = around(
        inner(&["before", "deep"]).build().unwrap(),
        NodePolicy { retry, ..NodePolicy::default() },
    );
    graph.channel("error", Reducer::Set);
    graph.on_error_record("sub", antiphon_core::channel::ChannelId(3));
    let script = Script::new().writes("before", "log", json!("x")).fails("deep", Category::Timeout);
    let mut driver = new_driver(&mut graph, script, json!({}));
    let state = driver.complete();
    assert_eq!(state["error"]["category"], "timeout");
    assert_eq!(state.get("log"), None, "what a failed attempt wrote is not handed back");
    assert_eq!(driver.started, ["sub/before", "sub/deep", "sub/before", "sub/deep"]);
    assert_eq!(driver.of_kind(EventKind::Retry).len(), 1);
}

#[test]
fn the_host_judges_what_fails_within_a_node_at_each_level() {
    let again = RetryPolicy { max_attempts: 3, jitter: Jitter::None, ..RetryPolicy::default() };
    let transient = Some(RetryPolicy { max_attempts: 2, ..again });
    // Both nodes have the same name, so that three attempts are made of each.
    for (verdict, failure, attempts) in [
        (RetryVerdict::Again(again), Category::Internal, 9),
        (RetryVerdict::Never, Category::Timeout, 1),
        (RetryVerdict::ByCategory, Category::Internal, 1),
        (RetryVerdict::ByCategory, Category::Timeout, 2),
    ] {
        let policy = NodePolicy { retry: transient.clone(), ..NodePolicy::default() };
        let middle = around(inner(&["deep"]).build().unwrap(), NodePolicy::default());
        let mut graph = around(middle.build().unwrap(), policy);
        let script = Script::new().fails("deep", failure).judges("sub", verdict);
        let mut driver = new_driver(&mut graph, script, json!({}));
        assert_eq!(driver.fails().category, failure);
        assert_eq!(driver.started.len(), attempts);
    }
}

#[test]
fn a_task_is_timed_if_a_task_around_it_is() {
    let timed = NodePolicy { timeout: Some(Duration::from_secs(1)), ..NodePolicy::default() };
    for (policy, expected) in [(timed, true), (NodePolicy::default(), false)] {
        let middle = around(inner(&["deep"]).build().unwrap(), NodePolicy::default());
        let graph = around(middle.build().unwrap(), policy).build().unwrap();
        let limits = Limits { wall_time: Some(Duration::from_mins(1)), ..Limits::default() };
        let mut driver = TestDriver::new(&graph, Script::new(), json!({}), limits);
        driver.step();
        assert_eq!(driver.run.is_timed(driver.tasks[0].id), expected, "the run's time aside");
    }
}

#[test]
fn a_node_may_speak_for_its_graph() {
    let mut graph = around(inner(&["deep", "never"]).build().unwrap(), NodePolicy::default());
    graph.node("after");
    graph.edge("sub", "after");
    let script = Script::new().node("deep", |_| {
        let mut update = Update::default();
        update.writes.push(antiphon_core::channel::Write::merge(
            antiphon_core::channel::ChannelId(2),
            json!("spoken"),
        ));
        TaskOutcome::Escalate(update)
    });
    let mut driver = new_driver(&mut graph, script, json!({}));
    assert_eq!(driver.complete(), json!({"outer": "spoken"}));
    assert_eq!(driver.started, ["sub/deep", "after"]);
}

#[test]
fn a_node_of_the_runs_own_graph_has_nobody_to_speak_to() {
    let graph = chain(&["a"]).build().unwrap();
    let script = Script::new().node("a", |_| TaskOutcome::Escalate(Update::default()));
    assert_eq!(driver(&graph, script).fails().code, "parent_missing");
}

#[test]
fn cancelling_reaches_every_depth() {
    let deepest = inner(&["deepest"]).build().unwrap();
    let mut middle = inner(&["beside"]);
    middle.add_node(nested("mid", deepest));
    middle.edge(START, "mid");
    let mut graph = around(middle.build().unwrap(), NodePolicy::default());
    let script = Script::new()
        .takes("deepest", crate::support::ms(1000))
        .takes("beside", crate::support::ms(1000));
    let mut driver = new_driver(&mut graph, script, json!({}));
    driver.step();
    driver.step();
    assert_eq!(driver.started.len(), 2, "{:?}", driver.started);
    driver.run.cancel("stop", driver.now);
    assert_eq!(driver.ends(), Ending::Cancelled("stop".into()));
    assert_eq!(driver.cancelled.len(), 2);
    assert_eq!(driver.now, BEGIN);
}

#[test]
fn its_limits_narrow_those_around_it() {
    let limits = Limits { model_calls: Some(2), ..Limits::default() };
    let calls = |call: &mut crate::support::Call<'_>| match call.model() {
        Ok(()) => call.done([("log", json!("called"))]),
        Err(fault) => TaskOutcome::failed(fault),
    };
    let within = inner(&["one", "two", "three"]).build().unwrap();
    let mut graph = around(within, NodePolicy { limits, ..NodePolicy::default() });
    graph.node("outside");
    graph.on_error_goto("sub", "outside", None);
    let script = ["one", "two", "three", "outside"]
        .iter()
        .fold(Script::new(), |script, name| script.node(name, calls));
    let mut driver = new_driver(&mut graph, script, json!({}));
    driver.complete();
    assert_eq!(driver.started, ["sub/one", "sub/two", "sub/three", "outside"]);
    let spent = driver.run.budget().spent();
    assert_eq!((spent.model_calls, spent.usage.input_tokens), (3, 30), "the run has room left");
}

#[test]
fn its_supersteps_count_for_the_run_and_for_its_own_limit() {
    let limits = Limits { supersteps: Some(2), ..Limits::default() };
    let within = inner(&["one", "two", "three"]).build().unwrap();
    let mut graph = around(Arc::clone(&within), NodePolicy { limits, ..NodePolicy::default() });
    let mut driver = new_driver(&mut graph, Script::new(), json!({}));
    assert_eq!(driver.ends(), Ending::Budget(BudgetDimension::Supersteps));
    assert_eq!(driver.started, ["sub/one", "sub/two"]);
    assert_eq!(driver.run.budget().spent().supersteps, 3);
    let mut graph = around(within, NodePolicy::default());
    let mut driver = new_driver(&mut graph, Script::new(), json!({}));
    driver.complete();
    assert_eq!((driver.run.budget().spent().supersteps, driver.run.supersteps()), (4, 1));
}

#[test]
fn a_spent_budget_leads_to_the_inner_edge_first() {
    let mut within = inner(&["one", "two"]);
    within.node("wrap up");
    within.on_budget("wrap up");
    let limits = Limits { supersteps: Some(1), ..Limits::default() };
    let mut graph = around(within.build().unwrap(), NodePolicy { limits, ..NodePolicy::default() });
    let script = Script::new().writes("wrap up", "log", json!("short"));
    let mut driver = new_driver(&mut graph, script, json!({}));
    assert_eq!(driver.complete(), json!({"log": ["short"]}));
    assert_eq!(driver.started, ["sub/one", "sub/wrap up"]);
}

#[test]
fn a_deep_nest_runs_and_is_cancelled_without_overflow() {
    let mut graph = inner(&["deep"]).build().unwrap();
    for _ in 0..500 {
        let mut outer = inner(&[]);
        outer.add_node(nested("sub", graph));
        outer.edge(START, "sub");
        graph = outer.build().unwrap();
    }
    let script = Script::new().writes("deep", "log", json!("found"));
    let mut driver = driver(&graph, script.clone());
    assert_eq!(driver.complete(), json!({"log": ["found"]}));
    let mut driver = crate::support::driver(&graph, script.never_ends("deep"));
    driver.go();
    driver.run.cancel("stop", driver.now);
    driver.go();
    assert_eq!(driver.cancelled.len(), 1);
}

#[test]
fn a_scope_knows_its_location_parent_and_graph() {
    let mut graph = around(inner(&["deep"]).build().unwrap(), NodePolicy::default());
    let script = Script::new().node("deep", |call| {
        let scope = call.task.id.scope;
        assert_eq!((call.run.state_scope(scope), call.run.parent(scope)), (scope, Some(0)));
        assert_eq!(call.run.namespace(scope).len(), 1);
        assert!(call.run.namespace(scope)[0].starts_with("sub:"));
        assert_eq!(call.run.node_of(call.task.id), Some(call.task.node));
        assert_eq!(call.run.graph(scope).unwrap().name(), "chain");
        call.done([])
    });
    new_driver(&mut graph, script, json!({})).complete();
}

/// `inner` within that many graphs without limits.
fn deep(mut inner: Arc<Graph<Value>>, levels: usize) -> Arc<Graph<Value>> {
    for _ in 0..levels {
        inner = around(inner, NodePolicy::default()).build().unwrap();
    }
    inner
}

#[test]
fn no_scope_copies_the_path_to_it() {
    let graph = deep(inner(&["deep"]).build().unwrap(), 200);
    let mut driver = driver(&graph, Script::new().never_ends("deep"));
    driver.run = Run::new(Arc::clone(&graph), Vec::new(), Options::default(), driver.now);
    assert!(matches!(driver.go(), End::Stuck));
    assert_eq!(driver.tasks.len(), 1);
    let name = &graph.nodes().last().unwrap().name;
    // The node itself, and its key in the index of names.
    assert_eq!(Arc::strong_count(name), 2);
}

#[test]
fn limits_reach_through_nested_graphs_that_have_none() {
    let timeout = Some(Duration::from_secs(7));
    let limits = Limits { tool_calls: Some(1), ..Limits::default() };
    let policy = NodePolicy { timeout, limits, ..NodePolicy::default() };
    let limited = around(deep(inner(&["deep"]).build().unwrap(), 3), policy).build().unwrap();
    let graph = deep(limited, 3);
    let script = Script::new().node("deep", |call| {
        assert_eq!(call.task.deadline, Some(BEGIN + Duration::from_secs(7)));
        assert!(call.run.request(call.task.id, BudgetCharge::Tool).is_ok());
        let spent = call.run.request(call.task.id, BudgetCharge::Tool).unwrap_err();
        assert_eq!(spent.details["dimension"], "tool_calls");
        call.done([])
    });
    driver(&graph, script).complete();
}

#[test]
fn the_grace_of_a_graph_holds_for_the_graphs_nested_in_it() {
    let mut graph = inner(&["work"]);
    graph.add_node(nested("conclude", deep(inner(&["deep"]).build().unwrap(), 2)));
    graph.edge("work", "work").on_budget("conclude");
    let limits = Limits { supersteps: Some(3), ..Limits::default() };
    let graph = graph.build().unwrap();
    let script = Script::new().writes("deep", "x", json!("concluded"));
    let mut driver =
        TestDriver::new(&graph, script.writes("work", "x", json!(1)), json!({}), limits);
    assert_eq!(driver.complete()["x"], "concluded");
}
