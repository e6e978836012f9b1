//! Time-outs that a sign of life puts off, and those of supersteps.

use std::time::Duration;

use antiphon_core::effect::{Effect, Ending};
use antiphon_core::graph::{Heartbeat, IdleTimeout, NodePolicy, START};
use antiphon_core::run::Options;
use antiphon_core::task::TaskOutcome;
use antiphon_core::{Fault, FaultCode};
use serde_json::json;

use crate::support::{BEGIN, Script, TestDriver, chain, driver, ms, nested, options, policy};

/// A node that never ends, with these limits, handed out to the driver.
fn silent(idle: Duration, strict: bool, timeout: Option<Duration>) -> TestDriver {
    let mut graph = chain(&[]);
    let idle = Some(IdleTimeout { limit: idle, strict });
    graph.add_node(policy(NodePolicy { idle, timeout, ..NodePolicy::default() }, "a"));
    graph.edge(START, "a");
    let mut driver = driver(&graph.build().unwrap(), Script::new().never_ends("a"));
    assert!(matches!(driver.step(), Effect::Start(_)));
    driver
}

/// Lets time pass, and the task give a sign.
fn after(driver: &mut TestDriver, time: Duration, sign: Heartbeat) {
    driver.now = driver.now + time;
    driver.run.record_heartbeat(driver.tasks[0].id, sign, driver.now);
    assert!(matches!(driver.step(), Effect::Wait(Some(_))));
}

fn kind(fault: &Fault) -> (&str, f64, f64) {
    let number = |key: &str| fault.details[key].as_f64().unwrap();
    (fault.details["kind"].as_str().unwrap(), number("timeout"), number("elapsed"))
}

#[test]
fn silence_ends_an_attempt() {
    let mut driver = silent(ms(100), false, None);
    let fault = driver.fails();
    assert_eq!(fault.code, FaultCode::NodeTimeout);
    assert_eq!(fault.message, "`a` exceeded its idle time-out in seconds: 0.1");
    assert_eq!(kind(&fault), ("idle", 0.1, 0.1));
    assert_eq!(
        (&fault.details["idle_timeout"], &fault.details["run_timeout"]),
        (&json!(0.1), &json!(null))
    );
    assert_eq!(driver.now, BEGIN + ms(100));
}

#[test]
fn a_sign_of_life_puts_the_end_off() {
    let mut driver = silent(ms(100), false, None);
    after(&mut driver, ms(60), Heartbeat::Progress);
    after(&mut driver, ms(60), Heartbeat::Explicit);
    assert_eq!(kind(&driver.fails()), ("idle", 0.1, 0.22));
    assert_eq!(driver.now, BEGIN + ms(220));
}

#[test]
fn where_only_heartbeats_count_progress_does_not() {
    let mut driver = silent(ms(100), true, None);
    after(&mut driver, ms(60), Heartbeat::Explicit);
    after(&mut driver, ms(60), Heartbeat::Progress);
    driver.fails();
    assert_eq!(driver.now, BEGIN + ms(160));
}

#[test]
fn no_sign_puts_off_the_end_of_the_attempt_as_a_whole() {
    let mut driver = silent(ms(100), false, Some(ms(150)));
    after(&mut driver, ms(60), Heartbeat::Progress);
    after(&mut driver, ms(60), Heartbeat::Progress);
    assert_eq!(kind(&driver.fails()), ("run", 0.15, 0.15));
    assert_eq!(driver.now, BEGIN + ms(150));
}

#[test]
fn what_ends_within_a_nested_graph_is_a_sign_of_its_node() {
    let mut graph = chain(&[]);
    let mut node = nested("sub", chain(&["a", "b", "c"]).build().unwrap());
    node.policy.idle = Some(IdleTimeout { limit: ms(100), strict: false });
    graph.add_node(node);
    graph.edge(START, "sub");
    let script = Script::new().takes("a", ms(60)).takes("b", ms(60)).takes("c", ms(150));
    let mut driver = driver(&graph.build().unwrap(), script);
    assert_eq!(kind(&driver.fails()), ("idle", 0.1, 0.22));
    assert_eq!(driver.started, ["sub/a", "sub/b", "sub/c"]);
}

fn stepping(script: Script, names: &[&str]) -> TestDriver {
    let options = Options { step_timeout: Some(ms(100)), ..options() };
    TestDriver::with(&chain(names).build().unwrap(), script, json!({}), options)
}

#[test]
fn a_superstep_that_takes_too_long_fails_the_run() {
    let mut driver = stepping(Script::new().never_ends("a"), &["a", "b"]);
    let fault = driver.fails();
    assert_eq!(fault.code, FaultCode::StepTimeout);
    assert_eq!(fault.message, "a superstep took longer than its limit: 0.1 s");
    assert_eq!((driver.now, driver.cancelled.len()), (BEGIN + ms(100), 1));
}

#[test]
fn each_superstep_has_its_time_anew() {
    let script = Script::new().takes("a", ms(60)).takes("b", ms(60)).takes("c", ms(60));
    let mut driver = stepping(script, &["a", "b", "c"]);
    assert_eq!(driver.ends(), Ending::Completed);
    assert_eq!(driver.now, BEGIN + ms(180));
}

#[test]
fn the_time_until_an_answer_does_not_count() {
    let script = Script::new().node("a", |call| match call.answers().first() {
        Some(_) => call.done([]),
        None => TaskOutcome::Ask(json!("?")),
    });
    let mut driver = stepping(script.takes("a", ms(60)), &["a"]);
    let asked = driver.pauses();
    driver.now = driver.now + ms(1000);
    driver.run.answer(&asked[0].id, json!("yes"), driver.now).unwrap();
    assert_eq!(driver.ends(), Ending::Completed);
}
