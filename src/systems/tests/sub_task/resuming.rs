//! A run that goes on in another process.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{FaultCode, Time};
use antiphon_runtime::queue::PublishOutcome;
use antiphon_systems::sub_task::SubTask;
use antiphon_systems::sub_task::name::task_topic;
use serde_json::json;

use crate::scene::{CountingTool, ROLE, RunningWorker, Scene, TIMEOUT, brief, pass_until, until};

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

#[tokio::test]
async fn a_wait_that_was_in_vain_is_not_repeated_when_the_run_is_resumed() {
    let (scene, clock) = Scene::new();
    let tool = Arc::new(CountingTool::doubling());
    let run = scene.run();
    let call = scene.call(&run, &tool, brief("run", "s1"), 21);
    pass_until(&clock, || call.is_finished()).await;
    assert_eq!(call.await.unwrap().unwrap_err().code, FaultCode::SubTaskTimeout);
    // The process ends before the run has committed it.
    drop(run);
    let (run, started) = (scene.run(), scene.clock.now());
    let resumed = scene.call(&run, &tool, brief("run", "s1"), 21);
    pass_until(&clock, || resumed.is_finished()).await;
    let fault = resumed.await.unwrap().unwrap_err();
    assert_eq!((&fault.code, &fault.details["role"]), (&FaultCode::SubTaskTimeout, &json!(ROLE)));
    assert!(scene.clock.now().since(started) < TIMEOUT);
    assert!(run.settle().await.is_empty());
}

#[tokio::test]
async fn nothing_of_a_run_that_has_ended_is_in_the_queue_or_gets_there() {
    let (scene, clock) = Scene::new();
    let (run, tool) = (scene.run(), Arc::new(CountingTool::doubling()));
    let worker = RunningWorker::begin(scene.worker(&tool));
    let value = scene.call(&run, &tool, brief("run", "s1"), 21).await.unwrap();
    assert_eq!(value, Ok(json!(42)));
    worker.kill().await;
    let call = scene.call(&run, &tool, brief("run", "s2"), 1);
    let topic = task_topic(ROLE).unwrap();
    let taken = scene.queue.take(&topic, 1, Duration::from_mins(1)).await.unwrap();
    pass_until(&clock, || call.is_finished()).await;
    assert!(run.end("run").await.is_empty());
    let task = SubTask::read(&taken[0].message).unwrap();
    let late = task.result(Ok(json!(2))).message(&task.result_topic, Time::from_micros(u64::MAX));
    let refused = scene.queue.publish(late, Duration::ZERO).await.unwrap();
    assert_eq!(refused, PublishOutcome::Known);
    for topic in [topic, task.result_topic] {
        assert!(scene.queue.take(&topic, 9, Duration::ZERO).await.unwrap().is_empty(), "{topic}");
    }
}
