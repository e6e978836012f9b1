//! Runs that ask, and continue once they are answered.

use std::sync::Arc;

use antiphon_core::effect::Ending;
use antiphon_core::graph::START;
use antiphon_core::task::TaskOutcome;
use antiphon_core::{Category, Fault};
use antiphon_runtime::{Clock, DriveOutcome, Driver};
use serde_json::json;

use crate::support::{TestHost, clock, graph, held, run, wrote};

#[tokio::test]
async fn a_paused_run_resumes_with_the_answer() {
    let clock = clock();
    let mut graph = graph();
    graph.node("ask");
    graph.node("beside");
    graph.edge(START, "ask").edge(START, "beside");
    let graph = graph.build().unwrap();
    let host = TestHost::default()
        .node("ask", |call| async move {
            match call.answers.as_slice() {
                [] => TaskOutcome::Ask(json!("your name?")),
                [_] => TaskOutcome::Ask(json!("your age?")),
                [name, age, ..] => wrote(&call, "answer", json!([name, age])),
            }
        })
        .node("beside", |call| async move { wrote(&call, "log", json!("beside")) });
    let mut run = run(&graph, &clock);
    let driver = Driver::new(Arc::new(host), clock.clone());
    for (question, answer) in [("your name?", json!("Ada")), ("your age?", json!(36))] {
        let Ok(DriveOutcome::Paused(questions)) = driver.run(&mut run).await else {
            panic!("it did not ask: {question}");
        };
        let [asked] = questions.as_slice() else { panic!("{questions:?}") };
        assert_eq!((&asked.value, &asked.path[..]), (&json!(question), &["ask".to_owned()][..]));
        run.answer(&asked.id, answer, clock.now()).unwrap();
    }
    assert_eq!(driver.run(&mut run).await, Ok(DriveOutcome::Ended(Ending::Completed)));
    assert_eq!(held(&run, "answer"), json!(["Ada", 36]));
    assert_eq!(held(&run, "log"), json!(["beside"]));
}

#[tokio::test]
async fn a_handler_sees_whose_failure_it_handles() {
    let clock = clock();
    let mut graph = graph();
    graph.node("a");
    graph.node("rescue");
    graph.edge(START, "a").on_error_handle("a", "rescue");
    let graph = graph.build().unwrap();
    let host = TestHost::default()
        .node("a", |_| async { TaskOutcome::failed(Fault::foreign(Category::Tool, "test", "no")) })
        .node("rescue", |call| async move {
            let (node, fault) = call.handles.clone().unwrap();
            wrote(&call, "answer", json!([&*node, fault.code]))
        });
    let mut run = run(&graph, &clock);
    Driver::new(Arc::new(host), clock).run(&mut run).await.unwrap();
    assert_eq!(held(&run, "answer"), json!(["a", "test"]));
}
