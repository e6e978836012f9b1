//! What code makes of the reply of the planner.

use std::sync::Arc;

use antiphon_core::{Category, Fault, SideEffect};
use antiphon_models::ScriptedReply;
use antiphon_systems::agentic_search::{PlanSource, SearchOutcome, TaskErrorKind, TaskStatus};
use serde_json::{Value as Json, json};

use crate::scene::{FakeTool, Scene, ScriptedRun, answer, plan, says, task};

const QUESTION: &str = "How many stories?";

async fn planned_by(reply: impl Into<ScriptedReply>, tool: &Arc<FakeTool>) -> ScriptedRun {
    Scene::new(&json!({}))
        .tool(tool)
        .planner([reply.into()])
        .synthesiser([answer("<p>12.</p>")])
        .ask(QUESTION)
        .await
}

/// AS-03 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn a_plan_in_prose_becomes_one_task_with_the_question() {
    let stories = says("stories", "12 stories");
    let mut bare = FakeTool::search("pages", |_| Ok(json!("12 pages")));
    bare.spec.parameters = json!({
        "type": "object",
        "properties": {"words": {"type": "string"}},
        "required": ["words"],
        "additionalProperties": false,
    });
    for (tool, sent) in [
        (stories, json!({"query": QUESTION, "size": 10})),
        (Arc::new(bare), json!({"words": QUESTION})),
    ] {
        let run = planned_by("I would search for stories.", &tool).await;
        assert_eq!(run.spent(), (2, 1));
        assert_eq!(tool.calls(), [sent]);
        let plan = run.result.output.execution_plan.as_ref().unwrap();
        assert_eq!((plan.source, &*plan.tasks[0].description), (PlanSource::Fallback, "fallback"));
        assert_eq!(run.notes("plan_fallback").len(), 1);
        assert_eq!(run.result.output.search_outcome, SearchOutcome::Answered);
        assert_eq!(run.result.error.as_ref().unwrap().category, Category::ModelOutput);
    }
}

/// AS-04 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn a_plan_with_comments_and_commas_keeps_its_addresses() {
    let stories = says("stories", "12 stories");
    let reply = "{\n// the plan\n\"reasoning\": \"r\", \"tasks\": [{\"tool_name\": \"stories\", \
                 \"tool_arguments\": {\"query\": \"http://host:80//a: b\",},},],}";
    let run = planned_by(reply, &stories).await;
    assert_eq!(stories.calls(), [json!({"query": "http://host:80//a: b"})]);
    assert_eq!(run.spent(), (2, 1));
}

/// AS-05 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn a_task_with_an_unknown_tool_is_left_out() {
    let stories = says("stories", "12 stories");
    let run = planned_by(plan(&[task("books", "a"), task("stories", "b")]), &stories).await;
    assert_eq!(run.notes("task_dropped")[0]["tool"], "books");
    assert_eq!(run.tasks().len(), 1);
    assert_eq!(run.tasks()[0].task_number, 1);
    assert_eq!(stories.calls().len(), 1);
    let none = planned_by(plan(&[task("books", "a")]), &stories).await;
    assert_eq!(none.notes("plan_fallback")[0]["reason"], "no task of the plan can be used");
    assert_eq!(none.spent(), (2, 1));
}

/// AS-38 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn names_of_tools_and_numbers_of_tasks_are_read_as_they_are_meant() {
    let stories = says("stories", "12 stories");
    for name in
        ["functions.stories", " stories ", "`stories`", "stories()", "Stories", "mcp/stories"]
    {
        let run = planned_by(plan(&[task(name, "a")]), &stories).await;
        assert_eq!(run.tasks()[0].tool_name, "stories", "{name}");
        let repaired = json!({"given": name, "tool": "stories"});
        assert_eq!(run.notes("tool_name_repaired"), [repaired]);
    }
    for written in [json!("task_1"), json!("1"), json!("Task 1"), json!(1)] {
        let mut second = task("stories", "b");
        second["depends_on"] = json!([written, "nothing"]);
        second["task_number"] = json!("task_2");
        let mut first = task("stories", "a");
        first["task_number"] = json!("task_1");
        let run = planned_by(plan(&[first, second]), &stories).await;
        assert_eq!(run.tasks()[1].depends_on, [1], "{written}");
        let ignored = json!({"task_number": 2, "depends_on": ["nothing"]});
        assert_eq!(run.notes("dependency_ignored"), [ignored]);
    }
}

#[tokio::test]
async fn a_name_that_two_tools_could_have_is_not_guessed() {
    let (one, other) = (says("Notes", "1"), says("notes", "2"));
    let run = Scene::new(&json!({}))
        .tool(&one)
        .tool(&other)
        .planner([plan(&[task("NOTES", "a"), task("notes", "b")])])
        .synthesiser([answer("<p>a</p>")])
        .ask(QUESTION)
        .await;
    assert_eq!((one.calls().len(), other.calls().len()), (0, 1));
    assert_eq!(run.notes("task_dropped")[0]["tool"], "NOTES");
}

