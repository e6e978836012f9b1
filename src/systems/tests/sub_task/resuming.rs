//! A run that goes on in another process.

use std::sync::Arc;

use serde_json::json;

use crate::scene::{CountingTool, RunningWorker, Scene, brief, pass_until, until};

#[tokio::test]
async fn a_resumed_run_finds_the_result_that_came_meanwhile() {
    let (scene, clock) = Scene::new();
    let tool = Arc::new(CountingTool::doubling());
    let worker = RunningWorker::begin(scene.worker(&tool));
    let run = scene.run();
    let returned = scene.call(&run, &tool, brief("run", "s1"), 21).await.unwrap();
    assert_eq!(returned, Ok(json!(42)));
    // The process ends before the run has committed it.
    drop(run);
    let run = scene.run();
    let resumed = scene.call(&run, &tool, brief("run", "s1"), 21);
    pass_until(&clock, || resumed.is_finished()).await;
    assert_eq!(resumed.await.unwrap(), Ok(json!(42)));
    assert_eq!(tool.calls(), (1, 1));
    assert!(run.settle().await.is_empty());
    worker.kill().await;
}

#[tokio::test]
async fn what_was_taken_back_is_sent_again_when_the_run_is_resumed() {
    let (scene, clock) = Scene::new();
    let tool = Arc::new(CountingTool::doubling());
    for _ in 0..2 {
        let run = scene.run();
        let call = scene.call(&run, &tool, brief("run", "s1"), 21);
        pass_until(&clock, || true).await;
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        pass_until(&clock, || true).await;
    }
    let (run, worker) = (scene.run(), RunningWorker::begin(scene.worker(&tool)));
    let resumed = scene.call(&run, &tool, brief("run", "s1"), 21);
    pass_until(&clock, || resumed.is_finished()).await;
    assert_eq!(resumed.await.unwrap(), Ok(json!(42)));
    assert_eq!(tool.calls(), (1, 1));
    worker.kill().await;
}

#[tokio::test]
async fn a_result_that_came_before_the_cancellation_counts() {
    let (scene, clock) = Scene::new();
    let tool = Arc::new(CountingTool::doubling());
    let worker = RunningWorker::begin(scene.worker(&tool));
    let run = scene.run();
    let call = scene.call(&run, &tool, brief("run", "s1"), 4);
    until(|| tool.calls() == (1, 1)).await;
    call.abort();
    drop((call, run));
    let run = scene.run();
    let resumed = scene.call(&run, &tool, brief("run", "s1"), 4);
    pass_until(&clock, || resumed.is_finished()).await;
    assert_eq!(resumed.await.unwrap(), Ok(json!(8)));
    worker.kill().await;
}
