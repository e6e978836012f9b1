//! References in arguments, through the tasks that hold them.

use std::sync::Arc;

use antiphon_systems::agentic_search::{TaskError, TaskErrorKind};
use serde_json::{Value as Json, json};

use crate::scene::{FakeTool, Scene, answer, plan, says, task};

/// What the second task is called with when the first returns `result`.
async fn sent(result: Json, query: &str) -> Option<Json> {
    let first = Arc::new(FakeTool::search("first", move |_| Ok(result.clone())));
    let mut any = FakeTool::search("second", |_| Ok(json!("done")));
    any.spec.parameters = json!({"type": "object", "properties": {"query": {}}});
    let second = Arc::new(any);
    Scene::new(&json!({}))
        .tool(&first)
        .tool(&second)
        .planner([plan(&[task("first", "a"), task("second", query)])])
        .synthesiser([answer("<p>a</p>")])
        .ask("What?")
        .await;
    second.calls().pop().and_then(|call| call.get("query").cloned())
}

#[tokio::test]
async fn a_reference_has_the_type_of_its_value() {
    let result = json!({"items": [{"id": 7}, {"id": "b"}], "name": "tea"});
    for (query, expected) in [
        ("{{task_1.items.0.id}}", json!(7)),
        ("{{ task_1.items[1].id }}", json!("b")),
        ("{{task_1.result.items}}", json!([{"id": 7}, {"id": "b"}])),
        ("{{task_1}}", result.clone()),
        ("id {{task_1.items.0.id}} of {{task_1.name}}", json!("id 7 of tea")),
        ("{{task_1.items.0}}!", json!("{\"id\":7}!")),
        ("{{name}} and {{task_x.a}}", json!("{{name}} and {{task_x.a}}")),
        ("{{task_1", json!("{{task_1")),
        ("a {{b {{task_1.name}}", json!("a {{b tea")),
    ] {
        assert_eq!(sent(result.clone(), query).await, Some(expected), "{query}");
    }
    for lost in ["{{task_1.items.5}}", "{{task_1.items.x}}", "{{task_1.nothing}}", "{{task_3}}"] {
        assert_eq!(sent(result.clone(), lost).await, None, "{lost}");
    }
}

#[tokio::test]
async fn values_are_found_in_what_servers_put_around_them() {
    for result in [
        json!("{\"id\": 7}"),
        json!({"content": [{"type": "text", "text": "{\"id\": 7}"}]}),
        json!({"content": [{"type": "data", "value": {"id": 7}}]}),
        json!({"content": [], "structuredContent": {"id": 7}}),
        json!({"jsonrpc": "2.0", "id": 1, "result": {"id": 7}}),
        json!({"result": {"id": 7}}),
    ] {
        assert_eq!(sent(result.clone(), "{{task_1.id}}").await, Some(json!(7)), "{result}");
    }
}

#[tokio::test]
async fn numbers_of_the_planner_are_followed_when_tasks_are_left_out() {
    let first = Arc::new(FakeTool::search("first", |_| Ok(json!({"id": 7}))));
    let second = Arc::new(FakeTool::search("second", |_| Ok(json!("done"))));
    Scene::new(&json!({}))
        .tool(&first)
        .tool(&second)
        .planner([plan(&[
            task("unknown", "x"),
            task("first", "a"),
            task("second", "{{task_2.id}}"),
        ])])
        .synthesiser([answer("<p>a</p>")])
        .ask("What?")
        .await;
    assert_eq!(second.calls(), [json!({"query": "7"})]);
}

#[tokio::test]
async fn a_reference_may_name_the_tool_that_exactly_one_earlier_task_calls() {
    let result = json!({"items": [{"id": 7}]});
    for (query, expected) in [
        ("{{first.items.0.id}}", json!(7)),
        ("{{ first[items][0] }}!", json!("{\"id\":7}!")),
        ("{{first.result.items}}", json!([{"id": 7}])),
        ("{{first}}", result.clone()),
        ("{{firsts.items}} {{first_1}}", json!("{{firsts.items}} {{first_1}}")),
    ] {
        assert_eq!(sent(result.clone(), query).await, Some(expected), "{query}");
    }
}

