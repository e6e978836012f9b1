//! Calls that were approved or not, when their agent begins again.

use std::sync::Arc;

use antiphon_core::SideEffect::{External, Read};
use antiphon_core::agent::AgentTool;
use antiphon_core::approval::{Approval, HostVerdict, Proposal};
use antiphon_core::channel::Reducer;
use antiphon_core::checkpoint::{Commit, CommitChange};
use antiphon_core::effect::Question;
use antiphon_core::event::EventKind;
use antiphon_core::graph::{Graph, Node, NodePolicy, NodeWork, START};
use antiphon_core::model::ModelReply;
use antiphon_core::task::{TaskOutcome, TaskWork};
use antiphon_core::{Category, Jitter, RetryPolicy};
use serde_json::{Value, json};

use super::approvals::{Log, answered, asked, folded, names, needs, resumed, stored, team};
use super::model::{asks, call, requests, results, says, script, tool, with};
use crate::support::{Call, Finish, SCHEMAS, Script, fault, reply};

fn for_city(place: usize, name: &str, city: &str) -> antiphon_core::ToolCall {
    call(place, name, &format!(r#"{{"city": "{city}"}}"#))
}

/// Calls of the model for `pay` in two cities, of which its tool has one left, then others.
fn pays_twice(rest: &[&str]) -> ModelReply {
    let mut calls = vec![for_city(0, "pay", "Nice"), for_city(1, "pay", "Lyon")];
    calls.extend((2..).zip(rest).map(|(place, name)| for_city(place, name, "Lyon")));
    ModelReply { tool_calls: calls, ..reply("") }
}

fn pays_in(cities: &[&str]) -> ModelReply {
    let calls = cities.iter().enumerate().map(|(place, city)| for_city(place, "pay", city));
    ModelReply { tool_calls: calls.collect(), ..reply("") }
}

/// The host approves of everything.
fn approving(tools: Vec<AgentTool>, replies: Vec<ModelReply>) -> (Arc<Graph<Value>>, Script, Log) {
    let (graph, base, called) = team(tools, replies);
    let judged = Arc::clone(&called);
    let script = Script::new().node("agent", move |call: &mut Call<'_>| match &call.task.work {
        TaskWork::Approve(_) => {
            judged.lock().unwrap().push("judges".to_owned());
            TaskOutcome::Decided(HostVerdict::Approve)
        }
        _ => base.outcome("agent", call),
    });
    (graph, script, called)
}

#[test]
fn a_call_that_its_limit_refused_after_approval_is_refused_again_in_another_process() {
    for (side_effect, backwards) in [(External, false), (Read, false), (Read, true)] {
        let mut pay = needs(Approval::Host, "pay", side_effect);
        pay.spec.max_calls = Some(1);
        let log = tool("log", side_effect);
        let replies = vec![pays_twice(&["log"]), asks(&["write"]), asks(&["send"]), says("done")];
        let tools = vec![pay, log, tool("write", External), asked("send")];
        let (graph, script, called) = approving(tools, replies);
        let mut driver = stored(&graph, script.clone());
        if backwards {
            driver.finish = Finish::Backwards;
        }
        let question = driver.pauses().remove(0);
        let before = names(&called);
        let count = |word: &str| before.iter().filter(|name| *name == word).count();
        let judged = if side_effect == External { 1 } else { 2 };
        assert_eq!((count("pay"), count("judges")), (1, judged), "{before:?}");
        let recovered = folded(&graph, &driver);
        let mut other = resumed(&graph, script, recovered, &[(&question, json!(true))]);
        let uses = other.complete()["uses"].clone();
        let paid = [json!(["pay", !backwards]), json!(["pay", backwards])];
        let rest = [json!(["log", true]), json!(["write", true]), json!(["send", true])];
        assert_eq!(uses, Value::Array([&paid[..], &rest[..]].concat()));
        assert_eq!(names(&called)[before.len()..], ["send"], "{side_effect:?}");
    }
}

#[test]
fn answers_in_another_order_than_the_calls_are_taken_as_they_were_given() {
    let mut pay = asked("pay");
    pay.spec.max_calls = Some(1);
    let replies = vec![pays_twice(&[]), asks(&["send"]), says("done")];
    let (graph, script, called) = team(vec![pay, asked("send")], replies);
    let mut driver = stored(&graph, script.clone());
    let questions = driver.pauses();
    driver.run.answer(&questions[1].id, json!(true), driver.now).unwrap();
    assert_eq!(driver.pauses(), [questions[0].clone()]);
    driver.run.answer(&questions[0].id, json!(true), driver.now).unwrap();
    let third = driver.pauses().remove(0);
    let recovered = folded(&graph, &driver);
    let mut other = resumed(&graph, script, recovered, &[(&third, json!(true))]);
    let uses = other.complete()["uses"].clone();
    assert_eq!(uses, json!([["pay", false], ["pay", true], ["send", true]]));
    assert_eq!(names(&called), ["pay", "send"]);
}

/// An agent that is tried twice, whose model fails when it is asked for the
/// first time and for the third, and whose tool may fail after it has paid.
fn unlucky(pay_fails: bool) -> (Arc<Graph<Value>>, Script, Log) {
    let (log, seen) = (Log::default(), Log::default());
    let names = Arc::clone(&log);
    let said = script(vec![asks(&["pay"]), says("done")], move |invocation| {
        names.lock().unwrap().push(invocation.call.name.clone());
        if pay_fails { Err(fault(Category::Tool)) } else { Ok(json!("paid")) }
    });
    let script = Script::new().node("agent", move |call: &mut Call<'_>| {
        if let TaskWork::Model(_) = &call.task.work {
            let mut seen = seen.lock().unwrap();
            seen.push("asked".to_owned());
            if matches!(seen.len(), 1 | 3) {
                return TaskOutcome::failed(fault(Category::ModelTransport));
            }
        }
        said.outcome("agent", call)
    });
    let mut graph = Graph::builder("agent");
    for key in ["text", "value", "uses", "turns"] {
        graph.channel(key, Reducer::Set);
    }
    let retry = RetryPolicy { max_attempts: 2, jitter: Jitter::None, ..RetryPolicy::default() };
    graph.add_node(Node {
        name: "agent".into(),
        work: NodeWork::Agent(Arc::new(with(vec![asked("pay")]))),
        policy: NodePolicy { retry: Some(retry), ..NodePolicy::default() },
    });
    graph.edge(START, "agent");
    (graph.build().unwrap(), script, log)
}

