//! Agents whose process is gone: what the model said and what tools did is
//! taken up, not done again.

use std::sync::{Arc, Mutex};

use antiphon_core::SideEffect::{External, Read};
use antiphon_core::agent::AgentTool;
use antiphon_core::checkpoint::{Commit, CommitChange};
use antiphon_core::effect::Effect;
use antiphon_core::event::EventKind;
use antiphon_core::graph::{Graph, START};
use antiphon_core::task::TaskWork;
use antiphon_core::{Category, Fault, FaultCode};
use serde_json::{Value, json};

use super::model::{asks, graph, invocations, requests, results, says, script, tool, with};
use crate::support::{BEGIN, End, Script, TestDriver, folded, ms, stored};

type Called = Arc<Mutex<Vec<String>>>;

/// An agent that calls two tools one after the other, and what they were called by.
fn two(tools: Vec<AgentTool>) -> (Arc<Graph<Value>>, Script, Called) {
    let called = Called::default();
    let seen = Arc::clone(&called);
    let script = script(vec![asks(&["one", "two"]), says("done")], move |invocation| {
        seen.lock().unwrap().push(invocation.call.name.clone());
        Ok(json!({"from": invocation.call.name}))
    });
    (graph(with(tools)).build().unwrap(), script, called)
}

/// The places of commits about calls, by name, and whether it is known what came of them.
fn calls(driver: &TestDriver) -> Vec<(usize, String, bool)> {
    let call = |(place, commit): (usize, &Commit<Value>)| match &commit.change {
        CommitChange::Called(_, _, record) => {
            Some((place, record.call.name.clone(), record.outcome.is_some()))
        }
        _ => None,
    };
    driver.commits.iter().enumerate().filter_map(call).collect()
}

fn after(driver: &TestDriver, name: &str, outcome: bool) -> usize {
    let found = calls(driver).into_iter().find(|call| (call.1.as_str(), call.2) == (name, outcome));
    found.unwrap().0 + 1
}

/// EN-23 of `docs/engine.md`.
#[test]
fn after_the_first_tool_of_two_it_is_not_called_again_nor_the_model_asked() {
    let (graph, script, called) = two(vec![tool("one", External), tool("two", External)]);
    let mut driver = stored(&graph, script.clone());
    let state = driver.complete();
    let lost = folded(&graph, &driver.commits[..after(&driver, "one", true)]);
    assert_eq!((lost.spent.model_calls, lost.spent.tool_calls), (1, 1));
    called.lock().unwrap().clear();
    let mut resumed = TestDriver::resume(&graph, script, lost);
    assert_eq!(resumed.complete(), state);
    assert_eq!(*called.lock().unwrap(), ["two"]);
    let asked = requests(&resumed);
    assert_eq!(asked.len(), 1, "only what comes after the tools");
    assert_eq!(results(&asked[0]), results(&requests(&driver)[1]));
    let spent = resumed.run.budget().spent();
    assert_eq!((spent.model_calls, spent.tool_calls), (2, 2));
    assert_eq!(spent.usage, driver.run.budget().spent().usage);
}

#[test]
fn what_is_taken_up_is_shown_as_such() {
    let (graph, script, _) = two(vec![tool("one", External), tool("two", External)]);
    let mut driver = stored(&graph, script.clone());
    driver.complete();
    let lost = folded(&graph, &driver.commits[..after(&driver, "one", true)]);
    let mut resumed = TestDriver::resume(&graph, script, lost);
    resumed.complete();
    let replayed = |kind| -> Vec<bool> {
        let events = resumed.of_kind(kind);
        events.iter().map(|event| event.data.contains_key("replayed")).collect()
    };
    for kind in
        [EventKind::ModelCall, EventKind::ModelReply, EventKind::ToolCall, EventKind::ToolResult]
    {
        assert_eq!(replayed(kind), [true, false], "{kind:?}");
    }
    assert!(driver.events.iter().all(|event| !event.data.contains_key("replayed")));
    assert_eq!(resumed.of_kind(EventKind::ToolCall)[0].data["arguments"]["city"], "Lyon");
}

