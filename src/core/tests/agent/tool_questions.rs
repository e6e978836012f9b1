//! Tools of agents that ask a person before they return.

use std::sync::{Arc, Mutex};

use antiphon_core::SideEffect::{External, Read};
use antiphon_core::agent::AgentTool;
use antiphon_core::approval::Approval;
use antiphon_core::budget::Limits;
use antiphon_core::channel::Reducer;
use antiphon_core::checkpoint::RecoveredRun;
use antiphon_core::event::EventKind;
use antiphon_core::graph::{Graph, Node, NodePolicy, NodeWork, START};
use antiphon_core::model::ModelReply;
use antiphon_core::run::{Options, Run};
use antiphon_core::task::{TaskOutcome, TaskWork};
use antiphon_core::{Category, Jitter, RetryPolicy};
use serde_json::{Value, json};

use super::approvals::{answer, folded, needs, resumed, stored};
use super::model::{asks, graph, invocations, requests, results, says, script, tool, with};
use crate::support::{BEGIN, Call, Script, TestDriver, driver, fault, options};

/// The tools that were called, each with the answers that it found.
type Calls = Arc<Mutex<Vec<(String, Vec<Value>)>>>;

/// Its tools ask as many questions as `wanted` says, and return the answers.
fn asking_agent(
    tools: Vec<AgentTool>,
    replies: Vec<ModelReply>,
    wanted: fn(&str) -> usize,
) -> (Arc<Graph<Value>>, Script, Calls) {
    let calls = Calls::default();
    let seen = Arc::clone(&calls);
    let rest = script(replies, |_| Ok(Value::Null));
    let asking = Script::new().node("agent", move |call: &mut Call<'_>| {
        let TaskWork::Tool(invocation) = &call.task.work else {
            return rest.outcome("agent", call);
        };
        let (name, answers) = (invocation.call.name.clone(), call.answers());
        seen.lock().unwrap().push((name.clone(), answers.clone()));
        if answers.len() < wanted(&name) {
            return TaskOutcome::Ask(json!([name, answers.len()]));
        }
        TaskOutcome::Returned(Ok(json!({"of": invocation.arguments["city"], "answers": answers})))
    });
    (graph(with(tools)).build().unwrap(), asking, calls)
}

fn made(calls: &Calls) -> Vec<(String, Vec<Value>)> {
    calls.lock().unwrap().clone()
}

fn once(_: &str) -> usize {
    1
}