/// AS-06 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn of_nine_tasks_the_first_five_run() {
    let stories = says("stories", "12 stories");
    let tasks: Vec<Json> = (1..=9).map(|number| task("stories", &number.to_string())).collect();
    let run = planned_by(plan(&tasks), &stories).await;
    let sent: Vec<String> =
        stories.calls().iter().map(|call| call["query"].as_str().unwrap().to_owned()).collect();
    assert_eq!(sent, ["1", "2", "3", "4", "5"]);
    assert_eq!(run.notes("tasks_cut"), [json!({"planned": 9, "kept": 5})]);
}

/// AS-07 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn a_number_in_a_text_is_sent_as_a_number() {
    let stories = says("stories", "12 stories");
    let arguments = json!({"query": "a", "size": "10"});
    let given = json!({"tool_name": "stories", "tool_arguments": arguments});
    planned_by(plan(&[given]), &stories).await;
    assert_eq!(stories.calls(), [json!({"query": "a", "size": 10})]);
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_repaired_or_fail_the_task_alone() {
    let stories = says("stories", "12 stories");
    let repaired = json!({"tool_name": "stories", "tool_arguments": {"limit": 3}});
    let lost = json!({"tool_name": "stories", "tool_arguments": {"query": ["a", {}]}});
    let run = planned_by(plan(&[repaired, lost]), &stories).await;
    assert_eq!(stories.calls(), [json!({"query": QUESTION})]);
    assert_eq!(run.notes("arguments_repaired").len(), 1);
    let [first, second] = run.tasks() else { panic!("two tasks") };
    assert_eq!((first.status, &*first.description), (TaskStatus::Completed, "stories"));
    assert_eq!(second.status, TaskStatus::Failed);
    assert_eq!(second.error.as_ref().unwrap().kind, TaskErrorKind::InvalidArguments);
}

#[tokio::test]
async fn optional_arguments_that_do_not_fit_are_left_out() {
    let mut search = FakeTool::search("search_documents", |_| Ok(json!("two minutes")));
    search.spec.parameters = json!({
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "limit": {"type": "integer", "default": 6, "minimum": 1},
            "path": {"type": ["string", "null"]},
            "format": {"enum": ["html"]},
            "a/b~": {"type": "object", "properties": {"c": {"type": "integer"}}},
        },
        "required": ["query", "limit"],
        "additionalProperties": false,
    });
    let search = Arc::new(search);
    let given =
        json!({"query": "tea", "limit": 1, "path": "x", "format": "mcp", "a/b~": {"c": "many"}});
    let lost = json!({"query": "tea", "limit": 0, "format": "mcp"});
    let tasks = [given.clone(), lost]
        .map(|arguments| json!({"tool_name": "search_documents", "tool_arguments": arguments}));
    let run = planned_by(plan(&tasks), &search).await;
    let sent = json!({"query": "tea", "limit": 1, "path": "x"});
    assert_eq!(search.calls(), std::slice::from_ref(&sent));
    let repaired = json!({"task_number": 1, "given": given, "sent": sent});
    assert_eq!(run.notes("arguments_repaired"), [repaired]);
    let [_, second] = run.tasks() else { panic!("two tasks") };
    let error = second.error.as_ref().unwrap();
    assert_eq!(error.kind, TaskErrorKind::InvalidArguments);
    assert!(error.message.contains("limit") && !error.message.contains("format"), "{error:?}");
}

#[tokio::test]
async fn dependencies_on_later_tasks_and_on_nothing_are_ignored() {
    let stories = says("stories", "12 stories");
    let circle = |number: usize, other: usize| {
        json!({
            "task_number": number,
            "tool_name": "stories",
            "tool_arguments": {"query": number.to_string()},
            "depends_on": [other, 9],
        })
    };
    let run = planned_by(plan(&[circle(1, 2), circle(2, 1)]), &stories).await;
    assert_eq!(
        run.notes("dependency_ignored"),
        [
            json!({"task_number": 1, "depends_on": [2, 9]}),
            json!({"task_number": 2, "depends_on": [9]}),
        ]
    );
    assert_eq!(stories.calls().len(), 2);
    assert_eq!(run.tasks()[1].depends_on, [1]);
}

#[tokio::test]
async fn an_empty_plan_looks_something_up_unless_the_conversation_may_hold_the_answer() {
    let stories = says("stories", "12 stories");
    let run = planned_by(plan(&[]), &stories).await;
    assert_eq!(run.notes("plan_fallback")[0]["reason"], "the plan has no task");
    assert_eq!(run.spent(), (2, 1));
}

#[tokio::test]
async fn a_plan_that_nobody_made_calls_a_tool_that_only_reads_first() {
    let mut send = FakeTool::search("send", |_| Ok(json!("sent")));
    send.spec.side_effect = SideEffect::External;
    let (send, stories) = (Arc::new(send), says("stories", "12 stories"));
    let run = Scene::new(&json!({}))
        .tool(&send)
        .tool(&stories)
        .planner([Fault::foreign(Category::ModelTransport, "model_unreachable", "it is down")])
        .synthesiser([answer("<p>12.</p>")])
        .ask(QUESTION)
        .await;
    assert_eq!((send.calls().len(), stories.calls().len()), (0, 1));
    assert_eq!(run.result.error.as_ref().unwrap().code, "model_unreachable");
}
