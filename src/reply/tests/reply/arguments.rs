//! Arguments of tool calls, which models write like replies.

use antiphon_core::reply::ParseLevel;
use antiphon_core::reply::ReplyParser as _;
use serde_json::json;

use crate::shape;

#[test]
fn no_arguments_are_an_empty_object() {
    let none = shape(json!({"type": "object", "properties": {"n": {"default": 5}}}));
    for text in ["", "  \n", "{}"] {
        let reading = none.parse_arguments(text).unwrap();
        assert_eq!((reading.value, reading.level), (json!({"n": 5}), ParseLevel::Strict));
    }
    let one = shape(json!({"type": "object", "required": ["q"]}));
    assert_eq!(one.parse_arguments("").unwrap_err().errors[0].path, "/q");
    assert!(one.parse("").unwrap_err().feedback().contains("an empty reply"));
}

#[test]
fn malformed_arguments_are_repaired_and_coerced() {
    let search = shape(json!({
        "type": "object",
        "properties": {"q": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["q"],
    }));
    let reading = search.parse_arguments("{q: 'http://x.y/z', n: '3',}").unwrap();
    assert_eq!(reading.value, json!({"q": "http://x.y/z", "n": 3}));
    assert_eq!((reading.level, reading.coerced), (ParseLevel::Repaired, vec!["/n".to_owned()]));
}

#[test]
fn arguments_that_end_too_early_are_refused() {
    let pay = shape(json!({
        "type": "object",
        "properties": {"to": {"type": "string"}, "euros": {"type": "integer"}},
        "required": ["to"],
    }));
    for cut in [
        r#"{"to": "ada", "euros": 1"#,
        r#"{"to": "ada", "euros":"#,
        r#"{"to": "ada", "note": "for the cha"#,
        r#"{"to": "ad"#,
        "{to: 'ada', euros: 10",
        "```json\n{\"to\": \"ada\", \"euros\": 1",
    ] {
        let refused = pay.parse_arguments(cut).unwrap_err();
        assert!(refused.argument_feedback("pay").contains("the beginning of one"), "{cut}");
    }
    for whole in ["{to: 'ada'}", "I pay {\"to\": \"ada\"} now", "```json\n{\"to\": \"ada\"}"] {
        assert_eq!(pay.parse_arguments(whole).unwrap().value, json!({"to": "ada"}), "{whole}");
    }
}

#[test]
fn a_model_with_wrong_arguments_is_asked_to_call_again() {
    let search = shape(json!({"type": "object", "required": ["q"]}));
    let feedback = search.parse_arguments(r#"{"n": 3}"#).unwrap_err().argument_feedback("search");
    assert!(feedback.starts_with("1. `/q`: expected a value"), "{feedback}");
    assert!(feedback.ends_with("Call \"search\" again, with corrected arguments."), "{feedback}");
    let feedback = search.parse_arguments("Lyon").unwrap_err().argument_feedback("search");
    assert!(feedback.contains("the whole object: expected a JSON object"), "{feedback}");
    assert!(!feedback.contains("your reply"), "{feedback}");
}