#[test]
fn the_call_is_made_again_with_the_answer_and_counts_once() {
    let (graph, script, calls) =
        asking_agent(vec![tool("book", External)], vec![asks(&["book"]), says("done")], once);
    let mut driver = driver(&graph, script);
    let questions = driver.pauses();
    let [question] = questions.as_slice() else { panic!("{questions:?}") };
    assert_eq!((&question.value, &question.path), (&json!(["book", 0]), &vec!["agent".to_owned()]));
    driver.run.answer(&question.id, json!("a window"), driver.now).unwrap();
    assert_eq!(driver.complete()["text"], "done");
    assert_eq!(
        made(&calls),
        [("book".to_owned(), vec![]), ("book".to_owned(), vec![json!("a window")])]
    );
    let read = results(&requests(&driver)[1]);
    assert_eq!(read, [r#"{"of":"Lyon","answers":["a window"]}"#]);
    assert_eq!(driver.run.budget().spent().tool_calls, 1);
    let invocations = invocations(&driver);
    assert_eq!(invocations[0], invocations[1], "with the same arguments and key");
    let of = |kind| driver.of_kind(kind).len();
    let events = [EventKind::ToolCall, EventKind::Interrupt, EventKind::ToolResult].map(of);
    assert_eq!(events, [1, 1, 1]);
}

#[test]
fn several_questions_of_a_call_are_answered_in_order() {
    let (graph, script, calls) =
        asking_agent(vec![tool("book", Read)], vec![asks(&["book"]), says("done")], |_| 3);
    let mut driver = driver(&graph, script);
    for nth in 0..3 {
        let questions = driver.pauses();
        assert_eq!(questions.len(), 1);
        assert_eq!(questions[0].value, json!(["book", nth]));
        driver.run.answer(&questions[0].id, json!(nth * 10), driver.now).unwrap();
    }
    driver.complete();
    assert_eq!(made(&calls).last().unwrap().1, [json!(0), json!(10), json!(20)]);
    assert_eq!(driver.run.budget().spent().tool_calls, 1);
}

#[test]
fn questions_of_one_turn_are_asked_together_and_only_answered_calls_are_made_again() {
    let tools = vec![tool("one", Read), tool("two", Read), tool("quick", Read)];
    let turns = vec![asks(&["one", "quick", "two"]), says("done")];
    let (graph, script, calls) = asking_agent(tools, turns, |name| usize::from(name != "quick"));
    let mut driver = driver(&graph, script);
    let questions = driver.pauses();
    let values: Vec<_> = questions.iter().map(|question| question.value.clone()).collect();
    assert_eq!(values, [json!(["one", 0]), json!(["two", 0])]);
    driver.run.answer(&questions[1].id, json!("second"), driver.now).unwrap();
    let left = driver.pauses();
    assert_eq!(left, questions[..1]);
    driver.run.answer(&left[0].id, json!("first"), driver.now).unwrap();
    driver.complete();
    let names: Vec<_> = made(&calls).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["one", "quick", "two", "two", "one"]);
}

#[test]
fn calls_with_equal_arguments_ask_separately() {
    let turns = vec![asks(&["one", "one"]), asks(&["one"]), says("done")];
    let (graph, script, calls) = asking_agent(vec![tool("one", Read)], turns, once);
    let mut driver = driver(&graph, script);
    let questions = driver.pauses();
    assert_eq!(questions.len(), 2);
    for (question, answer) in questions.iter().zip(["first", "second"]) {
        driver.run.answer(&question.id, json!(answer), driver.now).unwrap();
    }
    let again = driver.pauses();
    assert!(!questions.iter().any(|known| known.id == again[0].id));
    driver.run.answer(&again[0].id, json!("third"), driver.now).unwrap();
    driver.complete();
    let read = results(requests(&driver).last().unwrap());
    for (read, answer) in read.iter().zip(["first", "second", "third"]) {
        assert!(read.contains(answer), "{read}");
    }
    assert_eq!(made(&calls).len(), 6);
}

#[test]
fn a_call_with_side_effects_waits_for_the_answer_of_one_before_it() {
    let tools = vec![tool("one", External), tool("two", External)];
    let turns = vec![asks(&["one", "two"]), says("done")];
    let (graph, script, calls) = asking_agent(tools, turns, |name| usize::from(name == "one"));
    let mut driver = driver(&graph, script);
    let questions = driver.pauses();
    assert_eq!(made(&calls).len(), 1);
    driver.run.answer(&questions[0].id, json!("yes"), driver.now).unwrap();
    driver.complete();
    let names: Vec<_> = made(&calls).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["one", "one", "two"]);
}

#[test]
fn another_process_continues_with_the_answer() {
    for side_effect in [Read, External] {
        let turns = || vec![asks(&["book"]), says("done")];
        let (graph, script, _) = asking_agent(vec![tool("book", side_effect)], turns(), |_| 2);
        let mut driver = stored(&graph, script);
        let questions = driver.pauses();
        let (_, script, calls) = asking_agent(vec![tool("book", side_effect)], turns(), |_| 2);
        let recovered = folded(&graph, &driver);
        assert!(recovered.is_paused());
        let mut later = resumed(&graph, script, recovered, &[(&questions[0], json!("one"))]);
        let second = later.pauses();
        assert_eq!(second[0].value, json!(["book", 1]));
        assert_eq!(made(&calls), [("book".to_owned(), vec![json!("one")])]);
        later.run.answer(&second[0].id, json!("two"), later.now).unwrap();
        assert_eq!(later.complete()["text"], "done");
        assert_eq!(made(&calls).last().unwrap().1, [json!("one"), json!("two")]);
        assert_eq!(later.run.budget().spent().tool_calls, 1);
        assert_eq!(later.run.budget().spent().model_calls, 2, "no reply is asked for twice");
    }
}

