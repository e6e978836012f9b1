//! Calls of nodes: none that has come to an end is made again.

use std::sync::{Arc, Mutex};

use antiphon_core::checkpoint::{
    Call as Wanted, CallOutcome, Callee, Commit, CommitChange, RecoveredRun,
};
use antiphon_core::event::EventKind;
use antiphon_core::graph::{NodePolicy, START};
use antiphon_core::run::{CallStart, Options};
use antiphon_core::task::TaskOutcome;
use antiphon_core::{Category, Fault, FaultCode, Jitter, RetryPolicy, Seed};
use serde_json::{Value, json};

use crate::support::{
    Call, End, Script, TestDriver, chain, driver, fan, fault, folded, nested, options, policy,
    stored, tool,
};

/// What was done to the world, in order: what, and under which key.
#[derive(Clone, Default)]
struct World(Arc<Mutex<Vec<(String, String)>>>);

impl World {
    fn done(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().map(|(what, _)| what.clone()).collect()
    }

    fn keys(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().map(|(_, key)| key.clone()).collect()
    }

    /// Calls a tool that does something to the world and says what.
    fn does(&self, call: &mut Call<'_>, wanted: &Wanted) -> Result<Value, Fault> {
        call.makes(wanted, |key| {
            self.0.lock().unwrap().push((wanted.name.clone(), key.to_owned()));
            Ok(json!(wanted.name))
        })
    }

    /// A node that does each of these and logs what came of it.
    fn node(
        &self,
        names: &'static [&'static str],
    ) -> impl Fn(&mut Call<'_>) -> TaskOutcome<Value> + use<> {
        let world = self.clone();
        move |call| {
            let mut outcome = Vec::new();
            for name in names {
                match world.does(call, &tool(name, &json!({}))) {
                    Ok(value) => outcome.push(value),
                    Err(fault) => return TaskOutcome::failed(fault),
                }
            }
            call.done([("log", json!(outcome))])
        }
    }
}

fn repeatable(wanted: Wanted) -> Wanted {
    Wanted { repeatable: true, ..wanted }
}

/// How many commits there were when the calls with these names were known.
fn known(driver: &TestDriver, name: &str, outcome: bool) -> usize {
    let is = |commit: &Commit<Value>| match &commit.change {
        CommitChange::Called(_, _, record) => {
            record.call.name == name && record.outcome.is_some() == outcome
        }
        _ => false,
    };
    driver.commits.iter().position(is).unwrap() + 1
}

#[test]
fn a_call_that_has_come_to_an_end_is_not_made_again() {
    let graph = chain(&["a"]).build().unwrap();
    let world = World::default();
    let script = Script::new().node("a", world.node(&["one", "two"]));
    let mut driver = stored(&graph, script.clone());
    let state = driver.complete();
    let recovered = folded(&graph, &driver.commits[..known(&driver, "one", true)]);
    let mut resumed = TestDriver::resume(&graph, script, recovered);
    assert_eq!(resumed.complete(), state);
    assert_eq!(world.done(), ["one", "two", "two"], "the second had not been begun");
}

/// EN-12 of `docs/engine.md`.
#[test]
fn a_call_of_which_nobody_knows_what_came_is_not_made_again() {
    let graph = chain(&["a"]).build().unwrap();
    let world = World::default();
    let script = Script::new().node("a", world.node(&["one", "two"]));
    let mut driver = stored(&graph, script.clone());
    driver.complete();
    let recovered = folded(&graph, &driver.commits[..known(&driver, "two", false)]);
    let mut resumed = TestDriver::resume(&graph, script.clone(), recovered);
    let fault = resumed.fails();
    assert_eq!(fault.code, FaultCode::UnknownOutcome);
    assert_eq!(fault.details["tool"], "two");
    assert_eq!(fault.details["idempotency_key"], world.keys()[1].as_str());
    assert_eq!(world.done(), ["one", "two"]);
    driver.commits.truncate(known(&driver, "two", false));
    driver.commits.append(&mut resumed.commits);
    let mut again = TestDriver::resume(&graph, script, folded(&graph, &driver.commits));
    assert_eq!(again.fails().code, "unknown_outcome", "nothing is known of it yet");
}

