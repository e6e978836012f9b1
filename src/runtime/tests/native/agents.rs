//! Agent loops with a scripted model.

use std::sync::{Arc, Mutex};

use antiphon_core::Role;
use antiphon_core::agent::AgentSpec;
use antiphon_core::channel::Write;
use antiphon_core::command::{Destination, Route, Send, Update};
use antiphon_core::effect::Ending;
use antiphon_core::event::EventKind::{
    self, ModelCall, ModelReply, NodeFinished, NodeStarted, ToolCall, ToolResult,
};
use antiphon_core::graph::{END, NodePolicy, START};
use antiphon_core::run::{Options, Run};
use antiphon_core::task::TaskOutcome;
use antiphon_runtime::{Clock, DriveOutcome, Driver};
use serde_json::json;

use crate::support::script::{Script, calls, says};
use crate::support::tools::{declared, guarded, tool};
use crate::support::{TestHost, agent, clock, graph, held, in_virtual_time, ms, run, wrote};

#[tokio::test]
async fn an_agent_asks_its_tools_and_concludes() {
    let clock = clock();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&seen);
    let table = tool("population", None, move |arguments, cx| {
        keep.lock().unwrap().push((arguments, cx.idempotency_key));
        async { Ok(json!(520_000)) }
    });
    let mut graph = graph();
    let spec = AgentSpec { tools: vec![declared(&table)], ..AgentSpec::default() };
    agent(&mut graph, "geographer", spec, NodePolicy::default());
    graph.edge(START, "geographer").edge("geographer", END);
    let graph = graph.build().unwrap();
    let script = Script::new([calls("population", r#"{"city": "Lyon"}"#), says("half a million")]);
    let host = TestHost::default().model(script.clone()).tool("population", table);
    let question = Write::merge(graph.channel_id("question").unwrap(), json!("How many?"));
    let options = Options { events: true, ..Options::default() };
    let mut run = Run::new(graph, vec![question], options, clock.now());
    let rest = Driver::new(Arc::new(host), clock).run(&mut run).await;
    assert_eq!(rest, Ok(DriveOutcome::Ended(Ending::Completed)));
    assert_eq!(held(&run, "answer"), json!("half a million"));
    let asked = script.asked.lock().unwrap();
    assert_eq!(asked[0].messages[0].content, "How many?");
    assert_eq!(asked[1].messages.last().unwrap().content, "520000");
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0].0, json!({"city": "Lyon"}));
    assert_eq!(seen[0].1.as_ref().unwrap().len(), 32);
    assert_eq!(run.budget().spent().model_calls, 2);
    assert_eq!(run.budget().spent().usage.output_tokens, 4);
    let events = run.take_events();
    let of_agent: Vec<_> = events
        .iter()
        .filter(|event| event.path.len() == 1 && event.kind != EventKind::EdgeTaken)
        .map(|event| event.kind)
        .collect();
    let expected = [
        NodeStarted,
        ModelCall,
        ModelReply,
        ToolCall,
        ToolResult,
        ModelCall,
        ModelReply,
        NodeFinished,
    ];
    assert_eq!(of_agent, expected);
}

/// EN-19 of `docs/engine.md`.
#[tokio::test]
async fn an_unknown_tool_is_an_error_result_and_counts() {
    let clock = clock();
    let known = tool("population", None, |_, _| async { Ok(json!(1)) });
    let tools = vec![declared(&known)];
    let mut graph = graph();
    let spec = AgentSpec { tools, max_tool_calls: 1, ..AgentSpec::default() };
    agent(&mut graph, "a", spec, NodePolicy::default());
    graph.edge(START, "a").edge("a", END);
    let graph = graph.build().unwrap();
    let script = Script::new([calls("weather", "{}"), says("I do not know")]);
    let host = TestHost::default().model(script.clone()).tool("population", known);
    let mut run = run(&graph, &clock);
    let rest = Driver::new(Arc::new(host), clock).run(&mut run).await;
    assert_eq!(rest, Ok(DriveOutcome::Ended(Ending::Completed)));
    assert_eq!(held(&run, "answer"), json!("I do not know"));
    let asked = script.asked.lock().unwrap();
    let message = asked[1].messages.last().unwrap();
    assert_eq!(message.role, Role::Tool);
    assert!(message.content.text().contains("weather"), "{}", message.content);
    // The one call it may make is spent, so that it has to conclude.
    assert_eq!((asked[0].tools.len(), asked[1].tools.len()), (1, 0));
}

