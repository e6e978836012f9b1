//! A field that the schema does not know, and the one that was meant.

use antiphon_core::reply::ReplyParser;
use serde_json::{Value as Json, json};

use crate::shape;

fn expected(schema: &Json, reply: &Json) -> Vec<String> {
    let violations = shape(schema.clone()).parse(&reply.to_string()).unwrap_err().errors;
    violations.into_iter().map(|violation| violation.expected).collect()
}

fn city() -> Json {
    json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "max_results": {"type": "integer"}},
        "additionalProperties": false,
    })
}

#[test]
fn a_misspelt_field_is_told_the_name_that_was_meant() {
    for name in ["citty", "City", "cty", "ctiy"] {
        let found = expected(&city(), &json!({ name: "Lyon" }));
        assert_eq!(found, ["no such field; did you mean `city`?"], "{name}");
    }
    let found = expected(&city(), &json!({"maxResults": 3}));
    assert_eq!(found, ["no such field; did you mean `max_results`?"]);
}

#[test]
fn a_field_that_is_like_no_other_is_told_which_there_are() {
    let found = expected(&city(), &json!({"country": "France"}));
    assert_eq!(found, ["no such field; the fields are `city`, `max_results`"]);
}

#[test]
fn fields_of_parts_are_found_through_lists_and_references() {
    let schema = json!({
        "type": "object",
        "properties": {"stops": {"type": "array", "items": {"$ref": "#/$defs/stop"}}},
        "$defs": {"stop": city()},
    });
    let found = expected(&schema, &json!({"stops": [{"citi": "Lyon"}]}));
    assert_eq!(found, ["no such field; did you mean `city`?"]);
}

#[test]
fn a_schema_that_refers_to_itself_ends_the_search() {
    let schema = json!({
        "type": "object",
        "properties": {"next": {"$ref": "#"}, "name": {"type": "string"}},
        "additionalProperties": false,
        "allOf": [{"properties": {"next": {"$ref": "#"}}}],
    });
    let found = expected(&schema, &json!({"next": {"nam": "a"}}));
    assert!(found.contains(&"no such field; did you mean `name`?".to_owned()), "{found:?}");
}

#[test]
fn allowed_values_are_listed() {
    let schema = json!({
        "type": "object",
        "properties": {"unit": {"enum": ["metre", "mile"]}},
    });
    assert_eq!(expected(&schema, &json!({"unit": "yard"})), [r#"one of "metre", "mile""#]);
}
