//! How tasks follow each other.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Category, Fault, SideEffect};
use antiphon_runtime::Clock;
use antiphon_systems::Outcome;
use antiphon_systems::agentic_search::{SearchOutcome, TaskErrorKind, TaskStatus};
use serde_json::{Value as Json, json};

use crate::scene::{FakeTool, Scene, answer, fails, plan, says, task};

fn slow(name: &str, milliseconds: u64) -> Arc<FakeTool> {
    let own = name.to_owned();
    let mut tool = FakeTool::search(name, move |_| Ok(json!(format!("from {own}"))));
    tool.delay = Duration::from_millis(milliseconds);
    Arc::new(tool)
}

fn statuses(tasks: &[antiphon_systems::agentic_search::SearchTask]) -> Vec<TaskStatus> {
    tasks.iter().map(|task| task.status).collect()
}

/// AS-22 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn tasks_run_at_the_same_time_and_are_told_in_their_order() {
    let tools = [slow("a", 300), slow("b", 100), slow("c", 200)];
    let scene = tools.iter().fold(Scene::new(&json!({})), Scene::tool);
    let clock = scene.clock.clone();
    let run = scene
        .planner([plan(&[task("a", "1"), task("b", "2"), task("c", "3")])])
        .synthesiser([answer("<p>abc</p>")])
        .ask("What?")
        .await;
    assert_eq!(clock.now().as_micros(), 300_000, "as long as the slowest");
    let results: Vec<_> = run.tasks().iter().map(|task| task.result.clone().unwrap()).collect();
    assert_eq!(results, ["from a", "from b", "from c"]);
    let steps = &run.result.output.thinking_steps;
    let results = steps.iter().filter(|step| step.starts_with("Result"));
    assert!(results.map(|step| &step[15..16]).eq(["1", "2", "3"]), "{steps:?}");
    assert_eq!(run.notes("wave"), [json!({"numbers": [1, 2, 3]})]);
}

#[tokio::test]
async fn a_wave_has_at_most_as_many_tasks_as_allowed() {
    let stories = slow("a", 100);
    let tasks: Vec<Json> = (1..=5).map(|number| task("a", &number.to_string())).collect();
    let scene = Scene::new(&json!({"max_parallel_tasks": 2})).tool(&stories);
    let clock = scene.clock.clone();
    let run = scene.planner([plan(&tasks)]).synthesiser([answer("<p>a</p>")]).ask("What?").await;
    assert_eq!(clock.now().as_micros(), 300_000);
    let waves: Vec<Json> = run.notes("wave").iter().map(|wave| wave["numbers"].clone()).collect();
    assert_eq!(waves, [json!([1, 2]), json!([3, 4]), json!([5])]);
}

/// AS-23 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn a_failure_stops_further_tasks_where_that_is_wanted() {
    let (broken, notes) = (fails("stories"), says("notes", "5 notes"));
    let run = Scene::new(&json!({"execution": "sequential", "stop_on_error": true}))
        .tool(&broken)
        .tool(&notes)
        .planner([plan(&[task("stories", "a"), task("notes", "b")])])
        .synthesiser([answer("<p>Nothing.</p>")])
        .ask("What?")
        .await;
    assert_eq!(statuses(run.tasks()), [TaskStatus::Failed, TaskStatus::Pending]);
    assert_eq!(run.result.state.current_task_index, 0);
    assert_eq!((run.spent(), notes.calls().len()), ((2, 1), 0));
    assert!(run.html().ends_with("<p>Nothing.</p>"), "{}", run.html());
    assert_eq!(run.result.reason.as_deref(), Some("no task has a result"));
}

/// AS-24 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn a_task_gets_a_value_of_the_task_it_depends_on() {
    let found = json!({"results": [{"path": "a.md", "text": "Tea."}], "count": 3});
    let search = Arc::new(FakeTool::search("search", move |_| Ok(found.clone())));
    let read = says("read", "the page");
    let second = json!({
        "tool_name": "read",
        "tool_arguments": {"query": "{{task_1.results.0.path}}", "size": "{{ task_1.result.count }}"},
        "depends_on": [1],
    });
    let run = Scene::new(&json!({}))
        .tool(&search)
        .tool(&read)
        .planner([plan(&[task("search", "tea"), second.clone()])])
        .synthesiser([answer("<p>Tea.</p>")])
        .ask("What?")
        .await;
    assert_eq!(read.calls(), [json!({"query": "a.md", "size": 3})]);
    assert_eq!(run.notes("wave").len(), 2);
    assert_eq!(run.tasks()[1].depends_on, [1]);

    let broken = fails("search");
    let run = Scene::new(&json!({}))
        .tool(&broken)
        .tool(&read)
        .planner([plan(&[task("search", "tea"), second])])
        .synthesiser([answer("<p>Nothing.</p>")])
        .ask("What?")
        .await;
    assert_eq!(statuses(run.tasks()), [TaskStatus::Failed, TaskStatus::Failed]);
    assert_eq!(run.tasks()[1].error.as_ref().unwrap().kind, TaskErrorKind::DependencyFailed);
    assert_eq!(read.calls().len(), 1, "it was not called again");
}

