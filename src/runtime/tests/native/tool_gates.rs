//! What the calls of one tool share: a limit of concurrency, and a circuit breaker.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use antiphon_core::agent::AgentSpec;
use antiphon_core::breaker::{BreakerPhase, BreakerPolicy};
use antiphon_core::event::EventKind;
use antiphon_core::graph::{END, NodePolicy, START};
use antiphon_core::{Category, Fault, FaultCode, Time, ToolOutcome};
use antiphon_runtime::{CallContext, Clock, Driver, GatedTool, ManualClock, Tool, ToolGate};
use serde_json::{Value as Json, json};

use crate::support::script::{Script, calls, says};
use crate::support::tools::{declared, tool};
use crate::support::{TestHost, agent, clock, graph, run};

const POLICY: BreakerPolicy = BreakerPolicy { failures: 2, cooldown: Duration::from_secs(30) };

fn lost() -> ToolOutcome {
    Err(Fault::foreign(Category::ToolTransport, "lost", "the connection was lost"))
}

fn refused() -> ToolOutcome {
    Err(Fault::new(FaultCode::ToolFailed, "there is no such city"))
}

/// A gated tool with prepared outcomes, and the clock of its calls.
struct Gated {
    tool: GatedTool,
    gate: Arc<ToolGate>,
    clock: Arc<ManualClock>,
    made: Arc<AtomicUsize>,
    notes: Arc<Mutex<Vec<Json>>>,
}

fn gated(outcomes: impl IntoIterator<Item = ToolOutcome>) -> Gated {
    let mut outcomes: Vec<_> = outcomes.into_iter().collect();
    outcomes.reverse();
    let (outcomes, made) = (Mutex::new(outcomes), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&made);
    let scripted = tool("search", None, move |_, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        let outcome = outcomes.lock().unwrap().pop().unwrap_or(Ok(json!("found")));
        async move { outcome }
    });
    let gate = ToolGate::new("search", None, Some(POLICY), None);
    let tool = GatedTool::new(scripted, Arc::clone(&gate));
    let clock = Arc::new(ManualClock::at(Time::default()));
    Gated { tool, gate, clock, made, notes: Arc::default() }
}

impl Gated {
    fn context(&self) -> CallContext {
        let notes = Arc::clone(&self.notes);
        CallContext {
            notes: Some(Arc::new(move |_, data| notes.lock().unwrap().push(data))),
            ..CallContext::new(Arc::<ManualClock>::clone(&self.clock))
        }
    }

    async fn call(&self) -> ToolOutcome {
        self.tool.call(json!({}), &self.context()).await
    }

    fn phase(&self) -> BreakerPhase {
        self.gate.status(self.clock.now()).breaker.unwrap().phase
    }

    fn phases(&self) -> Vec<Json> {
        self.notes.lock().unwrap().iter().map(|note| note["phase"].clone()).collect()
    }
}

#[tokio::test]
async fn failures_of_the_transport_in_a_row_open_the_circuit() {
    let search = gated([lost(), lost()]);
    for _ in 0..2 {
        assert_eq!(search.call().await.unwrap_err().code, "lost");
    }
    let fault = search.call().await.unwrap_err();
    assert_eq!(fault.code, FaultCode::ToolCircuitOpen);
    let until = "do not call it before 1970-01-01T00:00:30.000000Z";
    assert_eq!(fault.message, format!("the tool `search` has failed 2 times in a row; {until}"));
    assert_eq!(search.made.load(Ordering::SeqCst), 2);
    assert_eq!(search.phases(), [json!("open")]);
}

#[tokio::test]
async fn a_tool_that_says_no_was_reached() {
    let search = gated([lost(), refused(), lost(), Ok(json!({"error": "no"})), lost()]);
    for _ in 0..5 {
        let _ = search.call().await;
    }
    assert_eq!(search.phase(), BreakerPhase::Closed);
}

#[tokio::test]
async fn after_the_cool_down_one_call_tries_again_and_closes_the_circuit() {
    let search = gated([lost(), lost()]);
    for _ in 0..2 {
        let _ = search.call().await;
    }
    search.clock.advance(Duration::from_secs(29));
    assert_eq!(search.call().await.unwrap_err().code, FaultCode::ToolCircuitOpen);
    search.clock.advance(Duration::from_secs(1));
    assert_eq!(search.call().await.unwrap(), json!("found"));
    assert_eq!(search.phase(), BreakerPhase::Closed);
    assert_eq!(search.phases(), [json!("open"), json!("half_open"), json!("closed")]);
}

#[tokio::test]
async fn a_call_that_tries_again_and_fails_opens_the_circuit_for_another_cool_down() {
    let search = gated([lost(), lost(), lost()]);
    for _ in 0..2 {
        let _ = search.call().await;
    }
    search.clock.advance(Duration::from_secs(30));
    assert_eq!(search.call().await.unwrap_err().code, "lost");
    let fault = search.call().await.unwrap_err();
    assert_eq!(fault.details["failures"], json!(3));
    assert_eq!(fault.details["until"], json!("1970-01-01T00:01:00.000000Z"));
}

