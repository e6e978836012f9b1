//! Resuming what was stored.

use antiphon_core::Category;
use antiphon_core::channel::Reducer;
use antiphon_core::checkpoint::{CommitChange, RecoveredRun, WriteSource};
use antiphon_core::effect::Ending;
use antiphon_core::graph::{Graph, START};
use antiphon_core::run::{Options, Run};
use antiphon_core::task::TaskOutcome;
use serde_json::{Value, json};
use std::sync::Arc;

use crate::support::{BEGIN, End, Script, TestDriver, chain, fan, ms, nested, options};

fn stored(graph: &Arc<Graph<Value>>, script: Script, input: Value) -> TestDriver {
    TestDriver::with(graph, script, input, Options { commits: true, ..options() })
}

/// What is left of a run whose process is gone.
fn left(graph: &Arc<Graph<Value>>, driver: &TestDriver) -> RecoveredRun<Value> {
    let mut recovered = RecoveredRun::new(graph);
    for commit in &driver.commits {
        recovered.fold(graph, commit.clone()).unwrap();
    }
    recovered
}

/// EN-11 of `docs/engine.md`.
#[test]
fn what_was_committed_is_not_run_again() {
    let graph = chain(&["a", "b", "c"]).build().unwrap();
    let script = ["a", "b", "c"]
        .iter()
        .fold(Script::new(), |script, name| script.writes(name, "log", json!(name)));
    let mut driver = stored(&graph, script.clone().never_ends("c"), json!({}));
    assert!(matches!(driver.go(), End::Stuck));
    let mut resumed = TestDriver::resume(&graph, script, left(&graph, &driver));
    assert_eq!(resumed.complete(), json!({"log": ["a", "b", "c"]}));
    assert_eq!(resumed.started, ["c"]);
}

#[test]
fn of_a_superstep_that_was_open_only_what_had_not_ended_is_run() {
    let graph = fan(&["a", "b", "c"], &[("log", Reducer::Append)]).build().unwrap();
    let script = ["a", "b", "c"]
        .iter()
        .fold(Script::new(), |script, name| script.writes(name, "log", json!(name)));
    let mut driver = stored(&graph, script.clone().never_ends("b"), json!({}));
    assert!(matches!(driver.go(), End::Stuck));
    let mut resumed = TestDriver::resume(&graph, script, left(&graph, &driver));
    assert_eq!(resumed.complete(), json!({"log": ["a", "b", "c"]}), "in the order of the branches");
    assert_eq!(resumed.started, ["b"]);
}

#[test]
fn only_what_failed_is_run_again() {
    let graph = fan(&["a", "b"], &[("log", Reducer::Append)]).build().unwrap();
    let script = Script::new().writes("a", "log", json!("a"));
    let mut driver = stored(&graph, script.clone().fails("b", Category::Tool), json!({}));
    driver.fails();
    let recovered = left(&graph, &driver);
    assert!(matches!(recovered.ended, Some(Err(_))));
    let mut resumed = TestDriver::resume(&graph, script.writes("b", "log", json!("b")), recovered);
    assert_eq!(resumed.complete(), json!({"log": ["a", "b"]}));
    assert_eq!(resumed.started, ["b"]);
}

/// EN-22 of `docs/engine.md`.
#[test]
fn a_question_is_open_again_and_its_answer_is_kept() {
    let graph = fan(&["asks", "works"], &[("log", Reducer::Append)]).build().unwrap();
    let script =
        Script::new().writes("works", "log", json!("done")).node("asks", |call| {
            match call.answers().len() {
                2 => call.done([("log", json!(call.answers()))]),
                asked => TaskOutcome::Ask(json!(asked)),
            }
        });
    let mut driver = stored(&graph, script.clone(), json!({}));
    let asked = driver.pauses();
    let recovered = left(&graph, &driver);
    assert_eq!(recovered.questions(), asked.iter().collect::<Vec<_>>());

    let mut second = TestDriver::resume(&graph, script.clone(), recovered);
    assert_eq!(second.pauses(), asked, "the same question, by the same id");
    second.run.answer(&asked[0].id, json!("one"), second.now).unwrap();
    let more = second.pauses();
    assert_eq!(second.started, ["asks"], "the other task had ended");
    driver.commits.append(&mut second.commits);

    let mut third = TestDriver::resume(&graph, script, left(&graph, &driver));
    assert_eq!(third.pauses(), more);
    third.run.answer(&more[0].id, json!("two"), third.now).unwrap();
    assert_eq!(third.complete(), json!({"log": [["one", "two"], "done"]}));
}