#[tokio::test]
async fn a_reference_that_leads_nowhere_fails_its_task_alone() {
    let stories = says("stories", "12 stories");
    let lost = task("stories", "{{task_1.results.7}}");
    let run = Scene::new(&json!({}))
        .tool(&stories)
        .planner([plan(&[task("stories", "a"), lost, task("stories", "c")])])
        .synthesiser([answer("<p>12.</p>")])
        .ask("What?")
        .await;
    let error = run.tasks()[1].error.as_ref().unwrap();
    assert_eq!(error.kind, TaskErrorKind::ReferenceError);
    assert!(error.message.ends_with("{{task_1.results.7}}"), "{}", error.message);
    assert_eq!(stories.calls().len(), 2);
}

/// AS-25 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn equal_tasks_are_one_call() {
    let stories = says("stories", "12 stories");
    let padded = json!({"tool_name": "stories", "tool_arguments": {"query": "a", "size": "3"}});
    let plain = json!({"tool_name": "stories", "tool_arguments": {"size": 3, "query": "a"}});
    let run = Scene::new(&json!({}))
        .tool(&stories)
        .planner([plan(&[padded, plain, task("stories", "b")])])
        .synthesiser([answer("<p>12.</p>")])
        .ask("What?")
        .await;
    assert_eq!(stories.calls().len(), 2);
    let [first, second, _] = run.tasks() else { panic!("three tasks") };
    assert_eq!(first.result, second.result);
    assert_eq!(second.shares_result_of, Some(1));
    assert_eq!(statuses(run.tasks()), [TaskStatus::Completed; 3]);
    let prompt = run.read_by("synthesiser");
    assert_eq!(prompt.matches("12 stories").count(), 2, "{prompt}");
}

/// How often two equal tasks call a tool with that side effect and that setting of its cache.
async fn calls_of_equal_tasks(side_effect: SideEffect, cache: Option<bool>) -> usize {
    let mut tool = FakeTool::search("stories", |_| Ok(json!("12 stories")));
    (tool.spec.side_effect, tool.spec.cache) = (side_effect, cache);
    let stories = Arc::new(tool);
    let run = Scene::new(&json!({}))
        .tool(&stories)
        .planner([plan(&[task("stories", "a"), task("stories", "a")])])
        .synthesiser([answer("<p>12.</p>")])
        .ask("What?")
        .await;
    assert_eq!(statuses(run.tasks()), [TaskStatus::Completed; 2]);
    stories.calls().len()
}

#[tokio::test]
async fn equal_tasks_of_a_tool_with_side_effects_are_two_calls() {
    for (side_effect, cache, calls) in [
        (SideEffect::None, None, 1),
        (SideEffect::Read, None, 1),
        (SideEffect::Write, None, 2),
        (SideEffect::External, None, 2),
        (SideEffect::External, Some(true), 1),
        (SideEffect::Read, Some(false), 1),
    ] {
        let called = calls_of_equal_tasks(side_effect, cache).await;
        assert_eq!(called, calls, "{side_effect:?} {cache:?}");
    }
}

/// AS-35 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn a_task_with_side_effects_runs_alone_in_the_order_of_the_plan() {
    let mut tool = FakeTool::search("send", |_| Ok(json!("sent")));
    tool.spec.side_effect = SideEffect::External;
    tool.delay = Duration::from_millis(100);
    let (send, a, b) = (Arc::new(tool), slow("a", 100), slow("b", 100));
    let scene = Scene::new(&json!({})).tool(&send).tool(&a).tool(&b);
    let clock = scene.clock.clone();
    let after_first =
        json!({"tool_name": "b", "tool_arguments": {"query": "2"}, "depends_on": [1]});
    let tasks = [
        task("a", "1"),
        after_first,
        task("send", "3"),
        task("send", "4"),
        task("a", "5"),
        task("b", "6"),
    ];
    let run = scene.planner([plan(&tasks)]).synthesiser([answer("<p>a</p>")]).ask("What?").await;
    let waves: Vec<Json> = run.notes("wave").iter().map(|wave| wave["numbers"].clone()).collect();
    assert_eq!(waves, [json!([1]), json!([2]), json!([3]), json!([4]), json!([5])], "five tasks");
    assert_eq!(clock.now().as_micros(), 500_000);

    let failing = fails("a");
    let mut tool = FakeTool::search("send", |_| Ok(json!("sent")));
    tool.spec.side_effect = SideEffect::Write;
    let run = Scene::new(&json!({}))
        .tool(&failing)
        .tool(&Arc::new(tool))
        .tool(&b)
        .planner([plan(&[
            json!({"tool_name": "send", "tool_arguments": {"query": "{{a.x}}"}}),
            task("a", "1"),
            json!({"tool_name": "send", "tool_arguments": {"query": "x"}, "depends_on": [2]}),
            task("b", "2"),
        ])])
        .synthesiser([answer("<p>a</p>")])
        .ask("What?")
        .await;
    let lost = [TaskStatus::Failed; 3];
    assert_eq!(statuses(run.tasks())[..3], lost, "what cannot start stops nothing");
    assert_eq!(run.tasks()[3].status, TaskStatus::Completed);
}