#[test]
fn an_unknown_outcome_is_for_the_node_or_the_graph_to_decide() {
    let mut graph = chain(&[]);
    let errors = graph.channel("errors", antiphon_core::channel::Reducer::Append);
    let retry = Some(RetryPolicy { jitter: Jitter::None, ..RetryPolicy::default() });
    graph.add_node(policy(NodePolicy { retry, ..NodePolicy::default() }, "a"));
    graph.edge(START, "a");
    graph.on_error_record("a", errors);
    let graph = graph.build().unwrap();
    let world = World::default();
    let script = Script::new().node("a", world.node(&["one"]));
    let mut driver = stored(&graph, script.clone());
    driver.complete();
    let lost = &driver.commits[..known(&driver, "one", false)];

    let mut recorded = TestDriver::resume(&graph, script, folded(&graph, lost));
    let state = recorded.complete();
    assert_eq!(state["errors"][0]["code"], "unknown_outcome");
    assert!(recorded.of_kind(EventKind::Retry).is_empty());

    let caught = Script::new().node("a", |call| {
        let outcome = call.makes(&tool("one", &json!({})), |_| panic!("it was made"));
        let looked = call.makes(&tool("look", &json!({})), |_| Ok(json!("it was done")));
        call.done([("log", json!([outcome.unwrap_err().code, looked.unwrap()]))])
    });
    let mut caught = TestDriver::resume(&graph, caught, folded(&graph, lost));
    assert_eq!(caught.complete()["log"], json!([["unknown_outcome", "it was done"]]));
}

#[test]
fn what_may_be_made_twice_is_stored_once_and_repeated_under_its_key() {
    let graph = chain(&["a"]).build().unwrap();
    let world = World::default();
    let acts = world.clone();
    let script = Script::new().node("a", move |call| {
        acts.does(call, &repeatable(tool("look", &json!({})))).unwrap();
        call.done([])
    });
    let mut driver = stored(&graph, script.clone());
    driver.complete();
    let calls =
        driver.commits.iter().filter(|commit| matches!(commit.change, CommitChange::Called(..)));
    assert_eq!(calls.count(), 1);
    let before = known(&driver, "look", true) - 1;
    TestDriver::resume(&graph, script, folded(&graph, &driver.commits[..before])).complete();
    assert_eq!(world.done(), ["look", "look"]);
    assert_eq!(world.keys()[0], world.keys()[1]);
}

/// Resumes after the call of `one` with another node.
fn after_one(wanted: Wanted, now: Wanted) -> (Result<Value, String>, World) {
    let graph = chain(&["a"]).build().unwrap();
    let acts = World::default();
    let script = Script::new().node("a", move |call| {
        acts.does(call, &wanted).unwrap();
        call.done([])
    });
    let mut driver = stored(&graph, script);
    driver.complete();
    let recovered = folded(&graph, &driver.commits[..known(&driver, "one", true)]);
    let world = World::default();
    let acts = world.clone();
    let script = Script::new().node("a", move |call| match acts.does(call, &now) {
        Ok(_) => call.done([]),
        Err(fault) => TaskOutcome::failed(fault),
    });
    let mut resumed = TestDriver::resume(&graph, script, recovered);
    let outcome = match resumed.go() {
        End::Failed(fault) => Err(format!("{}: {}", fault.code, fault.message)),
        _ => Ok(resumed.state()),
    };
    (outcome, world)
}

