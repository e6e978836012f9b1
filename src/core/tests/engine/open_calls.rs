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

use crate::support::{End, Play, Script, chain, fan, fault, folded, ms, options, policy, tool};

fn wanted() -> Wanted {
    tool("charge", &json!({}))
}

fn beside() -> Arc<Graph<Value>> {
    fan(&["a", "b"], &[]).build().unwrap()
}

/// A run whose tasks are all under way; and their ids.
fn under_way(graph: &Arc<Graph<Value>>) -> (Play, Vec<TaskId>) {
    let script = Script::new().never_ends("a").never_ends("b");
    let mut play = Play::with(graph, script, json!({}), Options { commits: true, ..options() });
    while !matches!(play.step(), Effect::Wait(_)) {}
    let ids = play.tasks.iter().map(|task| task.id).collect();
    (play, ids)
}

/// Begins a call; its index.
fn begin(play: &mut Play, id: TaskId, wanted: &Wanted) -> u32 {
    let CallStart::Pending(due) = play.run.begin_call(id, wanted).unwrap() else { panic!() };
    play.commits.extend(due.intent.map(|intent| *intent));
    due.index
}

fn end(play: &mut Play, id: TaskId, index: u32) {
    let commit = play.run.end_call(id, index, CallOutcome::Value(json!("receipt")));
    play.commits.extend(commit.map(|commit| *commit));
}

/// Answers for a task that was asked to stop, as a driver does at once if it cannot stop it.
fn answer(play: &mut Play, id: TaskId) -> bool {
    play.run.resolve(id, TaskOutcome::failed(fault(Category::Cancelled)), play.now)
}

/// Fails one task beside another, which is asked to stop and answers.
fn fail_beside(play: &mut Play, failed: TaskId, other: TaskId) {
    assert!(play.run.resolve(failed, TaskOutcome::failed(fault(Category::Tool)), play.now));
    assert!(matches!(play.step(), Effect::Cancel(ids) if ids == [other]));
    assert!(answer(play, other));
}

/// The run fails, and no time passes until then.
fn fails_at_once(play: &mut Play) {
    let now = play.now;
    assert_eq!(play.fails().code, "tool");
    assert_eq!(play.now, now);
}

/// What the journal tells node `a` about its call after the run was resumed.
fn known_later(graph: &Arc<Graph<Value>>, commits: &[Commit<Value>]) -> Result<Value, Fault> {
    let mut play = Play::resume(graph, Script::new(), folded(graph, commits));
    while play.tasks.is_empty() {
        play.step();
    }
    let named = |run: &Run<Value>, id| run.path(id).last().is_some_and(|name| &**name == "a");
    let id = play.tasks.iter().map(|task| task.id).find(|id| named(&play.run, *id)).unwrap();
    match play.run.begin_call(id, &wanted())? {
        CallStart::Known(CallOutcome::Value(value)) => Ok(value),
        other => panic!("it is to be known: {other:?}"),
    }
}

#[test]
fn what_came_of_an_open_call_is_stored_before_the_run_fails() {
    let graph = beside();
    let (mut play, ids) = under_way(&graph);
    let index = begin(&mut play, ids[0], &wanted());
    fail_beside(&mut play, ids[1], ids[0]);
    let until = play.now + Run::<Value>::CALL_GRACE;
    assert!(matches!(play.step(), Effect::Wait(Some(at)) if at == until));
    end(&mut play, ids[0], index);
    assert!(play.run.is_ready(), "the driver is to hear of it");
    fails_at_once(&mut play);
    assert_eq!(known_later(&graph, &play.commits).unwrap(), json!("receipt"));
}

#[test]
fn a_task_that_makes_no_such_call_is_not_waited_for() {
    let graph = beside();
    let (mut play, ids) = under_way(&graph);
    let ended = begin(&mut play, ids[0], &wanted());
    end(&mut play, ids[0], ended);
    begin(&mut play, ids[0], &Wanted { repeatable: true, ..wanted() });
    fail_beside(&mut play, ids[1], ids[0]);
    fails_at_once(&mut play);
}