/// Why the last task of a plan fails.
async fn refused(tasks: &[Json]) -> TaskError {
    let run = Scene::new(&json!({}))
        .tool(&says("first", "a"))
        .tool(&says("second", "b"))
        .planner([plan(tasks)])
        .synthesiser([answer("<p>a</p>")])
        .ask("What?")
        .await;
    run.tasks().last().unwrap().error.clone().unwrap()
}

#[tokio::test]
async fn a_reference_to_a_tool_that_no_or_several_earlier_tasks_call_says_so() {
    let reads = task("second", "{{first.id}}");
    for (tasks, message) in [
        (
            vec![task("first", "a"), task("first", "b"), reads.clone()],
            "the reference names a tool that several earlier tasks call: {{first.id}}",
        ),
        (vec![reads], "the reference names a tool that no earlier task calls: {{first.id}}"),
        (
            vec![task("first", "{{first.id}}")],
            "the reference names a tool that no earlier task calls: {{first.id}}",
        ),
    ] {
        let error = refused(&tasks).await;
        assert_eq!((error.kind, &*error.message), (TaskErrorKind::ReferenceError, message));
    }
}

#[tokio::test]
async fn of_tools_whose_names_begin_alike_the_longest_is_meant() {
    let named = |name: &str, id: u8| {
        Arc::new(FakeTool::search(name, move |_| Ok(json!({"id": id, "page": {"id": 9}}))))
    };
    let read = says("read", "done");
    Scene::new(&json!({}))
        .tool(&named("wiki", 1))
        .tool(&named("wiki.page", 2))
        .tool(&read)
        .planner([plan(&[
            task("wiki", "a"),
            task("wiki.page", "b"),
            task("read", "{{wiki.page.id}} {{wiki.id}}"),
        ])])
        .synthesiser([answer("<p>a</p>")])
        .ask("What?")
        .await;
    assert_eq!(read.calls(), [json!({"query": "2 1"})]);
}

#[tokio::test]
async fn a_later_plan_may_refer_to_a_task_of_an_earlier_one() {
    let first = Arc::new(FakeTool::search("first", |_| Ok(json!({"id": 7}))));
    let second = says("second", "done");
    let lacking = json!({"response_content": "<p>a</p>", "sufficient": false, "missing": "b"});
    Scene::new(&json!({"max_turn_iterations": 2}))
        .tool(&first)
        .tool(&second)
        .planner([plan(&[task("first", "a")]), plan(&[task("second", "{{first.id}}")])])
        .synthesiser([lacking, answer("<p>b</p>")])
        .ask("What?")
        .await;
    assert_eq!(second.calls(), [json!({"query": "7"})]);
}

/// A tool with an optional filter, that returns the same each time.
fn filtering(name: &str, result: Json) -> Arc<FakeTool> {
    let mut tool = FakeTool::search(name, move |_| Ok(result.clone()));
    tool.spec.parameters = json!({
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "start": {"type": ["integer", "null"]},
        },
        "required": ["query"],
        "additionalProperties": false,
    });
    Arc::new(tool)
}

/// AS-39 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn an_optional_argument_whose_reference_leads_nowhere_is_left_out() {
    let found = json!({"results": [{"path": "tea.md", "range": {"start": 7}}]});
    let (search, read) = (filtering("search", found), filtering("read", json!("two minutes")));
    for (start, sent) in [
        ("{{task_1.results.0.position}}", json!({"query": "tea.md"})),
        ("{{nothing.start}}", json!({"query": "tea.md"})),
        ("{{task_9.start}}", json!({"query": "tea.md"})),
        ("{{read.start}}", json!({"query": "tea.md"})),
        ("{{task_1.results.0.range.start}}", json!({"query": "tea.md", "start": 7})),
    ] {
        let arguments = json!({"query": "{{task_1.results.0.path}}", "start": start});
        let reads = json!({"tool_name": "read", "tool_arguments": arguments});
        let run = Scene::new(&json!({}))
            .tool(&search)
            .tool(&read)
            .planner([plan(&[task("search", "tea"), reads])])
            .synthesiser([answer("<p>Two minutes.</p>")])
            .ask("How long?")
            .await;
        assert_eq!(read.calls().pop(), Some(sent.clone()), "{start}");
        assert_eq!(run.spent(), (2, 2));
    }
}
