//! The words for a model that is asked again.

use antiphon_core::reply::ReplyParser as _;
use antiphon_core::reply::{UnreadableReply, Violation};
use serde_json::{Value as Json, json};

use crate::shape;

fn feedback(schema: Json, text: &str) -> String {
    shape(schema).parse(text).unwrap_err().feedback()
}

#[test]
fn each_error_has_a_number_a_path_what_was_expected_and_what_was_found() {
    let schema = json!({
        "type": "object",
        "properties": {
            "score": {"type": "integer", "minimum": 0, "maximum": 10},
            "tags": {"type": "array", "minItems": 2},
            "kind": {"oneOf": [{"type": "integer"}, {"type": "boolean"}]},
        },
        "required": ["score", "why"],
    });
    let text = feedback(schema, r#"{"score": 11, "tags": ["a"], "kind": {"x": 1}}"#);
    for line in [
        "`/why`: expected a value, the field is required, found nothing\n",
        "`/score`: expected a number of at most 10, found 11\n",
        "`/tags`: expected a list of at least 2 items, found a list of 1 item\n",
        "`/kind`: expected a whole number or true or false, found an object with 1 field\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert!(text.contains("\n1. ") && text.contains("\n4. ") && !text.contains("\n5. "), "{text}");
}

#[test]
fn the_errors_of_a_choice_are_those_of_the_branch_that_was_meant() {
    let schema = json!({"type": "object", "properties": {"x": {"anyOf": [
        {"type": "null"},
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a", "b"]},
    ]}}});
    let text = feedback(schema, r#"{"x": {"a": 1}}"#);
    assert!(text.contains("1. `/x/b`: expected a value"), "{text}");
}

#[test]
fn feedback_to_prose_without_json_asks_for_its_form_and_speaks_of_no_mistake() {
    let text = feedback(json!({"type": "object"}), "The answer is\nLima.");
    assert_eq!(
        text,
        "Now give this in the form that was asked for: a JSON object and nothing else, no \
         explanation, no code fence."
    );
    let town = json!({"type": "object", "required": ["town"]});
    let broken = feedback(town, "The answer is {\"city\": 1}");
    assert!(broken.starts_with("Your last reply could not be used."), "{broken}");
    assert!(feedback(json!({"type": "array"}), "").contains("a JSON list, found an empty reply"));
}

#[test]
fn feedback_is_short_for_any_reply() {
    let long = "x".repeat(100_000);
    let fields: serde_json::Map<String, Json> =
        (0..1_000).map(|n| (format!("{n}\n`{long}`"), json!(long))).take(50).collect();
    let text = json!({"a": fields}).to_string();
    let schema = json!({"properties": {"a": {"additionalProperties": {"type": "integer"}}}});
    let unreadable = shape(schema).parse(&text).unwrap_err();
    assert_eq!(unreadable.errors.len(), 50);
    let feedback = unreadable.feedback();
    assert!(feedback.chars().count() < 6_000, "{}", feedback.len());
    assert!(feedback.contains("and 38 more"), "{feedback}");
    assert_eq!(feedback.lines().count(), 1 + 12 + 1 + 1);

    let fault = unreadable.into_fault();
    assert!(fault.details["raw"].as_str().unwrap().chars().count() <= UnreadableReply::RAW + 1);
    assert_eq!(fault.details["errors"].as_array().unwrap().len(), UnreadableReply::SHOWN);
    assert!(fault.details["errors"].to_string().len() < 10_000);
}

#[test]
fn the_fault_is_one_sentence_that_ends_with_the_value() {
    let sentence = |schema: Json, text: &str| {
        let fault = shape(schema).parse(text).unwrap_err().into_fault();
        fault.message.clone()
    };
    assert_eq!(
        sentence(json!({"properties": {"a": {"type": "integer"}}}), r#"{"a": "b"}"#),
        "the model's reply should have a whole number at `/a` but has: \"b\""
    );
    assert_eq!(
        sentence(json!({"type": "object"}), ""),
        "the model's reply should be a JSON object but is: an empty reply"
    );
}

#[test]
fn an_unreadable_reply_survives_a_checkpoint() {
    let error = Violation { path: "/a".into(), expected: "b".into(), found: "c".into() };
    let unreadable =
        UnreadableReply { raw: "x".into(), errors: vec![error], ..UnreadableReply::default() };
    let text = serde_json::to_string(&unreadable).unwrap();
    assert_eq!(serde_json::from_str::<UnreadableReply>(&text).unwrap(), unreadable);
}
