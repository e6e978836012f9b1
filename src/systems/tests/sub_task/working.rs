//! The side of the worker.

use std::num::NonZeroUsize;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use antiphon_core::ToolOutcome;
use antiphon_runtime::queue::{DeathReason, QueueMessage, QueueSettings};
use antiphon_runtime::{CancellationToken, ManualClock, SystemClock, Tool};
use antiphon_systems::sub_task::name::task_topic;
use antiphon_systems::sub_task::{
    SubTaskBrief, SubTaskWorker, WorkerNotice, WorkerNoticeKind, WorkerSettings, WorkerTools,
    queue_settings,
};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::scene::{CountingTool, ROLE, RunningWorker, Scene, brief, pass_until, until};

const LONG: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_worker_does_so_many_at_a_time() {
    let (scene, clock) = Scene::new();
    let tool = Arc::new(CountingTool::doubling().slow(Duration::from_secs(1)));
    let two =
        WorkerSettings { concurrency: NonZeroUsize::new(2).unwrap(), ..WorkerSettings::default() };
    let worker = RunningWorker::begin(scene.worker_with(&tool, two));
    let run = scene.run();
    let call = |number: i64| scene.call(&run, &tool, brief("run", &format!("s{number}")), number);
    let calls: Vec<_> = (0..6).map(call).collect();
    pass_until(&clock, || calls.iter().all(JoinHandle::is_finished)).await;
    for (number, call) in calls.into_iter().enumerate() {
        assert_eq!(call.await.unwrap(), Ok(json!(2 * number)));
    }
    assert_eq!(tool.most.load(Ordering::SeqCst), 2);
    worker.kill().await;
}

#[tokio::test]
async fn the_tool_of_a_worker_is_told_how_the_task_stands_if_its_message_says_so() {
    let (scene, clock) = Scene::new();
    let tool = Arc::new(CountingTool::doubling());
    let worker = RunningWorker::begin(scene.worker(&tool));
    let run = scene.run();
    for (step, summary) in [("s1", None), ("s2", Some("Two of three are done.".to_owned()))] {
        let brief = SubTaskBrief { context_summary: summary, ..brief("run", step) };
        let call = scene.call(&run, &tool, brief, 3);
        pass_until(&clock, || call.is_finished()).await;
        assert_eq!(call.await.unwrap(), Ok(json!(6)));
    }
    assert_eq!(*tool.told.lock().unwrap(), [None, Some("Two of three are done.".into())]);
    worker.kill().await;
}

#[tokio::test]
async fn work_that_is_longer_than_a_lease_keeps_it() {
    let (scene, clock) = Scene::new();
    let tool = Arc::new(CountingTool::doubling().slow(Duration::from_secs(25)));
    let workers = [(); 2].map(|()| RunningWorker::begin(scene.worker(&tool)));
    let run = scene.run();
    let call = scene.call(&run, &tool, brief("run", "s1"), 3);
    pass_until(&clock, || call.is_finished()).await;
    assert_eq!(call.await.unwrap(), Ok(json!(6)));
    assert_eq!(tool.calls(), (1, 1));
    for worker in workers {
        worker.kill().await;
    }
}

#[tokio::test]
async fn the_work_of_a_killed_worker_goes_to_another_if_it_may_be_repeated() {
    let (scene, clock) = Scene::new();
    let tool = Arc::new(CountingTool::doubling().slow(Duration::from_secs(1)));
    let (run, dying) = (scene.run(), RunningWorker::begin(scene.worker(&tool)));
    let call = scene.call(&run, &tool, brief("run", "s1"), 3);
    until(|| tool.calls() == (1, 0)).await;
    dying.kill().await;
    let worker = RunningWorker::begin(scene.worker(&tool));
    pass_until(&clock, || call.is_finished()).await;
    assert_eq!(call.await.unwrap(), Ok(json!(6)));
    assert_eq!(tool.calls(), (2, 1));
    worker.kill().await;
}

#[tokio::test]
async fn work_that_must_not_be_repeated_is_not_given_to_another() {
    let (scene, clock) = Scene::new();
    let tool = Arc::new(CountingTool::doubling().slow(Duration::from_secs(1)).external());
    let (run, dying) = (scene.run(), RunningWorker::begin(scene.worker(&tool)));
    let call = scene.call(&run, &tool, brief("run", "s1"), 3);
    until(|| tool.calls() == (1, 0)).await;
    dying.kill().await;
    let worker = RunningWorker::begin(scene.worker(&tool));
    pass_until(&clock, || call.is_finished()).await;
    assert_eq!(call.await.unwrap().unwrap_err().code, "sub_task_timeout");
    assert_eq!(tool.calls(), (1, 0));
    let letters = scene.queue.dead_letters(&task_topic(ROLE).unwrap()).await.unwrap();
    assert_eq!(letters[0].reason, DeathReason::DeliveriesExhausted);
    worker.kill().await;
}

