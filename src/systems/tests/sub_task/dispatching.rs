//! The side of the orchestrator.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Category, Fault, FaultCode, Time};
use antiphon_runtime::queue::{DeathReason, QueueMessage, QueueSettings};
use antiphon_runtime::{CallContext, Tool};
use antiphon_systems::sub_task::name::{result_topic, task_topic};
use antiphon_systems::sub_task::{
    DropReason, SubTask, SubTaskBrief, SubTaskWorker, WorkerSettings, queue_settings, sub_task_id,
};
use serde_json::json;

use crate::scene::{CountingTool, ROLE, RunningWorker, Scene, TIMEOUT, brief, pass_until};

const LONG: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_worker_calls_the_tool_and_its_value_comes_back() {
    let (scene, clock) = Scene::new();
    let (tool, run) = (Arc::new(CountingTool::doubling()), scene.run());
    let worker = RunningWorker::begin(scene.worker(&tool));
    let value = scene.call(&run, &tool, brief("run", "s1"), 21).await.unwrap();
    assert_eq!(value, Ok(json!(42)));
    assert!(run.settle().await.is_empty());
    assert_eq!(worker.stopped_in(&clock).await.completed, 1);
}

#[tokio::test]
async fn a_failure_of_a_worker_is_that_of_the_call_and_never_ends_the_run() {
    let (scene, clock) = Scene::new();
    let spent = || Fault::new(FaultCode::BudgetExhausted, "spent").with("tool", "double");
    let (tool, run) = (Arc::new(CountingTool::new(move |_| Err(spent()))), scene.run());
    let worker = RunningWorker::begin(scene.worker(&tool));
    let fault = scene.call(&run, &tool, brief("run", "s1"), 1).await.unwrap().unwrap_err();
    assert_eq!((&fault.code, fault.category), (&FaultCode::BudgetExhausted, Category::Tool));
    assert_eq!(fault.details["tool"], "double");
    assert_eq!(worker.stopped_in(&clock).await.failed, 1);
}

#[tokio::test]
async fn a_role_without_workers_fails_at_once() {
    let (scene, _) = Scene::new();
    let (tool, run) = (Arc::new(CountingTool::doubling()), scene.run());
    let of_other = |step: &str| SubTaskBrief { role: "Other".to_owned(), ..brief("run", step) };
    let called = scene.call(&run, &tool, of_other("s1"), 1).await.unwrap();
    assert_eq!(called.unwrap_err().code, "sub_task_no_worker");
    let topic = task_topic("Other").unwrap();
    assert!(scene.queue.take(&topic, 1, Duration::ZERO).await.unwrap().is_empty());
    let worker =
        SubTaskWorker::new(scene.queue.clone(), WorkerSettings::default(), scene.clock.clone());
    let worker =
        RunningWorker::begin(worker.role("Other", [tool.clone() as Arc<dyn Tool>]).unwrap());
    assert_eq!(scene.call(&run, &tool, of_other("s2"), 2).await.unwrap(), Ok(json!(4)));
    worker.kill().await;
    let called = scene.call(&run, &tool, of_other("s3"), 1).await.unwrap();
    assert_eq!(called.unwrap_err().code, "sub_task_no_worker");
}

/// PE-18 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_late_result_is_dropped_and_does_not_disturb_the_next_attempt() {
    let (scene, clock) = Scene::new();
    let (tool, run) = (Arc::new(CountingTool::doubling()), scene.run());
    let call = scene.call(&run, &tool, brief("run", "s1"), 1);
    let taken = scene.queue.take(&task_topic(ROLE).unwrap(), 1, LONG).await.unwrap();
    pass_until(&clock, || call.is_finished()).await;
    let fault = call.await.unwrap().unwrap_err();
    assert_eq!((&fault.code, fault.category), (&FaultCode::SubTaskTimeout, Category::Timeout));
    assert!(taken[0].cancellation.reason().is_some(), "the worker is told");
    let late = SubTask::read(&taken[0].message).unwrap().result(Ok(json!("late")));
    let late = late.message(&result_topic("run"), Time::from_micros(u64::MAX));
    scene.queue.publish(late, LONG).await.unwrap();
    let worker = RunningWorker::begin(scene.worker(&tool));
    let mut next = brief("run", "s1");
    next.sub_task_id = sub_task_id("run", 2, "s1");
    let value = scene.call(&run, &tool, next, 4).await.unwrap();
    assert_eq!(value, Ok(json!(8)));
    let dropped = run.settle().await;
    assert_eq!(dropped.len(), 1);
    assert_eq!(
        (&dropped[0].message_id, dropped[0].reason),
        (&sub_task_id("run", 1, "s1"), DropReason::Late)
    );
    worker.kill().await;
}

