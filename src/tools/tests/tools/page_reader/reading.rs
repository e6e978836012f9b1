//! Reading pages over HTTP.

use std::sync::Arc;

use antiphon_core::Fault;
use antiphon_runtime::{CallContext, ManualClock, Tool};
use antiphon_tools::find;
use serde_json::{Value as Json, json};

use crate::web_server::{WebAnswer, WebServer};

/// The tool with settings beside those of a test.
pub(super) fn tool(settings: Json) -> Arc<dyn Tool> {
    let mut all = json!({"allow": ["loopback"], "render": "never"});
    let Json::Object(settings) = settings else { panic!("settings are an object") };
    for (key, value) in settings {
        all[key] = value;
    }
    find("read_page").unwrap().open(&all).unwrap().remove(0)
}

pub(super) async fn call(tool: &dyn Tool, arguments: Json) -> Result<Json, Fault> {
    tool.call(arguments, &CallContext::new(Arc::new(ManualClock::default()))).await
}

async fn read(answer: WebAnswer) -> Result<Json, Fault> {
    let server = WebServer::with(answer).await;
    call(&*tool(json!({})), json!({"url": server.url("/page")})).await
}

async fn code(answer: WebAnswer) -> String {
    let fault = read(answer).await.unwrap_err();
    assert!(!fault.message.is_empty());
    fault.code.to_string()
}

#[tokio::test]
async fn a_page_is_read_with_its_facts_and_the_position_of_its_text() {
    let html = "<title>Tea</title><meta name=author content=Ada><p>Boil <a href=/w>water</a>.";
    let page = read(WebAnswer::html(html)).await.unwrap();
    assert_eq!(page["text"], "Boil water.\n");
    assert_eq!(page["title"], "Tea");
    assert_eq!(page["byline"], "Ada");
    assert_eq!(page["format"], "html");
    assert_eq!(
        (&page["start"], &page["end"], &page["characters"]),
        (&json!(0), &json!(12), &json!(12))
    );
    assert_eq!(page["next_offset"], Json::Null);
    assert_eq!(page["links"][0]["text"], "water");
    assert!(page["links"][0]["url"].as_str().unwrap().ends_with("/w"));
    assert_eq!(page["page_id"].as_str().unwrap().len(), 64);
}

#[tokio::test]
async fn a_long_page_is_read_on_in_the_same_text_without_a_second_request() {
    let paragraphs: Vec<_> = (0..300).map(|number| format!("<p>Paragraph {number}.</p>")).collect();
    let html = paragraphs.concat();
    let server = WebServer::with(WebAnswer::html(&html)).await;
    let tool = tool(json!({"excerpt": 1000}));
    let (mut offset, mut text) = (json!(0), String::new());
    while !offset.is_null() {
        let page = call(&*tool, json!({"url": server.url("/"), "offset": offset})).await.unwrap();
        text.push_str(page["text"].as_str().unwrap());
        offset = page["next_offset"].clone();
    }
    assert!(text.starts_with("Paragraph 0.\n") && text.ends_with("Paragraph 299.\n"));
    assert_eq!(server.requests().len(), 1);
    call(&*tool, json!({"url": server.url("/")})).await.unwrap();
    assert_eq!(server.requests().len(), 2, "from the beginning, it is read anew");
    let fault = call(&*tool, json!({"url": server.url("/"), "offset": 99_999})).await.unwrap_err();
    assert_eq!(fault.code, "invalid_value");
}

#[tokio::test]
async fn formats_other_than_html_are_texts_too() {
    for (kind, body, format, text) in [
        ("text/plain", "a\r\nb", "text", "a\nb"),
        ("text/markdown; charset=utf-8", "# T\n\nx\n", "markdown", "# T\n\nx\n"),
        (
            "application/json",
            "{\"b\":[1,2],\"a\":null}",
            "json",
            "{\n  \"b\": [\n    1,\n    2\n  ],\n  \"a\": null\n}",
        ),
        ("application/problem+json", "not json", "json", "not json"),
        ("application/xml", "<a>b</a>", "text", "<a>b</a>"),
        ("application/octet-stream", "<!DOCTYPE html><p>x", "html", "x\n"),
        ("application/octet-stream", "plain words", "text", "plain words"),
        ("text/csv", "a,b\n1,2\n", "csv", "a | b"),
    ] {
        let page = read(WebAnswer::new(200, kind, body)).await.unwrap();
        assert_eq!(page["format"], format, "{kind}");
        assert!(page["text"].as_str().unwrap().starts_with(text), "{kind}: {}", page["text"]);
    }
}

#[tokio::test]
async fn the_charset_comes_from_the_header_the_page_or_its_bytes() {
    let latin = |head: &str| [head.as_bytes(), b"<p>caf\xe9 cr\xe8me br\xfbl\xe9e"].concat();
    for (kind, body) in [
        ("text/html; charset=\"ISO-8859-1\"", latin("")),
        ("text/html", latin("<meta charset=latin1>")),
        ("text/html", latin("")),
        ("text/html", "<p>café crème brûlée".as_bytes().to_vec()),
        (
            "text/html; charset=latin1",
            b"\xef\xbb\xbf<p>caf\xc3\xa9 cr\xc3\xa8me br\xc3\xbbl\xc3\xa9e".to_vec(),
        ),
    ] {
        let page = read(WebAnswer::new(200, kind, body)).await.unwrap();
        assert_eq!(page["text"], "café crème brûlée\n", "{kind}");
    }
}