#[test]
fn a_run_is_paused_only_once_all_of_it_is_done_or_asks() {
    let mut graph = fan(&["asks", "works"], &[("log", Reducer::Append)]);
    graph.add_node(nested("sub", fan(&["x", "y"], &[("log", Reducer::Append)]).build().unwrap()));
    graph.edge(START, "sub");
    let graph = graph.build().unwrap();
    let ask = |call: &mut crate::support::Call<'_>| match call.answers().len() {
        0 => TaskOutcome::Ask(json!("?")),
        _ => call.done([]),
    };
    let script = Script::new().node("asks", ask).node("x", ask);
    let is_paused = |script: Script| {
        let mut driver = stored(&graph, script, json!({}));
        driver.go();
        left(&graph, &driver).is_paused()
    };
    assert!(is_paused(script.clone()));
    assert!(!is_paused(script.clone().never_ends("works")));
    assert!(!is_paused(script.clone().never_ends("y")), "a task of the nested graph still works");
    assert!(!is_paused(Script::new()), "nothing asks, it has ended");

    let mut driver = stored(&graph, script, json!({}));
    for question in driver.pauses() {
        driver.run.answer(&question.id, json!("yes"), driver.now).unwrap();
        driver.step();
        assert!(!left(&graph, &driver).is_paused(), "what was answered continues");
    }
}

#[test]
fn a_nested_graph_resumes_from_its_own_last_superstep() {
    let mut graph = chain(&["before"]);
    graph.add_node(nested("sub", chain(&["x", "y"]).build().unwrap()));
    graph.edge("before", "sub");
    let graph = graph.build().unwrap();
    let script = ["before", "x", "y"]
        .iter()
        .fold(Script::new(), |script, name| script.writes(name, "log", json!(name)));
    let mut driver = stored(&graph, script.clone().never_ends("y"), json!({"log": "input"}));
    assert!(matches!(driver.go(), End::Stuck));
    let mut resumed = TestDriver::resume(&graph, script, left(&graph, &driver));
    assert_eq!(resumed.complete(), json!({"log": ["input", "before", "x", "y"]}));
    assert_eq!(resumed.started, ["sub/y"]);
    assert_eq!(resumed.run.budget().spent().supersteps, 4);
}

#[test]
fn a_further_turn_keeps_the_state_and_starts_from_the_beginning() {
    let mut graph = chain(&["a"]);
    graph.channel("question", Reducer::Once);
    let graph = graph.build().unwrap();
    let script = Script::new().writes("a", "log", json!("a"));
    let mut driver = stored(&graph, script.clone(), json!({"question": "first"}));
    driver.complete();
    let graph_snapshot = left(&graph, &driver).root;
    let question = graph.channel_id("question").unwrap();
    let input = vec![antiphon_core::channel::Write::merge(question, json!("second"))];
    let commits = Options { commits: true, seed: antiphon_core::Seed::new(8), ..options() };
    let mut turn = TestDriver::of(
        Run::turn(Arc::clone(&graph), graph_snapshot, input, commits, BEGIN),
        script,
    );
    assert_eq!(turn.complete(), json!({"log": ["a", "a"], "question": "second"}));
    let steps: Vec<_> = turn.deltas().iter().map(|delta| (delta.source, delta.step)).collect();
    assert_eq!(steps, [(WriteSource::Turn, 2), (WriteSource::Step, 3)]);
    driver.commits.append(&mut turn.commits);
    let recovered = left(&graph, &driver);
    assert_eq!(recovered.root.state.get(question), Some(&json!("second")));
}

