//! Schemas for strict mode.

use antiphon_core::{ModelRequest, Schema};
use antiphon_models::endpoint::Endpoint;
use antiphon_models::openai_chat::request::encode;
use antiphon_models::strict_schema::{DroppedKeyword, SchemaSubset, StrictSchema};
use antiphon_models::wire::WireExchange;
use antiphon_models::{ModelName, ModelSettings};
use serde_json::{Value as Json, json};

fn dropped(path: &str, keyword: &str) -> DroppedKeyword {
    DroppedKeyword { path: path.into(), keyword: keyword.into() }
}

fn unfit(schema: &Json) -> String {
    StrictSchema::of(schema, SchemaSubset::OPENAI).unwrap_err().path
}

#[test]
fn every_object_is_closed_and_every_property_required() {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "tags": {"type": "array", "items": {
                "type": "object",
                "properties": {"key": {"type": "string"}, "value": {"type": ["number", "null"]}},
                "required": ["key"],
            }},
        },
        "required": ["name"],
    });
    let strict = StrictSchema::of(&schema, SchemaSubset::OPENAI).unwrap();
    let expected = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "tags": {"type": "array", "items": {
                "type": "object",
                "properties": {"key": {"type": "string"}, "value": {"type": ["number", "null"]}},
                "required": ["key", "value"],
                "additionalProperties": false,
            }},
        },
        "required": ["name", "tags"],
        "additionalProperties": false,
    });
    assert_eq!(strict.json, expected);
    assert_eq!(strict.dropped, []);
}

#[test]
fn keywords_that_strict_mode_does_not_take_are_dropped_and_reported() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": true,
        "properties": {
            "a/b": {"type": "string", "minLength": 1, "format": "uri", "pattern": "^a"},
            "c": {"type": "string", "format": "date", "pattern": "(?=x)", "default": "y"},
            "d": {"type": "integer", "minimum": 1, "maximum": 9},
            "e": {"type": "array", "items": {"type": "string"}, "uniqueItems": true, "maxItems": 3},
        },
    });
    let strict = StrictSchema::of(&schema, SchemaSubset::OPENAI).unwrap();
    assert_eq!(
        strict.dropped,
        [
            dropped("", "$schema"),
            dropped("/properties/a~1b", "minLength"),
            dropped("/properties/a~1b", "format"),
            dropped("/properties/c", "pattern"),
            dropped("/properties/c", "default"),
            dropped("/properties/e", "uniqueItems"),
            dropped("", "additionalProperties"),
        ]
    );
    let properties = &strict.json["properties"];
    assert_eq!(properties["a/b"], json!({"type": "string", "pattern": "^a"}));
    assert_eq!(properties["c"], json!({"type": "string", "format": "date"}));
    assert_eq!(properties["d"], json!({"type": "integer", "minimum": 1, "maximum": 9}));
    assert_eq!(properties["e"]["maxItems"], 3);
}

#[test]
fn choices_and_references_are_kept() {
    let schema = json!({
        "$defs": {"Leaf": {"type": "object", "properties": {"x": {"type": "number"}}}},
        "type": "object",
        "properties": {
            "either": {"anyOf": [{"$ref": "#/$defs/Leaf"}, {"type": "null"}]},
            "one": {"oneOf": [{"type": "string"}, {"const": 1}]},
            "wrapped": {"allOf": [{"$ref": "#/$defs/Leaf"}], "description": "a leaf"},
            "kind": {"enum": ["a", "b"]},
        },
    });
    let strict = StrictSchema::of(&schema, SchemaSubset::OPENAI).unwrap();
    assert_eq!(strict.json["$defs"]["Leaf"]["additionalProperties"], false);
    let properties = &strict.json["properties"];
    assert_eq!(properties["either"]["anyOf"][0], json!({"$ref": "#/$defs/Leaf"}));
    assert_eq!(properties["one"], json!({"anyOf": [{"type": "string"}, {"const": 1}]}));
    assert_eq!(properties["wrapped"], json!({"$ref": "#/$defs/Leaf"}));
    let expected =
        [dropped("/properties/one", "oneOf"), dropped("/properties/wrapped", "description")];
    assert_eq!(strict.dropped, expected);
}