#[tokio::test]
async fn a_status_that_is_no_success_says_what_to_do() {
    for (status, expected) in [
        (401, "page_login_required"),
        (402, "page_login_required"),
        (403, "page_login_required"),
        (404, "page_refused"),
        (410, "page_refused"),
        (418, "page_refused"),
        (429, "page_unavailable"),
        (500, "page_unavailable"),
        (503, "page_unavailable"),
    ] {
        let fault = read(WebAnswer::new(status, "text/html", "<p>no")).await.unwrap_err();
        assert_eq!(fault.code, expected, "{status}");
        assert_eq!(fault.details["status"], status);
        assert!(fault.hint.is_some());
    }
    let busy = WebAnswer::new(503, "text/html", "").header("retry-after", "7");
    assert_eq!(read(busy).await.unwrap_err().details["retry_after"], 7.0);
}

#[tokio::test]
async fn what_is_no_text_is_refused() {
    assert_eq!(
        code(WebAnswer::new(200, "image/png", b"\x89PNG".to_vec())).await,
        "page_type_unsupported"
    );
    assert_eq!(code(WebAnswer::new(200, "", vec![0, 1, 2, 255])).await, "page_type_unsupported");
    assert_eq!(
        code(WebAnswer::new(200, "text/plain", vec![b'a', 0, 0, 255])).await,
        "page_unreadable"
    );
    assert_eq!(code(WebAnswer::new(200, "application/pdf", "no pdf")).await, "page_unreadable");
    assert_eq!(code(WebAnswer::html("<script>x</script>")).await, "page_empty");
    assert_eq!(code(WebAnswer::new(200, "text/plain", "")).await, "page_empty");
    let login = "<p>Please log in.<form><input type=password></form>";
    assert_eq!(code(WebAnswer::html(login)).await, "page_login_required");
}

#[tokio::test]
async fn sizes_are_bounded_as_announced_and_as_sent() {
    let large = WebAnswer::html("x").announced(50_000_000);
    assert_eq!(code(large).await, "reply_too_large");
    let endless = WebAnswer::new(200, "text/html", "<p>again").endless();
    assert_eq!(code(endless).await, "reply_too_large");
    assert_eq!(code(WebAnswer::html("short").announced(100)).await, "server_unreachable");
    let page = WebAnswer::html(&"<p>word word</p>".repeat(1000));
    let server = WebServer::with(page).await;
    let page = call(&*tool(json!({"max_characters": 100})), json!({"url": server.url("/")})).await;
    let page = page.unwrap();
    assert_eq!(page["truncated"], true);
    assert!(page["characters"].as_u64().unwrap() <= 101);
}

#[tokio::test]
async fn a_silent_server_costs_one_time_limit() {
    let server = WebServer::with(WebAnswer::silent()).await;
    let clock = Arc::new(ManualClock::default());
    let tool = tool(json!({"timeout": 5}));
    let cx = CallContext::new(clock.clone());
    let reading = tool.call(json!({"url": server.url("/")}), &cx);
    let (read, ()) = tokio::join!(reading, async {
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        clock.advance(std::time::Duration::from_secs(5));
    });
    assert_eq!(read.unwrap_err().code, "page_timeout");
}

#[tokio::test]
async fn the_address_policy_holds_for_the_page_and_its_redirects() {
    let server = WebServer::with(WebAnswer::html("<p>inside")).await;
    let closed = find("read_page").unwrap().open(&json!({})).unwrap().remove(0);
    let fault = call(&*closed, json!({"url": server.url("/")})).await.unwrap_err();
    assert_eq!(fault.code, "address_refused");
    assert!(server.requests().is_empty());
    let redirect =
        WebAnswer::new(302, "text/html", "").header("location", "http://169.254.169.254/");
    assert_eq!(code(redirect).await, "address_refused");
    let circle = WebAnswer::new(302, "text/html", "").header("location", "/page");
    assert_eq!(code(circle).await, "redirect_refused");
    for url in ["file:///etc/passwd", "ftp://a.example/"] {
        let fault = call(&*tool(json!({})), json!({"url": url})).await.unwrap_err();
        assert!(fault.code == "address_refused" || fault.code == "url_invalid", "{url}: {fault}");
    }
    let fault = call(&*tool(json!({})), json!({"url": "no url"})).await.unwrap_err();
    assert_eq!(fault.code, "url_invalid");
}

#[test]
fn settings_that_cannot_be_used_are_refused() {
    for settings in [
        json!({"allow": ["http://a"]}),
        json!({"timeout": 0}),
        json!({"timeout": -1}),
        json!({"max_bytes": 0}),
        json!({"excerpt": 0}),
        json!({"unknown": 1}),
        json!({"render": "sometimes"}),
    ] {
        let fault = find("read_page").unwrap().open(&settings).err().unwrap();
        assert_eq!(fault.code, "tool_setting_invalid", "{settings}");
    }
    let missing = json!({"render": "always", "browser": "/no/such/program"});
    assert_eq!(find("read_page").unwrap().open(&missing).err().unwrap().code, "browser_missing");
}