#[tokio::test]
async fn a_worker_that_is_to_stop_finishes_what_it_has_started() {
    let (scene, clock) = Scene::new();
    let tool = Arc::new(CountingTool::doubling().slow(Duration::from_secs(2)));
    let (run, worker) = (scene.run(), RunningWorker::begin(scene.worker(&tool)));
    let started = scene.call(&run, &tool, brief("run", "s1"), 3);
    until(|| tool.calls() == (1, 0)).await;
    worker.ask_to_stop();
    pass_until(&clock, || started.is_finished()).await;
    assert_eq!(started.await.unwrap(), Ok(json!(6)));
    let tally = worker.stopped_in(&clock).await;
    assert_eq!((tally.completed, tally.failed, tally.dropped), (1, 0, 0));
    let later = scene.call(&run, &tool, brief("run", "s2"), 3);
    pass_until(&clock, || later.is_finished()).await;
    assert_eq!(later.await.unwrap().unwrap_err().code, "sub_task_timeout");
    assert_eq!(tool.calls(), (1, 1));
}

#[tokio::test]
async fn a_cancelled_run_stops_the_work() {
    let (scene, clock) = Scene::new();
    let tool = Arc::new(CountingTool::doubling().slow(LONG));
    let (run, worker) = (scene.run(), RunningWorker::begin(scene.worker(&tool)));
    let call = scene.call(&run, &tool, brief("run", "s1"), 3);
    until(|| tool.calls() == (1, 0)).await;
    call.abort();
    pass_until(&clock, || call.is_finished()).await;
    pass_until(&clock, || true).await;
    assert_eq!(worker.stopped_in(&clock).await.dropped, 1);
    assert_eq!(tool.calls(), (1, 0));
}

#[tokio::test]
async fn a_foreign_message_is_buried_with_the_reason() {
    let (scene, clock) = Scene::new();
    let tool = Arc::new(CountingTool::doubling());
    let topic = task_topic(ROLE).unwrap();
    let foreign = QueueMessage::new("foreign", &*topic, json!({"version": 9}));
    scene.queue.publish(foreign, LONG).await.unwrap();
    let (run, worker) = (scene.run(), RunningWorker::begin(scene.worker(&tool)));
    let value = scene.call(&run, &tool, brief("run", "s1"), 3).await.unwrap();
    assert_eq!(value, Ok(json!(6)));
    let letters = scene.queue.dead_letters(&topic).await.unwrap();
    let DeathReason::Buried(reason) = &letters[0].reason else { panic!("{letters:?}") };
    assert!(reason.contains("its version is not 1 but 9"), "{reason}");
    assert_eq!(worker.stopped_in(&clock).await.dropped, 1);
}

#[tokio::test]
async fn failures_of_a_worker_say_what_is_wrong() {
    let (scene, clock) = Scene::new();
    let small = Arc::new(CountingTool::new(|input| match input["number"].as_i64() {
        Some(1) => panic!("a defect"),
        Some(2) => Ok(json!("x".repeat(600_000))),
        _ => Ok(json!({"error": "no such number"})),
    }));
    let (run, worker) = (scene.run(), RunningWorker::begin(scene.worker(&small)));
    let code = async |number: i64| {
        let brief = brief("run", &format!("s{number}"));
        let fault = scene.call(&run, &small, brief, number).await.unwrap().unwrap_err();
        fault.code.to_string()
    };
    assert_eq!(code(1).await, "tool_panicked");
    assert_eq!(code(2).await, "queue_message_invalid");
    assert_eq!(code(3).await, "tool_failed");
    worker.kill().await;
    let slow = Arc::new(CountingTool::doubling().slow(LONG));
    let worker = RunningWorker::begin(scene.worker(&slow));
    let call = scene.call(&run, &slow, brief("run", "slow"), 1);
    pass_until(&clock, || call.is_finished()).await;
    assert_eq!(call.await.unwrap().unwrap_err().category.as_str(), "timeout");
    worker.kill().await;
}

#[tokio::test]
async fn a_profile_has_tools_of_its_own() {
    let (scene, _) = Scene::new();
    let (usual, paid) = [2, 3]
        .map(|factor| {
            CountingTool::new(move |input| Ok(json!(input["number"].as_i64().unwrap() * factor)))
        })
        .map(Arc::new)
        .into();
    let worker = scene.worker(&usual).profile("paid", ROLE, [paid.clone() as Arc<dyn Tool>]);
    let (run, worker) = (scene.run(), RunningWorker::begin(worker.unwrap()));
    let call = async |step: &str, profile: Option<&str>| {
        let mut brief = brief("run", step);
        brief.key_profile = profile.map(str::to_owned);
        scene.call(&run, &usual, brief, 7).await.unwrap()
    };
    assert_eq!(call("s1", None).await, Ok(json!(14)));
    assert_eq!(call("s2", Some("paid")).await, Ok(json!(21)));
    let fault = call("s3", Some("stolen")).await.unwrap_err();
    assert_eq!(
        (fault.code.as_str(), fault.category.as_str()),
        ("sub_task_profile_unknown", "auth")
    );
    worker.kill().await;
}