#[test]
fn an_edit_writes_as_a_node_would_and_runs_nothing() {
    let graph = chain(&["a", "b"]).build().unwrap();
    let graph_snapshot = RecoveredRun::new(&graph).root;
    let log = antiphon_core::channel::ChannelId(0);
    let update = vec![antiphon_core::channel::Write::merge(log, json!("edited"))].into();
    let node = graph.node_id("a").unwrap();
    let run = Run::edit(Arc::clone(&graph), graph_snapshot, (node, update), options(), BEGIN);
    let mut driver = TestDriver::of(run, Script::new());
    assert_eq!(driver.ends(), Ending::Completed);
    assert!(driver.started.is_empty());
    let [commit] = &driver.commits[..] else { panic!("{:?}", driver.commits) };
    let CommitChange::Step(delta) = &commit.change else { panic!() };
    assert_eq!((delta.source, delta.step), (WriteSource::Edit, 1));
    let mut resumed = TestDriver::resume(&graph, Script::new(), left(&graph, &driver));
    assert_eq!(resumed.complete(), json!({"log": ["edited"]}));
    assert_eq!(resumed.started, ["b"]);
}

#[test]
fn an_edit_that_cannot_be_merged_stores_nothing() {
    let mut graph = chain(&["a"]);
    graph.channel("sum", Reducer::Sum);
    let graph = graph.build().unwrap();
    let sum = graph.channel_id("sum").unwrap();
    let update = vec![antiphon_core::channel::Write::merge(sum, json!("no number"))].into();
    let graph_snapshot = RecoveredRun::new(&graph).root;
    let node = graph.node_id("a").unwrap();
    let run = Run::edit(Arc::clone(&graph), graph_snapshot, (node, update), options(), BEGIN);
    let mut driver = TestDriver::of(run, Script::new());
    assert_eq!(driver.fails().category, Category::State);
    assert!(driver.commits.is_empty());
}

#[test]
fn a_run_that_was_cancelled_can_be_taken_up_again() {
    let graph = chain(&["a"]).build().unwrap();
    let script = Script::new().writes("a", "log", json!("a"));
    let mut driver = stored(&graph, script.clone().takes("a", ms(1000)), json!({}));
    while driver.tasks.is_empty() {
        driver.step();
    }
    driver.run.cancel("the user left", driver.now);
    driver.ends();
    let mut resumed = TestDriver::resume(&graph, script, left(&graph, &driver));
    assert_eq!(resumed.complete(), json!({"log": ["a"]}));
}

#[test]
fn what_does_not_fit_the_graph_any_more_is_refused() {
    let mut before = chain(&[]);
    before.add_node(nested("sub", chain(&["x"]).build().unwrap()));
    before.edge(START, "sub");
    let before = before.build().unwrap();
    let mut driver = stored(&before, Script::new().never_ends("x"), json!({}));
    assert!(matches!(driver.go(), End::Stuck));
    let after = chain(&["sub"]).build().unwrap();
    let mut recovered = RecoveredRun::new(&after);
    let folded =
        driver.commits.iter().try_for_each(|commit| recovered.fold(&after, commit.clone()));
    assert_eq!(folded.unwrap_err().code, "checkpoint_misfit");
}

#[test]
fn numbers_of_events_continue_in_a_resumed_run() {
    let graph = chain(&["a", "b"]).build().unwrap();
    let mut driver = stored(&graph, Script::new().never_ends("b"), json!({}));
    assert!(matches!(driver.go(), End::Stuck));
    let last = driver.commits.last().unwrap().events;
    let mut resumed = TestDriver::resume(&graph, Script::new(), left(&graph, &driver));
    resumed.complete();
    assert!(
        resumed
            .events
            .iter()
            .map(|event| event.seq)
            .eq(last + 1..=last + resumed.events.len() as u64)
    );
}
