//! Storing what has ended before anything else happens.

use std::time::Duration;

use antiphon_core::Category;
use antiphon_core::budget::{BudgetDimension, Limits};
use antiphon_core::channel::Reducer;
use antiphon_core::checkpoint::CommitChange;
use antiphon_core::effect::{Effect, Ending};
use antiphon_core::graph::START;
use antiphon_core::run::Options;
use proptest::prelude::*;
use serde_json::json;

use crate::engine::random::random_graphs;
use crate::support::{
    BEGIN, Finish, Script, TestDriver, chain, fan, folded, ms, nested, options, stored,
};

fn script() -> Script {
    Script::new().writes("a", "log", json!("a")).writes("b", "log", json!("b"))
}

/// Runs until that many tasks have begun.
fn begin(driver: &mut TestDriver, tasks: usize) {
    while driver.tasks.len() < tasks {
        driver.step();
    }
}

#[test]
fn a_superstep_that_has_ended_is_stored_before_the_next_one_starts() {
    let graph = chain(&["a", "b"]).build().unwrap();
    let mut driver = stored(&graph, script());
    begin(&mut driver, 1);
    driver.answer_one();
    let now = driver.now;
    let Some(Effect::Commit(commit)) = driver.run.settle(now, &mut driver.script) else { panic!() };
    assert!(matches!(commit.change, CommitChange::Step(_)));
    let (id, stopped) = (commit.id, [driver.commits.clone(), vec![*commit.clone()]].concat());
    driver.commits.push(*commit);
    let waits = driver.run.settle(now, &mut driver.script);
    assert!(matches!(waits, Some(Effect::Wait(None))), "until it is stored");
    driver.run.committed(id);
    assert!(driver.run.settle(now, &mut driver.script).is_none(), "nothing has started");
    let mut resumed = TestDriver::resume(&graph, script(), folded(&graph, &stopped));
    assert_eq!(resumed.complete(), json!({"log": ["a", "b"]}));
    assert_eq!(resumed.started, ["b"]);
    assert_eq!(driver.complete(), json!({"log": ["a", "b"]}), "it goes on from there");
    assert_eq!(driver.started, ["a", "b"]);
}

#[test]
fn the_time_of_the_next_superstep_does_not_run_meanwhile() {
    let graph = chain(&["a", "b"]).build().unwrap();
    let options = Options { commits: true, step_timeout: Some(ms(100)), ..options() };
    let mut driver = TestDriver::with(&graph, script(), json!({}), options);
    begin(&mut driver, 1);
    driver.answer_one();
    while let Some(Effect::Commit(commit)) = driver.run.settle(driver.now, &mut driver.script) {
        driver.run.committed(commit.id);
    }
    driver.now = BEGIN + Duration::from_mins(1);
    assert_eq!(driver.complete(), json!({"log": ["a", "b"]}));
}

#[test]
fn a_merge_that_fails_is_the_failure_of_its_task() {
    let graph = fan(&["a", "b"], &[("x", Reducer::Set)]).build().unwrap();
    let script = Script::new().writes("a", "x", json!(1)).writes("b", "x", json!(2));
    let mut driver = stored(&graph, script);
    driver.settles = true;
    assert_eq!(driver.fails().category, Category::State);
}

/// The wall time is over between the last outcome of a superstep and its merge.
#[test]
fn what_has_ended_when_the_time_is_over_is_stored() {
    let graph = chain(&["a", "b"]).build().unwrap();
    let limits = Limits { wall_time: Some(ms(100)), ..Limits::default() };
    let options = Options { commits: true, limits, ..options() };
    let mut driver = TestDriver::with(&graph, script(), json!({}), options);
    begin(&mut driver, 1);
    driver.answer_one();
    driver.now = BEGIN + ms(100);
    assert_eq!(driver.ends(), Ending::Budget(BudgetDimension::WallTime));
    let stopped = &driver.commits[..driver.commits.len() - 1];
    let mut resumed = TestDriver::resume(&graph, script(), folded(&graph, stopped));
    assert_eq!(resumed.complete(), json!({"log": ["a", "b"]}));
    assert_eq!(resumed.started, ["b"]);
}

/// The last task of a nested graph ends, and a sibling of the graph fails before it is merged.
#[test]
fn what_has_ended_in_a_nested_graph_is_stored_when_a_sibling_fails() {
    let inner = chain(&["a"]).build().unwrap();
    let mut graph = fan(&["odd"], &[]);
    graph.add_node(nested("sub", inner));
    graph.edge(START, "sub");
    let graph = graph.build().unwrap();
    let mut driver = stored(&graph, script().fails("odd", Category::State));
    begin(&mut driver, 2);
    driver.finish = Finish::Backwards;
    driver.answer_one();
    driver.answer_one();
    driver.fails();
    let stopped = &driver.commits[..driver.commits.len() - 1];
    let mut resumed = TestDriver::resume(&graph, script(), folded(&graph, stopped));
    resumed.complete();
    assert_eq!(resumed.started, ["odd"]);
}

#[test]
fn a_stored_superstep_is_not_merged_again_before_the_budget_edge() {
    let mut graph = chain(&["a", "b"]);
    graph.node("wrap up");
    graph.on_budget("wrap up");
    let graph = graph.build().unwrap();
    let limits = Limits { wall_time: Some(ms(100)), ..Limits::default() };
    let options = Options { commits: true, limits, ..options() };
    let script = script().writes("wrap up", "log", json!("wrapped up"));
    let mut driver = TestDriver::with(&graph, script, json!({}), options);
    begin(&mut driver, 1);
    driver.answer_one();
    while let Some(Effect::Commit(commit)) = driver.run.settle(driver.now, &mut driver.script) {
        driver.run.committed(commit.id);
    }
    driver.now = BEGIN + ms(100);
    assert_eq!(driver.complete(), json!({"log": ["a", "wrapped up"]}));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_run_that_settles_after_each_outcome_is_the_same_run(random in random_graphs(), seed in any::<u64>()) {
        let (expected, end) = random.driver(Finish::Shuffled(seed));
        let (driver, other) = random.settling_driver(Finish::Shuffled(seed));
        prop_assert_eq!(&other, &end);
        prop_assert_eq!(driver.state(), expected.state());
        prop_assert_eq!(driver.kinds(), expected.kinds());
        prop_assert_eq!(format!("{:?}", driver.commits), format!("{:?}", expected.commits));
    }
}
