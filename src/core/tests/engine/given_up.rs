//! Tasks that cannot be stopped: they are waited for only while what they call must
//! not get lost.

use std::sync::Arc;

use antiphon_core::checkpoint::{Call as Wanted, Came, Commit, Memory, SubrunCommit};
use antiphon_core::effect::{Effect, Ending};
use antiphon_core::graph::{Graph, Policy, START};
use antiphon_core::run::{Begun, Options, Run};
use antiphon_core::task::{Outcome, TaskId};
use antiphon_core::{Category, Fault};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{End, Play, Script, chain, fan, fault, ms, options, play, policy, tool};

fn wanted() -> Wanted {
    tool("charge", &json!({}))
}

fn beside() -> Arc<Graph<Value>> {
    fan(&["a", "b"], &[]).build().unwrap()
}

/// A run whose tasks are all under way, none of which can be stopped; and their ids.
fn under_way(graph: &Arc<Graph<Value>>) -> (Play, Vec<TaskId>) {
    let script = Script::new().never_ends("a").never_ends("b");
    let mut play = Play::with(graph, script, json!({}), Options { commits: true, ..options() });
    while !matches!(play.step(), Effect::Wait(_)) {}
    let ids = play.tasks.iter().map(|task| task.id).collect();
    (play, ids)
}

/// Begins a call; its index.
fn begin(play: &mut Play, id: TaskId, wanted: &Wanted) -> u32 {
    let Begun::Due(due) = play.run.begin_call(id, wanted).unwrap() else { panic!() };
    play.commits.extend(due.intent.map(|intent| *intent));
    due.index
}

fn end(play: &mut Play, id: TaskId, index: u32) {
    let commit = play.run.end_call(id, index, Came::Value(json!("receipt")));
    play.commits.extend(commit.map(|commit| *commit));
}

/// Fails one task and gives the other up, as a driver does that cannot stop it.
fn fail_beside(play: &mut Play, failed: TaskId, other: TaskId) {
    assert!(play.run.resolve(failed, Outcome::failed(fault(Category::Tool)), play.now));
    assert!(matches!(play.step(), Effect::Cancel(ids) if ids == [other]));
    play.run.give_up(other, play.now);
}

fn folded(graph: &Arc<Graph<Value>>, commits: &[Commit<Value>]) -> Memory<Value> {
    let mut memory = Memory::new(graph);
    for commit in commits {
        memory.fold(graph, commit.clone()).unwrap();
    }
    memory
}