#[test]
fn a_node_that_does_something_else_is_stopped_before_it_does() {
    let one = || tool("one", &json!({"cents": 1}));
    let (outcome, world) = after_one(one(), tool("two", &json!({})));
    let message = outcome.unwrap_err();
    assert!(message.starts_with("replay_diverged: ") && message.contains("tool two"), "{message}");
    assert!(message.ends_with("tool one"), "{message}");
    assert!(world.done().is_empty());
    let (outcome, world) = after_one(one(), tool("one", &json!({"cents": 2})));
    assert!(outcome.unwrap_err().ends_with("with other arguments: tool one"));
    assert!(world.done().is_empty());
}

#[test]
fn another_question_to_what_may_be_asked_twice_does_no_harm() {
    let asked = |text: &str| repeatable(tool("one", &json!(text)));
    let (outcome, world) = after_one(asked("on Monday"), asked("on Tuesday"));
    assert!(outcome.is_ok());
    assert_eq!(world.done(), ["one"]);
}

#[test]
fn calls_side_by_side_may_come_in_another_order() {
    let graph = chain(&["a"]).build().unwrap();
    let beside = |names: [&'static str; 2]| {
        Script::new().node("a", move |call| {
            let mut open = Vec::new();
            let mut outcome = Vec::new();
            for name in names {
                match call.begins(&tool(name, &json!({}))).unwrap() {
                    CallStart::Pending(due) => open.push((due.index, name)),
                    CallStart::Known(CallOutcome::Value(value)) => {
                        outcome.push(format!("known {value}"));
                    }
                    CallStart::Known(other) => panic!("{other:?}"),
                }
            }
            for (index, name) in open.into_iter().rev() {
                call.ends(index, CallOutcome::Value(json!(name)));
                outcome.push(name.to_owned());
            }
            call.done([("log", json!(outcome))])
        })
    };
    let mut driver = stored(&graph, beside(["x", "y"]));
    assert_eq!(driver.complete()["log"], json!([["y", "x"]]));
    let recovered = folded(&graph, &driver.commits[..known(&driver, "x", true)]);
    let mut resumed = TestDriver::resume(&graph, beside(["y", "x"]), recovered);
    assert_eq!(resumed.complete()["log"], json!([["known \"y\"", "known \"x\""]]));
}

#[test]
fn tasks_side_by_side_and_in_nested_graphs_know_their_own_calls() {
    let mut graph = fan(&["a"], &[("log", antiphon_core::channel::Reducer::Append)]);
    graph.add_node(nested("sub", chain(&["x", "y"]).build().unwrap()));
    graph.edge(START, "sub");
    let graph = graph.build().unwrap();
    let world = World::default();
    let script = Script::new()
        .node("a", world.node(&["same"]))
        .node("x", world.node(&["same"]))
        .node("y", world.node(&["same", "more"]));
    let mut driver = stored(&graph, script.clone());
    let state = driver.complete();
    for kept in 1..=driver.commits.len() {
        let lost = &driver.commits[..kept];
        let started = lost.iter().filter(
            |commit| matches!(&commit.change, CommitChange::Called(_, _, record) if record.outcome.is_none()),
        );
        let outcome = lost.iter().filter(
            |commit| matches!(&commit.change, CommitChange::Called(_, _, record) if record.outcome.is_some()),
        );
        let (started, outcome) = (started.count(), outcome.count());
        let before = world.done().len();
        let mut resumed = TestDriver::resume(&graph, script.clone(), folded(&graph, lost));
        if let End::Failed(fault) = resumed.go() {
            assert_eq!((fault.code.as_str(), started), ("unknown_outcome", outcome + 1));
            continue;
        }
        assert_eq!(resumed.state(), state, "lost after {kept} commits");
        assert_eq!(world.done().len() - before, 4 - outcome, "lost after {kept} commits");
    }
    let mut keys = world.keys()[..4].to_vec();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 4, "the same call of three tasks, and another");
}

