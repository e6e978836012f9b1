//! Calls of tools by code, outside of an agent's loop.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{FaultCode, Time, ToolSpec};
use antiphon_reply::JsonSchemas;
use antiphon_runtime::{CallContext, CheckedTool, ManualClock, Tool, call_tool, redact};
use serde_json::json;

use crate::support::tools::{Made, tool};

fn context() -> (Arc<ManualClock>, CallContext) {
    let clock = Arc::new(ManualClock::at(Time::default()));
    let cx = CallContext::new(Arc::<ManualClock>::clone(&clock));
    (clock, cx)
}

fn checked(made: Made) -> CheckedTool {
    CheckedTool::new(Arc::new(made), &JsonSchemas).unwrap()
}

fn echo() -> CheckedTool {
    let made = Arc::into_inner(tool("echo", None, |given, _| async move { Ok(given) })).unwrap();
    let properties = json!({"city": {"type": "string"}, "year": {"type": "integer", "default": 7}});
    let parameters = json!({
        "type": "object", "properties": properties, "required": ["city"],
        "additionalProperties": false,
    });
    checked(made.with_spec(ToolSpec::new("echo", "Repeats its arguments.", parameters)))
}

#[tokio::test]
async fn a_direct_call_gets_defaults_and_safe_conversions() {
    let (_, cx) = context();
    let outcome = echo().call(&json!({"city": "Lyon", "year": "2026"}), None, &cx).await;
    assert_eq!(outcome.unwrap(), json!({"city": "Lyon", "year": 2026}));
    assert_eq!(echo().read(&json!({"city": "Lyon"})).unwrap()["year"], json!(7));
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_listed_and_nothing_is_called() {
    let (_, cx) = context();
    let fault = echo().call(&json!({"year": "soon"}), None, &cx).await.unwrap_err();
    assert_eq!(fault.code, FaultCode::InvalidValue);
    assert_eq!(fault.details["tool"], json!("echo"));
    assert_eq!(fault.details["errors"].as_array().unwrap().len(), 2, "{fault:?}");
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_dropped() {
    let (clock, cx) = context();
    let (held, dropped) = tokio::sync::oneshot::channel::<()>();
    let held = std::sync::Mutex::new(Some(held));
    let made = tool("slow", None, move |_, cx| {
        let held = held.lock().unwrap().take();
        async move {
            assert_eq!(cx.deadline, Some(Time::default() + Duration::from_secs(3)));
            let _held = held;
            std::future::pending().await
        }
    });
    let slow = CheckedTool::new(made, &JsonSchemas).unwrap();
    let call =
        tokio::spawn(async move { slow.call(&json!({}), Some(Duration::from_secs(3)), &cx).await });
    while clock.next_wake().is_none() {
        tokio::task::yield_now().await;
    }
    clock.advance(Duration::from_secs(3));
    assert_eq!(call.await.unwrap().unwrap_err().code, FaultCode::ToolTimeout);
    assert!(dropped.await.is_err());
}

#[tokio::test]
async fn a_panic_is_a_fault_of_the_tool() {
    let (_, cx) = context();
    let broken = tool("broken", None, |_, _| async { panic!("fell over") });
    let fault = call_tool(&*broken, json!({}), &cx).await.unwrap_err();
    assert_eq!(fault.code, FaultCode::ToolPanicked);
    assert_eq!(fault.message, "the code of the tool panicked: broken");
    assert_eq!(fault.details["panic"], json!("fell over"));
    let at_once = tool("at_once", None, |given, _| {
        assert!(given.is_string(), "no text");
        async { Ok(json!(1)) }
    });
    let fault = call_tool(&*at_once, json!({}), &cx).await.unwrap_err();
    assert_eq!(fault.code, FaultCode::ToolPanicked);
}

#[tokio::test]
async fn a_known_secret_is_masked_in_what_a_tool_returns() {
    let (_, cx) = context();
    redact::register("sk-tool-call-0123456789");
    let leaky = tool("leaky", None, |_, _| async { Ok(json!(["sk-tool-call-0123456789"])) });
    assert_eq!(call_tool(&*leaky, json!({}), &cx).await.unwrap(), json!(["***"]));
    assert_eq!(leaky.spec().name, "leaky");
}