#[test]
fn a_root_that_points_into_its_definitions_is_filled_in() {
    let node = json!({"type": "object", "properties": {"next": {
        "anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}],
    }}});
    let schema = json!({"$defs": {"Node": node}, "$ref": "#/$defs/Node"});
    let strict = StrictSchema::of(&schema, SchemaSubset::OPENAI).unwrap();
    assert_eq!(strict.json["type"], "object");
    assert_eq!(strict.json["required"], json!(["next"]));
    assert_eq!(strict.json["$defs"]["Node"]["required"], json!(["next"]));
}

#[test]
fn what_strict_mode_cannot_say_is_unfit() {
    let inside = |schema: Json| json!({"type": "object", "properties": {"x": schema}});
    let free = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    assert_eq!(unfit(&inside(free)), "/properties/x");
    assert_eq!(unfit(&inside(json!({"type": "object"}))), "/properties/x");
    assert_eq!(unfit(&inside(json!({"description": "anything"}))), "/properties/x");
    assert_eq!(unfit(&inside(json!(true))), "/properties/x");
    assert_eq!(unfit(&inside(json!({"type": "array", "items": true}))), "/properties/x/items");
    let tuple = json!({"type": "array", "prefixItems": [{"type": "string"}]});
    assert_eq!(unfit(&inside(tuple)), "/properties/x");
    assert_eq!(unfit(&json!({"type": "array", "items": {"type": "string"}})), "");
    assert_eq!(unfit(&json!({"anyOf": [{"type": "object", "properties": {}}]})), "/anyOf/0");
}

#[test]
fn anthropic_takes_optional_properties_and_no_bounds() {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "pattern": "^a", "format": "uri"},
            "age": {"type": "integer", "minimum": 0},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        },
        "required": ["name"],
    });
    let strict = StrictSchema::of(&schema, SchemaSubset::ANTHROPIC).unwrap();
    let expected = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "format": "uri"},
            "age": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["name"],
        "additionalProperties": false,
    });
    assert_eq!(strict.json, expected);
    let keywords: Vec<&str> = strict.dropped.iter().map(|one| one.keyword.as_str()).collect();
    assert_eq!(keywords, ["pattern", "minimum", "maxItems"]);
}

#[test]
fn a_schema_that_is_too_deep_is_unfit() {
    let mut schema = json!({"type": "string"});
    for _ in 0..200 {
        schema = json!({"type": "array", "items": schema});
    }
    assert!(StrictSchema::of(&schema, SchemaSubset::OPENAI).is_err());
}

#[test]
fn the_official_server_is_sent_the_strict_form_or_none() {
    let env = |name: &str| (name == "OPENAI_API_KEY").then(|| "k".to_owned());
    let name = ModelName::parse("openai:m").unwrap();
    let endpoint = Endpoint::resolve(&name, &ModelSettings::default(), &env).unwrap();
    let format = |schema: Json| {
        let schema = Some(Schema::new("answer", schema));
        let request = ModelRequest { schema, ..ModelRequest::default() };
        let body = encode(WireExchange { request: &request, endpoint: &endpoint }, false);
        body["response_format"]["json_schema"].clone()
    };
    let fit = format(json!({"type": "object", "properties": {"a": {"type": "string"}}}));
    assert_eq!((&fit["strict"], &fit["schema"]["required"]), (&json!(true), &json!(["a"])));
    let free = json!({"type": "object", "additionalProperties": {"type": "string"}});
    assert_eq!(format(free.clone()), json!({"name": "answer", "schema": free, "strict": false}));
}
