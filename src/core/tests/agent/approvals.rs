//! Calls that somebody has to approve of before they are made.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use antiphon_core::SideEffect::{External, Read};
use antiphon_core::agent::AgentTool;
use antiphon_core::approval::{Approval, Decision, HostVerdict, Proposal};
use antiphon_core::channel::Reducer;
use antiphon_core::checkpoint::{Commit, CommitChange, RecoveredRun, TaskSnapshotState};
use antiphon_core::effect::{Effect, Question};
use antiphon_core::event::EventKind;
use antiphon_core::graph::{Graph, Node, NodePolicy, NodeWork, START};
use antiphon_core::model::ModelReply;
use antiphon_core::run::Options;
use antiphon_core::task::{TaskOutcome, TaskWork};
use antiphon_core::{Category, FaultCode, SideEffect};
use serde_json::{Value, json};

use super::model::{asks, call, graph, invocations, requests, results, says, script, tool, with};
use crate::support::{BEGIN, Call, End, SCHEMAS, Script, TestDriver, driver, options, reply};

pub(super) type Log = Arc<Mutex<Vec<String>>>;

pub(super) fn needs(approval: Approval, name: &str, side_effect: SideEffect) -> AgentTool {
    let mut made = tool(name, side_effect);
    made.spec.approval = approval;
    made
}

pub(super) fn asked(name: &str) -> AgentTool {
    needs(Approval::Person, name, External)
}

/// An agent of these tools, and the names of those that were called.
pub(super) fn team(
    tools: Vec<AgentTool>,
    replies: Vec<ModelReply>,
) -> (Arc<Graph<Value>>, Script, Log) {
    let called = Log::default();
    let seen = Arc::clone(&called);
    let script = script(replies, move |invocation| {
        seen.lock().unwrap().push(invocation.call.name.clone());
        Ok(invocation.arguments["city"].clone())
    });
    (graph(with(tools)).build().unwrap(), script, called)
}

pub(super) fn stored(graph: &Arc<Graph<Value>>, script: Script) -> TestDriver {
    TestDriver::with(graph, script, json!({}), Options { commits: true, ..options() })
}

pub(super) fn folded(graph: &Arc<Graph<Value>>, driver: &TestDriver) -> RecoveredRun<Value> {
    let mut recovered = RecoveredRun::new(graph);
    for commit in &driver.commits {
        recovered.fold(graph, commit.clone()).unwrap();
    }
    recovered
}

/// Another process answers, and continues.
pub(super) fn resumed(
    graph: &Arc<Graph<Value>>,
    script: Script,
    mut recovered: RecoveredRun<Value>,
    answers: &[(&Question<Value>, Value)],
) -> TestDriver {
    answer(graph, &mut recovered, answers);
    TestDriver::resume(graph, script, recovered)
}

/// Stores answers in a run that no process has.
pub(super) fn answer(
    graph: &Arc<Graph<Value>>,
    recovered: &mut RecoveredRun<Value>,
    answers: &[(&Question<Value>, Value)],
) {
    let commit = |(question, answer): &(&Question<Value>, Value)| {
        let kept = recovered.tasks.values().find(|kept| match &kept.state {
            Some(TaskSnapshotState::Asked(asked)) => asked.id == question.id,
            _ => false,
        });
        let kept = kept.unwrap();
        let answer = question.encode_answer(answer.clone(), SCHEMAS).unwrap();
        let change = CommitChange::Answered(kept.task, answer);
        let (within, spent) = (kept.within.clone(), recovered.spent);
        Commit { id: 0, within, spent, events: recovered.events, change }
    };
    for commit in answers.iter().map(commit).collect::<Vec<_>>() {
        recovered.fold(graph, commit).unwrap();
    }
}

pub(super) fn names(log: &Log) -> Vec<String> {
    log.lock().unwrap().clone()
}

