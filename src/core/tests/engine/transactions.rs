//! A superstep that cannot be merged leaves the state as it was.

use antiphon_core::Category;
use antiphon_core::budget::Limits;
use antiphon_core::channel::{Reducer, WriteOp};
use antiphon_core::graph::{RouterView, Semantics};
use serde_json::json;

use crate::support::{Script, TestDriver, fan};

const BEFORE: &str = r#"{"log": ["before"], "x": 1, "sum": 0}"#;

fn failing(router_view: RouterView, script: Script) -> TestDriver {
    let channels = [("log", Reducer::Append), ("x", Reducer::Set), ("sum", Reducer::Foreign(0))];
    let mut graph = fan(&["a", "b", "c"], &channels);
    graph.semantics(Semantics { router_view, ..Semantics::default() }).branch("c", "way", 0, None);
    let input = json!({"log": "before", "x": 1, "sum": 0});
    let mut driver = TestDriver::new(&graph.build().unwrap(), script, input, Limits::default());
    driver.fails();
    driver
}

fn sums(script: Script) -> Script {
    script.reducer(0, |old, new| match new.as_i64() {
        Some(-1) => Err(crate::support::fault(Category::Internal)),
        Some(new) => Ok(json!(old.and_then(|old| old.as_i64()).unwrap_or(0) + new)),
        None => Ok(new),
    })
}

#[test]
fn a_foreign_rule_that_fails_in_the_middle_changes_nothing() {
    let script = sums(Script::new())
        .node("a", |call| call.done([("log", json!("a")), ("sum", json!(5))]))
        .node("b", |call| call.done([("sum", json!(-1)), ("x", json!(2))]))
        .router(0, |_| panic!("nobody is asked where to go"));
    let driver = failing(RouterView::Merged, script);
    assert_eq!(
        driver.state().to_string(),
        serde_json::from_str::<serde_json::Value>(BEFORE).unwrap().to_string()
    );
}

#[test]
fn a_write_that_does_not_fit_changes_nothing() {
    let script = sums(Script::new())
        .writes("a", "log", json!("a"))
        .node("b", |call| call.op("log", WriteOp::Replace(json!("no list"))))
        .node("c", |call| call.done([("x", json!(2)), ("x", json!(3))]))
        .router(0, |_| Err(crate::support::fault(Category::State)));
    let driver = failing(RouterView::Own, script);
    assert_eq!(driver.state(), serde_json::from_str::<serde_json::Value>(BEFORE).unwrap());
}

#[test]
fn the_failure_of_a_router_that_sees_only_its_own_writes_changes_nothing() {
    let script = sums(Script::new())
        .writes("a", "log", json!("a"))
        .writes("b", "sum", json!(1))
        .router(0, |_| Err(crate::support::fault(Category::State)));
    let driver = failing(RouterView::Own, script);
    assert_eq!(driver.state(), serde_json::from_str::<serde_json::Value>(BEFORE).unwrap());
}

#[test]
fn the_failure_of_a_router_that_sees_the_merged_state_comes_after_the_merge() {
    let script = sums(Script::new())
        .writes("a", "log", json!("a"))
        .router(0, |_| Err(crate::support::fault(Category::State)));
    let driver = failing(RouterView::Merged, script);
    assert_eq!(driver.state()["log"], json!(["before", "a"]));
}

#[test]
fn a_snapshot_is_not_changed_by_later_supersteps() {
    let graph = crate::support::chain(&["a"]).build().unwrap();
    let script = Script::new().writes("a", "log", json!("a"));
    let mut driver = TestDriver::new(&graph, script, json!({"log": "in"}), Limits::default());
    driver.step();
    let before = driver.run.state().snapshot();
    driver.complete();
    assert_eq!(before[0], Some(json!(["in"])));
    assert_eq!(driver.state(), json!({"log": ["in", "a"]}));
}