#[test]
fn a_further_attempt_makes_its_calls_again_under_the_same_keys() {
    let mut graph = chain(&[]);
    let retry = Some(RetryPolicy { jitter: Jitter::None, ..RetryPolicy::default() });
    graph.add_node(policy(NodePolicy { retry, ..NodePolicy::default() }, "a"));
    graph.edge(START, "a");
    let graph = graph.build().unwrap();
    let world = World::default();
    let acts = world.clone();
    let script = Script::new().node("a", move |call| {
        acts.does(call, &tool("one", &json!({}))).unwrap();
        acts.does(call, &tool("one", &json!({}))).unwrap();
        match call.task.attempt {
            1 => TaskOutcome::failed(fault(Category::Timeout)),
            _ => call.done([]),
        }
    });
    let mut driver = stored(&graph, script.clone());
    driver.complete();
    let keys = world.keys();
    assert_eq!(keys.len(), 4);
    assert_ne!(keys[0], keys[1], "two calls of one attempt");
    assert_eq!(keys[..2], keys[2..]);
    let last =
        driver.commits.iter().rposition(|commit| matches!(commit.change, CommitChange::Called(..)));
    let recovered = folded(&graph, &driver.commits[..=last.unwrap()]);
    let mut resumed = TestDriver::resume(&graph, script, recovered);
    resumed.complete();
    assert_eq!(world.done().len(), 4, "the second attempt is known, and continues as such");
    assert_eq!(resumed.tasks[0].attempt, 2);
}

#[test]
fn a_node_that_was_answered_does_not_do_again_what_it_did_before_it_asked() {
    let graph = chain(&["a"]).build().unwrap();
    let world = World::default();
    let acts = world.clone();
    let script = Script::new().node("a", move |call| {
        acts.does(call, &tool("before", &json!({}))).unwrap();
        let Some(answer) = call.answers().pop() else { return TaskOutcome::Ask(json!("may I?")) };
        acts.does(call, &tool("after", &json!({}))).unwrap();
        call.done([("log", answer)])
    });
    for mut driver in [driver(&graph, script.clone()), stored(&graph, script.clone())] {
        world.0.lock().unwrap().clear();
        let asked = driver.pauses();
        driver.run.answer(&asked[0].id, json!("yes"), driver.now).unwrap();
        driver.complete();
        assert_eq!(world.done(), ["before", "after"]);
    }
    world.0.lock().unwrap().clear();
    let mut driver = stored(&graph, script.clone());
    let asked = driver.pauses();
    let mut resumed = TestDriver::resume(&graph, script, folded(&graph, &driver.commits));
    assert_eq!(resumed.pauses(), asked);
    resumed.run.answer(&asked[0].id, json!("yes"), resumed.now).unwrap();
    resumed.complete();
    assert_eq!(world.done(), ["before", "after"]);
}

#[test]
fn a_call_that_asked_is_made_again_after_the_answer() {
    let graph = chain(&["a"]).build().unwrap();
    let script = Script::new().node("a", |call| {
        let started = call.begins(&tool("approve", &json!({}))).unwrap();
        let CallStart::Pending(due) = started else { panic!("nothing came of it") };
        if call.answers().is_empty() {
            call.ends(due.index, CallOutcome::Interrupted);
            return TaskOutcome::Ask(json!("may I?"));
        }
        call.ends(due.index, CallOutcome::Value(json!("done")));
        call.done([("log", json!("done"))])
    });
    let mut driver = stored(&graph, script.clone());
    let asked = driver.pauses();
    let mut resumed = TestDriver::resume(&graph, script, folded(&graph, &driver.commits));
    resumed.pauses();
    resumed.run.answer(&asked[0].id, json!("yes"), resumed.now).unwrap();
    assert_eq!(resumed.complete()["log"], json!(["done"]));
}