#[test]
fn nothing_is_called_before_a_person_has_approved() {
    let (graph, script, called) = team(vec![asked("pay")], vec![asks(&["pay"]), says("done")]);
    let mut driver = driver(&graph, script);
    let questions = driver.pauses();
    assert!(names(&called).is_empty());
    let [question] = questions.as_slice() else { panic!("{questions:?}") };
    assert_eq!(question.path, ["agent"]);
    assert_eq!(question.value["type"], "antiphon.approval");
    assert_eq!(question.value["tool"], "pay");
    assert_eq!(question.value["arguments"], json!({"city": "Lyon"}));
    assert!(question.value["why"].as_str().unwrap().contains("`pay`"));
    let interrupts = driver.of_kind(EventKind::Interrupt);
    assert_eq!(interrupts[0].data["id"], question.id);
    assert_eq!(interrupts[0].data["value"], question.value);
    driver.run.answer(&question.id, json!(true), driver.now).unwrap();
    assert_eq!(driver.complete()["text"], "done");
    assert_eq!(names(&called), ["pay"]);
    assert_eq!(results(&requests(&driver)[1]), ["Lyon"]);
    assert_eq!(requests(&driver).len(), 2, "the model is not asked again");
}

#[test]
fn a_proposal_is_reported_only_once_it_is_durable() {
    let (graph, script, _) = team(vec![asked("pay")], vec![asks(&["pay", "pay"]), says("done")]);
    let mut driver = stored(&graph, script);
    driver.acknowledges = false;
    let mut reported = 0;
    while reported < 2 {
        let effect = driver.step();
        assert_eq!(driver.of_kind(EventKind::Interrupt).len(), reported);
        match effect {
            Effect::Commit(commit) => {
                let asks = matches!(commit.change, CommitChange::Asked(..));
                driver.step();
                assert_eq!(driver.of_kind(EventKind::Interrupt).len(), reported);
                driver.run.committed(commit.id);
                driver.events.extend(driver.run.take_events());
                reported += usize::from(asks);
                assert_eq!(driver.of_kind(EventKind::Interrupt).len(), reported);
            }
            Effect::Wait(_) => assert!(driver.answer_one(), "nothing is under way"),
            _ => {}
        }
    }
    assert_eq!(driver.pauses().len(), 2);
    let numbers: Vec<_> = driver.events.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
}

#[test]
fn a_refusal_is_what_the_model_reads_and_counts_against_nothing() {
    let mut pay = asked("pay");
    pay.spec.max_calls = Some(1);
    let (graph, script, called) =
        team(vec![pay], vec![asks(&["pay"]), asks(&["pay"]), says("done")]);
    let mut driver = driver(&graph, script);
    let first = driver.pauses().remove(0);
    let no = json!({"approve": false, "reason": "too dear"});
    driver.run.answer(&first.id, no, driver.now).unwrap();
    let second = driver.pauses().remove(0);
    assert_ne!(first.id, second.id, "the same call at another place is another question");
    let read = results(&requests(&driver)[1]);
    assert!(read[0].starts_with("error: ") && read[0].ends_with(": too dear"), "{read:?}");
    assert_eq!(driver.run.budget().spent().tool_calls, 0);
    driver.run.answer(&second.id, json!("approve"), driver.now).unwrap();
    assert_eq!(driver.complete()["uses"], json!([["pay", false], ["pay", true]]));
    assert_eq!(names(&called), ["pay"]);
    assert_eq!(driver.run.budget().spent().tool_calls, 1);
    let succeeded: Vec<_> =
        driver.of_kind(EventKind::ToolResult).iter().map(|e| &e.data["ok"]).collect();
    assert_eq!(succeeded, [false, true]);
}

#[test]
fn the_limit_of_calls_counts_those_that_were_approved() {
    let mut pay = asked("pay");
    pay.spec.max_calls = Some(1);
    let replies = vec![asks(&["pay", "pay", "pay"]), asks(&["pay"]), says("done")];
    let (graph, script, called) = team(vec![pay], replies);
    let mut driver = driver(&graph, script);
    let questions = driver.pauses();
    assert_eq!(questions.len(), 3);
    for (question, answer) in questions.iter().zip([json!(false), json!(true), json!(true)]) {
        driver.run.answer(&question.id, answer, driver.now).unwrap();
    }
    assert_eq!(driver.complete()["uses"].as_array().unwrap().len(), 4);
    assert_eq!(names(&called), ["pay"]);
    let read = results(requests(&driver).last().unwrap());
    assert!(read[2].contains("may be called 1 times"), "{read:?}");
    assert!(read[3].contains("may be called 1 times"), "and nobody is asked about it: {read:?}");
}