/// Only calls without side effects can wait at once.
#[test]
fn another_process_does_not_repeat_a_call_that_still_waits() {
    let tools = || vec![tool("one", Read), tool("two", Read)];
    let turns = || vec![asks(&["one", "two"]), says("done")];
    let (graph, script, _) = asking_agent(tools(), turns(), once);
    let mut driver = stored(&graph, script);
    let questions = driver.pauses();
    let (_, script, calls) = asking_agent(tools(), turns(), once);
    let recovered = folded(&graph, &driver);
    let mut later = resumed(&graph, script, recovered, &[(&questions[1], json!("second"))]);
    assert_eq!(later.pauses(), questions[..1], "it keeps its id");
    assert_eq!(made(&calls), [("two".to_owned(), vec![json!("second")])]);
    let shown = later.of_kind(EventKind::Interrupt);
    assert_eq!(shown.len(), 1, "it is shown again, as another process may watch");
    later.run.answer(&questions[0].id, json!("first"), later.now).unwrap();
    later.complete();
    assert_eq!(made(&calls).last().unwrap(), &("one".to_owned(), vec![json!("first")]));
    assert_eq!(made(&calls).len(), 2);
    assert_eq!(later.run.budget().spent().tool_calls, 2);
    let read = results(&requests(&later)[0]);
    assert!(read[0].contains("first") && read[1].contains("second"), "{read:?}");
}

#[test]
fn of_equal_calls_each_keeps_its_answer_in_another_process() {
    for side_effect in [Read, External] {
        let turns = || vec![asks(&["one", "one"]), says("done")];
        let (graph, script, _) = asking_agent(vec![tool("one", side_effect)], turns(), once);
        let mut recovered = RecoveredRun::new(&graph);
        let mut driver = stored(&graph, script);
        for given in ["given first", "given last"] {
            // Both ask at once if the tool has no side effects; the last one is answered first.
            let questions = driver.pauses();
            let question = questions.last().unwrap();
            let (_, script, _) = asking_agent(vec![tool("one", side_effect)], turns(), once);
            for commit in std::mem::take(&mut driver.commits) {
                recovered.fold(&graph, commit).unwrap();
            }
            answer(&graph, &mut recovered, &[(question, json!(given))]);
            driver = TestDriver::resume(&graph, script, recovered.clone());
        }
        driver.complete();
        let read = results(&requests(&driver)[0]);
        let order = if side_effect == Read { ["last", "first"] } else { ["first", "last"] };
        for (read, order) in read.iter().zip(order) {
            assert!(read.contains(&format!("given {order}")), "{side_effect:?}: {read}");
        }
    }
}

#[test]
fn a_budget_counts_a_call_that_waits_once_however_often_its_run_is_resumed() {
    let tools = || vec![tool("one", Read), tool("two", Read)];
    let turns = || vec![asks(&["one", "none", "two"]), says("done")];
    let (graph, script, _) = asking_agent(tools(), turns(), once);
    let limits = Limits { tool_calls: Some(3), ..Limits::default() };
    let limited = || Options { commits: true, limits: limits.clone(), ..options() };
    let mut driver = TestDriver::with(&graph, script, json!({}), limited());
    let questions = driver.pauses();
    assert_eq!((questions.len(), driver.run.budget().spent().tool_calls), (2, 3));
    let (_, script, calls) = asking_agent(tools(), turns(), once);
    let mut recovered = folded(&graph, &driver);
    answer(&graph, &mut recovered, &[(&questions[1], json!("second"))]);
    let run = Run::resume(graph, recovered, limited(), BEGIN);
    let mut later = TestDriver::of(run, script);
    assert_eq!(later.pauses(), questions[..1]);
    later.run.answer(&questions[0].id, json!("first"), later.now).unwrap();
    assert_eq!(later.complete()["uses"], json!([["one", true], ["none", false], ["two", true]]));
    assert_eq!(later.run.budget().spent().tool_calls, 3);
    assert_eq!(made(&calls).len(), 2);
    let last = requests(&later).pop().unwrap();
    assert!(results(&last)[1].starts_with("error: there is no tool"), "{:?}", results(&last));
    assert_eq!(last.tools.len(), 2, "the agent has not been told to conclude");
}

