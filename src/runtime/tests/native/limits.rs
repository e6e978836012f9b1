//! Time-outs, deadlines and budgets.

use std::sync::{Arc, Mutex};

use antiphon_core::agent::AgentSpec;
use antiphon_core::budget::Limits;
use antiphon_core::channel::Reducer;
use antiphon_core::effect::Ending;
use antiphon_core::event::EventKind;
use antiphon_core::graph::{END, NodePolicy, START};
use antiphon_core::run::Options;
use antiphon_core::task::TaskOutcome;
use antiphon_core::{Category, Fault, Jitter, ModelRequest, RetryPolicy, Time};
use antiphon_runtime::{Clock, DriveOutcome, Driver, Model};
use serde_json::json;

use crate::support::guard::Alive;
use crate::support::script::{Script, calls, says};
use crate::support::tools::{declared, tool};
use crate::support::{
    TestHost, agent, clock, graph, held, in_virtual_time, ms, node, nothing, run, run_with, wrote,
};

/// EN-09 of `docs/engine.md`.
#[tokio::test]
async fn a_tool_that_never_returns_is_stopped_with_its_node() {
    let (clock, alive) = (clock(), Alive::default());
    let hanging = alive.clone();
    let stuck = tool("stuck", None, move |_, _| {
        let guard = hanging.guard();
        async move {
            let _guard = guard;
            std::future::pending().await
        }
    });
    let spec = AgentSpec { tools: vec![declared(&stuck)], ..AgentSpec::default() };
    let mut graph = graph();
    let errors = graph.channel("errors", Reducer::Append);
    agent(&mut graph, "a", spec, NodePolicy { timeout: Some(ms(100)), ..NodePolicy::default() });
    graph.edge(START, "a").edge("a", END).on_error_record("a", errors);
    let graph = graph.build().unwrap();
    let host = TestHost::default().model(Script::new([calls("stuck", "{}")])).tool("stuck", stuck);
    let mut run = run(&graph, &clock);
    let driver = Driver::new(Arc::new(host), clock.clone());
    let rest = {
        let mut drive = std::pin::pin!(driver.run(&mut run));
        tokio::select! {
            _ = &mut drive => panic!("the tool returned"),
            () = alive.until_started(1) => {}
        }
        clock.advance(ms(100));
        drive.await
    };
    assert_eq!(rest, Ok(DriveOutcome::Ended(Ending::Completed)));
    assert_eq!(alive.ended(), 1, "it was left behind");
    assert_eq!(held(&run, "errors")[0]["category"], json!("timeout"));
    assert_eq!(held(&run, "errors")[0]["code"], json!("node_timeout"));
    let events = run.take_events();
    let error = events.iter().find(|event| event.kind == EventKind::Error).unwrap();
    assert_eq!(error.data["category"], json!("timeout"));
}

/// EN-09 of `docs/engine.md`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_blocks_its_thread_does_not_hold_the_run() {
    let (clock, alive) = (clock(), Alive::default());
    let (release, held_up) = std::sync::mpsc::channel::<()>();
    let (blocking, held_up) = (alive.clone(), Mutex::new(held_up));
    let host = TestHost::default().node("a", move |_| {
        let _guard = blocking.guard();
        // Fails once the test lets go of the other end.
        let _ = held_up.lock().unwrap().recv();
        async { nothing() }
    });
    let mut graph = graph();
    node(&mut graph, "a", NodePolicy { timeout: Some(ms(100)), ..NodePolicy::default() });
    graph.edge(START, "a");
    let graph = graph.build().unwrap();
    let mut run = run(&graph, &clock);
    let driver = Driver::new(Arc::new(host), clock.clone());
    let drive = async { driver.run(&mut run).await.unwrap_err() };
    let advance = async {
        alive.until_started(1).await;
        clock.advance(ms(100));
    };
    let (fault, ()) = tokio::join!(drive, advance);
    assert_eq!(fault.category, Category::Timeout);
    assert_eq!(alive.ended(), 0);
    drop(release);
}

/// EN-10 of `docs/engine.md`.
#[tokio::test]
async fn a_tool_gets_the_shorter_of_its_time_out_and_what_the_run_has_left() {
    let clock = clock();
    let seen = Arc::new(Mutex::new(Vec::<Option<Time>>::new()));
    let keep = Arc::clone(&seen);
    let short = Some(ms(200));
    let code = move |_, cx: antiphon_runtime::CallContext| {
        keep.lock().unwrap().push(cx.deadline);
        async { Ok(json!("done")) }
    };
    let patient = tool("patient", Some(ms(60_000)), code.clone());
    let hasty = tool("hasty", short, code);
    let tools = vec![declared(&patient), declared(&hasty)];
    let mut graph = graph();
    agent(&mut graph, "a", AgentSpec { tools, ..AgentSpec::default() }, NodePolicy::default());
    graph.node("own");
    graph.edge(START, "a").edge("a", "own");
    let graph = graph.build().unwrap();
    let own = Arc::clone(&patient);
    let host = TestHost::default()
        .model(Script::new([calls("patient", "{}"), calls("hasty", "{}"), says("so")]))
        .tool("patient", patient)
        .tool("hasty", hasty)
        .node("own", move |call| {
            let tool = Arc::clone(&own);
            async move {
                call.invoke(&*tool, json!({})).await.unwrap();
                nothing()
            }
        });
    let limits = Limits { wall_time: Some(ms(1_000)), ..Limits::default() };
    let mut run = run_with(&graph, &clock, Options { limits, ..Options::default() });
    let start = clock.now();
    let rest = Driver::new(Arc::new(host), clock.clone()).run(&mut run).await;
    assert_eq!(rest, Ok(DriveOutcome::Ended(Ending::Completed)));
    let [patient, hasty, own] = [1_000, 200, 1_000].map(|delay| Some(start + ms(delay)));
    assert_eq!(*seen.lock().unwrap(), [patient, hasty, own]);
}

