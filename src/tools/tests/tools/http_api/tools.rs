//! The tools as agents call them.

use std::sync::Arc;

use antiphon_core::{SideEffect, ToolOutcome};
use antiphon_runtime::{CallContext, ManualClock, Tool};
use antiphon_tools::find;
use serde_json::{Value as Json, json};

use super::catalogue::SHOP;
use super::server::{Answer, TestServer};

fn open(settings: &Json) -> Vec<Arc<dyn Tool>> {
    find("http_api").unwrap().open(settings).unwrap()
}

async fn call(tools: &[Arc<dyn Tool>], name: &str, arguments: Json) -> ToolOutcome {
    let tool = tools.iter().find(|tool| tool.spec().name == name).unwrap();
    tool.call(arguments, &CallContext::new(Arc::new(ManualClock::default()))).await
}

#[tokio::test]
async fn an_agent_finds_an_endpoint_and_calls_it() {
    let server = TestServer::start(|request, _| match request.method.as_str() {
        "POST" => Answer::json(201, &json!({"id": 5})),
        _ => Answer::json(200, &json!([{"id": 1, "name": "Ada"}])),
    })
    .await;
    let settings = json!({
        "catalogue": SHOP,
        "base_url": server.url,
        "auth": {"type": "api_key", "name": "X-Key", "key": "key-4711-of-the-shop"},
        "allow": ["loopback"],
        "writes": true,
    });
    let tools = open(&settings);
    let effects: Vec<_> =
        tools.iter().map(|tool| (tool.spec().name.clone(), tool.spec().side_effect)).collect();
    assert_eq!(
        effects,
        [
            ("api_endpoints".to_owned(), SideEffect::None),
            ("api_read".to_owned(), SideEffect::Read),
            ("api_write".to_owned(), SideEffect::External),
        ]
    );
    let found = call(&tools, "api_endpoints", json!({"question": "list customers"})).await.unwrap();
    assert_eq!(found["endpoints"][0]["path"], "/v1/customers");
    assert_eq!(found["endpoints"][0]["query_parameters"][2]["required"], true);

    let arguments = json!({"method": "GET", "path": "/v1/customers", "query": {"active": true}});
    let reply = call(&tools, "api_read", arguments).await.unwrap();
    assert_eq!(reply["status"], 200);
    assert_eq!(reply["table"]["rows"], json!([[1, "Ada"]]));
    assert_eq!(server.seen()[0].target, "/v1/customers?active=true");
    assert_eq!(server.seen()[0].header("x-key"), Some("key-4711-of-the-shop"));

    let arguments = json!({"method": "POST", "path": "/v1/orders", "body": {"item": "cup"}});
    assert_eq!(
        call(&tools, "api_read", arguments.clone()).await.unwrap_err().code,
        "api_call_invalid"
    );
    assert_eq!(call(&tools, "api_write", arguments).await.unwrap()["data"], json!({"id": 5}));
    let arguments = json!({"method": "GET", "path": "https://evil.example/"});
    assert_eq!(call(&tools, "api_read", arguments).await.unwrap_err().code, "api_endpoint_unknown");
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn without_writes_endpoints_that_change_something_are_neither_shown_nor_called() {
    let tools = open(&json!({"catalogue": SHOP}));
    assert_eq!(tools.len(), 2);
    let question = json!({"question": "create an order, delete a note"});
    let found = call(&tools, "api_endpoints", question).await.unwrap();
    let methods: Vec<_> = found["endpoints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["method"].clone())
        .collect();
    assert!(methods.iter().all(|method| method == "GET"), "{methods:?}");
}

#[tokio::test]
async fn all_endpoints_that_may_be_called_are_listed_on_demand() {
    let all = json!({"question": "create an order", "all": true});
    let found = call(&open(&json!({"catalogue": SHOP})), "api_endpoints", all.clone()).await;
    let expected = json!({"endpoints": [
        {"method": "GET", "path": "/v1/orders", "description": "list orders, needs from and to"},
        {"method": "GET", "path": "/v1/orders/:id", "description": "one order", "parameters": ["id"]},
        {
            "method": "GET", "path": "/v1/customers", "description": "list customers",
            "parameters": ["region", "limit", "active"],
        },
    ]});
    assert_eq!(found.unwrap(), expected);
    let writes = open(&json!({"catalogue": SHOP, "writes": true, "candidates": 1}));
    let found = call(&writes, "api_endpoints", all).await.unwrap();
    assert_eq!(found["endpoints"].as_array().unwrap().len(), 5);
}

#[test]
fn settings_that_do_not_fit_are_named_and_show_no_secret() {
    let auth = |fields: Json| json!({"catalogue": SHOP, "auth": fields});
    for (settings, problem) in [
        (json!({}), "`catalogue` is missing"),
        (json!({"catalogue": "/nowhere.yaml"}), "the catalogue cannot be read"),
        (json!({"catalogue": SHOP, "allow": ["??"]}), "`allow` has a malformed rule: ??"),
        (json!({"catalogue": SHOP, "timeout": -1}), "`timeout` must be a number of seconds"),
        (json!({"catalogue": SHOP, "max_rows": 0}), "`max_rows` must be at least 1: 0"),
        (auth(json!({"type": "bearer", "token": ""})), "lacks a field: token"),
        (auth(json!({"type": "token", "url": "https://l.example/t"})), "lacks a field: client_id"),
    ] {
        let fault = find("http_api").unwrap().open(&settings).err().unwrap();
        assert_eq!(fault.code, "tool_setting_invalid", "{settings}");
        assert!(fault.message.contains(problem), "{fault}");
    }
    let hidden = auth(json!({"type": "bearer", "token": 5, "password": "hunter2-hunter2"}));
    let fault = find("http_api").unwrap().open(&hidden).err().unwrap();
    assert!(!format!("{fault:?}").contains("hunter2"), "{fault:?}");
}
