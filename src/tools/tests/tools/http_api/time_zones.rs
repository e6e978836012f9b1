//! The day that an API is asked for when it demands one.

use std::sync::Arc;

use antiphon_core::{Time, ToolOutcome};
use antiphon_runtime::{CallContext, ManualClock};
use antiphon_tools::find;
use serde_json::{Value as Json, json};

use super::server::{Answer, TestServer};

/// 3 February 2026, 06:26:40 in UTC.
const NOW: u64 = 1_770_100_000_000_000;
const CATALOGUE: &str = "
sections:
  - id: a
    endpoints:
      - path: /orders
        query_params: {day: which day}
";

async fn server() -> TestServer {
    TestServer::start(|request, _| match request.target.split_once('?') {
        Some((_, query)) => Answer::json(200, &json!([{"asked": query}])),
        None => Answer::json(400, &json!({"error": "day is required"})),
    })
    .await
}

async fn asked(server: &TestServer, settings: Json, call: Json) -> ToolOutcome {
    let mut given = json!({
        "catalogue": CATALOGUE, "base_url": server.url, "allow": ["loopback"],
        "adjustments": [{"when_error_mentions": ["day"], "set": {"day": "{today}"}}],
    });
    given.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    let tools = find("http_api").unwrap().open(&given).unwrap();
    let read = tools.iter().find(|tool| tool.spec().name == "api_read").unwrap();
    let mut arguments = json!({"method": "GET", "path": "/orders"});
    arguments.as_object_mut().unwrap().extend(call.as_object().unwrap().clone());
    let clock = Arc::new(ManualClock::at(Time::from_micros(NOW)));
    read.call(arguments, &CallContext::new(clock)).await
}

/// DA-21 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn today_is_that_of_the_call_or_else_of_the_settings() {
    let server = server().await;
    let west = json!({"timezone": "America/Los_Angeles"});
    for (settings, call, day) in [
        (json!({}), json!({}), "2026-02-03"),
        (west.clone(), json!({}), "2026-02-02"),
        (json!({}), west.clone(), "2026-02-02"),
        (west, json!({"timezone": " Asia/Tokyo "}), "2026-02-03"),
    ] {
        let reply = asked(&server, settings, call).await.unwrap();
        assert_eq!(reply["table"]["rows"], json!([[format!("day={day}")]]), "{reply}");
    }
}

#[tokio::test]
async fn today_stands_in_known_values_too() {
    let server = server().await;
    let known = json!({"adjustments": [], "known_values": {"day": "{today}"}});
    let reply = asked(&server, known, json!({})).await.unwrap();
    assert_eq!(reply["table"]["rows"], json!([["day=2026-02-03"]]), "{reply}");
}

#[tokio::test]
async fn a_time_zone_that_there_is_not_is_refused() {
    let server = server().await;
    let mars = json!({"timezone": "Mars/Olympus"});
    let fault = asked(&server, json!({}), mars.clone()).await.unwrap_err();
    assert_eq!(fault.code, "api_call_invalid");
    assert!(fault.message.contains("no IANA time zone: Mars/Olympus"), "{fault}");
    let settings = json!({"catalogue": CATALOGUE, "base_url": server.url, "timezone": "Mars"});
    let fault = find("http_api").unwrap().open(&settings).err().unwrap();
    assert_eq!(fault.code, "tool_setting_invalid");
    assert!(fault.message.contains("no IANA time zone: Mars"), "{fault}");
}

#[tokio::test]
async fn a_misspelt_placeholder_is_refused_and_other_braces_are_not() {
    let open = |settings: &Json| {
        let mut all = json!({"catalogue": CATALOGUE, "base_url": "https://example.com"});
        all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        find("http_api").unwrap().open(&all)
    };
    let rule = json!([{"when_error_mentions": ["day"], "set": {"day": "from {tomorow}"}}]);
    for wrong in [json!({"adjustments": rule}), json!({"known_values": {"day": "{tomorow}"}})] {
        let fault = open(&wrong).err().unwrap();
        assert_eq!(fault.code, "tool_setting_invalid");
        assert!(fault.message.contains("unknown placeholder: {tomorow}"), "{fault}");
        assert!(fault.hint.as_ref().unwrap().contains("{today}"), "{fault}");
    }
    let braces = json!({"known_values": {"filter": "{\"a\": 1}", "day": "{today}", "set": "{}"}});
    assert!(open(&braces).is_ok());
}