#[tokio::test]
async fn a_tool_that_the_worker_lacks_is_named() {
    let (scene, _) = Scene::new();
    let tool = Arc::new(CountingTool::doubling());
    let empty =
        SubTaskWorker::new(scene.queue.clone(), WorkerSettings::default(), scene.clock.clone());
    let worker = RunningWorker::begin(empty.role(ROLE, []).unwrap());
    let call = scene.call(&scene.run(), &tool, brief("run", "s1"), 1).await.unwrap();
    let fault = call.unwrap_err();
    assert_eq!(fault.code, "sub_task_tool_unknown");
    assert_eq!(fault.message, "a worker of ResearchAgent has no such tool: double");
    worker.kill().await;
}

#[tokio::test]
async fn a_role_that_no_topic_can_have_is_refused() {
    let (scene, _) = Scene::memory(QueueSettings { window: LONG, ..queue_settings() });
    let worker =
        SubTaskWorker::new(scene.queue, WorkerSettings::default(), Arc::new(SystemClock::new()));
    assert_eq!(worker.role("any role", []).err().unwrap().code, "queue_message_invalid");
}

/// A worker that was told to give up in the middle of a call, with its kinds of notices.
async fn given_up(
    scene: &Scene,
    clock: &ManualClock,
    tool: CountingTool,
) -> (Vec<WorkerNoticeKind>, JoinHandle<ToolOutcome>) {
    let tool = Arc::new(tool.slow(Duration::from_secs(5)));
    let (told, give_up) = (Arc::new(Mutex::new(Vec::new())), CancellationToken::new());
    let kinds = Arc::clone(&told);
    let watch = Arc::new(move |notice: WorkerNotice| kinds.lock().unwrap().push(notice.kind));
    let worker = scene.worker(&tool).watched_by(watch).given_up_by(give_up.clone());
    let (run, worker) = (scene.run(), RunningWorker::begin(worker));
    let call = scene.call(&run, &tool, brief("run", "s1"), 3);
    until(|| tool.calls() == (1, 0)).await;
    worker.ask_to_stop();
    give_up.cancel("for a test");
    worker.stopped_in(clock).await;
    assert_eq!(tool.calls(), (1, 0));
    let told = told.lock().unwrap().clone();
    (told, call)
}

#[tokio::test]
async fn a_worker_that_gives_up_gives_back_what_may_be_repeated() {
    let (scene, clock) = Scene::new();
    let (told, _call) = given_up(&scene, &clock, CountingTool::doubling()).await;
    assert_eq!(told, [WorkerNoticeKind::Started, WorkerNoticeKind::GivenBack]);
    let topic = task_topic(ROLE).unwrap();
    let worker = scene.queue.clone();
    let again = tokio::spawn(async move { worker.take(&topic, 1, LONG).await.unwrap() });
    pass_until(&clock, || again.is_finished()).await;
    assert_eq!(again.await.unwrap()[0].attempt, 2);
}

#[tokio::test]
async fn a_worker_that_gives_up_says_of_other_work_that_nobody_knows_what_came_of_it() {
    let (scene, clock) = Scene::new();
    let (told, call) = given_up(&scene, &clock, CountingTool::doubling().external()).await;
    assert_eq!(told, [WorkerNoticeKind::Started, WorkerNoticeKind::Failed]);
    assert_eq!(call.await.unwrap().unwrap_err().code, "unknown_outcome");
    let topic = task_topic(ROLE).unwrap();
    assert!(scene.queue.take(&topic, 1, Duration::ZERO).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_worker_takes_the_named_roles_that_have_tools() {
    let (scene, _) = Scene::new();
    let tool = || vec![Arc::new(CountingTool::doubling()) as Arc<dyn Tool>];
    let roles = |named: Option<&[String]>| {
        let settings = WorkerSettings::default();
        let worker = SubTaskWorker::new(scene.queue.clone(), settings, scene.clock.clone());
        let tools = [("A", tool()), ("B", tool()), ("C", Vec::new())];
        let tools = tools.map(|(role, tools)| (role.to_owned(), tools));
        let usual = tools.into();
        let tools = WorkerTools { usual, ..WorkerTools::default() };
        worker.roles(tools, named).map(|worker| worker.tool_names())
    };
    let all = roles(None).unwrap();
    assert_eq!(all.keys().collect::<Vec<_>>(), ["A", "B"]);
    assert_eq!(all["A"], ["double"]);
    assert_eq!(roles(Some(&["B".to_owned()])).unwrap().into_keys().collect::<Vec<_>>(), ["B"]);
    let fault = roles(Some(&["C".to_owned()])).unwrap_err();
    assert_eq!(fault.message, "the worker has no tool of the role: C");
}