#[test]
fn a_tool_that_changes_something_is_stored_before_it_is_called() {
    let (graph, script, _) = two(vec![tool("one", External), tool("two", External)]);
    let mut driver = stored(&graph, script);
    driver.acknowledges = false;
    let mut started = false;
    loop {
        match driver.step() {
            Effect::Commit(commit) => {
                started |= matches!(&commit.change, CommitChange::Called(_, _, record) if record.call.name == "one");
                assert!(!started || invocations(&driver).is_empty());
                if started {
                    break;
                }
                driver.run.committed(commit.id);
            }
            Effect::Wait(_) => assert!(driver.answer_one()),
            Effect::Start(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(matches!(driver.step(), Effect::Wait(_)), "nothing happens before it is durable");
    driver.run.committed(driver.commits.last().unwrap().id);
    assert!(matches!(driver.step(), Effect::Start(_)));
    assert_eq!(invocations(&driver).len(), 1);
}

/// EN-12 of `docs/engine.md`.
#[test]
fn a_tool_of_which_nobody_knows_what_came_fails_the_agent() {
    let (graph, script, called) = two(vec![tool("one", External), tool("two", External)]);
    let mut driver = stored(&graph, script.clone());
    driver.complete();
    let lost = folded(&graph, &driver.commits[..after(&driver, "two", false)]);
    called.lock().unwrap().clear();
    let mut resumed = TestDriver::resume(&graph, script, lost);
    let fault = resumed.fails();
    assert_eq!(fault.code, FaultCode::UnknownOutcome);
    assert_eq!(fault.details["tool"], "two");
    assert_eq!(fault.details["idempotency_key"], invocations(&driver)[1].idempotency_key);
    assert!(called.lock().unwrap().is_empty());
}

#[test]
fn a_tool_that_may_be_called_twice_is_called_again_under_its_key() {
    let mut again = tool("one", External);
    again.spec.idempotent = true;
    let (graph, script, called) = two(vec![again, tool("two", Read)]);
    let mut driver = stored(&graph, script.clone());
    let state = driver.complete();
    assert!(calls(&driver).iter().all(|(_, _, outcome)| *outcome), "only what came is stored");
    let lost = folded(&graph, &driver.commits[..after(&driver, "one", true) - 1]);
    let mut resumed = TestDriver::resume(&graph, script, lost);
    assert_eq!(resumed.complete(), state);
    assert_eq!(*called.lock().unwrap(), ["one", "two", "one", "two"]);
    assert_eq!(invocations(&resumed)[0].idempotency_key, invocations(&driver)[0].idempotency_key);
}

#[test]
fn what_a_tool_failed_with_is_what_the_model_reads_again() {
    let graph = graph(with(vec![tool("one", External)])).build().unwrap();
    let script = |ok: bool| {
        script(vec![asks(&["one"]), says("done")], move |_| {
            if ok {
                Ok(json!("fine"))
            } else {
                Err(Fault::foreign(Category::Tool, "closed", "it is closed"))
            }
        })
    };
    let mut driver = stored(&graph, script(false));
    driver.complete();
    let lost = folded(&graph, &driver.commits[..after(&driver, "one", true)]);
    let mut resumed = TestDriver::resume(&graph, script(true), lost);
    resumed.complete();
    assert_eq!(results(&requests(&resumed)[0]), ["error: it is closed"]);
    assert_eq!(resumed.of_kind(EventKind::ToolResult)[0].data["code"], "closed");
}

#[test]
fn of_an_agent_that_has_failed_the_model_is_asked_again_and_the_tools_are_not_called() {
    let graph = graph(with(vec![tool("one", External)])).build().unwrap();
    let called = Called::default();
    let seen = Arc::clone(&called);
    let answers = move |last: &'static str| {
        let seen = Arc::clone(&seen);
        script(vec![asks(&["one"]), says(last)], move |invocation| {
            seen.lock().unwrap().push(invocation.call.name.clone());
            Ok(json!("paid"))
        })
    };
    let mut driver = stored(&graph, answers(""));
    assert_eq!(driver.fails().code, "model_reply_empty");
    let mut resumed = TestDriver::resume(&graph, answers("done"), folded(&graph, &driver.commits));
    assert_eq!(resumed.complete()["text"], "done");
    assert_eq!(*called.lock().unwrap(), ["one"]);
    assert_eq!(requests(&resumed).len(), 2);
}

#[test]
fn an_agent_that_is_lost_after_any_commit_ends_like_one_that_is_not() {
    let (graph, script, called) = two(vec![tool("one", External), tool("two", External)]);
    let mut driver = stored(&graph, script.clone());
    let state = driver.complete();
    for kept in 1..driver.commits.len() {
        called.lock().unwrap().clear();
        let lost = &driver.commits[..kept];
        let known = lost.iter().filter_map(|commit| match &commit.change {
            CommitChange::Called(_, _, record) => {
                Some((record.call.name.as_str(), record.outcome.is_some()))
            }
            _ => None,
        });
        let known: Vec<_> = known.collect();
        let open = known.last().is_some_and(|(_, outcome)| !outcome);
        let mut resumed = TestDriver::resume(&graph, script.clone(), folded(&graph, lost));
        match resumed.go() {
            End::Failed(fault) => assert!(open, "{fault:?}"),
            _ => assert_eq!(resumed.state(), state),
        }
        let called = called.lock().unwrap();
        assert!(called.iter().all(|name| !known.contains(&(name.as_str(), true))), "{called:?}");
    }
}

#[test]
fn a_tool_of_a_tool_is_counted_and_has_its_own_key() {
    let (graph, script, _) = two(vec![tool("one", External), tool("two", External)]);
    let mut driver = stored(&graph, script);
    while invocations(&driver).is_empty() {
        driver.step();
        if invocations(&driver).is_empty() {
            driver.answer_one();
        }
    }
    let task = driver.tasks.iter().find(|task| matches!(task.work, TaskWork::Tool(_))).unwrap().id;
    let wanted = crate::support::tool("inner", &json!({}));
    let keys: Vec<_> = (0..2)
        .map(|_| match driver.run.begin_call(task, &wanted).unwrap() {
            antiphon_core::run::CallStart::Pending(pending) => pending.key,
            known @ antiphon_core::run::CallStart::Known(_) => panic!("{known:?}"),
        })
        .collect();
    assert_ne!(keys[0], keys[1]);
    assert_eq!(driver.run.budget().spent().tool_calls, 3);
}

#[test]
fn what_a_tool_returns_that_nothing_could_stop_is_stored() {
    let script = script(vec![asks(&["one"]), says("done")], |_| Ok(json!("sent")));
    let mut graph = graph(with(vec![tool("one", External)]));
    graph.node("fails");
    graph.edge(START, "fails");
    let graph = graph.build().unwrap();
    let failing = script.clone().fails("fails", Category::Tool).takes("fails", ms(1));
    let mut driver = stored(&graph, failing.unstoppable("one", ms(1000)));
    assert_eq!(driver.fails().code, "tool");
    assert_eq!(driver.now, BEGIN + ms(1000));
    let mut resumed = TestDriver::resume(&graph, script, folded(&graph, &driver.commits));
    resumed.complete();
    assert!(invocations(&resumed).is_empty(), "the call is not made twice");
}