#[tokio::test]
async fn a_tool_decides_about_its_calls_before_they_are_made() {
    let clock = clock();
    let visit = guarded("visit");
    let mut graph = graph();
    let spec = AgentSpec { tools: vec![declared(&visit)], ..AgentSpec::default() };
    agent(&mut graph, "a", spec, NodePolicy::default());
    graph.edge(START, "a").edge("a", END);
    let graph = graph.build().unwrap();
    let mut both = calls("visit", r#"{"city": "Nice"}"#);
    both.tool_calls.extend(calls("visit", r#"{"city": "Lyon"}"#).tool_calls);
    let script = Script::new([both, says("done")]);
    let host = TestHost::default().model(script.clone()).tool("visit", visit);
    let mut run = run(&graph, &clock);
    let rest = Driver::new(Arc::new(host), clock).run(&mut run).await;
    assert_eq!(rest, Ok(DriveOutcome::Ended(Ending::Completed)));
    let asked = script.asked.lock().unwrap();
    let results: Vec<_> = asked[1].messages.iter().filter(|m| m.role == Role::Tool).collect();
    assert!(results[0].content.text().ends_with(": only Lyon"), "{}", results[0].content);
    assert_eq!(results[1].content, "Lyon");
    assert_eq!(run.budget().spent().tool_calls, 1);
}

#[tokio::test]
async fn a_node_that_calls_a_tool_by_itself_hears_that_it_is_not_approved() {
    let clock = clock();
    let mut graph = graph();
    graph.node("own");
    graph.edge(START, "own").edge("own", END);
    let graph = graph.build().unwrap();
    let host = TestHost::default().node("own", |call| async move {
        let visit = guarded("visit");
        let refused = call.invoke(&*visit, json!({"city": "Nice"})).await.unwrap_err();
        let made = call.invoke(&*visit, json!({"city": "Lyon"})).await.unwrap();
        wrote(&call, "log", json!([refused.code, refused.details["reason"], made]))
    });
    let mut run = run(&graph, &clock);
    Driver::new(Arc::new(host), clock).run(&mut run).await.unwrap();
    assert_eq!(held(&run, "log"), json!([["tool_refused", "only Lyon", "Lyon"]]));
    assert_eq!(run.budget().spent().tool_calls, 1, "what was refused was never begun");
}

#[tokio::test]
async fn tools_that_only_look_run_at_once_and_answer_in_the_order_asked() {
    let clock = clock();
    let slow = tool("slow", None, |_, cx| async move {
        cx.clock.sleep(ms(500)).await;
        Ok(json!("slow"))
    });
    let fast = tool("fast", None, |_, cx| async move {
        cx.clock.sleep(ms(200)).await;
        Ok(json!("fast"))
    });
    let mut both = calls("slow", "{}");
    both.tool_calls.extend(calls("fast", "{}").tool_calls);
    both.tool_calls[1].id = "c2".into();
    let mut graph = graph();
    let tools = vec![declared(&slow), declared(&fast)];
    agent(&mut graph, "a", AgentSpec { tools, ..AgentSpec::default() }, NodePolicy::default());
    graph.edge(START, "a").edge("a", END);
    let graph = graph.build().unwrap();
    let script = Script::new([both, says("done")]);
    let host = TestHost::default().model(script.clone()).tool("slow", slow).tool("fast", fast);
    let (mut run, start) = (run(&graph, &clock), clock.now());
    let driver = Driver::new(Arc::new(host), clock.clone());
    in_virtual_time(&clock, driver.run(&mut run)).await.unwrap();
    assert_eq!(clock.now().since(start), ms(500));
    let asked = script.asked.lock().unwrap();
    let results: Vec<_> = asked[1].messages.iter().filter(|m| m.role == Role::Tool).collect();
    assert_eq!(results[0].content, "slow");
    assert_eq!(results[1].content, "fast");
}

#[tokio::test]
async fn an_agent_of_a_fan_out_keeps_what_was_sent_to_it() {
    let clock = clock();
    let mut graph = graph();
    graph.node("plan");
    graph.node("own");
    graph.edge(START, "plan");
    let graph = graph.build().unwrap();
    let host = TestHost::default()
        .node("plan", |_| async {
            let send = |number| {
                Destination::Send(Send {
                    node: "own".into(),
                    input: json!(number),
                    timeout: None,
                    limit: None,
                })
            };
            let route = Route::Only((0..3).map(send).collect());
            TaskOutcome::Done(Update { route, ..Update::default() })
        })
        .node("own", |call| async move {
            let path = call.path.join("/");
            let sent = call.sent().cloned();
            wrote(&call, "log", json!([path, sent]))
        });
    let mut run = run(&graph, &clock);
    Driver::new(Arc::new(host), clock).run(&mut run).await.unwrap();
    assert_eq!(held(&run, "log"), json!([["own#0", 0], ["own#1", 1], ["own#2", 2]]));
}
