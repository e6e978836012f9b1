//! Lists of tools.

use antiphon_core::{FaultCode, SideEffect};
use antiphon_mcp::{McpClient, McpSettings};
use serde_json::{Value as Json, json};

use crate::support::{Folder, call, client, scripted, specs};

async fn listed(tools: Json) -> Vec<antiphon_core::ToolSpec> {
    let client = client(scripted(&["--tools", &tools.to_string()]));
    let found = specs(&client).await;
    client.close().await;
    found
}

#[tokio::test]
async fn all_pages_are_read() {
    let client = client(scripted(&[]));
    assert_eq!(specs(&client).await.len(), 17);
    client.close().await;
}

#[tokio::test]
async fn a_list_is_kept_until_the_server_says_that_it_has_changed() {
    let folder = Folder::new("changed");
    let client = client(scripted(&["--log", &folder.path("log")]));
    let lists = || folder.messages("log").iter().filter(|it| it["method"] == "tools/list").count();
    let first = specs(&client).await.len();
    specs(&client).await;
    assert_eq!(lists(), 4);
    call(&client, "change").await.unwrap();
    assert_eq!(specs(&client).await.len(), first + 1);
    assert_eq!(lists(), 8);
    client.close().await;
}

#[tokio::test]
async fn names_become_valid_and_unique() {
    let schema = json!({"type": "object"});
    let long = "x".repeat(80);
    let names = ["get city", "get/city", "get_city", "", &long, "Überblick"];
    let tools: Vec<_> =
        names.iter().map(|name| json!({"name": name, "inputSchema": schema})).collect();
    let found = listed(json!(tools)).await;
    let found: Vec<_> = found.iter().map(|spec| spec.name.as_str()).collect();
    let expected = ["get_city", "get_city_2", "get_city_3", "tool", &long[..64], "_berblick"];
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_prefix_is_put_before_each_name_and_does_not_reach_the_server() {
    let settings =
        McpSettings { prefix: "srv_".into(), tools: vec!["echo".into()], ..scripted(&[]) };
    let client = client(settings);
    let found: Vec<_> = specs(&client).await.into_iter().map(|spec| spec.name).collect();
    assert_eq!(found, ["srv_echo"]);
    assert_eq!(call(&client, "echo").await.unwrap(), json!("hello"));
    client.close().await;
}

#[tokio::test]
async fn a_tool_that_does_not_exist_is_an_error_with_the_names_of_those_that_do() {
    let client = client(McpSettings { tools: vec!["ecko".into()], ..scripted(&[]) });
    let fault = client.tools().await.unwrap_err();
    assert_eq!(fault.code, FaultCode::McpToolUnknown);
    assert!(fault.hint.as_ref().unwrap().contains("echo, write"));
    client.close().await;
}

#[tokio::test]
async fn tools_with_unusable_schemas_are_left_out() {
    let nested = (0..40).fold(json!({"type": "string"}), |inner, _| json!({"items": inner}));
    let schemas = [
        json!({"type": "object", "properties": {"a": {"$ref": "https://evil.example/s.json"}}}),
        json!({"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}),
        json!({"type": "array"}),
        json!({"type": "object", "properties": {"a": nested}}),
        json!({"type": "object", "description": "x".repeat(70_000)}),
        json!({"type": "object", "properties": {"$ref": {"type": "string"}}, "$defs": {}}),
        json!({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}}),
    ];
    let tools = schemas.iter().enumerate();
    let tools: Vec<_> =
        tools.map(|(i, schema)| json!({"name": format!("t{i}"), "inputSchema": schema})).collect();
    let found = listed(json!(tools)).await;
    let names: Vec<_> = found.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["t5", "t6"]);
    assert_eq!(found[1].parameters["type"], "object");
}

#[tokio::test]
async fn descriptions_are_bounded_and_hold_nothing_invisible() {
    let hidden = "Adds.\u{E0041}\u{200B}\u{202E}\u{7} Fast.\nNow.";
    let tools = json!([
        {"name": "a", "description": hidden, "inputSchema": {}},
        {"name": "b", "description": "x".repeat(5000), "inputSchema": {}},
    ]);
    let found = listed(tools).await;
    assert_eq!(found[0].description, "Adds. Fast.\nNow.");
    assert_eq!(found[1].description.len(), 4000);
}

#[tokio::test]
async fn hints_decide_about_repetition_only() {
    let hints = json!([
        {"name": "a", "inputSchema": {}, "annotations": {"readOnlyHint": true}},
        {"name": "b", "inputSchema": {}, "annotations": {"idempotentHint": true}},
        {"name": "c", "inputSchema": {}},
    ]);
    let found = listed(hints).await;
    assert_eq!(found[0].side_effect, SideEffect::Read);
    assert!(found[1].idempotent && found[1].side_effect == SideEffect::External);
    assert!(!found[2].is_repeatable());
    assert!(found.iter().all(|spec| spec.cache == Some(false) && spec.approval.is_none()));
}

#[tokio::test]
async fn concurrent_callers_connect_once() {
    let folder = Folder::new("concurrent");
    let client = client(scripted(&["--log", &folder.path("log")]));
    let other = McpClient::clone(&client);
    let (one, two) = tokio::join!(client.tools(), other.tools());
    assert_eq!(one.unwrap().len(), two.unwrap().len());
    client.close().await;
    assert_eq!(folder.starts("log"), 1);
}
