//! The tool: one engine after the other, each page once.

use std::sync::Arc;

use antiphon_core::Fault;
use antiphon_tools::find;
use antiphon_tools::web_search::{DomainFilter, SearchBackend, SearchEngine, WebSearch};
use serde_json::{Value as Json, json};

use super::support::{KEY, backend, context, query};
use crate::server::{Answer, Server};

fn one(engine: SearchEngine, server: &Server) -> Arc<dyn SearchBackend> {
    Arc::new(backend(engine, server))
}

async fn search(settings: Json, arguments: Json) -> Result<Json, Fault> {
    let tools = find("web_search").unwrap().open(&settings).unwrap();
    tools[0].call(arguments, &context()).await
}

fn page(url: &str) -> Json {
    json!({"url": url, "title": url, "content": "text"})
}

#[tokio::test]
async fn the_next_engine_answers_if_one_refuses() {
    let first = Server::start([Answer::json(403, &"")]).await;
    let results = json!({"results": [page("https://a.example/")]});
    let second = Server::start([Answer::json(200, &results)]).await;
    let engines = vec![one(SearchEngine::Brave, &first), one(SearchEngine::Searxng, &second)];
    let found = WebSearch::new(engines, DomainFilter::default())
        .run(&query("x"), &context())
        .await
        .unwrap();
    assert_eq!((found.results[0].backend.as_str(), found.results[0].rank), ("searxng", 1));
    assert_eq!(found.notes, ["`brave` refused the search with status 403"]);
}

#[tokio::test]
async fn if_none_answers_all_are_named() {
    let server = Server::start([Answer::json(403, &""), Answer::json(404, &"")]).await;
    let engines = vec![one(SearchEngine::Brave, &server), one(SearchEngine::Serper, &server)];
    let fault = WebSearch::new(engines, DomainFilter::default())
        .run(&query("x"), &context())
        .await
        .unwrap_err();
    assert_eq!(fault.code, "search_failed");
    assert_eq!(fault.details["backends"], json!(["brave", "serper"]));
}

#[test]
fn one_address_is_not_that_of_two_engines() {
    let settings =
        json!({"brave_api_key": KEY, "tavily_api_key": KEY, "base_url": "http://localhost:1"});
    let fault = find("web_search").unwrap().open(&settings).err().unwrap();
    assert_eq!(fault.message, "`base_url` needs `backends` with one engine");
}

#[tokio::test]
async fn pages_are_listed_once_and_numbered() {
    let results = json!({"results": [
        page("https://a.example/x?utm_source=1"), page("https://A.example/x/#part"), page("https://news.b.example/"),
        page("https://c.gov/"), page("https://evil-a.example/"),
    ]});
    let server = Server::start([Answer::json(200, &results)]).await;
    let settings = json!({
        "backends": ["searxng"], "searxng_url": server.url("/sub/"),
        "include_domains": ["a.example", "news.*", "*.gov"], "exclude_domains": ["c.gov"],
    });
    let reply = search(settings, json!({"query": "x", "count": 20})).await.unwrap();
    let found: Vec<_> = reply["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["rank"].as_u64().unwrap(), one["url"].as_str().unwrap()))
        .collect();
    assert_eq!(found, [(1, "https://a.example/x?utm_source=1"), (2, "https://news.b.example/")]);
    assert_eq!(reply["notes"], json!(["results of other domains that are left out: 2"]));
    assert!(server.seen()[0].head.to_lowercase().starts_with("get /sub/search?q=x"));
}

#[tokio::test]
async fn arguments_out_of_range_are_named() {
    let settings =
        json!({"backends": ["brave"], "brave_api_key": KEY, "base_url": "http://127.0.0.1:1"});
    let fault = search(settings.clone(), json!({"query": " "})).await.unwrap_err();
    assert_eq!(fault.message, "the query is blank: \" \"");
    let fault = search(settings, json!({"query": "x", "region": "Austria"})).await.unwrap_err();
    assert_eq!(fault.message, "a language or region must have two letters: \"Austria\"");
}
