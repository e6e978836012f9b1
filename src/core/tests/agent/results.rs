//! What the model reads of a tool's result: errors in it, and what is left of a long one.

use antiphon_core::event::EventKind;
use antiphon_core::tool::{error_in, settle, succeeded};
use antiphon_core::{FaultCode, SideEffect::Read};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::model::{asks, graph, requests, results, says, script, tool, with};
use crate::support::driver;

/// What the model reads of a value, of which it sees `limit` characters.
fn read(value: &Json, limit: usize) -> String {
    let mut short = tool("one", Read);
    short.spec.max_result = limit;
    let graph = graph(with(vec![short])).build().unwrap();
    let value = value.clone();
    let script = script(vec![asks(&["one"]), says("done")], move |_| Ok(value.clone()));
    let mut driver = driver(&graph, script);
    driver.complete();
    results(&requests(&driver)[1])[0].clone()
}

#[test]
fn error_payloads_of_all_kinds_are_failed_calls() {
    let payloads = [
        (json!({"error": "closed"}), "closed"),
        (json!({"error": {"code": 3, "message": "closed"}}), "closed"),
        (json!({"error": {"code": 3}}), r#"{"code":3}"#),
        (json!({"jsonrpc": "2.0", "id": 1, "error": {"message": "closed"}}), "closed"),
        (json!({"isError": true, "content": [{"type": "text", "text": "closed"}]}), "closed"),
    ];
    for (payload, message) in payloads {
        let fault = settle(Ok(payload.clone())).unwrap_err();
        assert_eq!((fault.code.as_str(), fault.message.as_str()), ("tool_failed", message));
        assert_eq!(fault.details["result"], payload);
        assert!(!succeeded(&Ok(payload)));
    }
}

#[test]
fn a_value_that_mentions_an_error_is_a_value() {
    for value in [
        json!({"error": null}),
        json!({"error": "none", "rows": []}),
        json!({"isError": false, "content": []}),
        json!(["error"]),
        json!("error"),
        json!({"jsonrpc": "2.0", "result": 1}),
    ] {
        assert_eq!(error_in(&value), None, "{value}");
        assert_eq!(settle(Ok(value.clone())), Ok(value));
    }
}

#[test]
fn the_trace_and_the_model_agree_that_an_error_payload_is_a_failure() {
    let graph = graph(with(vec![tool("one", Read)])).build().unwrap();
    let payload = json!({"error": {"message": "the archive is closed"}});
    let script = script(vec![asks(&["one"]), says("done")], move |_| Ok(payload.clone()));
    let mut driver = driver(&graph, script);
    assert_eq!(driver.complete()["uses"], json!([["one", false]]));
    assert_eq!(results(&requests(&driver)[1]), ["error: the archive is closed"]);
    let data = &driver.of_kind(EventKind::ToolResult)[0].data;
    assert_eq!(data["ok"], false);
    assert_eq!(data["code"], FaultCode::ToolFailed.as_str());
    assert_eq!(data["message"], "the archive is closed");
}

#[test]
fn a_long_list_loses_its_last_items_and_says_how_many() {
    let list: Vec<u32> = (0..1_000).collect();
    let text = read(&json!(list), 12);
    let whole = json!(list).to_string().len();
    let expected = format!(
        "[0,1,2,3,4]\n[truncated: 5 of 1000 items; {} of {whole} characters were cut]",
        whole - 11
    );
    assert_eq!(text, expected);
}

#[test]
fn a_long_table_keeps_its_columns_and_whole_rows() {
    let rows: Vec<Json> = (0..100).map(|row| json!([row, "Lyon"])).collect();
    let table = json!({"row_count": 100, "columns": ["id", "city"], "rows": rows});
    let text = read(&table, 100);
    let (shown, mark) = text.split_once('\n').unwrap();
    let shown: Json = serde_json::from_str(shown).unwrap();
    assert_eq!(shown["columns"], table["columns"]);
    assert_eq!(shown["row_count"], 100);
    let kept = shown["rows"].as_array().unwrap().len();
    assert!(kept > 0 && mark.starts_with(&format!("[truncated: {kept} of 100 items;")), "{text}");
}

#[test]
fn an_object_without_lists_is_cut_as_text() {
    let text = read(&json!({"a": "x".repeat(100)}), 10);
    assert_eq!(text, "{\"a\":\"xxxx\n[truncated: 98 of 108 characters were cut]");
}

fn json_value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i32>().prop_map(Json::from),
        "\\PC{0,12}".prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Json::from),
            prop::collection::hash_map("[a-z]{1,4}", inner, 0..5)
                .prop_map(|fields| Json::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_result_is_longer_than_its_limit_and_a_cut_one_is_marked(
        value in json_value(), limit in 1_usize..200,
    ) {
        prop_assume!(error_in(&value).is_none() && antiphon_core::Content::of_result(&value).is_none());
        let text = read(&value, limit);
        let whole = match &value {
            Json::String(text) => text.clone(),
            value => value.to_string(),
        };
        if whole.chars().count() <= limit {
            prop_assert_eq!(text, whole);
        } else {
            let (shown, mark) = text.rsplit_once('\n').unwrap();
            prop_assert!(shown.chars().count() <= limit);
            prop_assert!(mark.starts_with("[truncated: ") && mark.ends_with("were cut]"));
        }
    }
}
