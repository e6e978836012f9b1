//! Endpoints of `OpenAPI` documents.

use antiphon_tools::http_api::{ApiCatalogue, ApiEndpoint, ParameterLocation};
use serde_json::{Value as Json, json};

fn document() -> Json {
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Shop", "description": "Sells things.", "version": "1"},
        "servers": [{"url": "https://api.shop.example/v2"}],
        "security": [{"key": []}],
        "paths": {
            "/orders/{id}": {
                "parameters": [{"$ref": "#/components/parameters/Id"}],
                "get": {
                    "tags": ["orders"], "summary": "One order", "description": "With its items",
                    "parameters": [
                        {"name": "fields", "in": "query", "explode": false,
                         "schema": {"type": "array", "items": {"type": "string"}}},
                        {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
                        {"name": "session", "in": "cookie", "schema": {"type": "string"}}
                    ]
                }
            },
            "/orders": {
                "$ref": "#/components/pathItems/Orders"
            },
            "/status": {"get": {"security": [], "summary": "Health"}}
        },
        "components": {
            "pathItems": {"Orders": {"post": {
                "requestBody": {"$ref": "#/components/requestBodies/Order"}
            }}},
            "parameters": {"Id": {"name": "id", "in": "path", "required": true,
                                  "schema": {"$ref": "#/components/schemas/Id"}}},
            "requestBodies": {"Order": {"required": true, "content": {
                "application/json; charset=utf-8": {"schema": {"$ref": "#/components/schemas/Order"}}}}},
            "schemas": {
                "Id": {"type": "integer", "minimum": 1},
                "Order": {
                    "type": "object", "required": ["item"],
                    "properties": {
                        "item": {"type": "string", "nullable": true},
                        "example": {"type": "integer"},
                        "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Order"}}
                    }
                }
            }
        }
    })
}

#[test]
fn references_are_resolved_and_recursion_ends() {
    let catalogue = ApiCatalogue::parse(&document().to_string()).unwrap();
    assert_eq!(catalogue.base_url.as_deref(), Some("https://api.shop.example/v2"));
    assert_eq!(catalogue.snippets[0].content, "Sells things.");
    let ids: Vec<_> = catalogue.endpoints.iter().map(ApiEndpoint::id).collect();
    assert_eq!(ids, ["GET /orders/{id}", "POST /orders", "GET /status"]);

    let one = &catalogue.endpoints[0];
    assert_eq!(one.description, "One order. With its items");
    let parameters: Vec<_> =
        one.parameters.iter().map(|known| (known.name.as_str(), known.location)).collect();
    assert_eq!(
        parameters,
        [
            ("fields", ParameterLocation::Query),
            ("X-Trace", ParameterLocation::Header),
            ("id", ParameterLocation::Path),
        ]
    );
    assert!(one.parameters[0].joined);
    assert_eq!(one.parameters[2].schema, json!({"type": "integer", "minimum": 1}));
    assert!(one.requires_auth);
    assert!(!catalogue.endpoints[2].requires_auth);

    let post = &catalogue.endpoints[1];
    assert!(post.body_required);
    let body = post.body.as_ref().unwrap();
    assert_eq!(body["properties"]["example"], json!({"type": "integer"}));
    assert_eq!(
        body["properties"]["item"],
        json!({"anyOf": [{"type": "string"}, {"type": "null"}]})
    );
    assert!(body.pointer("/properties/parts/items/properties/parts/items").is_some());
    assert!(body.to_string().len() < 10_000);
    assert!(!body.to_string().contains("$ref"));
}

#[test]
fn yaml_reads_the_same() {
    let text = "
openapi: 3.0.3
paths:
  /a:
    get:
      responses:
        200: {description: fine}
      parameters:
        - {name: n, in: query, schema: {type: number, minimum: 0, exclusiveMinimum: true}}
";
    let catalogue = ApiCatalogue::parse(text).unwrap();
    let schema = &catalogue.endpoints[0].parameters[0].schema;
    assert_eq!(*schema, json!({"type": "number", "minimum": 0}));
}

#[test]
fn references_to_elsewhere_are_refused() {
    for target in
        ["https://evil.example/x.json#/a", "other.yaml", "#/components/none", "file:///etc/passwd"]
    {
        let mut broken = document();
        broken["components"]["schemas"]["Id"] = json!({"$ref": target});
        let fault = ApiCatalogue::parse(&broken.to_string()).unwrap_err();
        assert_eq!(fault.code, "api_catalogue_invalid", "{target}");
    }
    let mut circle = document();
    circle["components"]["parameters"]["Id"] = json!({"$ref": "#/components/parameters/Id"});
    assert_eq!(ApiCatalogue::parse(&circle.to_string()).unwrap_err().code, "api_catalogue_invalid");
}

#[test]
fn schemas_that_multiply_are_bounded() {
    let mut wide = document();
    let branches: Vec<_> = (0..10).map(|_| json!({"$ref": "#/components/schemas/Order"})).collect();
    wide["components"]["schemas"]["Order"] = json!({"anyOf": branches});
    let catalogue = ApiCatalogue::parse(&wide.to_string()).unwrap();
    assert!(catalogue.endpoints[1].body.as_ref().unwrap().to_string().len() < 100_000);
}
