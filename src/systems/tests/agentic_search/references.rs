//! References in arguments, through the tasks that hold them.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::scene::{FakeTool, Scene, answer, plan, task};

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
