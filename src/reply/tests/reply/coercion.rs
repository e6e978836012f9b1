//! The liberties that are taken, and those that are not.

use antiphon_core::reply::ReplyParser as _;
use serde_json::{Value as Json, json};

use crate::shape;

/// Reads `value` under `schema` and gives the value and the places coerced.
fn coerced(schema: Json, value: &Json) -> Option<(Json, Vec<String>)> {
    let reading = shape(schema).parse(&json!({"x": value}).to_string()).ok()?;
    Some((reading.value.get("x")?.clone(), reading.coerced))
}

fn field(schema: &Json) -> Json {
    json!({"type": "object", "properties": {"x": schema}})
}

#[test]
fn what_is_meant_is_what_is_read() {
    for (schema, said, meant) in [
        (json!({"type": "integer"}), json!("3"), json!(3)),
        (json!({"type": "integer"}), json!(" -12 \n"), json!(-12)),
        (json!({"type": "integer"}), json!("3.0"), json!(3.0)),
        (json!({"type": "number"}), json!("2.5e3"), json!(2500.0)),
        (json!({"type": "string"}), json!(12), json!("12")),
        (json!({"type": "string"}), json!(0.1), json!("0.1")),
        (json!({"type": ["integer", "null"]}), json!("3"), json!(3)),
        (json!({"type": "array"}), json!("a"), json!(["a"])),
        (json!({"type": "array"}), json!({"k": 1}), json!([{"k": 1}])),
        (json!({"type": "array", "items": {"type": "integer"}}), json!("3"), json!([3])),
        (json!({"type": "array", "items": {"enum": ["a"]}}), json!(["A", "a"]), json!(["a", "a"])),
        (json!({"enum": ["Yes", "No"]}), json!("  yes"), json!("Yes")),
        (json!({"enum": ["ÄRGER"]}), json!("ärger"), json!("ÄRGER")),
        (json!({"enum": [1, 2]}), json!("2"), json!(2)),
        (json!({"enum": ["1", "2"]}), json!(2), json!("2")),
        (json!({"const": "done"}), json!("Done"), json!("done")),
        (json!({"type": "string", "pattern": "^[a-z]+$"}), json!(" ab "), json!("ab")),
        (json!({"type": "string", "maxLength": 2}), json!("ab\n"), json!("ab")),
        (json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), json!("3"), json!(3)),
        (
            json!({"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "integer"}}]}),
            json!("3"),
            json!([3]),
        ),
        (
            json!({"oneOf": [{"type": "object", "properties": {"k": {"const": "a"}, "n": {"type": "integer"}}, "required": ["k", "n"]},
                          {"type": "object", "properties": {"k": {"const": "b"}}, "required": ["k"]}]}),
            json!({"k": "A", "n": "1"}),
            json!({"k": "a", "n": 1}),
        ),
        (json!({"allOf": [{"type": "integer"}]}), json!("3"), json!(3)),
    ] {
        let (value, places) = coerced(field(&schema), &said).expect("a reading");
        assert_eq!(value, meant, "{schema} {said}");
        assert!(!places.is_empty() && places.iter().all(|p| p.starts_with("/x")), "{places:?}");
    }
}

#[test]
fn what_could_mean_two_things_means_nothing() {
    for (schema, said) in [
        (json!({"type": "integer"}), json!("3.5")),
        (json!({"type": "integer"}), json!("three")),
        (json!({"type": "integer"}), json!("123456789012345678901234567890")),
        (json!({"type": "number"}), json!("NaN")),
        (json!({"type": "number"}), json!("")),
        (json!({"type": "boolean"}), json!("true")),
        (json!({"type": "boolean"}), json!(1)),
        (json!({"type": "null"}), json!("null")),
        (json!({"type": "string"}), json!(true)),
        (json!({"type": "string"}), json!(null)),
        (json!({"type": "string"}), json!(["a"])),
        (json!({"type": "object"}), json!([{}])),
        (json!({"type": "array"}), json!(null)),
        (json!({"type": "array", "items": {"type": "object"}}), json!("a")),
        (json!({"enum": ["ab", "AB"]}), json!("Ab")),
        (json!({"enum": ["approve"]}), json!("approved")),
        (json!({"type": "string", "minLength": 1}), json!("")),
    ] {
        assert_eq!(coerced(field(&schema), &said), None, "{schema} {said}");
    }
}

#[test]
fn what_fits_is_left_alone() {
    for (schema, said) in [
        (json!({"type": "string"}), json!("  3 ")),
        (json!({"type": ["string", "integer"]}), json!("3")),
        (json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}), json!("3")),
        (json!({"enum": ["a", "A"]}), json!("A")),
        (json!({}), json!({"deep": [" x "]})),
    ] {
        assert_eq!(coerced(field(&schema), &said), Some((said, Vec::new())), "{schema}");
    }
}

#[test]
fn an_error_in_a_list_of_our_making_names_the_value_itself() {
    let steps = json!({"type": "array", "items": {"type": "object"}});
    let errors = shape(field(&steps)).parse(r#"{"x": "a"}"#).unwrap_err().errors;
    assert_eq!(errors.len(), 1);
    assert_eq!((errors[0].path.as_str(), errors[0].expected.as_str()), ("/x", "a list"));
    assert_eq!(errors[0].found, "\"a\"");
}

#[test]
fn extra_fields_stay_unless_the_schema_forbids_them() {
    let open = shape(json!({"type": "object", "properties": {"a": {}}}));
    assert_eq!(open.parse(r#"{"a": 1, "b": 2}"#).unwrap().value, json!({"a": 1, "b": 2}));
    let closed = shape(json!({"properties": {"a": {}}, "additionalProperties": false}));
    let errors = closed.parse(r#"{"a": 1, "b/c": 2}"#).unwrap_err().errors;
    assert_eq!(errors[0].path, "/b~1c");
    assert_eq!(errors[0].expected, "no such field; the fields are `a`");
}

#[test]
fn a_single_object_is_a_list_of_one_at_the_root() {
    let list = shape(json!({"type": "array", "items": {"type": "object"}}));
    let reading = list.parse(r#"{"a": 1}"#).unwrap();
    assert_eq!((reading.value, reading.coerced), (json!([{"a": 1}]), vec![String::new()]));
}
