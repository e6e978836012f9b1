//! Time-outs that a sign of life puts off, and those of supersteps.

use std::time::Duration;

use antiphon_core::effect::{Effect, Ending};
use antiphon_core::graph::{Heartbeat, IdleTimeout, NodePolicy, START};
use antiphon_core::run::Options;
use antiphon_core::task::TaskOutcome;
use antiphon_core::{Fault, FaultCode};
use serde_json::json;

use crate::support::{BEGIN, Play, Script, chain, ms, nested, options, play, policy};

/// A node that never ends, with these limits, handed out to the driver.
fn silent(idle: Duration, strict: bool, timeout: Option<Duration>) -> Play {
    let mut graph = chain(&[]);
    let idle = Some(IdleTimeout { limit: idle, strict });
    graph.add_node(policy(NodePolicy { idle, timeout, ..NodePolicy::default() }, "a"));
    graph.edge(START, "a");
    let mut play = play(&graph.build().unwrap(), Script::new().never_ends("a"));
    assert!(matches!(play.step(), Effect::Start(_)));
    play
}

/// Lets time pass, and the task give a sign.
fn after(play: &mut Play, time: Duration, sign: Heartbeat) {
    play.now = play.now + time;
    play.run.record_heartbeat(play.tasks[0].id, sign, play.now);
    assert!(matches!(play.step(), Effect::Wait(Some(_))));
}

fn kind(fault: &Fault) -> (&str, f64, f64) {
    let number = |key: &str| fault.details[key].as_f64().unwrap();
    (fault.details["kind"].as_str().unwrap(), number("timeout"), number("elapsed"))
}

#[test]
fn silence_ends_an_attempt() {
    let mut play = silent(ms(100), false, None);
    let fault = play.fails();
    assert_eq!(fault.code, FaultCode::NodeTimeout);
    assert_eq!(fault.message, "the node was idle for too long: a");
    assert_eq!(kind(&fault), ("idle", 0.1, 0.1));
    assert_eq!(
        (&fault.details["idle_timeout"], &fault.details["run_timeout"]),
        (&json!(0.1), &json!(null))
    );
    assert_eq!(play.now, BEGIN + ms(100));
}

#[test]
fn a_sign_of_life_puts_the_end_off() {
    let mut play = silent(ms(100), false, None);
    after(&mut play, ms(60), Heartbeat::Progress);
    after(&mut play, ms(60), Heartbeat::Explicit);
    assert_eq!(kind(&play.fails()), ("idle", 0.1, 0.22));
    assert_eq!(play.now, BEGIN + ms(220));
}

#[test]
fn where_only_heartbeats_count_progress_does_not() {
    let mut play = silent(ms(100), true, None);
    after(&mut play, ms(60), Heartbeat::Explicit);
    after(&mut play, ms(60), Heartbeat::Progress);
    play.fails();
    assert_eq!(play.now, BEGIN + ms(160));
}

#[test]
fn no_sign_puts_off_the_end_of_the_attempt_as_a_whole() {
    let mut play = silent(ms(100), false, Some(ms(150)));
    after(&mut play, ms(60), Heartbeat::Progress);
    after(&mut play, ms(60), Heartbeat::Progress);
    assert_eq!(kind(&play.fails()), ("run", 0.15, 0.15));
    assert_eq!(play.now, BEGIN + ms(150));
}

#[test]
fn what_ends_within_a_nested_graph_is_a_sign_of_its_node() {
    let mut graph = chain(&[]);
    let mut node = nested("sub", chain(&["a", "b", "c"]).build().unwrap());
    node.policy.idle = Some(IdleTimeout { limit: ms(100), strict: false });
    graph.add_node(node);
    graph.edge(START, "sub");
    let script = Script::new().takes("a", ms(60)).takes("b", ms(60)).takes("c", ms(150));
    let mut play = play(&graph.build().unwrap(), script);
    assert_eq!(kind(&play.fails()), ("idle", 0.1, 0.22));
    assert_eq!(play.started, ["sub/a", "sub/b", "sub/c"]);
}

fn stepping(script: Script, names: &[&str]) -> Play {
    let options = Options { step_timeout: Some(ms(100)), ..options() };
    Play::with(&chain(names).build().unwrap(), script, json!({}), options)
}

#[test]
fn a_superstep_that_takes_too_long_fails_the_run() {
    let mut play = stepping(Script::new().never_ends("a"), &["a", "b"]);
    let fault = play.fails();
    assert_eq!(fault.code, FaultCode::StepTimeout);
    assert_eq!(fault.message, "a superstep took longer than its limit: 0.1 s");
    assert_eq!((play.now, play.cancelled.len()), (BEGIN + ms(100), 1));
}

#[test]
fn each_superstep_has_its_time_anew() {
    let script = Script::new().takes("a", ms(60)).takes("b", ms(60)).takes("c", ms(60));
    let mut play = stepping(script, &["a", "b", "c"]);
    assert_eq!(play.ends(), Ending::Completed);
    assert_eq!(play.now, BEGIN + ms(180));
}

#[test]
fn the_time_until_an_answer_does_not_count() {
    let script = Script::new().node("a", |call| match call.answers().first() {
        Some(_) => call.done([]),
        None => TaskOutcome::Ask(json!("?")),
    });
    let mut play = stepping(script.takes("a", ms(60)), &["a"]);
    let asked = play.pauses();
    play.now = play.now + ms(1000);
    play.run.answer(&asked[0].id, json!("yes"), play.now).unwrap();
    assert_eq!(play.ends(), Ending::Completed);
}