#[test]
fn another_attempt_of_the_agent_asks_under_another_id() {
    let turns = vec![asks(&["book"]), says("done")];
    let (_, asking, _) = asking_agent(vec![tool("book", Read)], turns, once);
    let mut graph = Graph::builder("again");
    for key in ["text", "value", "uses", "turns"] {
        graph.channel(key, Reducer::Set);
    }
    let retry = Some(RetryPolicy { jitter: Jitter::None, ..RetryPolicy::default() });
    graph.add_node(Node {
        name: "agent".into(),
        work: NodeWork::Agent(Arc::new(with(vec![tool("book", Read)]))),
        policy: NodePolicy { retry, ..NodePolicy::default() },
    });
    graph.edge(START, "agent");
    let graph = graph.build().unwrap();
    let fails = Arc::new(Mutex::new(1));
    let script = Script::new().node("agent", move |call: &mut Call<'_>| {
        let is_second =
            matches!(&call.task.work, TaskWork::Model(request) if request.messages.len() > 2);
        if is_second && std::mem::take(&mut *fails.lock().unwrap()) == 1 {
            return TaskOutcome::failed(fault(Category::ModelTransport));
        }
        asking.outcome("agent", call)
    });
    let mut driver = driver(&graph, script);
    let first = driver.pauses();
    driver.run.answer(&first[0].id, json!("yes"), driver.now).unwrap();
    let second = driver.pauses();
    assert_ne!(first[0].id, second[0].id);
    assert!(driver.run.answer(&first[0].id, json!("yes"), driver.now).is_err());
    driver.run.answer(&second[0].id, json!("yes"), driver.now).unwrap();
    driver.complete();
}

#[test]
fn a_call_is_approved_once_although_its_tool_asks() {
    let tools = vec![needs(Approval::Person, "pay", External)];
    let (graph, script, calls) = asking_agent(tools, vec![asks(&["pay"]), says("done")], once);
    let mut driver = driver(&graph, script);
    let proposal = driver.pauses();
    assert_eq!(proposal[0].value["type"], "antiphon.approval");
    let change = json!({"approve": true, "args": {"city": "Rome"}});
    driver.run.answer(&proposal[0].id, change, driver.now).unwrap();
    let question = driver.pauses();
    assert_eq!(question[0].value, json!(["pay", 0]));
    driver.run.answer(&question[0].id, json!("yes"), driver.now).unwrap();
    driver.complete();
    assert_eq!(made(&calls).len(), 2);
    let read = results(&requests(&driver)[1]);
    assert!(read[0].contains(r#""of":"Rome""#), "the changed arguments stay: {}", read[0]);
}

#[test]
fn a_tool_that_may_be_called_once_may_ask() {
    let mut limited = tool("book", Read);
    limited.spec.max_calls = Some(1);
    let turns = vec![asks(&["book"]), says("done")];
    let (graph, script, _) = asking_agent(vec![limited], turns, once);
    let mut driver = driver(&graph, script);
    let question = driver.pauses();
    driver.run.answer(&question[0].id, json!("yes"), driver.now).unwrap();
    assert_eq!(driver.complete()["uses"], json!([["book", true]]));
}

#[test]
fn a_model_that_asks_ends_the_run() {
    let graph = graph(with(vec![])).build().unwrap();
    let rest = script(vec![says("done")], |_| Ok(Value::Null));
    let script = Script::new().node("agent", move |call: &mut Call<'_>| match &call.task.work {
        TaskWork::Model(_) => TaskOutcome::Ask(json!("why?")),
        _ => rest.outcome("agent", call),
    });
    assert_eq!(driver(&graph, script).fails().code, "question_misplaced");
}

#[test]
fn a_run_within_a_tool_that_asks_ends_the_run() {
    let turns = vec![asks(&["outer"]), says("done")];
    let graph = graph(with(vec![tool("outer", Read)])).build().unwrap();
    let rest = script(turns, |_| Ok(Value::Null));
    let script = Script::new().node("agent", move |call: &mut Call<'_>| match &call.task.work {
        TaskWork::Tool(_) => TaskOutcome::Relay("id".into(), json!("why?")),
        _ => rest.outcome("agent", call),
    });
    assert_eq!(driver(&graph, script).fails().code, "question_misplaced");
}