#[tokio::test]
async fn what_is_no_result_of_the_run_is_dropped_and_said() {
    let (scene, _) = Scene::new();
    let (tool, run) = (Arc::new(CountingTool::doubling()), scene.run());
    let topic = result_topic("run");
    let foreign = QueueMessage::new("foreign", &*topic, json!({"hello": "world"}));
    scene.queue.publish(foreign, LONG).await.unwrap();
    let call = scene.call(&run, &tool, brief("run", "never asked"), 1);
    assert_eq!(call.await.unwrap().unwrap_err().code, "queue_message_invalid");
    let stray = scene.call(&scene.run(), &tool, brief("another run", "s9"), 1);
    let taken = scene.queue.take(&task_topic(ROLE).unwrap(), 1, LONG).await.unwrap();
    let stray_task = SubTask::read(&taken[0].message).unwrap();
    stray.abort();
    let result = stray_task.result(Ok(json!(1)));
    scene.queue.publish(result.message(&topic, Time::from_micros(u64::MAX)), LONG).await.unwrap();
    let worker = RunningWorker::begin(scene.worker(&tool));
    assert_eq!(scene.call(&run, &tool, brief("run", "s1"), 2).await.unwrap(), Ok(json!(4)));
    let mut reasons: Vec<_> = run.settle().await.iter().map(|one| one.reason).collect();
    reasons.sort_by_key(|reason| *reason as u8);
    assert_eq!(reasons, [DropReason::Unknown, DropReason::Unreadable]);
    let letters = scene.queue.dead_letters(&topic).await.unwrap();
    let DeathReason::Buried(reason) = &letters[0].reason else { panic!("{letters:?}") };
    assert!(reason.ends_with("it has no version"), "{reason}");
    worker.kill().await;
}

#[tokio::test]
async fn a_call_that_is_dropped_takes_its_sub_task_back() {
    let (scene, _) = Scene::new();
    let (tool, run) = (Arc::new(CountingTool::doubling()), scene.run());
    let call = scene.call(&run, &tool, brief("run", "s1"), 1);
    let taken = scene.queue.take(&task_topic(ROLE).unwrap(), 1, LONG).await.unwrap();
    call.abort();
    taken[0].cancellation.cancelled().await;
    assert_eq!(taken[0].cancellation.reason().as_deref(), Some("the run was cancelled"));
}

#[tokio::test]
async fn a_full_topic_holds_its_publishers_up() {
    let settings = QueueSettings { capacity: NonZeroUsize::MIN, ..queue_settings() };
    let (scene, clock) = Scene::memory(settings);
    let (tool, run) = (Arc::new(CountingTool::doubling()), scene.run());
    let first = scene.call(&run, &tool, brief("run", "s1"), 1);
    let second = scene.call(&run, &tool, brief("run", "s2"), 2);
    let worker = RunningWorker::begin(scene.worker(&tool));
    assert_eq!(first.await.unwrap(), Ok(json!(2)));
    let _ = run.settle().await;
    pass_until(&clock, || second.is_finished()).await;
    assert_eq!(second.await.unwrap(), Ok(json!(4)));
    worker.kill().await;
    let blocker = QueueMessage::new("blocker", task_topic(ROLE).unwrap(), json!(1));
    scene.queue.publish(blocker, LONG).await.unwrap();
    let third = scene.call(&run, &tool, brief("run", "s3"), 3);
    pass_until(&clock, || third.is_finished()).await;
    assert_eq!(third.await.unwrap().unwrap_err().code, "queue_full");
}

#[tokio::test]
async fn a_closed_queue_fails_the_calls_that_wait() {
    let (scene, _) = Scene::new();
    let (tool, run) = (Arc::new(CountingTool::doubling()), scene.run());
    let call = scene.call(&run, &tool, brief("run", "s1"), 1);
    let taken = scene.queue.take(&task_topic(ROLE).unwrap(), 1, LONG).await.unwrap();
    scene.queue.close();
    assert_eq!(call.await.unwrap().unwrap_err().code, "queue_closed");
    drop(taken);
    let later = scene.call(&run, &tool, brief("run", "s2"), 1);
    assert_eq!(later.await.unwrap().unwrap_err().code, "queue_closed");
}

#[tokio::test]
async fn the_wait_is_longer_than_the_call_may_take_and_the_tool_stays_the_same() {
    let (scene, _) = Scene::new();
    let tool: Arc<dyn Tool> = Arc::new(CountingTool::doubling());
    let dispatched = scene.run().tool(&tool, brief("run", "s1"), TIMEOUT);
    let (own, spec) = (tool.spec(), dispatched.spec());
    assert_eq!((&own.name, &own.parameters), (&spec.name, &spec.parameters));
    assert!(spec.timeout.unwrap() > TIMEOUT);
    let cx = CallContext::new(scene.clock.clone());
    let fault = dispatched.call(json!([]), &cx).await.unwrap_err();
    assert_eq!(fault.code, "invalid_value");
}
