//! Logins that are not those of OAuth 2.0.

use std::sync::Arc;

use antiphon_core::ToolOutcome;
use antiphon_runtime::{CallContext, ManualClock, Tool};
use antiphon_tools::find;
use serde_json::{Value as Json, json};

use super::server::{Answer, TestServer};

const CATALOGUE: &str = "sections:\n  - id: a\n    content: |\n      - GET `/orders` list orders\n";
const PASSWORD: &str = "~pass-word-4711";
const KEY: &str = "~key-of-the-web-0815";

/// Signs in with a password as Firebase does, and has orders for whoever has signed in.
async fn server() -> TestServer {
    TestServer::start(|request, _| match request.header("authorization") {
        Some("Bearer id-token-4711") => {
            Answer::json(200, &json!([{"id": 1, "echo": format!("{KEY} {PASSWORD}")}]))
        }
        Some(_) => Answer::json(401, &json!({})),
        None if request.target.replace("%7E", "~").ends_with(&format!("?key={KEY}")) => {
            Answer::json(200, &json!({"idToken": "id-token-4711", "expiresIn": "3600"}))
        }
        None => Answer::json(400, &json!({"error": format!("who is {}?", request.body)})),
    })
    .await
}

fn open(server: &TestServer, auth: Json) -> Arc<dyn Tool> {
    let mut auth = auth;
    auth["type"] = json!("token");
    auth["url"] = json!(format!("{}/v1/accounts:signInWithPassword", server.url));
    let settings = json!({
        "catalogue": CATALOGUE, "base_url": server.url, "auth": auth, "allow": ["loopback"],
    });
    let tools = find("http_api").unwrap().open(&settings).unwrap();
    tools.into_iter().find(|tool| tool.spec().name == "api_read").unwrap()
}

async fn get(tool: &Arc<dyn Tool>) -> ToolOutcome {
    let call = json!({"method": "GET", "path": "/orders"});
    tool.call(call, &CallContext::new(Arc::new(ManualClock::default()))).await
}

#[tokio::test]
async fn a_login_with_fields_of_its_own_in_json_gets_a_token() {
    let server = server().await;
    let login = json!({
        "grant": "custom", "body": "json",
        "fields": {"email": "ada@example.com", "returnSecureToken": true},
        "secret_fields": {"password": PASSWORD},
        "query": {"key": KEY},
    });
    let reply = get(&open(&server, login)).await.unwrap();
    assert_eq!(reply["status"], 200);
    assert!(!reply.to_string().contains("4711") && !reply.to_string().contains("0815"), "{reply}");
    let asked = &server.seen()[0];
    assert_eq!(asked.header("content-type"), Some("application/json"));
    assert_eq!(asked.header("authorization"), None);
    let expected =
        json!({"email": "ada@example.com", "password": PASSWORD, "returnSecureToken": true});
    assert_eq!(serde_json::from_str::<Json>(&asked.body).unwrap(), expected);
}

#[tokio::test]
async fn fields_join_those_of_a_grant_in_a_form() {
    let server = server().await;
    let login = json!({
        "grant": "password", "username": "ada", "password": PASSWORD,
        "fields": {"tenant": 7, "remember": true, "left out": null},
    });
    let fault = get(&open(&server, login)).await.unwrap_err();
    assert!(!format!("{fault:?}").contains("4711"), "{fault:?}");
    let fields = "grant_type=password&username=ada&password=~pass-word-4711&tenant=7&remember=true";
    assert_eq!(server.seen()[0].body, fields);
}

#[tokio::test]
async fn a_login_that_fails_shows_neither_its_key_nor_its_password() {
    let server = server().await;
    let login = json!({
        "grant": "custom", "secret_fields": {"password": PASSWORD}, "query": {"key": "~other-4711"},
    });
    let fault = get(&open(&server, login)).await.unwrap_err();
    let note = fault.details["notes"][0].as_str().unwrap();
    assert!(note.contains("no token from"), "{note}");
    assert!(!format!("{fault:?}").contains("4711"), "{fault:?}");
}

#[test]
fn what_a_login_lacks_is_named() {
    let url = "https://l.example/t";
    for (auth, problem) in [
        (json!({"grant": "custom"}), "lacks a field: fields"),
        (
            json!({"grant": "custom", "fields": {"a": [1]}}),
            "a form cannot hold a list or an object",
        ),
        (json!({"grant": "password", "username": "ada"}), "lacks a field: password"),
    ] {
        let mut auth = auth;
        auth["type"] = json!("token");
        auth["url"] = json!(url);
        let settings = json!({"catalogue": CATALOGUE, "base_url": url, "auth": auth});
        let fault = find("http_api").unwrap().open(&settings).err().unwrap();
        assert_eq!(fault.code, "tool_setting_invalid", "{settings}");
        assert!(fault.message.contains(problem), "{fault}");
    }
}
