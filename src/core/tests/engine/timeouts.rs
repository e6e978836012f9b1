//! Time that runs out: of an attempt, of a node, of a run.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::budget::{BudgetDimension, Limits};
use antiphon_core::channel::Reducer;
use antiphon_core::checkpoint::{Commit, CommitChange};
use antiphon_core::command::{Destination, Send};
use antiphon_core::effect::{Effect, Ending};
use antiphon_core::event::EventKind;
use antiphon_core::graph::{Graph, GraphBuilder, Node, NodePolicy, START};
use antiphon_core::run::Options;
use antiphon_core::task::TaskOutcome;
use antiphon_core::{Category, FaultCode, Jitter, RetryPolicy};
use serde_json::{Value, json};

use crate::support::{
    BEGIN, Script, TestDriver, chain, driver, fan, fault, folded, ms, nested, policy, stored, tool,
};

fn timed(timeout: Duration, graph: &mut GraphBuilder<Value>) {
    graph.add_node(policy(NodePolicy { timeout: Some(timeout), ..NodePolicy::default() }, "a"));
    graph.edge(START, "a");
}

fn wall(time: Duration) -> Limits {
    Limits { wall_time: Some(time), ..Limits::default() }
}

/// EN-09 of `docs/engine.md`.
#[test]
fn a_node_that_takes_too_long_is_cancelled_and_its_caller_is_freed() {
    let mut graph = chain(&[]);
    timed(ms(100), &mut graph);
    let mut driver = driver(&graph.build().unwrap(), Script::new().never_ends("a"));
    let fault = driver.fails();
    assert_eq!(fault.code, FaultCode::NodeTimeout);
    assert_eq!(fault.message, "`a` exceeded its time-out in seconds: 0.1");
    assert_eq!(driver.now, BEGIN + ms(100), "at the deadline, not later");
    assert_eq!(driver.cancelled, [driver.tasks[0].id]);
    assert_eq!(driver.of_kind(EventKind::Error).len(), 1);
}

/// EN-09 of `docs/engine.md`.
#[test]
fn a_late_answer_changes_nothing() {
    let mut graph = chain(&[]);
    timed(ms(100), &mut graph);
    graph.on_error_goto("a", "b", None);
    graph.node("b");
    let script = Script::new().never_ends("a").never_ends("b");
    let mut driver = driver(&graph.build().unwrap(), script);
    driver.go();
    let late = driver.tasks[0].id;
    assert!(!driver.run.awaits(late) && driver.run.awaits(driver.tasks[1].id));
    let update = antiphon_core::command::Update::default();
    assert!(!driver.run.resolve(late, TaskOutcome::Done(update), driver.now));
    assert!(driver.run.request(late, antiphon_core::budget::BudgetCharge::Tool).is_err());
    assert_eq!(driver.run.budget().spent().tool_calls, 0);
    assert_eq!(driver.started, ["a", "b"]);
}

#[test]
fn a_time_out_is_tried_again_by_the_nodes_policy_with_a_new_deadline() {
    let mut graph = chain(&[]);
    let retry =
        Some(RetryPolicy { max_attempts: 2, jitter: Jitter::None, ..RetryPolicy::default() });
    graph.add_node(policy(
        NodePolicy { retry, timeout: Some(ms(100)), ..NodePolicy::default() },
        "a",
    ));
    graph.edge(START, "a");
    let mut driver = driver(&graph.build().unwrap(), Script::new().never_ends("a"));
    assert_eq!(driver.fails().code, "node_timeout");
    let deadlines: Vec<_> = driver.tasks.iter().map(|task| task.deadline.unwrap()).collect();
    assert_eq!(deadlines, [BEGIN + ms(100), BEGIN + ms(1200)]);
    assert_eq!(driver.cancelled.len(), 2);
}

