//! Catalogues, and the endpoints that fit a question.

use std::fmt::Write as _;

use antiphon_tools::http_api::{ApiCatalogue, ApiEndpoint, ParameterLocation, ScoringMode};

pub(super) const SHOP: &str = "
base_url: https://api.shop.example/base
sections:
  - id: orders
    title: Orders
    source: orders.md
    content: |
      # Orders
      - GET `/v1/orders` list orders, needs from and to
      - GET `/v1/orders/:id` one order
      - `POST /v1/orders` create an order
      Text without an endpoint, and `no path`.
  - id: customers
    title: Customers
    endpoints:
      - path: /v1/customers
        description: list customers
        query_params:
          region: north or south
          limit: {type: integer, maximum: 100, description: at most}
          active: {type: boolean, required: true}
      - method: delete
        path: /v1/customers/{customer_id}/notes/{note}.txt
        requires_auth: false
        path_params:
          customer_id: {type: integer}
contexts:
  - id: dates
    title: Dates
    content: Dates are given as YYYY-MM-DD.
";

fn ids(catalogue: &ApiCatalogue, question: &str, most: usize, mode: ScoringMode) -> Vec<String> {
    catalogue.candidates(question, most, mode).into_iter().map(ApiEndpoint::id).collect()
}

#[test]
fn a_catalogue_has_endpoints_in_lines_and_in_rows() {
    let catalogue = ApiCatalogue::parse(SHOP).unwrap();
    let ids: Vec<_> = catalogue.endpoints.iter().map(ApiEndpoint::id).collect();
    assert_eq!(
        ids,
        [
            "GET /v1/orders",
            "GET /v1/orders/:id",
            "POST /v1/orders",
            "GET /v1/customers",
            "DELETE /v1/customers/{customer_id}/notes/{note}.txt",
        ]
    );
    assert_eq!(catalogue.endpoints[0].description, "list orders, needs from and to");
    assert_eq!(catalogue.endpoints[1].parameters[0].name, "id");
    assert!(catalogue.endpoints[3].parameters[2].required);
    assert_eq!(catalogue.endpoints[3].parameters[1].description, "at most");
    let path: Vec<_> = catalogue.endpoints[4]
        .parameters
        .iter()
        .filter(|parameter| parameter.location == ParameterLocation::Path)
        .map(|parameter| parameter.name.as_str())
        .collect();
    assert_eq!(path, ["customer_id", "note"]);
    assert_eq!(catalogue.snippets[0].title, "Dates");
}

/// DA-18 of `docs/systems/data-analyst.md`.
#[test]
fn candidates_are_those_that_share_words_with_the_question() {
    let catalogue = ApiCatalogue::parse(SHOP).unwrap();
    for mode in [ScoringMode::Count, ScoringMode::Bm25] {
        assert_eq!(ids(&catalogue, "list the customers", 1, mode), ["GET /v1/customers"]);
        assert_eq!(ids(&catalogue, "which ORDERS are there", 2, mode)[0], "GET /v1/orders");
    }
    let first = ["GET /v1/orders", "GET /v1/orders/:id"];
    assert_eq!(ids(&catalogue, "weather", 2, ScoringMode::Count), first);
    assert_eq!(ids(&catalogue, "?!", 2, ScoringMode::Bm25), first);
    assert_eq!(catalogue.matching_snippets("which dates?", 3, ScoringMode::Count).len(), 1);
    assert!(catalogue.matching_snippets("weather", 3, ScoringMode::Count).is_empty());
}

#[test]
fn a_catalogue_that_cannot_be_used_is_an_error() {
    let row =
        |path: &str| format!("sections:\n  - id: a\n    endpoints:\n      - path: '{path}'\n");
    for text in [
        "sections: []".to_owned(),
        "sections: 5".to_owned(),
        "colour: red".to_owned(),
        "a: [".to_owned(),
        "{\"swagger\": \"2.0\"}".to_owned(),
        row("/a/../b"),
        row("//evil.example/a"),
        row("https://evil.example/a"),
        row("/a?x=1"),
        row("/a b"),
        row("/a%2fb"),
        format!("{}      - path: /a\n", row("/a")),
        "sections:\n  - id: a\n    endpoints:\n      - {method: TRACE, path: /a}\n".to_owned(),
    ] {
        let fault = ApiCatalogue::parse(&text).unwrap_err();
        assert_eq!(fault.code, "api_catalogue_invalid", "{text}");
    }
}

#[test]
fn an_unknown_endpoint_names_similar_ones() {
    let catalogue = ApiCatalogue::parse(SHOP).unwrap();
    assert!(catalogue.find("get", " /v1/orders ").is_ok());
    let fault = catalogue.find("GET", "/v1/orders/7").unwrap_err();
    assert_eq!(fault.code, "api_endpoint_unknown");
    assert!(fault.hint.as_deref().unwrap().contains("GET /v1/orders/:id"), "{fault:?}");
}

#[test]
fn aliases_that_multiply_do_not_fill_the_memory() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let items = vec![format!("*a{}", level - 1); 10].join(", ");
        writeln!(text, "a{level}: &a{level} [{items}]").unwrap();
    }
    assert_eq!(ApiCatalogue::parse(&text).unwrap_err().code, "api_catalogue_invalid");
}