#[test]
fn a_failed_run_that_is_taken_up_has_the_calls_approved_anew() {
    let (graph, script, called) = unlucky(true);
    let mut driver = stored(&graph, script.clone());
    let first = driver.pauses().remove(0);
    driver.run.answer(&first.id, json!(true), driver.now).unwrap();
    driver.fails();
    assert_eq!(names(&called), ["pay"]);
    let recovered = folded(&graph, &driver);
    assert!(recovered.questions().is_empty());
    let mut other = resumed(&graph, script.clone(), recovered, &[]);
    let again = other.pauses().remove(0);
    assert_eq!(names(&called), ["pay"], "one approval is good for one call");
    driver.commits.append(&mut other.commits);
    let recovered = folded(&graph, &driver);
    assert!(recovered.is_paused());
    let mut last = resumed(&graph, script, recovered, &[(&again, json!(true))]);
    assert_eq!(last.complete()["text"], "done", "the answer is taken");
    assert_eq!(names(&called), ["pay", "pay"]);
}

#[test]
fn nobody_is_asked_in_a_failed_run_about_what_was_made() {
    let (graph, script, called) = unlucky(false);
    let mut driver = stored(&graph, script.clone());
    let first = driver.pauses().remove(0);
    driver.run.answer(&first.id, json!(true), driver.now).unwrap();
    driver.fails();
    let mut other = resumed(&graph, script, folded(&graph, &driver), &[]);
    assert_eq!(other.complete()["uses"], json!([["pay", true]]));
    assert_eq!(names(&called), ["pay"]);
}

