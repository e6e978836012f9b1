//! Tools that fail, do not exist, take too long or say too much.

use std::sync::Arc;

use antiphon_core::SideEffect::Read;
use antiphon_core::agent::AgentSpec;
use antiphon_core::budget::Limits;
use antiphon_core::channel::Reducer;
use antiphon_core::effect::Effect;
use antiphon_core::event::{EventKind, Level};
use antiphon_core::graph::{Graph, Node, NodePolicy, NodeWork};
use antiphon_core::run::Options;
use antiphon_core::task::{TaskOutcome, TaskWork};
use antiphon_core::{Category, Fault, FaultCode, Jitter, RetryPolicy, Seed};
use serde_json::{Value, json};

use super::model::{
    agent, asks, call, graph, invocations, requests, results, says, script, tool, with,
};
use crate::support::{BEGIN, TestDriver, driver, ms};

/// EN-19 of `docs/engine.md`.
#[test]
fn an_unknown_tool_gives_the_model_an_error_and_counts() {
    let mut driver =
        agent(with(vec![tool("one", Read)]), vec![asks(&["none", "one"]), says("done")]);
    let state = driver.complete();
    assert_eq!(state["uses"], json!([["none", false], ["one", true]]));
    let read = results(&requests(&driver)[1]);
    assert!(read[0].starts_with("error: there is no tool called \"none\""), "{}", read[0]);
    assert!(read[0].ends_with("one"), "it says which there are: {}", read[0]);
    assert_eq!(driver.run.budget().spent().tool_calls, 2);
    let failures = driver.of_kind(EventKind::ToolResult);
    assert_eq!((&*failures[0].name, &failures[0].data["ok"]), ("none", &json!(false)));
    assert_eq!(failures[0].level, Level::Warning);
    let why = failures[0].data["message"].as_str().unwrap();
    assert!(why.starts_with("there is no tool called \"none\""), "the trace says why: {why}");
    assert_eq!(driver.of_kind(EventKind::ToolCall).len(), 2);
}

