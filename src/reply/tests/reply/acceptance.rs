//! Acceptance numbers of `systems/common.md` and `systems/0-review-loop.md`.

use antiphon_core::Category;
use antiphon_core::reply::ParseLevel;
use antiphon_core::reply::ReplyParser as _;
use antiphon_reply::CompiledSchema;
use serde_json::json;

use crate::{any_object, shape};

fn critic() -> CompiledSchema {
    shape(json!({
        "type": "object",
        "properties": {
            "verdict": {"enum": ["approve", "reject"]},
            "feedback": {"type": "string"},
        },
        "required": ["verdict"],
        "if": {"properties": {"verdict": {"const": "reject"}}},
        "then": {"properties": {"feedback": {"minLength": 1}}, "required": ["feedback"]},
    }))
}

/// EN-04 of `docs/engine.md`.
#[test]
fn fenced_reply_with_prose_parses_without_reask() {
    let text = "Here is what you asked for:\n\n```json\n{\"verdict\": \"approve\"}\n```\nCheers!";
    let reading = critic().parse(text).unwrap();
    assert_eq!(reading.value, json!({"verdict": "approve"}));
    assert_eq!(reading.level, ParseLevel::Fenced);
    assert_eq!(reading.level.number(), 3);
    assert!(!reading.repaired());
}

/// EN-05 of `docs/engine.md`.
#[test]
fn repair_keeps_urls() {
    let reading = any_object().parse(r#"{"a": "http://x.y/z", }"#).unwrap();
    assert_eq!(reading.value, json!({"a": "http://x.y/z"}));
    assert_eq!(reading.level, ParseLevel::Repaired);
}

/// EN-06 of `docs/engine.md`.
#[test]
fn a_violation_names_the_path_of_the_error() {
    let plan = shape(json!({
        "type": "object",
        "properties": {"steps": {"type": "array", "items": {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
        }}},
    }));
    let unreadable = plan.parse(r#"{"steps": [{"name": "a"}, {"name": null}]}"#).unwrap_err();
    assert_eq!(unreadable.errors.len(), 1);
    assert_eq!(unreadable.errors[0].path, "/steps/1/name");
    let feedback = unreadable.feedback();
    assert!(feedback.contains("1. `/steps/1/name`: expected text, found null\n"), "{feedback}");

    let fault = unreadable.into_fault();
    assert_eq!(fault.category, Category::ModelOutput);
    assert_eq!(fault.code, "model_output_invalid");
    assert_eq!(fault.details["errors"][0]["path"], "/steps/1/name");
    assert!(fault.details["raw"].as_str().unwrap().starts_with(r#"{"steps""#));
}

/// RL-11 of `docs/systems/review-loop.md`.
#[test]
fn a_verdict_in_capitals_is_a_verdict() {
    let reading = critic().parse(r#"{"verdict": " APPROVE "}"#).unwrap();
    assert_eq!(reading.value, json!({"verdict": "approve"}));
    assert_eq!(reading.coerced, ["/verdict"]);
    assert_eq!(reading.level, ParseLevel::Strict);

    let unreadable = critic().parse(r#"{"verdict": "maybe"}"#).unwrap_err();
    assert!(unreadable.errors.iter().any(|error| error.path == "/verdict"
        && error.expected == r#"one of "approve", "reject""#
        && error.found == r#""maybe""#));
}

/// RL-12 of `docs/systems/review-loop.md`.
#[test]
fn a_rejection_needs_feedback() {
    for text in [r#"{"verdict": "reject", "feedback": ""}"#, r#"{"verdict": "reject"}"#] {
        let unreadable = critic().parse(text).unwrap_err();
        assert_eq!(unreadable.errors.len(), 1, "{text}");
        assert_eq!(unreadable.errors[0].path, "/feedback", "{text}");
    }
    critic().parse(r#"{"verdict": "approve", "feedback": ""}"#).unwrap();
    critic().parse(r#"{"verdict": "Reject", "feedback": "no"}"#).unwrap();
    // The case is mended first, and the condition then holds.
    let unreadable = critic().parse(r#"{"verdict": "REJECT", "feedback": ""}"#).unwrap_err();
    assert_eq!(unreadable.errors[0].expected, "text that is not empty");
}

/// RL-13 of `docs/systems/review-loop.md`.
#[test]
fn a_plan_in_a_fence_amid_prose_is_read() {
    let reading = any_object().parse("Sure.\n```\n{\"steps\": [1]}\n```\nDone.").unwrap();
    assert_eq!((reading.value, reading.level), (json!({"steps": [1]}), ParseLevel::Fenced));
}

#[test]
fn what_a_model_has_thought_is_no_answer() {
    let thoughts = "<think>\nThe form is {\"n\": 1}.\n```\n{\"n\": 2}\n```\n</think>\n\n";
    let read = |text: &str| any_object().parse(text).map(|reading| reading.value);
    for answer in ["{\"n\": 3}", "It is {\"n\": 3}", "```json\n{\"n\": 3}\n```"] {
        assert_eq!(read(&format!("{thoughts}{answer}")).unwrap(), json!({"n": 3}), "{answer}");
        let end = thoughts.strip_prefix("<think>\n").unwrap();
        assert_eq!(read(&format!("{end}{answer}")).unwrap(), json!({"n": 3}), "{answer}");
    }
    assert!(read("<think>{\"n\": 1}").is_err());
    assert!(read(thoughts).is_err());
    for text in ["{\"tag\": \"</think>\"}", "Here it is: {\"tag\": \"</think>\"}"] {
        assert_eq!(read(text).unwrap(), json!({"tag": "</think>"}), "{text}");
    }
    let text = "\"Which\" may mean {\"n\": 1}.\n</think>\n{\"n\": 3}";
    assert_eq!(read(text).unwrap(), json!({"n": 3}));
}

/// RL-14 of `docs/systems/review-loop.md`.
#[test]
fn a_missing_field_is_named() {
    let plan = shape(json!({"type": "object", "required": ["expert_steps"]}));
    let unreadable = plan.parse("{}").unwrap_err();
    assert!(unreadable.feedback().contains("`/expert_steps`"));
}