#[test]
fn in_a_failed_run_the_model_hears_again_what_a_person_has_changed() {
    let (graph, script, called) = unlucky(false);
    let mut driver = stored(&graph, script.clone());
    let first = driver.pauses().remove(0);
    let other_city = json!({"approve": true, "args": {"city": "Nice"}});
    driver.run.answer(&first.id, other_city, driver.now).unwrap();
    driver.fails();
    let texts = results(requests(&driver).last().unwrap());
    assert!(texts[0].contains(r#"changed arguments, set by the approver: {"city":"Nice"}"#));
    let mut other = resumed(&graph, script, folded(&graph, &driver), &[]);
    assert_eq!(other.complete()["uses"], json!([["pay", true]]));
    assert_eq!(results(requests(&other).last().unwrap()), texts);
    let of_call = other.of_kind(EventKind::ToolCall).remove(0);
    assert_eq!(of_call.data["arguments"], json!({"city": "Nice"}));
    assert_eq!(names(&called), ["pay"]);
}

/// A model that wants the same call twice, one after the other, and fails when
/// it is asked for the third time.
fn twice() -> (Arc<Graph<Value>>, Script, Log) {
    let pays = || pays_in(&["Lyon"]);
    let (graph, base, called) = team(vec![asked("pay")], vec![pays(), pays(), says("done")]);
    let seen = Log::default();
    let script = Script::new().node("agent", move |call: &mut Call<'_>| {
        if let TaskWork::Model(_) = &call.task.work {
            let mut seen = seen.lock().unwrap();
            seen.push("asked".to_owned());
            if seen.len() == 3 {
                return TaskOutcome::failed(fault(Category::ModelTransport));
            }
        }
        base.outcome("agent", call)
    });
    (graph, script, called)
}

#[test]
fn of_equal_calls_each_is_reported_with_the_changes_that_a_person_made_to_it() {
    let (graph, script, called) = twice();
    let mut driver = stored(&graph, script.clone());
    for answer in [json!(true), json!({"approve": true, "args": {"city": "Nice"}})] {
        let question = driver.pauses().remove(0);
        driver.run.answer(&question.id, answer, driver.now).unwrap();
    }
    driver.fails();
    let mut other = resumed(&graph, script, folded(&graph, &driver), &[]);
    assert_eq!(other.complete()["text"], "done");
    let texts = results(requests(&other).last().unwrap());
    assert_eq!(texts[0], "Lyon");
    assert!(texts[1].starts_with("[called with changed arguments"), "{}", texts[1]);
    assert_eq!(names(&called), ["pay", "pay"]);
}

#[test]
fn nothing_is_reported_of_changes_that_may_be_those_of_another_call() {
    let (graph, script, _) = twice();
    let mut driver = stored(&graph, script);
    for city in ["Nice", "Metz"] {
        let question = driver.pauses().remove(0);
        let answer = json!({"approve": true, "args": {"city": city}});
        driver.run.answer(&question.id, answer, driver.now).unwrap();
    }
    driver.fails();
    // In another place, the model wants it together with something else.
    let other = pays_in(&["Rome", "Lyon"]);
    let (_, script, _) = team(vec![asked("pay")], vec![other, says("done")]);
    let mut other = resumed(&graph, script, folded(&graph, &driver), &[]);
    let question = other.pauses().remove(0);
    other.run.answer(&question.id, json!(true), other.now).unwrap();
    other.complete();
    assert_eq!(results(requests(&other).last().unwrap()), ["Rome", "Nice"]);
}

#[test]
fn what_another_attempt_heard_about_a_call_is_dropped_with_its_question() {
    let (graph, script, _) = unlucky(true);
    let mut driver = stored(&graph, script);
    let question = driver.pauses().remove(0);
    let asked = |commit: &Commit<Value>| matches!(commit.change, CommitChange::Asked(..));
    let mut again = driver.commits.iter().rfind(|commit| asked(commit)).unwrap().clone();
    driver.commits.push(answered(&driver, &question, &json!(true)));
    again.within.last_mut().unwrap().attempt = 1;
    driver.commits.push(again.clone());
    let recovered = folded(&graph, &driver);
    let kept = recovered.tasks.values().find(|kept| kept.state.is_some()).unwrap();
    assert_eq!((&kept.within, kept.answers.len()), (&again.within, 0));
}

#[test]
fn arguments_that_a_person_has_changed_have_to_fit_when_they_are_recalled() {
    let of = |kind: &str| json!({"type": "object", "properties": {"euros": {"type": kind}}});
    let asked = Proposal::new("pay", json!({}), of("integer"));
    let kept =
        asked.encode_answer(&json!({"approve": true, "args": {"euros": 7}}), SCHEMAS).unwrap();
    let now = Proposal::new("pay", json!({}), of("string"));
    assert_eq!(now.decode_answer(&kept, SCHEMAS).unwrap_err().code, "approval_invalid");
}

#[test]
fn a_question_of_somebody_elses_about_an_approval_takes_any_answer() {
    let value = json!({"type": "approval", "tool": "pay", "arguments": {}, "parameters": {}});
    let question = Question { id: "1".into(), path: vec![], value };
    assert_eq!(question.encode_answer(json!("perhaps"), SCHEMAS).unwrap(), "perhaps");
    assert!(question.check_answer(&json!(3), SCHEMAS).is_ok());
}

#[test]
fn changed_arguments_that_nobody_can_validate_are_refused() {
    let asked = Proposal::new("pay", json!({}), json!({"type": "object"}));
    let changed = json!({"approve": true, "args": {"euros": 7}});
    let refused = asked.decide(&changed, None).unwrap_err();
    assert_eq!(
        (refused.code.as_str(), &refused.details["tool"]),
        ("approval_invalid", &json!("pay"))
    );
    assert!(asked.decide(&json!(true), None).is_ok());
}
