//! Calls that are under way when their task is stopped: the run waits for those that may
//! not be made twice.

use std::sync::Arc;

use antiphon_core::checkpoint::{Call as Wanted, CallOutcome, Commit, SubrunCommit};
use antiphon_core::effect::{Effect, Ending};
use antiphon_core::graph::{Graph, NodePolicy, START};
use antiphon_core::run::{CallStart, Options, Run};
use antiphon_core::task::{TaskId, TaskOutcome};
use antiphon_core::{Category, Fault};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{
    End, Script, TestDriver, chain, fan, fault, folded, ms, options, policy, tool,
};

fn wanted() -> Wanted {
    tool("charge", &json!({}))
}

fn beside() -> Arc<Graph<Value>> {
    fan(&["a", "b"], &[]).build().unwrap()
}

/// A run whose tasks are all under way; and their ids.
fn under_way(graph: &Arc<Graph<Value>>) -> (TestDriver, Vec<TaskId>) {
    let script = Script::new().never_ends("a").never_ends("b");
    let mut driver =
        TestDriver::with(graph, script, json!({}), Options { commits: true, ..options() });
    while !matches!(driver.step(), Effect::Wait(_)) {}
    let ids = driver.tasks.iter().map(|task| task.id).collect();
    (driver, ids)
}

/// Begins a call; its index.
fn begin(driver: &mut TestDriver, id: TaskId, wanted: &Wanted) -> u32 {
    let CallStart::Pending(due) = driver.run.begin_call(id, wanted).unwrap() else { panic!() };
    driver.commits.extend(due.intent.map(|intent| *intent));
    due.index
}

fn end(driver: &mut TestDriver, id: TaskId, index: u32) {
    let commit = driver.run.end_call(id, index, CallOutcome::Value(json!("receipt")));
    driver.commits.extend(commit.map(|commit| *commit));
}

/// Answers for a task that was asked to stop, as a driver does at once if it cannot stop it.
fn answer(driver: &mut TestDriver, id: TaskId) -> bool {
    driver.run.resolve(id, TaskOutcome::failed(fault(Category::Cancelled)), driver.now)
}

/// Fails one task beside another, which is asked to stop and answers.
fn fail_beside(driver: &mut TestDriver, failed: TaskId, other: TaskId) {
    assert!(driver.run.resolve(failed, TaskOutcome::failed(fault(Category::Tool)), driver.now));
    assert!(matches!(driver.step(), Effect::Cancel(ids) if ids == [other]));
    assert!(answer(driver, other));
}

/// The run fails, and no time passes until then.
fn fails_at_once(driver: &mut TestDriver) {
    let now = driver.now;
    assert_eq!(driver.fails().code, "tool");
    assert_eq!(driver.now, now);
}

/// What the journal tells node `a` about its call after the run was resumed.
fn known_later(graph: &Arc<Graph<Value>>, commits: &[Commit<Value>]) -> Result<Value, Fault> {
    let mut driver = TestDriver::resume(graph, Script::new(), folded(graph, commits));
    while driver.tasks.is_empty() {
        driver.step();
    }
    let named = |run: &Run<Value>, id| run.path(id).last().is_some_and(|name| &**name == "a");
    let id = driver.tasks.iter().map(|task| task.id).find(|id| named(&driver.run, *id)).unwrap();
    match driver.run.begin_call(id, &wanted())? {
        CallStart::Known(CallOutcome::Value(value)) => Ok(value),
        other => panic!("it is to be known: {other:?}"),
    }
}

#[test]
fn what_came_of_an_open_call_is_stored_before_the_run_fails() {
    let graph = beside();
    let (mut driver, ids) = under_way(&graph);
    let index = begin(&mut driver, ids[0], &wanted());
    fail_beside(&mut driver, ids[1], ids[0]);
    let until = driver.now + Run::<Value>::CALL_GRACE;
    assert!(matches!(driver.step(), Effect::Wait(Some(at)) if at == until));
    end(&mut driver, ids[0], index);
    assert!(driver.run.is_ready(), "the driver is to hear of it");
    fails_at_once(&mut driver);
    assert_eq!(known_later(&graph, &driver.commits).unwrap(), json!("receipt"));
}

#[test]
fn a_task_that_makes_no_such_call_is_not_waited_for() {
    let graph = beside();
    let (mut driver, ids) = under_way(&graph);
    let ended = begin(&mut driver, ids[0], &wanted());
    end(&mut driver, ids[0], ended);
    begin(&mut driver, ids[0], &Wanted { repeatable: true, ..wanted() });
    fail_beside(&mut driver, ids[1], ids[0]);
    fails_at_once(&mut driver);
}