#[tokio::test]
async fn while_one_call_tries_again_the_others_are_refused() {
    let search = gated([lost(), lost()]);
    for _ in 0..2 {
        let _ = search.call().await;
    }
    search.clock.advance(Duration::from_secs(30));
    let clock: Arc<dyn Clock> = Arc::<ManualClock>::clone(&search.clock);
    let trying = search.gate.enter(&clock, None).await.unwrap();
    let fault = search.call().await.unwrap_err();
    assert!(fault.message.contains("another call is trying it now"), "{fault}");
    // A cancelled attempt says nothing: the next call tries.
    drop(trying);
    assert_eq!(search.call().await.unwrap(), json!("found"));
}

#[tokio::test]
async fn calls_that_hang_past_their_time_out_open_the_circuit() {
    let second = Duration::from_secs(1);
    let gate = ToolGate::new("search", Some(second), Some(POLICY), None);
    let manual = Arc::new(ManualClock::at(Time::default()));
    let clock: Arc<dyn Clock> = Arc::<ManualClock>::clone(&manual);
    let hanging = gate.enter(&clock, None).await.unwrap();
    let given_up = gate.enter(&clock, None).await.unwrap();
    manual.advance(second);
    drop(given_up);
    assert_eq!(gate.status(manual.now()).overdue, 1);
    assert_eq!(gate.enter(&clock, None).await.unwrap_err().code, FaultCode::ToolCircuitOpen);
    assert_eq!(hanging.finish(&Ok(json!("late"))), None);
    let status = gate.status(manual.now());
    assert_eq!((status.running, status.overdue), (0, 0));
    assert_eq!(status.breaker.unwrap().phase, BreakerPhase::Open, "too late to count");
}

#[tokio::test]
async fn a_cancelled_call_is_no_failure() {
    let second = Duration::from_secs(1);
    let gate = ToolGate::new("search", Some(second), Some(POLICY), None);
    let manual = Arc::new(ManualClock::at(Time::default()));
    let clock: Arc<dyn Clock> = Arc::<ManualClock>::clone(&manual);
    for _ in 0..3 {
        drop(gate.enter(&clock, None).await.unwrap());
    }
    assert_eq!(gate.status(manual.now()).breaker.unwrap().failures, 0);
}

#[tokio::test]
async fn no_more_calls_than_allowed_are_under_way_at_once() {
    let gate = ToolGate::new("search", None, None, Some(2));
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::at(Time::default()));
    let first = gate.enter(&clock, None).await.unwrap();
    let _second = gate.enter(&clock, None).await.unwrap();
    let (waiting, other) = (Arc::clone(&gate), Arc::clone(&clock));
    let third = tokio::spawn(async move { waiting.enter(&other, None).await.map(drop) });
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert!(!third.is_finished());
    assert_eq!(gate.status(clock.now()).running, 2);
    drop(first);
    third.await.unwrap().unwrap();
}

#[tokio::test]
async fn two_runs_share_the_circuit_of_one_tool_and_their_traces_show_it() {
    let clock = clock();
    let broken = tool("search", None, |_, _| async { lost() });
    let spec = AgentSpec { tools: vec![declared(&broken)], ..AgentSpec::default() };
    let gate = ToolGate::new("search", None, Some(POLICY), None);
    let gated = Arc::new(GatedTool::new(broken, gate));
    let mut graph = graph();
    agent(&mut graph, "a", spec, NodePolicy::default());
    graph.edge(START, "a").edge("a", END);
    let graph = graph.build().unwrap();
    let mut told = Vec::new();
    for _ in 0..2 {
        let script =
            Script::new([calls("search", "{}"), calls("search", "{}"), says("without it")]);
        let host =
            TestHost::default().model(script).tool("search", Arc::<GatedTool>::clone(&gated));
        let mut run = run(&graph, &clock);
        let driver = Driver::new(Arc::new(host), Arc::<ManualClock>::clone(&clock));
        driver.run(&mut run).await.unwrap();
        let events = run.take_events();
        let changed = events.iter().filter(|event| event.kind == EventKind::Custom);
        told.push(changed.map(|event| event.data["phase"].clone()).collect::<Vec<_>>());
        let codes = events.iter().filter(|event| event.kind == EventKind::ToolResult);
        let codes: Vec<_> = codes.map(|event| event.data["code"].clone()).collect();
        let expected = if told.len() == 1 {
            json!(["lost", "lost"])
        } else {
            json!(["tool_circuit_open", "tool_circuit_open"])
        };
        assert_eq!(json!(codes), expected);
    }
    assert_eq!(told, [vec![json!("open")], vec![]]);
}
