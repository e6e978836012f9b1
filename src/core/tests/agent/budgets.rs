//! Agents under cancellation, time and budgets.

use antiphon_core::SideEffect::{Read, Write};
use antiphon_core::agent::AgentSpec;
use antiphon_core::budget::{BudgetCharge, BudgetDimension, Limits};
use antiphon_core::effect::{Effect, Ending};
use antiphon_core::event::EventKind;
use antiphon_core::run::Options;
use antiphon_core::task::TaskOutcome;
use antiphon_core::{Category, Jitter, RetryPolicy};
use serde_json::json;

use super::model::{agent, asks, graph, invocations, requests, says, script, tool, with};
use crate::support::{BEGIN, TestDriver, driver, fault, ms, options};

#[test]
fn tokens_of_all_its_calls_count_for_the_run() {
    let mut driver = agent(with(vec![tool("one", Read)]), vec![asks(&["one"]), says("done")]);
    driver.complete();
    let spent = driver.run.budget().spent();
    assert_eq!((spent.model_calls, spent.tool_calls, spent.usage.input_tokens), (2, 1, 20));
}

#[test]
fn an_agent_without_calls_left_ends_the_run_as_a_budget() {
    let graph = graph(with(vec![tool("one", Read)])).build().unwrap();
    let limits = Limits { model_calls: Some(1), ..Limits::default() };
    let replies = vec![asks(&["one"]), says("done")];
    let mut driver = TestDriver::new(&graph, script(replies, |_| Ok(json!(1))), json!({}), limits);
    assert_eq!(driver.ends(), Ending::Budget(BudgetDimension::ModelCalls));
    assert_eq!(requests(&driver).len(), 1);
}

#[test]
fn cancelling_stops_its_tools_and_waits_for_them() {
    let graph = graph(with(vec![tool("one", Read), tool("two", Read)])).build().unwrap();
    let script = script(vec![asks(&["one", "two"])], |_| Ok(json!(1)));
    let mut driver = driver(&graph, script.never_ends("one").takes("two", ms(50)));
    while invocations(&driver).len() < 2 {
        if matches!(driver.step(), Effect::Wait(_)) {
            driver.answer_one();
        }
    }
    driver.run.cancel("stop", driver.now);
    driver.step();
    assert_eq!(driver.cancelled.len(), 2);
    assert!(matches!(driver.step(), Effect::Wait(None)), "the one that is stuck is waited for");
    let stuck = driver.pending[0].0.id;
    assert!(driver.run.request(stuck, BudgetCharge::Tool).is_err());
    assert!(driver.run.resolve(stuck, TaskOutcome::Returned(Ok(json!(1))), driver.now));
    assert_eq!(driver.ends(), Ending::Cancelled("stop".into()));
    assert!(driver.of_kind(EventKind::ToolResult).is_empty());
}

#[test]
fn a_time_out_of_its_node_frees_the_caller_from_a_stuck_tool() {
    let mut graph = graph(with(vec![tool("one", Read)]));
    graph.node("after");
    graph.on_error_goto("agent", "after", None);
    let built = antiphon_core::graph::Node {
        policy: antiphon_core::graph::NodePolicy { timeout: Some(ms(300)), ..Default::default() },
        ..crate::support::nested("sub", graph.build().unwrap())
    };
    let mut around = crate::support::chain(&[]);
    around.add_node(built);
    around.edge(antiphon_core::graph::START, "sub");
    let script = script(vec![asks(&["one"])], |_| Ok(json!(1))).never_ends("one");
    let mut driver = driver(&around.build().unwrap(), script);
    assert_eq!(driver.fails().code, "node_timeout");
    assert_eq!((driver.now, driver.cancelled.len()), (BEGIN + ms(300), 1));
}

#[test]
fn calls_that_were_not_handed_out_yet_are_taken_back() {
    let graph = graph(with(vec![tool("one", Read)])).build().unwrap();
    let script = script(vec![asks(&["one", "one", "one"])], |_| Ok(json!(1)));
    let narrow = Options { max_concurrency: Some(1), ..options() };
    let mut driver = TestDriver::with(&graph, script.takes("one", ms(50)), json!({}), narrow);
    while invocations(&driver).is_empty() {
        if matches!(driver.step(), Effect::Wait(_)) {
            driver.answer_one();
        }
    }
    driver.run.cancel("stop", driver.now);
    assert_eq!(driver.ends(), Ending::Cancelled("stop".into()));
    assert_eq!((driver.cancelled.len(), invocations(&driver).len()), (1, 1));
}

#[test]
fn a_failed_model_call_fails_the_node_and_its_policy_decides() {
    let graph = graph(AgentSpec::default());
    let mut node = crate::support::nested("sub", { graph }.build().unwrap());
    let retry = RetryPolicy { max_attempts: 2, jitter: Jitter::None, ..RetryPolicy::default() };
    node.policy.retry = Some(retry);
    let mut around = crate::support::chain(&[]);
    around.add_node(node);
    around.edge(antiphon_core::graph::START, "sub");
    let script = crate::support::Script::new().node("agent", |call| match &call.task.work {
        antiphon_core::task::TaskWork::Open(_) => TaskOutcome::Opened(vec![]),
        _ => TaskOutcome::failed(fault(Category::ModelTransport)),
    });
    let mut driver = driver(&around.build().unwrap(), script);
    assert_eq!(driver.fails().category, Category::ModelTransport);
    assert_eq!(requests(&driver).len(), 2);
}

#[test]
fn an_outcome_of_another_kind_of_work_is_a_fault() {
    let script = crate::support::Script::new()
        .node("agent", |_| TaskOutcome::Done(antiphon_core::command::Update::default()));
    let graph = graph(with(vec![tool("one", Write)])).build().unwrap();
    assert_eq!(driver(&graph, script).fails().code, "outcome_misplaced");
}