#[test]
fn all_open_calls_are_waited_for_and_none_begins() {
    let graph = beside();
    let (mut driver, ids) = under_way(&graph);
    let calls = [0, 1].map(|n| tool("charge", &json!({ "n": n })));
    let open = calls.each_ref().map(|call| begin(&mut driver, ids[0], call));
    driver.run.cancel("the user left", driver.now);
    driver.step();
    assert!(answer(&mut driver, ids[0]) && answer(&mut driver, ids[1]));
    end(&mut driver, ids[0], open[0]);
    assert!(matches!(driver.step(), Effect::Wait(_)));
    let refused = driver.run.begin_call(ids[0], &wanted()).unwrap_err();
    assert_eq!(refused.code, "task_cancelled");
    driver.run.abandon_call(ids[0], open[1]);
    let now = driver.now;
    assert_eq!(driver.ends(), Ending::Cancelled("the user left".into()));
    assert_eq!(driver.now, now);
}

#[test]
fn a_second_answer_neither_ends_the_wait_nor_prolongs_it() {
    let (mut driver, ids) = under_way(&beside());
    begin(&mut driver, ids[0], &wanted());
    fail_beside(&mut driver, ids[1], ids[0]);
    let until = driver.now + Run::<Value>::CALL_GRACE;
    driver.now = driver.now + ms(500);
    assert!(!answer(&mut driver, ids[0]));
    assert_eq!(driver.fails().code, "tool");
    assert_eq!(driver.now, until);
}

#[test]
fn the_wait_ends_with_the_grace_or_the_time_out_of_the_node() {
    for (timeout, waited) in [(None, Run::<Value>::CALL_GRACE), (Some(ms(3000)), ms(3000))] {
        let mut graph = chain(&["b"]);
        graph.add_node(policy(NodePolicy { timeout, ..NodePolicy::default() }, "a"));
        graph.edge(START, "a");
        let graph = graph.build().unwrap();
        let (mut driver, ids) = under_way(&graph);
        let named = |driver: &TestDriver, id| driver.path(id) == "a";
        let (a, b) = if named(&driver, ids[0]) { (ids[0], ids[1]) } else { (ids[1], ids[0]) };
        let index = begin(&mut driver, a, &wanted());
        fail_beside(&mut driver, b, a);
        let began = driver.now;
        assert_eq!(driver.fails().code, "tool");
        assert_eq!(driver.now.since(began), waited);
        assert!(driver.run.end_call(a, index, CallOutcome::Value(json!(1))).is_none(), "too late");
        let unknown = known_later(&graph, &driver.commits).unwrap_err();
        assert_eq!(unknown.code, "unknown_outcome");
    }
}

#[test]
fn a_called_graph_is_waited_for_and_makes_no_call_that_lasts() {
    let (mut driver, ids) = under_way(&beside());
    let index = driver.run.begin_subrun(ids[0], "inner", 7).unwrap().unwrap().index;
    let commit = |must_be_durable, repeatable| SubrunCommit {
        index,
        must_be_durable,
        repeatable,
        ended: false,
        bytes: vec![1],
    };
    assert!(driver.run.commit_subrun(ids[0], commit(true, false)).unwrap().is_some());
    fail_beside(&mut driver, ids[1], ids[0]);
    assert!(matches!(driver.step(), Effect::Wait(_)));
    let refused = driver.run.commit_subrun(ids[0], commit(true, false)).unwrap_err();
    assert_eq!(refused.code, "task_cancelled");
    let outcome = driver.run.commit_subrun(ids[0], commit(false, false)).unwrap();
    assert!(outcome.is_some(), "what came of the call that it had begun");
    driver.run.end_subrun(ids[0], index);
    fails_at_once(&mut driver);
    let refused = driver.run.commit_subrun(ids[0], commit(true, false)).unwrap_err();
    assert_eq!(refused.code, "task_cancelled");
}

/// How a call ends whose task was stopped.
#[derive(Clone, Copy, Debug)]
enum CallEnding {
    /// It is known what came of it.
    Known,
    /// Nobody knows.
    Abandoned,
    /// The task answers again before.
    AfterAnswer,
}

proptest! {
    /// In any order of the ends of open calls, the run ends once all have, and no later.
    #[test]
    fn the_run_ends_with_the_last_open_call(
        endings in prop::collection::vec(
            prop_oneof![
                Just(CallEnding::Known),
                Just(CallEnding::Abandoned),
                Just(CallEnding::AfterAnswer),
            ],
            1..12,
        ),
    ) {
        let (mut driver, ids) = under_way(&beside());
        let call = |n: usize| tool("charge", &json!({ "n": n }));
        let open: Vec<u32> =
            (0..endings.len()).map(|n| begin(&mut driver, ids[0], &call(n))).collect();
        fail_beside(&mut driver, ids[1], ids[0]);
        let mut left = open.len();
        for (index, ending) in open.into_iter().zip(endings) {
            match ending {
                CallEnding::Known => end(&mut driver, ids[0], index),
                CallEnding::Abandoned => driver.run.abandon_call(ids[0], index),
                CallEnding::AfterAnswer => {
                    prop_assert!(!answer(&mut driver, ids[0]));
                    driver.run.abandon_call(ids[0], index);
                }
            }
            left -= 1;
            prop_assert_eq!(driver.run.is_ready(), left == 0);
        }
        let now = driver.now;
        prop_assert!(matches!(driver.go(), End::Failed(fault) if fault.code == "tool"));
        prop_assert_eq!(driver.now, now);
    }
}
