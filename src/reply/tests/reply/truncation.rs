//! Replies that a token limit cut off.

use antiphon_core::model::FinishReason::{Length, Stop};
use antiphon_core::reply::ReplyParser as _;
use serde_json::{Value as Json, json};

use crate::{reply, shape};

const WHOLE: &str = r#"{"name": "A \"b\" \u00e9 é", "tags": ["x", {"y": [true, null]}], "score": 1234, "note": "end"}"#;

fn schema() -> Json {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"}, "tags": {"type": "array"},
            "score": {"type": "integer"}, "note": {"type": "string"},
        },
        "required": ["name", "tags", "score", "note"],
    })
}

fn cuts(text: &str) -> impl Iterator<Item = &str> {
    text.char_indices().map(|(at, _)| &text[..at])
}

#[test]
fn a_reply_without_its_end_fits_only_if_no_limit_cut_it() {
    let shape = shape(schema());
    let start_of_note = WHOLE.find("\"end").unwrap();
    for cut in cuts(WHOLE) {
        let unreadable = shape.parse_reply(&reply(cut, Length)).unwrap_err();
        assert!(unreadable.is_cut, "{cut}");
        match shape.parse_reply(&reply(cut, Stop)) {
            Ok(reading) => {
                assert!(cut.len() > start_of_note, "{cut}");
                assert!(reading.repaired(), "{cut}");
                assert_eq!(reading.value["score"], 1234, "{cut}");
            }
            Err(unreadable) => {
                assert!(cut.len() <= start_of_note, "{cut}");
                assert!(!unreadable.is_cut, "{cut}");
            }
        }
    }
    for whole in
        [WHOLE.to_owned(), format!("{WHOLE}\nThat is, as"), format!("```json\n{WHOLE}\n``")]
    {
        let reading = shape.parse_reply(&reply(&whole, Length)).unwrap();
        assert!(!reading.repaired(), "{whole}");
    }
}

#[test]
fn half_of_a_text_a_list_or_a_number_is_no_value() {
    let shape = shape(json!({"type": "object", "properties": {"a": {}}, "required": ["a"]}));
    for text in [
        r#"{"a": "The capital is Li"#,
        r#"{"a": "The capital is Lima.""#,
        r#"{"a": [10, 20, 3"#,
        r#"{"a": 12"#,
        r#"{"a": 12, "#,
        "So:\n```json\n{\"a\": 12",
    ] {
        assert!(shape.parse_reply(&reply(text, Stop)).is_ok(), "{text}");
        let unreadable = shape.parse_reply(&reply(text, Length)).unwrap_err();
        assert!(unreadable.is_cut && !unreadable.is_text, "{text}");
    }
    let number = crate::shape(json!({"type": "integer"}));
    assert!(number.parse_reply(&reply("12", Stop)).is_ok());
    assert!(number.parse_reply(&reply("12", Length)).is_err());
}

#[test]
fn the_model_is_told_to_be_shorter_and_the_failure_keeps_the_text() {
    let shape = shape(schema());
    let cut = format!("{{\"name\": \"{}", "a long name ".repeat(1_000));
    let unreadable = shape.parse_reply(&reply(&cut, Length)).unwrap_err();
    assert!(unreadable.feedback().contains("cut off at the limit of tokens"));
    assert!(unreadable.feedback().contains("shorter"));
    let fault = unreadable.into_fault();
    assert_eq!(fault.code, "model_output_invalid");
    assert_eq!((&fault.details["raw"], &fault.details["finish"]), (&json!(cut), &json!("length")));
    assert!(fault.hint.as_ref().unwrap().contains("max_output_tokens"));
    let wrong = shape.parse_reply(&reply("{\"name\": 1} and so", Length)).unwrap_err();
    assert!(!wrong.is_cut, "a whole value that does not fit is not cut off");
}

#[test]
fn an_inner_object_is_never_taken_for_a_cut_outer_one() {
    let tree = shape(json!({
        "$ref": "#/$defs/node",
        "$defs": {"node": {
            "type": "object",
            "properties": {"children": {"items": {"$ref": "#/$defs/node"}}, "name": {"type": "string"}},
            "required": ["name"],
        }},
    }));
    let whole =
        r#"{"children": [{"name": "one"}, {"name": "two", "children": []}], "name": "root"}"#;
    for cut in cuts(whole) {
        if let Ok(reading) = tree.parse_reply(&reply(cut, Length)) {
            assert!("root".starts_with(reading.value["name"].as_str().unwrap()), "{cut}");
        }
    }
}