#[test]
fn a_call_is_made_with_the_arguments_that_a_person_has_changed() {
    let (graph, script, _) = team(vec![asked("pay")], vec![asks(&["pay"]), says("done")]);
    let mut driver = driver(&graph, script);
    let question = driver.pauses().remove(0);
    let other = json!({"approve": true, "args": {"city": "Nice"}});
    driver.run.answer(&question.id, other, driver.now).unwrap();
    driver.complete();
    assert_eq!(invocations(&driver)[0].arguments, json!({"city": "Nice"}));
    assert_eq!(driver.of_kind(EventKind::ToolCall)[0].data["arguments"]["city"], "Nice");
    let read = results(&requests(&driver)[1]);
    assert!(read[0].contains(r#"{"city":"Nice"}"#) && read[0].ends_with("\nNice"), "{read:?}");
}

#[test]
fn an_answer_that_decides_nothing_leaves_the_pause_as_it_is() {
    let (graph, script, called) = team(vec![asked("pay")], vec![asks(&["pay"]), says("done")]);
    let mut driver = driver(&graph, script);
    let question = driver.pauses().remove(0);
    let wrong = [
        json!("yes"),
        json!(1),
        json!(null),
        json!([true]),
        json!({}),
        json!({"approve": "true"}),
        json!({"approve": true, "reason": "why not"}),
        json!({"approve": false, "args": {"city": "Nice"}}),
        json!({"approve": true, "args": {"city": 3}}),
        json!({"approve": true, "args": {}}),
        json!({"approve": true, "args": "Nice"}),
        json!({"approve": false, "reason": 3}),
    ];
    for answer in wrong {
        let refused = driver.run.answer(&question.id, answer.clone(), driver.now).unwrap_err();
        assert_eq!(refused.code, FaultCode::ApprovalInvalid);
        assert!(refused.message.contains("`pay`"), "{refused:?}");
        assert_eq!(driver.pauses(), std::slice::from_ref(&question), "{answer}");
    }
    assert_eq!(driver.of_kind(EventKind::Interrupt).len(), 1);
    assert!(names(&called).is_empty());
    driver.run.answer(&question.id, json!(true), driver.now).unwrap();
    assert_eq!(driver.complete()["text"], "done");
    assert_eq!(
        driver.run.answer(&question.id, json!(true), driver.now).unwrap_err().code,
        "question_unknown"
    );
}

#[test]
fn what_needs_no_approval_is_called_once_beside_it() {
    let pay = needs(Approval::Person, "look", Read);
    let replies = vec![asks(&["look", "see", "look"]), says("done")];
    let (graph, script, called) = team(vec![pay, tool("see", Read)], replies);
    let mut driver = driver(&graph, script);
    let questions = driver.pauses();
    assert_eq!(names(&called), ["see"]);
    assert_eq!(questions.len(), 2);
    driver.run.answer(&questions[1].id, json!(true), driver.now).unwrap();
    let left = driver.pauses();
    assert_eq!(left, [questions[0].clone()], "what was not answered is asked again");
    assert_eq!(names(&called), ["see", "look"]);
    assert_eq!(driver.of_kind(EventKind::Interrupt).len(), 2);
    driver.run.answer(&left[0].id, json!(false), driver.now).unwrap();
    driver.complete();
    assert_eq!(names(&called), ["see", "look"]);
    let ok: Vec<_> =
        results(&requests(&driver)[1]).iter().map(|it| it.starts_with("error")).collect();
    assert_eq!(ok, [true, false, false]);
}

#[test]
fn calls_that_change_something_stay_in_order_around_an_approval() {
    let tools = vec![tool("first", External), asked("pay"), tool("last", External)];
    let (graph, script, called) = team(tools, vec![asks(&["first", "pay", "last"]), says("done")]);
    let mut driver = driver(&graph, script);
    let question = driver.pauses().remove(0);
    assert_eq!(names(&called), ["first"]);
    driver.run.answer(&question.id, json!(true), driver.now).unwrap();
    driver.complete();
    assert_eq!(names(&called), ["first", "pay", "last"]);
}

#[test]
fn arguments_are_validated_before_anybody_is_asked() {
    let wrong = ModelReply { tool_calls: vec![call(0, "pay", r#"{"city": 3.5e"#)], ..reply("") };
    let (graph, script, called) = team(vec![asked("pay")], vec![wrong, says("done")]);
    let mut driver = driver(&graph, script);
    assert_eq!(driver.complete()["uses"], json!([["pay", false]]));
    assert!(names(&called).is_empty());
}

#[test]
fn another_process_takes_a_paused_agent_up_and_nothing_is_done_twice() {
    let tools = vec![tool("first", External), asked("pay")];
    let replies = vec![asks(&["first", "pay"]), asks(&["pay"]), says("done")];
    let (graph, script, called) = team(tools, replies);
    let mut driver = stored(&graph, script.clone());
    let question = driver.pauses().remove(0);
    let recovered = folded(&graph, &driver);
    assert!(recovered.is_paused());
    assert_eq!(recovered.questions(), [&question]);
    let mut asleep = resumed(&graph, script.clone(), recovered.clone(), &[]);
    assert_eq!(asleep.pauses(), std::slice::from_ref(&question));
    assert!(asleep.tasks.is_empty() && asleep.commits.is_empty(), "without an answer it waits");
    let mut other = resumed(&graph, script.clone(), recovered, &[(&question, json!(true))]);
    let second = other.pauses().remove(0);
    assert_eq!(names(&called), ["first", "pay"]);
    assert_eq!(requests(&other).len(), 1, "what the model said is known");
    driver.commits.push(answered(&driver, &question, &json!(true)));
    driver.commits.append(&mut other.commits);
    let recovered = folded(&graph, &driver);
    assert!(recovered.is_paused());
    let mut last = resumed(&graph, script, recovered, &[(&second, json!(false))]);
    assert_eq!(last.complete()["uses"], json!([["first", true], ["pay", true], ["pay", false]]));
    assert_eq!(names(&called), ["first", "pay"]);
}

/// The commit by which a question that is open was answered.
pub(super) fn answered(
    driver: &TestDriver,
    question: &Question<Value>,
    answer: &Value,
) -> Commit<Value> {
    let asked = driver.commits.iter().find_map(|commit| match &commit.change {
        CommitChange::Asked(task, found) if found.id == question.id => {
            let answer = question.encode_answer(answer.clone(), SCHEMAS).unwrap();
            let change = CommitChange::Answered(*task, answer);
            Some(Commit { change, ..commit.clone() })
        }
        _ => None,
    });
    asked.unwrap()
}

#[test]
fn of_several_questions_some_can_be_answered_in_another_process() {
    let (graph, script, called) =
        team(vec![asked("pay")], vec![asks(&["pay", "pay"]), says("done")]);
    let mut driver = stored(&graph, script.clone());
    let questions = driver.pauses();
    assert_eq!(questions.len(), 2);
    let recovered = folded(&graph, &driver);
    let mut other = resumed(&graph, script.clone(), recovered, &[(&questions[0], json!(true))]);
    assert_eq!(other.pauses(), [questions[1].clone()]);
    assert_eq!(names(&called), ["pay"]);
    driver.commits.push(answered(&driver, &questions[0], &json!(true)));
    let between = folded(&graph, &driver);
    assert!(!between.is_paused(), "an agent that was given an answer continues");
    driver.commits.append(&mut other.commits);
    let recovered = folded(&graph, &driver);
    assert!(recovered.is_paused());
    let no = json!({"approve": false, "reason": "once is enough"});
    let mut last = resumed(&graph, script, recovered, &[(&questions[1], no)]);
    assert_eq!(last.complete()["uses"], json!([["pay", true], ["pay", false]]));
    assert_eq!(names(&called), ["pay"]);
}

#[test]
fn a_refused_call_is_not_taken_for_an_equal_one_that_was_made() {
    let replies = vec![asks(&["pay", "pay"]), asks(&["pay"]), says("done")];
    let (graph, script, called) = team(vec![asked("pay")], replies);
    let mut driver = stored(&graph, script.clone());
    let questions = driver.pauses();
    let answers = [(&questions[0], json!(false)), (&questions[1], json!(true))];
    let mut other = resumed(&graph, script.clone(), folded(&graph, &driver), &answers);
    let third = other.pauses().remove(0);
    assert_eq!(names(&called), ["pay"]);
    for (question, answer) in answers {
        driver.commits.push(answered(&driver, question, &answer));
    }
    driver.commits.append(&mut other.commits);
    let recovered = folded(&graph, &driver);
    let mut last = resumed(&graph, script, recovered, &[(&third, json!(false))]);
    let uses = last.complete()["uses"].clone();
    assert_eq!(uses, json!([["pay", false], ["pay", true], ["pay", false]]));
    assert_eq!(names(&called), ["pay"]);
}

#[test]
fn the_time_of_a_person_does_not_count_against_the_agent() {
    let (graph, script, called) = {
        let called = Log::default();
        let seen = Arc::clone(&called);
        let script = script(vec![asks(&["pay"]), says("done")], move |invocation| {
            seen.lock().unwrap().push(invocation.call.name.clone());
            Ok(json!("paid"))
        });
        let timeout = Some(Duration::from_secs(10));
        let mut graph = Graph::builder("agent");
        for key in ["text", "value", "uses", "turns"] {
            graph.channel(key, Reducer::Set);
        }
        graph.add_node(Node {
            name: "agent".into(),
            work: NodeWork::Agent(Arc::new(with(vec![asked("pay")]))),
            policy: NodePolicy { timeout, ..NodePolicy::default() },
        });
        graph.edge(START, "agent");
        (graph.build().unwrap(), script.takes("pay", Duration::from_secs(9)), called)
    };
    let mut driver = driver(&graph, script);
    let question = driver.pauses().remove(0);
    driver.now = BEGIN + Duration::from_hours(24);
    assert_eq!(driver.pauses(), std::slice::from_ref(&question));
    driver.run.answer(&question.id, json!(true), driver.now).unwrap();
    assert_eq!(driver.complete()["text"], "done");
    assert_eq!(names(&called), ["pay"]);
}

#[test]
fn a_run_that_waits_for_approval_can_be_cancelled() {
    let (graph, script, called) = team(vec![asked("pay")], vec![asks(&["pay"]), says("done")]);
    let mut driver = driver(&graph, script);
    driver.pauses();
    driver.run.cancel("enough", driver.now);
    assert!(matches!(driver.go(), End::Done(_)));
    assert!(names(&called).is_empty());
}

#[test]
fn an_answer_is_tied_to_its_call() {
    let schema = json!({"type": "object"});
    let asked = Proposal::new("pay", json!({"euros": 70}), schema.clone());
    let kept = asked.encode_answer(&json!(true), SCHEMAS).unwrap();
    assert_eq!(asked.decode_answer(&kept, SCHEMAS).unwrap(), Decision::Approve);
    for (tool, arguments) in [("pay", json!({"euros": 700})), ("send", json!({"euros": 70}))] {
        let other = Proposal::new(tool, arguments, schema.clone());
        let refused = other.decode_answer(&kept, SCHEMAS).unwrap_err();
        assert_eq!(refused.code, FaultCode::ReplayDiverged);
    }
    for never_kept in [json!(true), json!({"approve": true}), json!(null), json!("approve")] {
        assert!(asked.decode_answer(&never_kept, SCHEMAS).is_err());
    }
    let claimed = json!({"approve": true, "of": {"tool": "pay", "arguments": {"euros": 700}}});
    assert_eq!(asked.encode_answer(&claimed, SCHEMAS).unwrap_err().code, "approval_invalid");
    let no = asked.encode_answer(&json!({"approve": false, "reason": "no"}), SCHEMAS).unwrap();
    assert_eq!(asked.decode_answer(&no, SCHEMAS).unwrap(), Decision::Refuse(Some("no".to_owned())));
    let other =
        asked.encode_answer(&json!({"approve": true, "args": {"euros": 7}}), SCHEMAS).unwrap();
    assert_eq!(
        asked.decode_answer(&other, SCHEMAS).unwrap(),
        Decision::Change(json!({"euros": 7}))
    );
}

/// A host that approves of what `decides` says, and how often it was asked.
fn judged(
    replies: Vec<ModelReply>,
    decides: impl Fn(&str) -> HostVerdict + Send + Sync + 'static,
) -> (Arc<Graph<Value>>, Script, Log) {
    let log = Log::default();
    let seen = Arc::clone(&log);
    let base = script(replies, |invocation| Ok(json!(invocation.call.name)));
    let script = Script::new().node("agent", move |call: &mut Call<'_>| match &call.task.work {
        TaskWork::Approve(invocation) => {
            seen.lock().unwrap().push(format!("judges {}", invocation.call.name));
            TaskOutcome::Decided(decides(&invocation.call.arguments))
        }
        work => {
            if let TaskWork::Tool(invocation) = work {
                seen.lock().unwrap().push(invocation.call.name.clone());
            }
            base.outcome("agent", call)
        }
    });
    let graph = graph(with(vec![needs(Approval::Host, "pay", External)])).build().unwrap();
    (graph, script, log)
}

#[test]
fn a_host_decides_at_once_and_a_refusal_is_known_afterwards() {
    let ask = |city: &str| call(0, "pay", &format!(r#"{{"city": "{city}"}}"#));
    let replies =
        vec![ModelReply { tool_calls: vec![ask("Nice"), ask("Lyon")], ..reply("") }, says("done")];
    let (graph, script, log) = judged(replies, |arguments| {
        if arguments.contains("Lyon") {
            HostVerdict::Approve
        } else {
            HostVerdict::Refuse(Some("not there".to_owned()))
        }
    });
    let mut driver = stored(&graph, script.clone());
    let state = driver.complete();
    assert_eq!(state["uses"], json!([["pay", false], ["pay", true]]));
    assert_eq!(names(&log), ["judges pay", "judges pay", "pay"]);
    assert!(results(&requests(&driver)[1])[0].ends_with(": not there"));
    assert_eq!(driver.run.budget().spent().tool_calls, 1);
    let called = |commit: &Commit<Value>| matches!(&commit.change, CommitChange::Called(_, _, record) if record.call.name == "pay");
    let last = driver.commits.iter().rposition(called).unwrap() + 1;
    for kept in 1..=last {
        let before = names(&log).len();
        let mut lost = stored(&graph, script.clone());
        lost.commits = driver.commits[..kept].to_vec();
        let mut resumed = TestDriver::resume(&graph, script.clone(), folded(&graph, &lost));
        if let End::Done(_) = resumed.go() {
            assert_eq!(resumed.state(), state);
        }
        let mut known: Vec<_> = lost.commits.iter().filter(|commit| called(commit)).collect();
        known.dedup_by_key(|commit| match &commit.change {
            CommitChange::Called(_, _, record) => record.index,
            _ => 0,
        });
        let judged = names(&log)[before..].iter().filter(|it| it.starts_with("judges")).count();
        assert_eq!(judged, 2 - known.len(), "after {kept}");
    }
}

#[test]
fn a_host_that_cannot_decide_fails_the_agent_and_nothing_is_called() {
    let (graph, _, log) = judged(vec![], |_| HostVerdict::Approve);
    let said = script(vec![asks(&["pay"]), says("done")], |_| Ok(json!(1)));
    let script = Script::new().node("agent", move |call: &mut Call<'_>| match &call.task.work {
        TaskWork::Approve(_) => TaskOutcome::failed(crate::support::fault(Category::Policy)),
        _ => said.outcome("agent", call),
    });
    let mut driver = driver(&graph, script);
    assert_eq!(driver.fails().category, Category::Policy);
    assert!(names(&log).is_empty() && invocations(&driver).is_empty());
}