/// EN-10 of `docs/engine.md`.
#[test]
fn a_task_gets_the_runs_deadline_if_that_is_sooner_than_its_own() {
    let mut graph = chain(&[]);
    timed(Duration::from_secs(10), &mut graph);
    let graph = graph.build().unwrap();
    for (limit, expected) in [(ms(300), ms(300)), (Duration::from_mins(1), Duration::from_secs(10))]
    {
        let mut driver = TestDriver::new(&graph, Script::new(), json!({}), wall(limit));
        driver.complete();
        assert_eq!(driver.tasks[0].deadline, Some(BEGIN + expected));
    }
}

/// EN-10 of `docs/engine.md`.
#[test]
fn a_task_gets_the_soonest_deadline_of_all_that_is_around_it() {
    let inner = chain(&["deep"]).build().unwrap();
    let mut graph = chain(&[]);
    let mut node = nested("a", inner);
    node.policy.timeout = Some(ms(70));
    graph.add_node(node);
    graph.edge(START, "a");
    let mut driver =
        TestDriver::new(&graph.build().unwrap(), Script::new(), json!({}), wall(ms(300)));
    driver.complete();
    assert_eq!(driver.tasks[0].deadline, Some(BEGIN + ms(70)));
}

#[test]
fn a_nested_graph_that_takes_too_long_frees_its_caller_from_a_stuck_task() {
    let inner = chain(&["deep"]).build().unwrap();
    let mut graph = chain(&[]);
    let mut node = nested("a", inner);
    node.policy.timeout = Some(ms(70));
    graph.add_node(node);
    graph.node("b");
    graph.edge(START, "a").on_error_goto("a", "b", None);
    let mut driver = driver(&graph.build().unwrap(), Script::new().never_ends("deep"));
    driver.complete();
    assert_eq!(driver.now, BEGIN + ms(70));
    assert_eq!(driver.started, ["a/deep", "b"]);
    assert_eq!(driver.cancelled.len(), 1);
}

#[test]
fn the_runs_time_frees_the_caller_from_a_stuck_task() {
    let graph = fan(&["a", "b"], &[("log", Reducer::Append)]).build().unwrap();
    let script = Script::new().writes("a", "log", json!("a")).never_ends("b");
    let mut driver = TestDriver::new(&graph, script, json!({}), wall(ms(50)));
    assert_eq!(driver.ends(), Ending::Budget(BudgetDimension::WallTime));
    assert_eq!(driver.now, BEGIN + ms(50));
    assert_eq!(driver.cancelled.len(), 1);
    assert_eq!(driver.run.remaining(driver.now), None);
}

#[test]
fn a_stuck_task_that_is_being_cancelled_is_given_up_at_its_own_deadline() {
    let mut graph = chain(&[]);
    timed(ms(100), &mut graph);
    let mut driver = driver(&graph.build().unwrap(), Script::new().never_ends("a"));
    driver.step();
    driver.run.cancel("enough", driver.now);
    assert_eq!(driver.ends(), Ending::Cancelled("enough".into()));
    assert_eq!(driver.now, BEGIN + ms(100));
}

#[test]
fn a_nodes_own_wall_time_covers_all_of_its_attempts() {
    let mut graph = chain(&[]);
    let retry =
        Some(RetryPolicy { max_attempts: 9, jitter: Jitter::None, ..RetryPolicy::default() });
    let limited = NodePolicy {
        retry,
        timeout: Some(ms(100)),
        limits: wall(ms(1150)),
        ..NodePolicy::default()
    };
    graph.add_node(policy(limited, "a"));
    graph.edge(START, "a");
    let mut driver = driver(&graph.build().unwrap(), Script::new().never_ends("a"));
    assert_eq!(driver.ends(), Ending::Budget(BudgetDimension::WallTime));
    assert_eq!(driver.now, BEGIN + ms(1150), "100 ms, a pause of a second, 50 ms");
    assert_eq!(driver.started.len(), 2);
}

#[test]
fn the_time_of_a_task_begins_when_the_driver_gets_it() {
    let mut graph = chain(&[]);
    timed(ms(100), &mut graph);
    let options = Options { commits: true, ..crate::support::options() };
    let mut driver = TestDriver::with(&graph.build().unwrap(), Script::new(), json!({}), options);
    driver.acknowledges = false;
    assert!(matches!(driver.step(), Effect::Commit(_)));
    driver.now = BEGIN + ms(500);
    assert!(matches!(driver.step(), Effect::Wait(_)), "a slow store is not the task's fault");
    driver.run.committed(driver.commits[0].id);
    driver.acknowledges = true;
    driver.complete();
    assert_eq!(driver.tasks[0].deadline, Some(BEGIN + ms(600)));
}