#[test]
fn a_failure_that_the_node_continued_after_is_known_too() {
    let graph = chain(&["a"]).build().unwrap();
    let script = |result: Result<Value, Fault>| {
        Script::new().node("a", move |call| {
            let result = result.clone();
            let outcome = call.makes(&tool("one", &json!({})), move |_| result);
            call.done([("log", json!(outcome.map_err(|fault| fault.code.clone()).unwrap_err()))])
        })
    };
    let mut driver = stored(&graph, script(Err(fault(Category::Tool))));
    driver.complete();
    let recovered = folded(&graph, &driver.commits[..known(&driver, "one", true)]);
    let mut resumed = TestDriver::resume(&graph, script(Ok(json!("now it works"))), recovered);
    assert_eq!(resumed.complete()["log"], json!(["tool"]));
}

#[test]
fn of_a_run_that_has_failed_what_failed_is_made_again_and_what_was_done_is_not() {
    let graph = chain(&["a"]).build().unwrap();
    let world = World::default();
    let acts = world.clone();
    let broken = Arc::new(Mutex::new(true));
    let breaks = Arc::clone(&broken);
    let script = Script::new().node("a", move |call| {
        acts.does(call, &repeatable(tool("look", &json!({})))).unwrap();
        acts.does(call, &tool("pay", &json!({}))).unwrap();
        let (acts, is_broken) = (acts.clone(), *breaks.lock().unwrap());
        let sent = call.makes(&tool("send", &json!({})), move |key| {
            acts.0.lock().unwrap().push(("send".into(), key.to_owned()));
            if is_broken { Err(fault(Category::Tool)) } else { Ok(json!("sent")) }
        });
        match sent {
            Ok(value) => call.done([("log", value)]),
            Err(fault) => TaskOutcome::failed(fault),
        }
    });
    let mut driver = stored(&graph, script.clone());
    driver.fails();
    *broken.lock().unwrap() = false;
    let mut resumed = TestDriver::resume(&graph, script, folded(&graph, &driver.commits));
    assert_eq!(resumed.complete()["log"], json!(["sent"]));
    assert_eq!(world.done(), ["look", "pay", "send", "look", "send"]);
    assert_eq!(world.keys()[2], world.keys()[4]);
}

#[test]
fn a_known_call_is_not_counted_again() {
    let graph = chain(&["a"]).build().unwrap();
    let world = World::default();
    let script = Script::new().node("a", world.node(&["one", "two"]));
    let mut driver = stored(&graph, script.clone());
    driver.complete();
    let recovered = folded(&graph, &driver.commits[..known(&driver, "one", true)]);
    assert_eq!(recovered.spent.tool_calls, 1);
    let mut resumed = TestDriver::resume(&graph, script, recovered);
    resumed.complete();
    assert_eq!(resumed.run.budget().spent().tool_calls, 2);
}

#[test]
fn what_is_known_of_calls_is_forgotten_with_their_superstep() {
    let graph =
        fan(&["a", "b"], &[("log", antiphon_core::channel::Reducer::Append)]).build().unwrap();
    let world = World::default();
    let script = Script::new().node("a", world.node(&["one"])).node("b", world.node(&["two"]));
    let mut driver = stored(&graph, script);
    driver.complete();
    let mut recovered = RecoveredRun::new(&graph);
    for commit in &driver.commits {
        let finished = matches!(commit.change, CommitChange::Finished(..));
        recovered.fold(&graph, commit.clone()).unwrap();
        let journals = recovered.tasks.values().filter(|kept| kept.journal.is_some()).count();
        assert!(!finished || journals == 0, "the end of a task says all there is to know");
    }
    assert!(recovered.tasks.is_empty());
}

#[test]
fn commits_of_calls_may_overtake_others_and_lose_nothing() {
    let graph = chain(&["a"]).build().unwrap();
    let world = World::default();
    let mut driver = stored(&graph, Script::new().node("a", world.node(&["one", "two"])));
    driver.complete();
    let calls: Vec<_> = driver
        .commits
        .iter()
        .filter(|commit| matches!(commit.change, CommitChange::Called(..)))
        .cloned()
        .collect();
    let mut recovered = folded(&graph, &driver.commits[..1]);
    for commit in calls.iter().rev() {
        recovered.fold(&graph, commit.clone()).unwrap();
    }
    assert_eq!(recovered.spent.tool_calls, 2);
    assert_eq!(recovered.events, calls.iter().map(|commit| commit.events).max().unwrap());
}