/// What a node finds of its call when the run goes on.
fn known_later(graph: &Arc<Graph<Value>>, commits: &[Commit<Value>]) -> Result<Value, Fault> {
    let mut play = Play::resume(graph, Script::new(), folded(graph, commits));
    while play.tasks.is_empty() {
        play.step();
    }
    let named = |run: &Run<Value>, id| run.path(id).last().is_some_and(|name| &**name == "a");
    let id = play.tasks.iter().map(|task| task.id).find(|id| named(&play.run, *id)).unwrap();
    match play.run.begin_call(id, &wanted())? {
        Begun::Known(Came::Value(value)) => Ok(value),
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
    assert_eq!(play.fails().code, "tool");
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
    assert_eq!(play.fails().code, "tool");
}

#[test]
fn all_open_calls_are_waited_for_and_none_begins() {
    let graph = beside();
    let (mut play, ids) = under_way(&graph);
    let calls = [0, 1].map(|n| tool("charge", &json!({ "n": n })));
    let open = calls.each_ref().map(|call| begin(&mut play, ids[0], call));
    play.run.cancel("the user left", play.now);
    play.step();
    play.run.give_up(ids[0], play.now);
    play.run.give_up(ids[1], play.now);
    end(&mut play, ids[0], open[0]);
    assert!(matches!(play.step(), Effect::Wait(_)));
    let refused = play.run.begin_call(ids[0], &wanted()).unwrap_err();
    assert_eq!(refused.code, "task_cancelled");
    play.run.abandon_call(ids[0], open[1]);
    assert_eq!(play.ends(), Ending::Cancelled("the user left".into()));
}

#[test]
fn an_answer_ends_the_wait() {
    let (mut play, ids) = under_way(&beside());
    begin(&mut play, ids[0], &wanted());
    fail_beside(&mut play, ids[1], ids[0]);
    assert!(play.run.resolve(ids[0], Outcome::failed(fault(Category::Tool)), play.now));
    assert_eq!(play.fails().code, "tool");
}

#[test]
fn the_wait_ends_with_the_grace_or_the_time_out_of_the_node() {
    for (timeout, waited) in [(None, Run::<Value>::CALL_GRACE), (Some(ms(3000)), ms(3000))] {
        let mut graph = chain(&["b"]);
        graph.add_node(policy(Policy { timeout, ..Policy::default() }, "a"));
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
        assert!(play.run.end_call(a, index, Came::Value(json!(1))).is_none(), "too late");
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
    assert!(play.run.keep_subrun(ids[0], commit(true, false)).unwrap().is_some());
    fail_beside(&mut play, ids[1], ids[0]);
    assert!(matches!(play.step(), Effect::Wait(_)));
    let refused = play.run.keep_subrun(ids[0], commit(true, false)).unwrap_err();
    assert_eq!(refused.code, "task_cancelled");
    let came = play.run.keep_subrun(ids[0], commit(false, false)).unwrap();
    assert!(came.is_some(), "what came of the call that it had begun");
    play.run.end_subrun(ids[0], index);
    assert_eq!(play.fails().code, "tool");
    let refused = play.run.keep_subrun(ids[0], commit(true, false)).unwrap_err();
    assert_eq!(refused.code, "task_cancelled");
}

#[test]
fn giving_up_what_was_not_stopped_is_an_answer() {
    let (mut play, ids) = {
        let graph = beside();
        let mut play = play(&graph, Script::new().never_ends("a").never_ends("b"));
        while !matches!(play.step(), Effect::Wait(_)) {}
        let ids: Vec<_> = play.tasks.iter().map(|task| task.id).collect();
        (play, ids)
    };
    play.run.give_up(ids[0], play.now);
    assert!(matches!(play.step(), Effect::Cancel(_)), "its cancellation fails the run");
    play.run.give_up(ids[1], play.now);
    assert_eq!(play.fails().code, "task_cancelled");
}

/// What may happen to a call while its task is given up.
#[derive(Clone, Copy, Debug)]
enum Happens {
    Ends,
    IsAbandoned,
    GiveUpAgain,
}

proptest! {
    /// In whatever order open calls end, the run ends once all have, and no later.
    #[test]
    fn the_run_ends_with_the_last_open_call(
        happens in prop::collection::vec(
            prop_oneof![Just(Happens::Ends), Just(Happens::IsAbandoned), Just(Happens::GiveUpAgain)],
            1..12,
        ),
    ) {
        let (mut play, ids) = under_way(&beside());
        let call = |n: usize| tool("charge", &json!({ "n": n }));
        let open: Vec<u32> =
            (0..happens.len()).map(|n| begin(&mut play, ids[0], &call(n))).collect();
        fail_beside(&mut play, ids[1], ids[0]);
        let mut left = open.len();
        for (index, happens) in open.into_iter().zip(happens) {
            match happens {
                Happens::Ends => end(&mut play, ids[0], index),
                Happens::IsAbandoned => play.run.abandon_call(ids[0], index),
                Happens::GiveUpAgain => {
                    play.run.give_up(ids[0], play.now);
                    play.run.abandon_call(ids[0], index);
                }
            }
            left -= 1;
            prop_assert_eq!(play.run.is_ready(), left == 0);
        }
        prop_assert!(matches!(play.go(), End::Failed(fault) if fault.code == "tool"));
    }
}