#[test]
fn the_time_of_a_task_that_waits_for_its_turn_does_not_run() {
    let mut graph = fan(&[], &[]);
    for name in ["a", "b", "c"] {
        graph
            .add_node(policy(NodePolicy { timeout: Some(ms(100)), ..NodePolicy::default() }, name));
        graph.edge(START, name);
    }
    let script =
        ["a", "b", "c"].iter().fold(Script::new(), |script, name| script.takes(name, ms(80)));
    let options = Options { max_concurrency: Some(1), ..crate::support::options() };
    let mut driver = TestDriver::with(&graph.build().unwrap(), script, json!({}), options);
    driver.complete();
    assert_eq!(driver.now, BEGIN + ms(240));
    assert!(driver.cancelled.is_empty());
}

#[test]
fn a_node_that_waits_for_its_turn_can_still_run_out_of_what_it_may_spend() {
    let mut graph = fan(&["a"], &[]);
    let limited = NodePolicy { limits: wall(ms(50)), ..NodePolicy::default() };
    graph.add_node(policy(limited, "b"));
    graph.edge(START, "b");
    let script = Script::new().takes("a", ms(80));
    let options = Options { max_concurrency: Some(1), ..crate::support::options() };
    let mut driver = TestDriver::with(&graph.build().unwrap(), script, json!({}), options);
    assert_eq!(driver.ends(), Ending::Budget(BudgetDimension::WallTime));
    assert_eq!(driver.started, ["a"], "it is neither started nor cancelled");
    assert_eq!(driver.cancelled, [driver.tasks[0].id]);
}

/// A hub that sends to a leaf with a limit of 100 ms. The leaf is tried again after 1 ms.
fn limited_send(leaf: Node<Value>) -> (Arc<Graph<Value>>, Script) {
    let mut graph = chain(&["hub"]);
    graph.add_node(leaf);
    graph.branch("hub", "go", 0, None);
    let script = Script::new().router(0, |_| {
        crate::support::choose([Destination::Send(Send {
            node: "leaf".into(),
            input: json!({}),
            timeout: None,
            limit: Some(ms(100)),
        })])
    });
    (graph.build().unwrap(), script)
}

fn retried() -> NodePolicy {
    let retry = RetryPolicy {
        max_attempts: 10,
        initial: ms(1),
        factor: 1.0,
        jitter: Jitter::None,
        ..RetryPolicy::default()
    };
    NodePolicy { retry: Some(retry), ..NodePolicy::default() }
}

#[test]
fn the_limit_of_a_send_holds_for_all_attempts_each_of_which_has_its_time_out() {
    let leaf = policy(NodePolicy { timeout: Some(ms(40)), ..retried() }, "leaf");
    let (graph, script) = limited_send(leaf);
    let mut driver =
        TestDriver::new(&graph, script.never_ends("leaf"), json!({}), Limits::default());
    let fault = driver.fails();
    assert_eq!(driver.now, BEGIN + ms(100), "two attempts of 40 ms, and what is left");
    assert_eq!(fault.code.as_str(), "node_timeout");
    assert_eq!(fault.details["timeout"], 0.1);
    assert_eq!(driver.started.iter().filter(|node| node.starts_with("leaf")).count(), 3);
}