#[tokio::test]
async fn a_result_that_is_null_completes_its_task() {
    let nothing = Arc::new(FakeTool::search("nothing", |_| Ok(Json::Null)));
    let mut any = FakeTool::search("any", |_| Ok(json!("done")));
    any.spec.parameters = json!({"type": "object", "properties": {"query": {}}});
    let any = Arc::new(any);
    let tasks = [task("nothing", "a"), task("nothing", "a"), task("any", "{{task_1}}")];
    let run = Scene::new(&json!({}))
        .tool(&nothing)
        .tool(&any)
        .planner([plan(&tasks)])
        .synthesiser([answer("<p>Nothing.</p>")])
        .ask("What?")
        .await;
    assert_eq!(statuses(run.tasks()), [TaskStatus::Completed; 3]);
    assert_eq!(run.tasks()[1].shares_result_of, Some(1));
    assert_eq!(any.calls(), [json!({"query": null})]);
    assert_eq!(run.notes("information_gathered")[0]["completed"], 3);
    assert_eq!(run.result.output.gathered_information.task_results[0].result, Json::Null);
    assert_eq!(run.result.output.search_outcome, SearchOutcome::Answered);
}

/// AS-26 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn a_call_that_takes_too_long_fails_alone() {
    let (never, notes) = (slow("never", 1_000_000), says("notes", "5 notes"));
    let scene = Scene::new(&json!({})).tool(&never).tool(&notes);
    let clock = scene.clock.clone();
    let run = scene
        .planner([plan(&[task("never", "a"), task("notes", "b")])])
        .synthesiser([answer("<p>5.</p>")])
        .ask("What?")
        .await;
    assert_eq!(clock.now().as_micros(), 60_000_000);
    assert_eq!(run.tasks()[0].error.as_ref().unwrap().kind, TaskErrorKind::Timeout);
    assert_eq!(statuses(run.tasks()), [TaskStatus::Failed, TaskStatus::Completed]);
    assert_eq!(run.result.output.search_outcome, SearchOutcome::AnsweredPartial);
}

#[tokio::test]
async fn a_question_whose_time_is_over_tells_what_was_found() {
    let (never, notes) = (slow("never", 1_000_000), says("notes", "5 notes"));
    let settings = json!({"question_timeout_s": 10, "max_parallel_tasks": 1});
    let run = Scene::new(&settings)
        .tool(&never)
        .tool(&notes)
        .planner([plan(&[task("notes", "b"), task("never", "a")])])
        .ask("What?")
        .await;
    assert_eq!(run.result.outcome, Outcome::Budget);
    assert_eq!(run.result.output.search_outcome, SearchOutcome::FallbackHtml);
    assert!(run.html().contains("5 notes"), "{}", run.html());
    assert_eq!(statuses(run.tasks()), [TaskStatus::Completed, TaskStatus::Failed]);
    assert_eq!(run.result.error.as_ref().unwrap().code, "budget_exhausted");
    assert_eq!(run.spent().0, 1, "no time is left for the synthesis");
}

#[tokio::test]
async fn failures_of_servers_have_the_names_of_the_specification() {
    for (code, kind) in [
        (-32_601, TaskErrorKind::UnknownTool),
        (-32_602, TaskErrorKind::InvalidArguments),
        (-32_603, TaskErrorKind::ToolError),
        (-32_000, TaskErrorKind::ToolError),
        (-32_001, TaskErrorKind::Auth),
        (-32_003, TaskErrorKind::Auth),
    ] {
        let tool = Arc::new(FakeTool::search("stories", move |_| {
            let fault =
                Fault::foreign(Category::Tool, "tool_failed", "the server refused the call");
            Err(fault.with("rpc_code", code))
        }));
        let run = Scene::new(&json!({}))
            .tool(&tool)
            .planner([plan(&[task("stories", "a")])])
            .synthesiser([answer("<p>Nothing.</p>")])
            .ask("What?")
            .await;
        assert_eq!(run.tasks()[0].error.as_ref().unwrap().kind, kind, "{code}");
    }
}