/// EN-10 of `docs/engine.md`.
#[tokio::test]
async fn a_tool_of_a_node_is_given_up_after_its_own_time_out() {
    let (clock, alive) = (clock(), Alive::default());
    let hanging = alive.clone();
    let stuck = tool("stuck", Some(ms(300)), move |_, _| {
        let guard = hanging.guard();
        async move {
            let _guard = guard;
            std::future::pending().await
        }
    });
    let host = TestHost::default().node("a", move |call| {
        let stuck = Arc::clone(&stuck);
        async move {
            let fault = call.invoke(&*stuck, json!({})).await.unwrap_err();
            wrote(&call, "answer", json!(fault.code))
        }
    });
    let mut graph = graph();
    graph.node("a");
    graph.edge(START, "a");
    let graph = graph.build().unwrap();
    let (mut run, start) = (run(&graph, &clock), clock.now());
    let driver = Driver::new(Arc::new(host), clock.clone());
    let rest = in_virtual_time(&clock, driver.run(&mut run)).await;
    assert_eq!(rest, Ok(DriveOutcome::Ended(Ending::Completed)));
    assert_eq!(held(&run, "answer"), json!("tool_timeout"));
    assert_eq!(clock.now().since(start), ms(300));
    assert_eq!(alive.ended(), 1);
}

/// EN-18 of `docs/engine.md`.
#[tokio::test]
async fn a_spent_budget_of_model_calls_leads_where_the_graph_says() {
    let clock = clock();
    let script = Script::new((0..5).map(|_| says("more")));
    let model: Arc<dyn Model> = script.clone();
    let host = TestHost::default()
        .node("ask", move |call| {
            let model = Arc::clone(&model);
            async move {
                match call.ask(&*model, &ModelRequest::default()).await {
                    Ok(reply) => wrote(&call, "log", json!(reply.text)),
                    Err(fault) => TaskOutcome::failed(fault),
                }
            }
        })
        .node("conclude", |call| async move { wrote(&call, "answer", json!("with what is known")) })
        .router(|view| match view.named("log").and_then(|log| log.as_array()) {
            Some(log) if log.len() >= 5 => END,
            _ => "ask",
        });
    let mut graph = graph();
    graph.node("ask");
    graph.node("conclude");
    graph.edge(START, "ask").branch("ask", "again", 0, None).on_budget("conclude");
    let graph = graph.build().unwrap();
    let limits = Limits { model_calls: Some(3), ..Limits::default() };
    let mut run = run_with(&graph, &clock, Options { limits, ..Options::default() });
    let rest = Driver::new(Arc::new(host), clock).run(&mut run).await;
    assert_eq!(rest, Ok(DriveOutcome::Ended(Ending::Completed)));
    assert_eq!(held(&run, "log"), json!(["more", "more", "more"]));
    assert_eq!(held(&run, "answer"), json!("with what is known"));
    let spent = run.budget().spent();
    assert_eq!(spent.model_calls, 3);
    assert_eq!((spent.usage.input_tokens, spent.usage.output_tokens), (3, 6));
    assert_eq!(script.asked.lock().unwrap().len(), 3);
    let events = run.take_events();
    let count = |kind| events.iter().filter(|event| event.kind == kind).count();
    assert_eq!((count(EventKind::ModelCall), count(EventKind::ModelReply)), (3, 3));
}

#[tokio::test]
async fn a_transient_failure_is_tried_again_after_its_pause() {
    let clock = clock();
    let host = TestHost::default().node("a", |call| async move {
        if call.attempt < 3 {
            let fault = Fault::foreign(Category::ModelTransport, "test", "not now");
            return TaskOutcome::failed(fault);
        }
        wrote(&call, "answer", json!(call.attempt))
    });
    let retry = RetryPolicy { jitter: Jitter::None, ..RetryPolicy::default() };
    let mut graph = graph();
    node(&mut graph, "a", NodePolicy { retry: Some(retry), ..NodePolicy::default() });
    graph.edge(START, "a");
    let graph = graph.build().unwrap();
    let (mut run, start) = (run(&graph, &clock), clock.now());
    let driver = Driver::new(Arc::new(host), clock.clone());
    let rest = in_virtual_time(&clock, driver.run(&mut run)).await;
    assert_eq!(rest, Ok(DriveOutcome::Ended(Ending::Completed)));
    assert_eq!(held(&run, "answer"), json!(3));
    assert_eq!(clock.now().since(start), ms(3_000));
}
