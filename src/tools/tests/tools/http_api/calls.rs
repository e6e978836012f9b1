//! Calls: parameters are checked and put in their places.

use antiphon_net::Url;
use antiphon_tools::http_api::{ApiCall, ApiCatalogue, ApiEndpoint, PreparedCall};
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

const CATALOGUE: &str = "
sections:
  - id: all
    endpoints:
      - path: /v1/orders/:id/items/:idx
      - path: /files/{name}.{kind}/raw
      - path: /time/12:30
      - path: /search
        query_params:
          q: {type: string, required: true}
          limit: {type: integer, minimum: 1, maximum: 100}
          tags: {type: array, items: {type: string}}
          sort: {type: string, enum: [name, date]}
      - method: POST
        path: /orders
        body: {type: object, required: [item], properties: {item: {type: string}}}
";

fn map(value: Json) -> Map<String, Json> {
    match value {
        Json::Object(fields) => fields,
        other => panic!("{other}"),
    }
}

fn endpoint(path: &str) -> ApiEndpoint {
    let catalogue = ApiCatalogue::parse(CATALOGUE).unwrap();
    catalogue.endpoints.into_iter().find(|entry| entry.path == path).unwrap()
}

fn base() -> Url {
    Url::parse("https://api.example.com/base/").unwrap()
}

fn url(path: &str, call: &ApiCall) -> Result<String, antiphon_core::Fault> {
    PreparedCall::new(&endpoint(path), call, &base()).map(|call| call.url().to_string())
}

fn with_path(values: Json) -> ApiCall {
    ApiCall { path: map(values), ..ApiCall::default() }
}

fn with_query(values: Json) -> ApiCall {
    ApiCall { query: map(values), ..ApiCall::default() }
}

#[test]
fn placeholders_are_replaced_at_the_borders_of_segments() {
    let call = with_path(json!({"id": 7, "idx": 9}));
    assert_eq!(
        url("/v1/orders/:id/items/:idx", &call).unwrap(),
        "https://api.example.com/base/v1/orders/7/items/9"
    );
    let call = with_path(json!({"name": "a b/c?d#e%2f", "kind": "ü"}));
    assert_eq!(
        url("/files/{name}.{kind}/raw", &call).unwrap(),
        "https://api.example.com/base/files/a%20b%2Fc%3Fd%23e%252f.%C3%BC/raw"
    );
    let literal = url("/time/12:30", &ApiCall::default()).unwrap();
    assert_eq!(literal, "https://api.example.com/base/time/12:30");
}

#[test]
fn values_that_would_change_the_path_are_refused() {
    let paths = ["..", ".", "7/../x", "../x", "7\\..\\x", "%2e%2e", "7%2F..", "a/./b", "", "a\nb"];
    for id in paths.map(Json::from).into_iter().chain([json!({"a": 1}), json!(null)]) {
        let call = with_path(json!({"id": id, "idx": 1}));
        let fault = url("/v1/orders/:id/items/:idx", &call).unwrap_err();
        assert_eq!(fault.code, "api_call_invalid", "{id}");
        assert_eq!(fault.details["path_parameters"], json!(["id", "idx"]), "{id}");
    }
    let missing = url("/v1/orders/:id/items/:idx", &with_path(json!({"id": 1}))).unwrap_err();
    assert!(missing.message.ends_with("`path` lacks the parameter: idx"), "{missing}");
}

#[test]
fn the_query_is_checked_and_escaped() {
    let call = with_query(json!({"q": "a&b=c d", "limit": "5", "tags": ["x", "y"], "sort": null}));
    assert_eq!(
        url("/search", &call).unwrap(),
        "https://api.example.com/base/search?q=a%26b%3Dc+d&limit=5&tags=x&tags=y"
    );
    for (query, problem) in [
        (json!({}), "`query` lacks the parameter: q"),
        (json!({"q": "a", "limit": 500}), "`limit` in `query` does not fit"),
        (json!({"q": "a", "limit": "many"}), "`limit` in `query` does not fit"),
        (json!({"q": "a", "sort": "price"}), "`sort` in `query` does not fit"),
        (
            json!({"q": "a", "api_key": "x"}),
            "unknown parameter (it has q, limit, tags, sort): api_key",
        ),
    ] {
        let fault = url("/search", &with_query(query)).unwrap_err();
        assert!(fault.message.contains(problem), "{fault}");
    }
}

#[test]
fn bodies_are_checked() {
    let orders = endpoint("/orders");
    let prepare = |body: Option<Json>| {
        let call = ApiCall { body, ..ApiCall::default() };
        PreparedCall::new(&orders, &call, &base()).map(|call| call.body().map(str::to_owned))
    };
    assert_eq!(
        prepare(Some(json!({"item": "cup"}))).unwrap().as_deref(),
        Some("{\"item\":\"cup\"}")
    );
    assert!(prepare(Some(json!({"item": 5}))).unwrap_err().message.contains("`body` does not fit"));
    assert!(prepare(None).unwrap_err().message.contains("it needs a body"));
    let call =
        ApiCall { body: Some(json!({})), query: map(json!({"q": "a"})), ..ApiCall::default() };
    assert!(url("/search", &call).unwrap_err().message.contains("it has no body"));
    let call = ApiCall { headers: map(json!({"Authorization": "x"})), ..ApiCall::default() };
    assert!(url("/time/12:30", &call).is_err());
}

proptest! {
    #[test]
    fn no_value_leaves_its_place(id in ".{1,30}", idx in ".{1,30}", q in ".{0,30}") {
        let call = with_path(json!({"id": id, "idx": idx}));
        if let Ok(url) = url("/v1/orders/:id/items/:idx", &call) {
            let url = Url::parse(&url).unwrap();
            prop_assert_eq!(url.host_str(), Some("api.example.com"));
            let segments: Vec<_> = url.path_segments().unwrap().collect();
            prop_assert_eq!(segments.len(), 6);
            prop_assert_eq!((segments[0], segments[1], segments[4]), ("base", "v1", "items"));
            prop_assert!(url.query().is_none() && url.fragment().is_none());
        }
        if let Ok(url) = url("/search", &with_query(json!({"q": q}))) {
            let url = Url::parse(&url).unwrap();
            let pairs: Vec<_> = url.query_pairs().collect();
            prop_assert_eq!(pairs.len(), 1);
            prop_assert_eq!(&*pairs[0].1, &*q);
        }
    }
}
