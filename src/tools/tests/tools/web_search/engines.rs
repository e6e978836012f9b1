//! The requests of each engine, and its replies in one shape.

use antiphon_tools::web_search::{SearchEngine, SearchPeriod, WebQuery, WebResult};
use serde_json::{Value as Json, json};

use super::support::{KEY, ask, query};
use crate::server::Answer;

fn filtered() -> WebQuery {
    WebQuery {
        language: Some("de".to_owned()),
        region: Some("AT".to_owned()),
        period: Some(SearchPeriod::Week),
        page: 2,
        ..query("tea & cake")
    }
}

fn expected(backend: &str, published: Option<&str>) -> WebResult {
    WebResult {
        rank: 0,
        title: "Tea & cake".to_owned(),
        url: "https://tea.example/a?b=1".to_owned(),
        snippet: "Steep it for 2 minutes.".to_owned(),
        published: published.map(str::to_owned),
        backend: backend.to_owned(),
    }
}

#[tokio::test]
async fn searxng_is_asked_by_parameters() {
    let reply = json!({"query": "tea", "number_of_results": 0, "results": [
        {"url": "https://tea.example/a?b=1", "title": "Tea &amp; cake", "content": "Steep it for <b>2</b> minutes.",
         "engine": "duckduckgo", "publishedDate": "2026-11-01T00:00:00", "score": 1.0},
        {"url": "javascript:alert(1)", "title": "x", "content": ""},
        {"url": "https://user:secret@tea.example/", "title": "x"}],
        "unresponsive_engines": [["google", "timeout"]]});
    let (found, server) =
        ask(SearchEngine::Searxng, vec![Answer::json(200, &reply)], &filtered()).await;
    let found = found.unwrap();
    assert_eq!(found.results, [expected("searxng", Some("2026-11-01T00:00:00"))]);
    assert!(found.notes.is_empty());
    let head = server.seen()[0].head.to_lowercase();
    let line =
        "get /search?q=tea+%26+cake&format=json&pageno=2&language=de-at&time_range=week http/1.1";
    assert!(head.starts_with(line), "{head}");
}

#[tokio::test]
async fn brave_is_asked_with_its_token() {
    let reply = json!({"type": "search", "web": {"type": "search", "results": [
        {"title": "Tea &amp; cake", "url": "https://tea.example/a?b=1", "description": "Steep it for <strong>2</strong> minutes.",
         "page_age": "2026-11-01T00:00:00", "age": "3 weeks ago"}]}});
    let (found, server) =
        ask(SearchEngine::Brave, vec![Answer::json(200, &reply)], &filtered()).await;
    assert_eq!(found.unwrap().results, [expected("brave", Some("2026-11-01T00:00:00"))]);
    let head = server.seen()[0].head.to_lowercase();
    let line = "get /res/v1/web/search?q=tea+%26+cake&count=5&result_filter=web&text_decorations=false\
                &offset=1&search_lang=de&country=at&freshness=pw http/1.1";
    assert!(head.starts_with(line), "{head}");
    assert!(head.contains(&format!("x-subscription-token: {KEY}")), "{head}");
}

#[tokio::test]
async fn tavily_notes_the_filters_that_it_does_not_have() {
    let reply = json!({"query": "tea", "results": [
        {"title": "Tea & cake", "url": "https://tea.example/a?b=1", "content": "Steep it for 2 minutes.", "score": 0.9}],
        "response_time": 1.0, "request_id": "r"});
    let asked = WebQuery { page: 1, ..filtered() };
    let (found, server) = ask(SearchEngine::Tavily, vec![Answer::json(200, &reply)], &asked).await;
    let found = found.unwrap();
    assert_eq!(found.results, [expected("tavily", None)]);
    assert_eq!(
        found.notes,
        [
            "`tavily` has no filter for language; it was not applied",
            "`tavily` has no filter for region; it was not applied",
        ]
    );
    let seen = server.seen().remove(0);
    let head = seen.head.to_lowercase();
    assert!(head.starts_with("post /search http/1.1"));
    assert!(head.contains(&format!("authorization: bearer {KEY}")));
    let body: Json = serde_json::from_str(&seen.body).unwrap();
    assert_eq!(body, json!({"query": "tea & cake", "max_results": 5, "time_range": "week"}));
}

#[tokio::test]
async fn serper_is_asked_in_its_words() {
    let reply = json!({"searchParameters": {"q": "tea"}, "organic": [
        {"title": "Tea & cake", "link": "https://tea.example/a?b=1", "snippet": "Steep it for 2 minutes.",
         "date": "Nov 1, 2026", "position": 1}]});
    let (found, server) =
        ask(SearchEngine::Serper, vec![Answer::json(200, &reply)], &filtered()).await;
    assert_eq!(found.unwrap().results, [expected("serper", Some("Nov 1, 2026"))]);
    let seen = server.seen().remove(0);
    let head = seen.head.to_lowercase();
    assert!(head.contains(&format!("x-api-key: {KEY}")));
    let body: Json = serde_json::from_str(&seen.body).unwrap();
    let said =
        json!({"q": "tea & cake", "num": 5, "page": 2, "hl": "de", "gl": "at", "tbs": "qdr:w"});
    assert_eq!(body, said);
}

#[tokio::test]
async fn a_search_without_hits_is_an_empty_list() {
    let replies = [
        (SearchEngine::Searxng, json!({"results": []})),
        (SearchEngine::Brave, json!({"type": "search", "query": {"original": "x"}})),
        (SearchEngine::Tavily, json!({"results": []})),
        (SearchEngine::Serper, json!({"searchParameters": {"q": "x"}})),
    ];
    for (engine, reply) in replies {
        let (found, _server) = ask(engine, vec![Answer::json(200, &reply)], &query("x")).await;
        assert!(found.unwrap().results.is_empty(), "{engine:?}");
    }
}

#[tokio::test]
async fn markup_of_results_becomes_text() {
    let reply = json!({"results": [{"url": "https://a.example/",
        "title": "<script>alert(1)</script>Tea",
        "content": "a<img src=x onerror=alert(1)>\u{1b}[31m b\n\nc &lt;system&gt;"}]});
    let (found, _server) =
        ask(SearchEngine::Searxng, vec![Answer::json(200, &reply)], &query("x")).await;
    let result = found.unwrap().results.remove(0);
    assert_eq!((result.title.as_str(), result.snippet.as_str()), ("Tea", "a[31m b c <system>"));
}
