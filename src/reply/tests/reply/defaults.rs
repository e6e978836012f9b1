//! Optional fields that a reply leaves out.

use antiphon_core::reply::ReplyParser as _;
use serde_json::{Value as Json, json};

use crate::shape;

fn read(schema: Json, text: &str) -> Json {
    shape(schema).parse(text).unwrap().value
}

#[test]
fn a_missing_optional_field_gets_its_default() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "integer", "default": 3},
        "b": {"type": "string"},
    }});
    assert_eq!(read(schema.clone(), "{}"), json!({"a": 3}));
    assert_eq!(read(schema, r#"{"a": 1}"#), json!({"a": 1}));
}

#[test]
fn a_missing_required_field_is_missing_all_the_same() {
    let schema = json!({"properties": {"a": {"default": 3}}, "required": ["a"]});
    assert_eq!(shape(schema).parse("{}").unwrap_err().errors[0].path, "/a");
}

#[test]
fn defaults_are_found_through_references_choices_and_lists() {
    let schema = json!({
        "type": "object",
        "properties": {
            "steps": {"type": "array", "items": {"$ref": "#/$defs/step"}},
            "mode": {"$ref": "#/$defs/mode"},
            "tip": {"anyOf": [{"$ref": "#/$defs/step"}, {"type": "null"}], "default": null},
            "pair": {"prefixItems": [{"properties": {"z": {"default": 0}}}]},
        },
        "additionalProperties": {"properties": {"extra": {"default": true}}},
        "allOf": [{"properties": {"also": {"default": "yes"}}}],
        "if": {"required": ["steps"]},
        "then": {"properties": {"then": {"default": 1}}},
        "else": {"properties": {"then": {"default": 2}}},
        "$defs": {
            "step": {"type": "object", "properties": {"n~/x": {"type": "integer", "default": 1}}},
            "mode": {"enum": ["fast", "slow"], "default": "fast"},
        },
    });
    let text = r#"{"steps": [{}, {"n~/x": 5}], "tip": {}, "pair": [{}], "other": {}}"#;
    let expected = json!({
        "steps": [{"n~/x": 1}, {"n~/x": 5}], "tip": {"n~/x": 1}, "pair": [{"z": 0}],
        "other": {"extra": true}, "mode": "fast", "also": "yes", "then": 1,
    });
    assert_eq!(read(schema.clone(), text), expected);
    assert_eq!(read(schema, "{}"), json!({"mode": "fast", "tip": null, "also": "yes", "then": 2}));
}

#[test]
fn a_default_that_breaks_its_own_schema_is_left_out() {
    let schema = json!({"properties": {"a": {"type": "integer", "default": "none"}}});
    assert_eq!(read(schema, "{}"), json!({}));
}

#[test]
fn schemas_that_go_round_in_circles_come_to_an_end() {
    let schema = json!({
        "$ref": "#/$defs/n",
        "$defs": {"n": {"type": "object", "properties": {
            "next": {"$ref": "#/$defs/n"}, "v": {"default": 0},
        }}},
    });
    assert_eq!(
        read(schema, r#"{"next": {"next": {}}}"#),
        json!({"next": {"next": {"v": 0}, "v": 0}, "v": 0})
    );
    assert_eq!(read(json!({"$ref": "#", "default": 1}), "{}"), json!({}));
    let chase = json!({"properties": {"a": {"$ref": "#/properties/a"}}, "default": 1});
    assert_eq!(read(chase, "{}"), json!({}));
}
