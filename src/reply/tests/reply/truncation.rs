//! Replies that a token limit cut off.

use antiphon_core::model::FinishReason::{Length, Stop};
use antiphon_core::reply::ParseLevel;
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
fn a_cut_reply_never_fits_before_its_required_fields_are_there() {
    let shape = shape(schema());
    let start_of_note = WHOLE.find("\"end").unwrap();
    for cut in cuts(WHOLE) {
        for finish in [Stop, Length] {
            match shape.parse_reply(&reply(cut, finish)) {
                Ok(reading) => {
                    assert!(cut.len() > start_of_note, "{cut}");
                    assert!(reading.repaired(), "{cut}");
                    assert_eq!(reading.value["score"], 1234, "{cut}");
                }
                Err(_) => assert!(cut.len() <= start_of_note, "{cut}"),
            }
        }
    }
    assert_eq!(shape.parse_reply(&reply(WHOLE, Length)).unwrap().level, ParseLevel::Strict);
}

#[test]
fn a_number_that_may_lack_digits_is_not_believed() {
    let shape = shape(json!({
        "type": "object",
        "properties": {"score": {"type": "integer"}},
        "required": ["score"],
    }));
    for text in [r#"{"score": 12"#, "So:\n```json\n{\"score\": 12"] {
        assert_eq!(shape.parse_reply(&reply(text, Stop)).unwrap().value, json!({"score": 12}));
        let unreadable = shape.parse_reply(&reply(text, Length)).unwrap_err();
        assert_eq!(unreadable.errors[0].path, "/score");
        let longer = format!("{text}, ");
        assert!(shape.parse_reply(&reply(&longer, Length)).unwrap().repaired());
    }
    let number = crate::shape(json!({"type": "integer"}));
    assert!(number.parse_reply(&reply("12", Stop)).is_ok());
    assert!(number.parse_reply(&reply("12", Length)).is_err());
}

#[test]
fn a_cut_list_keeps_what_was_said_in_full() {
    let shape = shape(json!({"type": "object", "properties": {"a": {"type": "array"}}}));
    let reading = shape.parse_reply(&reply(r#"{"a": [10, 20, 3"#, Length)).unwrap();
    assert_eq!((reading.value, reading.level), (json!({"a": [10, 20]}), ParseLevel::Repaired));
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