#[test]
fn arguments_that_do_not_fit_give_the_model_an_error_with_the_place() {
    let mut asked = asks(&["one"]);
    asked.tool_calls[0] = call(0, "one", r#"{"city": ["no", "city"]}"#);
    let mut driver = agent(with(vec![tool("one", Read)]), vec![asked, says("done")]);
    assert_eq!(driver.complete()["uses"], json!([["one", false]]));
    let read = results(&requests(&driver)[1]);
    assert!(read[0].contains("was not called") && read[0].contains("/city"), "{}", read[0]);
    assert!(invocations(&driver).is_empty());
    assert_eq!(driver.run.budget().spent().tool_calls, 1);
    let why = &driver.of_kind(EventKind::ToolResult)[0].data["message"];
    assert!(why.as_str().unwrap().contains("/city"), "the trace says why: {why}");
}

#[test]
fn arguments_that_were_cut_off_call_nothing_even_if_they_can_be_mended() {
    let mut asked = asks(&["one"]);
    asked.finish = antiphon_core::model::FinishReason::Length;
    asked.tool_calls[0] = call(0, "one", r#"{"city": "Ly"#);
    let mut driver = agent(with(vec![tool("one", Read)]), vec![asked, says("done")]);
    assert_eq!(driver.complete()["uses"], json!([["one", false]]));
    assert!(results(&requests(&driver)[1])[0].contains("cut off"));
    assert!(invocations(&driver).is_empty());
}

#[test]
fn a_tool_that_fails_is_read_by_the_model_and_does_not_end_the_agent() {
    let graph = graph(with(vec![tool("one", Read), tool("two", Read)])).build().unwrap();
    let replies = vec![asks(&["one", "two"]), says("done")];
    let mut driver =
        driver(
            &graph,
            script(replies, |invocation| match &*invocation.call.name {
                "one" => Err(Fault::foreign(Category::Tool, "no", "the city does not exist: Lyon")
                    .hint("ask")),
                _ => Ok(json!({"error": "it says so itself"})),
            }),
        );
    assert_eq!(driver.complete()["uses"], json!([["one", false], ["two", false]]));
    let read = results(&requests(&driver)[1]);
    assert_eq!(read[0], "error: the city does not exist: Lyon\nhint: ask");
    assert_eq!(driver.of_kind(EventKind::ToolResult)[0].data["code"], "no");
    assert!(driver.of_kind(EventKind::ToolResult).iter().all(|event| event.data["ok"] == false));
    let why = &driver.of_kind(EventKind::ToolResult)[1].data["message"];
    assert!(why.as_str().unwrap().contains("it says so itself"), "the trace says why: {why}");
}

#[test]
fn a_tool_may_be_called_only_so_often() {
    let mut limited = tool("one", Read);
    limited.spec.max_calls = Some(2);
    let replies = vec![asks(&["one", "one"]), asks(&["one"]), says("done")];
    let mut driver = agent(with(vec![limited]), replies);
    let uses = json!([["one", true], ["one", true], ["one", false]]);
    assert_eq!(driver.complete()["uses"], uses);
    assert!(results(&requests(&driver)[2])[2].contains("may be called 2 times"));
}

#[test]
fn a_spent_tool_budget_of_the_agent_leads_to_a_closing_turn_without_tools() {
    let spec = AgentSpec { max_tool_calls: 2, ..with(vec![tool("one", Read)]) };
    let mut driver = agent(spec, vec![asks(&["one", "one", "one"]), says("done")]);
    let state = driver.complete();
    assert_eq!(state["uses"], json!([["one", true], ["one", true], ["one", false]]));
    let asked = requests(&driver);
    assert_eq!((asked.len(), asked[1].tools.len()), (2, 0));
    assert!(results(&asked[1])[2].contains("no tool calls are left"));
    assert_eq!(driver.run.budget().spent().tool_calls, 2, "one beyond the limit is not counted");
}

#[test]
fn a_model_that_calls_tools_although_none_are_left_has_reached_their_limit() {
    let spec = AgentSpec { max_tool_calls: 1, ..with(vec![tool("one", Read)]) };
    let mut driver = agent(spec, vec![asks(&["one"])]);
    let fault = driver.fails();
    assert_eq!(
        (&fault.code, fault.category),
        (&FaultCode::ToolCallsExhausted, Category::ModelOutput)
    );
    assert!(fault.message.ends_with("without an answer: 1"), "{}", fault.message);

    let graph = graph(with(vec![tool("one", Read)])).build().unwrap();
    let limits = Limits { tool_calls: Some(1), ..Limits::default() };
    let script = script(vec![asks(&["one"])], |_| Ok(json!("found")));
    let fault = TestDriver::new(&graph, script, json!({}), limits).fails();
    assert_eq!(fault.code, FaultCode::ToolCallsExhausted);
    assert_eq!(fault.details["dimension"], "tool_calls");
}

#[test]
fn a_spent_tool_budget_of_the_run_lets_the_agent_conclude() {
    let graph = graph(with(vec![tool("one", Read), tool("two", Read)])).build().unwrap();
    let replies = vec![asks(&["one", "two"]), says("with what I know")];
    let limits = Limits { tool_calls: Some(1), ..Limits::default() };
    let script = script(replies, |_| Ok(json!("found")));
    let mut driver = TestDriver::new(&graph, script, json!({}), limits);
    let state = driver.complete();
    assert_eq!((&state["text"], &state["turns"]), (&json!("with what I know"), &json!(2)));
    assert_eq!(state["uses"], json!([["one", true], ["two", false]]));
    assert!(requests(&driver)[1].tools.is_empty());
    assert_eq!(driver.run.budget().spent().tool_calls, 1);
}

#[test]
fn a_tool_that_takes_too_long_is_an_error_that_the_model_reads() {
    let mut slow = tool("one", Read);
    slow.spec.timeout = Some(ms(100));
    let replies = vec![asks(&["one", "two"]), says("done")];
    let graph = graph(with(vec![slow, tool("two", Read)])).build().unwrap();
    let script = script(replies, |_| Ok(json!("found"))).never_ends("one");
    let mut driver = driver(&graph, script);
    let state = driver.complete();
    assert_eq!(state["uses"], json!([["one", false], ["two", true]]));
    assert_eq!(driver.now, BEGIN + ms(100));
    let (stuck, events) = (driver.cancelled[0], driver.of_kind(EventKind::ToolResult));
    assert_eq!(events[1].data["code"], "tool_timeout");
    assert_eq!(
        results(&requests(&driver)[1])[0],
        "error: tool `one` exceeded its time-out in seconds: 0.1"
    );
    let late = TaskOutcome::Returned(Ok(json!("late")));
    assert!(!driver.run.resolve(stuck, late, driver.now));
}

#[test]
fn the_time_of_a_tool_that_waits_for_its_turn_does_not_run() {
    let mut slow = tool("one", Read);
    slow.spec.timeout = Some(ms(100));
    let graph = graph(with(vec![slow])).build().unwrap();
    let replies = vec![asks(&["one", "one", "one"]), says("done")];
    let script = script(replies, |_| Ok(json!("found"))).takes("one", ms(80));
    let options = Options { max_concurrency: Some(1), ..crate::support::options() };
    let mut driver = TestDriver::with(&graph, script, json!({}), options);
    assert_eq!(driver.complete()["uses"], json!([["one", true], ["one", true], ["one", true]]));
    assert_eq!(driver.now, BEGIN + ms(240));
}

/// EN-10 of `docs/engine.md`.
#[test]
fn a_tool_gets_the_soonest_deadline_of_all_that_is_around_it() {
    let mut slow = tool("one", Read);
    slow.spec.timeout = Some(ms(10_000));
    let mut outer = crate::support::nested("sub", graph(with(vec![slow])).build().unwrap());
    outer.policy.timeout = Some(ms(700));
    let mut around = crate::support::chain(&[]);
    around.add_node(outer);
    around.edge(antiphon_core::graph::START, "sub");
    let script = script(vec![asks(&["one"]), says("done")], |_| Ok(Value::Null));
    let mut driver = driver(&around.build().unwrap(), script);
    driver.complete();
    assert_eq!(invocations(&driver).len(), 1);
    assert!(driver.tasks.iter().all(|task| task.deadline == Some(BEGIN + ms(700))));
}

#[test]
fn a_long_result_is_cut_and_marked() {
    let mut short = tool("one", Read);
    short.spec.max_result = 4;
    let graph = graph(with(vec![short])).build().unwrap();
    let script = script(vec![asks(&["one"]), says("done")], |_| Ok(json!("ééééé")));
    let mut driver = driver(&graph, script);
    driver.complete();
    assert_eq!(results(&requests(&driver)[1]), ["éééé\n[truncated: 1 of 5 characters were cut]"]);
    assert_eq!(driver.of_kind(EventKind::ToolResult)[0].data["truncated"], true);
}

#[test]
fn a_result_of_parts_is_read_as_parts_and_only_its_texts_are_shortened() {
    let mut short = tool("one", Read);
    short.spec.max_result = 12;
    let graph = graph(with(vec![short])).build().unwrap();
    let image = json!({"type": "image", "mime_type": "image/png", "base64": "A".repeat(50)});
    let text = |text: &str| json!({"type": "text", "text": text});
    let parts = json!([text("a plot"), image, text("of the prices"), text("x")]);
    let script =
        script(vec![asks(&["one"]), says("done")], move |_| Ok(json!({"content": parts.clone()})));
    let mut driver = driver(&graph, script);
    driver.complete();
    let messages = &requests(&driver)[1].messages;
    let cut = text("of the\n[truncated: 7 of 13 characters were cut]");
    assert_eq!(json!(messages.last().unwrap().content), json!([text("a plot"), image, cut]));
}

/// The keys of all calls of a run that asks for the same thing twice.
fn keys(seed: u64, city: &str) -> Vec<String> {
    let mut asked = asks(&["one"]);
    asked.tool_calls[0].arguments = json!({"city": city}).to_string();
    let graph = graph(with(vec![tool("one", Read)])).build().unwrap();
    let options = Options { seed: Seed::new(seed), ..crate::support::options() };
    let script = script(vec![asked.clone(), asked, says("done")], |_| Ok(Value::Null));
    let mut driver = TestDriver::with(&graph, script, json!({}), options);
    driver.complete();
    invocations(&driver).into_iter().map(|called| called.idempotency_key).collect()
}

#[test]
fn a_key_belongs_to_one_call_and_to_no_other() {
    let of = keys(1, "Lyon");
    assert_eq!(of, keys(1, "Lyon"));
    assert_ne!(of[0], of[1], "two calls of one conversation");
    assert_ne!(of[0], keys(2, "Lyon")[0], "two runs");
    assert_ne!(of[0], keys(1, "Paris")[0], "other arguments");
}

/// The keys of all requests of a run that calls a tool twice, whose results are `result`.
fn model_keys(result: &'static str) -> Vec<String> {
    let graph = graph(with(vec![tool("one", Read)])).build().unwrap();
    let replies = vec![asks(&["one"]), asks(&["one"]), says("done")];
    let mut driver = driver(&graph, script(replies, move |_| Ok(json!(result))));
    let mut keys = Vec::new();
    while !matches!(driver.step(), Effect::Done(_)) {
        let asked =
            driver.pending.iter().filter(|(task, _)| matches!(task.work, TaskWork::Model(_)));
        keys.extend(asked.map(|(task, _)| driver.run.model_key(task.id)));
        while driver.answer_one() {}
    }
    keys
}

#[test]
fn a_key_of_a_request_depends_on_all_that_its_messages_say() {
    let keys = model_keys("sunny");
    // As in earlier versions, so that a resumed run repeats them.
    assert_eq!(keys[0], "b27b2af35b2afee6051ee1d2693b322b");
    assert_eq!(keys[2], "943f9c8ec9898be2098dff95e5fe7041");
    assert_eq!(keys.len(), 3);
    assert_eq!(keys, model_keys("sunny"));
    let others = model_keys("rainy");
    assert_eq!(keys[0], others[0]);
    assert_ne!(keys[1], others[1]);
    assert_ne!(keys[2], others[2]);
    assert_ne!(keys[1], keys[2]);
}

#[test]
fn an_agent_that_is_tried_again_repeats_a_call_with_the_same_key() {
    let mut graph = Graph::builder("again");
    let retry = Some(RetryPolicy { jitter: Jitter::None, ..RetryPolicy::default() });
    for key in ["text", "value", "uses", "turns"] {
        graph.channel(key, Reducer::Set);
    }
    graph.add_node(Node {
        name: "agent".into(),
        work: NodeWork::Agent(Arc::new(with(vec![tool("one", Read)]))),
        policy: NodePolicy { retry, ..NodePolicy::default() },
    });
    graph.edge(antiphon_core::graph::START, "agent");
    let graph = graph.build().unwrap();
    let mut driver =
        driver(&graph, script(vec![asks(&["one"]), says("done")], |_| Ok(Value::Null)));
    while requests(&driver).len() < 2 {
        driver.step();
        if requests(&driver).len() < 2 {
            driver.answer_one();
        }
    }
    let second = driver.pending.remove(0).0.id;
    let lost = TaskOutcome::failed(crate::support::fault(Category::ModelTransport));
    assert!(driver.run.resolve(second, lost, driver.now));
    driver.complete();
    let keys: Vec<_> = invocations(&driver).into_iter().map(|call| call.idempotency_key).collect();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0], keys[1]);
    assert_eq!(driver.of_kind(EventKind::Retry).len(), 1);
}