#[test]
fn all_open_calls_are_waited_for_and_none_begins() {
    let graph = beside();
    let (mut play, ids) = under_way(&graph);
    let calls = [0, 1].map(|n| tool("charge", &json!({ "n": n })));
    let open = calls.each_ref().map(|call| begin(&mut play, ids[0], call));
    play.run.cancel("the user left", play.now);
    play.step();
    assert!(answer(&mut play, ids[0]) && answer(&mut play, ids[1]));
    end(&mut play, ids[0], open[0]);
    assert!(matches!(play.step(), Effect::Wait(_)));
    let refused = play.run.begin_call(ids[0], &wanted()).unwrap_err();
    assert_eq!(refused.code, "task_cancelled");
    play.run.abandon_call(ids[0], open[1]);
    let now = play.now;
    assert_eq!(play.ends(), Ending::Cancelled("the user left".into()));
    assert_eq!(play.now, now);
}

#[test]
fn a_second_answer_neither_ends_the_wait_nor_prolongs_it() {
    let (mut play, ids) = under_way(&beside());
    begin(&mut play, ids[0], &wanted());
    fail_beside(&mut play, ids[1], ids[0]);
    let until = play.now + Run::<Value>::CALL_GRACE;
    play.now = play.now + ms(500);
    assert!(!answer(&mut play, ids[0]));
    assert_eq!(play.fails().code, "tool");
    assert_eq!(play.now, until);
}

#[test]
fn the_wait_ends_with_the_grace_or_the_time_out_of_the_node() {
    for (timeout, waited) in [(None, Run::<Value>::CALL_GRACE), (Some(ms(3000)), ms(3000))] {
        let mut graph = chain(&["b"]);
        graph.add_node(policy(NodePolicy { timeout, ..NodePolicy::default() }, "a"));
        graph.edge(START, "a");
        let graph = graph.build().unwrap();
        let (mut play, ids) = under_way(&graph);
        let named = |play: &Play, id| play.path(id) == "a";
        let (a, b) = if named(&play, ids[0]) { (ids[0], ids[1]) } else { (ids[1], ids[0]) };
        let index = begin(&mut play, a, &wanted());
        fail_beside(&mut play, b, a);
        let began = play.now;
        assert_eq!(play.fails().code, "tool");
        assert_eq!(play.now.since(began), waited);
        assert!(play.run.end_call(a, index, CallOutcome::Value(json!(1))).is_none(), "too late");
        let unknown = known_later(&graph, &play.commits).unwrap_err();
        assert_eq!(unknown.code, "unknown_outcome");
    }
}

#[test]
fn a_called_graph_is_waited_for_and_makes_no_call_that_lasts() {
    let (mut play, ids) = under_way(&beside());
    let index = play.run.begin_subrun(ids[0], "inner", 7).unwrap().unwrap().index;
    let commit = |must_be_durable, repeatable| SubrunCommit {
        index,
        must_be_durable,
        repeatable,
        ended: false,
        bytes: vec![1],
    };
    assert!(play.run.commit_subrun(ids[0], commit(true, false)).unwrap().is_some());
    fail_beside(&mut play, ids[1], ids[0]);
    assert!(matches!(play.step(), Effect::Wait(_)));
    let refused = play.run.commit_subrun(ids[0], commit(true, false)).unwrap_err();
    assert_eq!(refused.code, "task_cancelled");
    let outcome = play.run.commit_subrun(ids[0], commit(false, false)).unwrap();
    assert!(outcome.is_some(), "what came of the call that it had begun");
    play.run.end_subrun(ids[0], index);
    fails_at_once(&mut play);
    let refused = play.run.commit_subrun(ids[0], commit(true, false)).unwrap_err();
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
        let (mut play, ids) = under_way(&beside());
        let call = |n: usize| tool("charge", &json!({ "n": n }));
        let open: Vec<u32> =
            (0..endings.len()).map(|n| begin(&mut play, ids[0], &call(n))).collect();
        fail_beside(&mut play, ids[1], ids[0]);
        let mut left = open.len();
        for (index, ending) in open.into_iter().zip(endings) {
            match ending {
                CallEnding::Known => end(&mut play, ids[0], index),
                CallEnding::Abandoned => play.run.abandon_call(ids[0], index),
                CallEnding::AfterAnswer => {
                    prop_assert!(!answer(&mut play, ids[0]));
                    play.run.abandon_call(ids[0], index);
                }
            }
            left -= 1;
            prop_assert_eq!(play.run.is_ready(), left == 0);
        }
        let now = play.now;
        prop_assert!(matches!(play.go(), End::Failed(fault) if fault.code == "tool"));
        prop_assert_eq!(play.now, now);
    }
}
