//! Schemas that compile, and those that do not.

use antiphon_core::reply::ReplyParser as _;
use antiphon_core::{FaultCode, Schema};
use antiphon_reply::CompiledSchema;
use serde_json::{Value as Json, json};

use crate::shape;

#[test]
fn a_bad_schema_is_a_validation_fault() {
    let mut deep = json!({"type": "string"});
    for _ in 0..200 {
        deep = json!({"not": deep});
    }
    for schema in [
        json!([1]),
        json!("x"),
        json!({"type": "foo"}),
        json!({"required": "a"}),
        json!({"pattern": "("}),
        json!({"pattern": "(a{1000}){1000}"}),
        json!({"$ref": "#/nope"}),
        json!({"$ref": "https://example.com/schema.json"}),
        json!({"$ref": "file:///etc/passwd"}),
        json!({"$schema": "https://example.com/meta"}),
        deep,
    ] {
        let fault =
            CompiledSchema::compile(&Schema::new("mine", schema.clone())).expect_err("a fault");
        assert_eq!(fault.code, FaultCode::SchemaInvalid);
        assert!(fault.message.starts_with("the schema `mine` "), "{}", fault.message);
        assert!(fault.hint.is_some());
    }
}

#[test]
fn the_place_in_a_bad_schema_is_reported() {
    let schema = Schema::new("mine", json!({"properties": {"a": {"type": "foo"}}}));
    let fault = CompiledSchema::compile(&schema).unwrap_err();
    assert_eq!(
        fault.message,
        "the schema `mine` is not a valid JSON schema at `/properties/a/type`: \"foo\""
    );
    assert_eq!(fault.details["path"], "/properties/a/type");
}

#[test]
fn checking_a_value_changes_nothing_and_tells_every_place() {
    let strict = shape(json!({
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"enum": ["x"]}, "c": {"default": 1}},
    }));
    assert_eq!(strict.validate(&json!({"a": 1})), Ok(()));
    let violations = strict.validate(&json!({"a": "1", "b": "X"})).unwrap_err();
    let paths: Vec<&str> = violations.iter().map(|violation| violation.path.as_str()).collect();
    assert_eq!(paths, ["/a", "/b"]);
}

#[test]
fn a_pattern_cannot_run_away() {
    let shape =
        shape(json!({"type": "object", "properties": {"a": {"pattern": "^(?=(a+)+$)(.*)\\2x"}}}));
    let text = json!({"a": "a".repeat(5_000) + "b"}).to_string();
    let errors = shape.parse(&text).unwrap_err().errors;
    assert_eq!(errors[0].path, "/a");
}

#[test]
fn deep_but_permitted_schemas_compile() {
    let mut schema: Json = json!({"type": "string"});
    for _ in 0..60 {
        schema = json!({"type": "object", "properties": {"c": schema}});
    }
    shape(schema).parse(r#"{"c": {}}"#).unwrap();
}

#[test]
fn a_shape_can_be_shared_between_threads() {
    fn shared<T: Clone + Send + Sync + std::fmt::Debug + 'static>(_: &T) {}
    let shape = shape(json!({"type": "object"}));
    shared(&shape);
    assert_eq!(format!("{shape:?}"), r#"CompiledSchema { name: "test", .. }"#);
    assert_eq!(shape.schema().name, "test");
}
