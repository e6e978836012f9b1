//! What is not nearly JSON is refused rather than guessed at.

use antiphon_core::reply::ReplyParser as _;
use serde_json::json;

use crate::shape;

#[test]
fn no_value_is_guessed() {
    let shape = shape(json!({"type": ["object", "array"]}));
    for text in [
        "",
        "   ",
        "I cannot help with that.",
        "approve",
        "{",
        "[",
        "}{",
        "{name}",
        "[see above](http://x.y/z)",
        r#"{"a": approve}"#,
        r#"{"a": http://x.y/z}"#,
        r#"{"a" 1}"#,
        r#"{"a": 1 "b": 2}"#,
        r#"{"a": 1,, "b": 2}"#,
        r#"{,"a": 1}"#,
        r#"{"a": "he said "hi" there"}"#,
        r#"{"a": [1, 2}"#,
        r#"{"a": 1, oops}"#,
        r#"{"a": +1}"#,
        r#"{"a": 0x1F}"#,
        r#"{"a": NaN}"#,
        r#"{"a": 1e999}"#,
        r#"{"a": undefined}"#,
        r#"{"name": "x" oops, "children": [{"name": "y"}]}"#,
        "42",
        "null",
        "\"text\"",
    ] {
        let unreadable = shape.parse(text).expect_err(text);
        assert!(!unreadable.errors.is_empty(), "{text}");
        assert_eq!(unreadable.raw, text);
    }
}

#[test]
fn a_part_of_an_answer_is_never_the_answer() {
    let tree = shape(json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "score": {"type": "integer"}},
        "required": ["name", "score"],
    }));
    for text in [
        r#"{"name": "x", "of": {"name": "y", "score": 1}}"#,
        r#"{"name": "x", "of": {"name": "y", "score": 1},}"#,
        r#"{"name": "x", "of": {"name": "y", "score": 1}, "score": "#,
        r#"{"name": "x" oops, "of": {"name": "y", "score": 1}}"#,
        r#"{"name": "x", "of": [{"name": "y", "score": 1}"#,
    ] {
        assert!(tree.parse(text).is_err(), "{text}");
        assert!(tree.parse(&format!("So: {text}")).is_err(), "{text}");
        assert!(tree.parse(&format!("```\n{text}\n```")).is_err(), "{text}");
    }
}

#[test]
fn the_errors_are_those_of_the_value_that_came_closest() {
    let shape = shape(json!({
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    }));
    let text = "As [1] has it: {\"x\": 0}\n```\n{\"a\": 1, \"b\": \"many\"}\n```\nor [2].";
    let errors = shape.parse(text).unwrap_err().errors;
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].path, "/b");
}

#[test]
fn a_violation_is_reported_with_its_place() {
    let text = "Here:\n{\"a\": 1,\n \"é\" \"b\": 2}";
    let errors = shape(json!({"type": "object"})).parse(text).unwrap_err().errors;
    assert_eq!(errors[0].expected, "a colon");
    assert_eq!(errors[0].found, r#""\"b\": 2}" at line 3, column 6"#);
}