#[test]
fn keys_differ_by_what_is_called_and_by_the_run() {
    let keys = |seed: u64| {
        let graph = chain(&["a"]).build().unwrap();
        let world = World::default();
        let acts = world.clone();
        let script = Script::new().node("a", move |call| {
            for wanted in [tool("one", &json!(1)), tool("one", &json!(2)), tool("two", &json!(1))] {
                acts.does(call, &wanted).unwrap();
            }
            call.done([])
        });
        let options = Options { seed: Seed::new(seed), ..options() };
        TestDriver::with(&graph, script, json!({}), options).complete();
        world.keys()
    };
    let (one, two) = (keys(1), keys(2));
    let mut all: Vec<_> = one.iter().chain(&two).collect();
    assert!(
        all.iter().all(|key| key.len() == 32 && key.bytes().all(|byte| byte.is_ascii_hexdigit()))
    );
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 6);
    assert_eq!(one, keys(1));
}

#[test]
fn a_call_that_ends_while_its_task_is_stopped_is_known() {
    let graph = chain(&["a"]).build().unwrap();
    let mut driver = stored(&graph, Script::new());
    while driver.tasks.is_empty() {
        driver.step();
    }
    let id = driver.tasks[0].id;
    let CallStart::Pending(due) = driver.run.begin_call(id, &tool("one", &json!({}))).unwrap()
    else {
        panic!()
    };
    driver.run.cancel("the user left", driver.now);
    assert_eq!(
        driver.run.begin_call(id, &tool("two", &json!({}))).unwrap_err().code,
        "task_cancelled"
    );
    assert!(driver.run.end_call(id, due.index, CallOutcome::Value(json!(1))).is_some());
    assert!(
        driver.run.end_call(id, due.index, CallOutcome::Value(json!(1))).is_none(),
        "it has ended"
    );
}

#[test]
fn a_call_is_announced_when_it_begins_and_ends() {
    let made = |callee| Wanted { callee, name: "f".to_owned(), digest: 7, repeatable: false };
    let value = CallOutcome::Value(json!(1));
    for (callee, started, ended) in [
        (Callee::Model, EventKind::ModelCall, EventKind::ModelReply),
        (Callee::Tool, EventKind::ToolCall, EventKind::ToolResult),
        (Callee::Graph, EventKind::ToolCall, EventKind::ToolResult),
    ] {
        let call = made(callee);
        assert_eq!(call.start_event("k"), (started, json!({"call_id": "k"})));
        assert_eq!(
            call.end_event(&value, Some("k")),
            (ended, json!({"call_id": "k", "ok": true})),
            "{callee:?}"
        );
    }
    let step = made(Callee::Step);
    assert_eq!(
        step.start_event("k"),
        (EventKind::ToolCall, json!({"call_id": "k", "step": true})),
        "no model has asked for it"
    );
    assert_eq!(
        step.end_event(&value, Some("k")),
        (EventKind::ToolResult, json!({"call_id": "k", "ok": true, "step": true}))
    );
}

#[test]
fn the_end_of_a_call_says_whether_it_succeeded_and_whether_it_was_made() {
    let call = tool("one", &json!({}));
    let failed = CallOutcome::<Value>::Failed(Fault::new(FaultCode::ToolFailed, "no"));
    for outcome in [CallOutcome::Raised(json!("no")), failed, CallOutcome::Interrupted] {
        let expected = (EventKind::ToolResult, json!({"call_id": "k", "ok": false}));
        assert_eq!(call.end_event(&outcome, Some("k")), expected, "{outcome:?}");
    }
    let replayed = (EventKind::ToolResult, json!({"ok": true, "replayed": true}));
    assert_eq!(call.end_event(&CallOutcome::Value(json!(1)), None), replayed);
}