#[test]
fn the_limit_of_a_send_holds_for_a_later_attempt_of_a_resumed_run() {
    let (graph, script) = limited_send(policy(retried(), "leaf"));
    let calls = script.clone().node("leaf", |call| {
        if call.task.attempt == 1 {
            return TaskOutcome::failed(fault(Category::ModelTransport));
        }
        let called = call.makes(&tool("one", &json!({})), |_| Ok(json!("done"))).unwrap();
        call.done([("log", json!([called]))])
    });
    let mut driver = stored(&graph, calls);
    driver.complete();
    let is_call = |commit: &Commit<Value>| matches!(commit.change, CommitChange::Called(..));
    let last = driver.commits.iter().rposition(is_call).unwrap();
    let recovered = folded(&graph, &driver.commits[..=last]);
    let mut resumed = TestDriver::resume(&graph, script.never_ends("leaf"), recovered);
    let began = resumed.now;
    assert_eq!(resumed.fails().code, FaultCode::NodeTimeout);
    assert_eq!(resumed.now, began + ms(100));
    assert_eq!(resumed.tasks[0].attempt, 2);
}

#[test]
fn the_limit_of_a_send_is_the_deadline_of_what_is_inside_its_task() {
    let inner = chain(&["deep"]).build().unwrap();
    let (graph, script) = limited_send(nested("leaf", inner));
    let mut driver = TestDriver::new(&graph, script, json!({}), Limits::default());
    driver.complete();
    assert_eq!(driver.tasks.last().unwrap().deadline, Some(BEGIN + ms(100)));
}

#[test]
fn the_limit_of_a_send_also_ends_the_grace_of_a_budget_inside_its_task() {
    let mut inner = chain(&["deep"]);
    inner.node("wrap up");
    inner.on_budget("wrap up");
    let mut leaf = nested("leaf", inner.build().unwrap());
    leaf.policy.limits = wall(ms(60));
    let (graph, script) = limited_send(leaf);
    let script = script.never_ends("deep").never_ends("wrap up");
    let mut driver = TestDriver::new(&graph, script, json!({}), Limits::default());
    assert_eq!(driver.fails().code, FaultCode::NodeTimeout);
    assert_eq!(driver.now, BEGIN + ms(100), "not a second after the 60 ms of the node");
}

#[test]
fn a_node_that_was_sent_to_with_a_later_limit_spends_its_own() {
    let mut leaf = policy(retried(), "leaf");
    leaf.policy.limits = wall(ms(60));
    let (graph, script) = limited_send(leaf);
    let mut driver =
        TestDriver::new(&graph, script.never_ends("leaf"), json!({}), Limits::default());
    assert_eq!(driver.ends(), Ending::Budget(BudgetDimension::WallTime));
    assert_eq!(driver.now, BEGIN + ms(60));
}

#[test]
fn wall_time_leads_to_the_budget_edge_with_a_grace_that_ends_too() {
    let mut graph = chain(&["a"]);
    graph.node("wrap up");
    graph.on_budget("wrap up");
    let graph = graph.build().unwrap();
    let script = Script::new().never_ends("a").writes("wrap up", "log", json!("enough"));
    let mut driver =
        TestDriver::new(&graph, script.clone(), json!({}), wall(Duration::from_secs(100)));
    assert_eq!(driver.complete(), json!({"log": ["enough"]}));
    assert_eq!(driver.started, ["a", "wrap up"]);
    assert_eq!(driver.tasks[1].deadline, Some(BEGIN + Duration::from_secs(110)), "a tenth more");
    let mut driver = TestDriver::new(&graph, script.never_ends("wrap up"), json!({}), wall(ms(50)));
    assert_eq!(driver.ends(), Ending::Budget(BudgetDimension::WallTime));
    assert_eq!(driver.now, BEGIN + ms(1050), "at least a second");
}

#[test]
fn a_nested_graphs_wall_time_leads_to_its_own_budget_edge() {
    let mut inner = chain(&["deep"]);
    inner.node("wrap up");
    inner.on_budget("wrap up");
    let mut graph = chain(&[]);
    let mut node = nested("a", inner.build().unwrap());
    node.policy.limits = wall(ms(40));
    graph.add_node(node);
    graph.edge(START, "a");
    let script = Script::new().never_ends("deep").writes("wrap up", "log", json!("enough"));
    let mut driver = driver(&graph.build().unwrap(), script);
    assert_eq!(driver.complete(), json!({"log": ["enough"]}));
    assert_eq!(driver.now, BEGIN + ms(40));
    assert_eq!(driver.tasks[1].deadline, Some(BEGIN + ms(1040)));
}
