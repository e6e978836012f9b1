//! Pages that scripts make, in a real Chromium, and the proxy it stands behind.

use antiphon_net::{AddressPolicy, GuardedClient, GuardedOptions, Url};
use antiphon_tools::browser::{ChromiumBrowser, PolicyProxy};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::reading::{call, tool};
use crate::web_server::{WebAnswer, WebServer};

/// The installed Chromium. Where `ANTIPHON_REQUIRE_CHROMIUM` is set, as in `.ci/run`, there must be one.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn chromium() -> Option<ChromiumBrowser> {
    let found = ChromiumBrowser::find("");
    let required = std::env::var_os("ANTIPHON_REQUIRE_CHROMIUM").is_some();
    assert!(found.is_some() || !required, "no Chromium on PATH: apt-get install chromium");
    if found.is_none() {
        eprintln!("SKIPPED: needs Chromium on PATH (Debian: apt-get install chromium)");
    }
    found
}

/// A page without text until its script has fetched it.
fn scripted(path: &str) -> WebAnswer {
    match path {
        "/" => WebAnswer::html(
            "<title>Later</title><main id=m></main><script>\
             fetch('/data').then(r => r.json()).then(d => setTimeout(() => {\
             m.innerHTML = '<h1>' + d.title + '</h1><p>' + d.text + '</p>'; }, 500));</script>",
        ),
        "/data" => WebAnswer::new(
            200,
            "application/json",
            r#"{"title": "Tea", "text": "It was fetched by the script."}"#,
        ),
        _ => WebAnswer::new(404, "text/plain", ""),
    }
}

#[tokio::test]
async fn a_page_whose_text_its_script_fetches_is_read() {
    if chromium().is_none() {
        return;
    }
    let server = WebServer::start(|request| scripted(&request.path)).await;
    let never = call(&*tool(json!({})), json!({"url": server.url("/")})).await.unwrap_err();
    assert_eq!(never.code, "page_empty");
    for render in ["auto", "always"] {
        let tool = tool(json!({"render": render}));
        let page = call(&*tool, json!({"url": server.url("/")})).await.unwrap();
        assert_eq!(page["text"], "# Tea\n\nIt was fetched by the script.\n", "{render}");
        assert_eq!(page["title"], "Later");
    }
}

#[tokio::test]
async fn a_page_with_text_needs_no_browser() {
    if chromium().is_none() {
        return;
    }
    let text = "word ".repeat(100);
    let server = WebServer::with(WebAnswer::html(&format!("<p>{text}<script>x</script>"))).await;
    call(&*tool(json!({"render": "auto"})), json!({"url": server.url("/")})).await.unwrap();
    assert_eq!(server.requests().len(), 1);
}

/// The page may be reached, what it asks for may not: another port of loopback by name, by address, by redirect, by a
/// frame and by a socket.
#[tokio::test]
async fn what_a_page_requests_is_held_against_the_policy() {
    if chromium().is_none() {
        return;
    }
    let inside =
        WebServer::with(WebAnswer::html("secret").header("access-control-allow-origin", "*")).await;
    let port = inside.url("").rsplit(':').next().unwrap().to_owned();
    let html = format!(
        "<main id=m>start</main><iframe src='http://127.0.0.1:{port}/frame'></iframe>\
         <img src='http://localhost:{port}/image'><img src='http://[::ffff:127.0.0.1]:{port}/mapped'>\
         <img src='/redirect'><script>new WebSocket('ws://127.0.0.1:{port}/socket');\
         fetch('http://localhost:{port}/fetch').then(r => r.text()).then(t => m.innerText = t)\
         .catch(() => m.innerText = 'refused');</script>"
    );
    let target = format!("http://127.0.0.1:{port}/redirected");
    let server = WebServer::start(move |request| match request.path.as_str() {
        "/redirect" => WebAnswer::new(302, "text/plain", "").header("location", &target),
        _ => WebAnswer::html(&html),
    })
    .await;
    let own = server.url("").rsplit(':').next().unwrap().to_owned();
    let allow = format!("127.0.0.1:{own}");
    let tool = tool(json!({"render": "always", "allow": [allow]}));
    let page = call(&*tool, json!({"url": server.url("/")})).await.unwrap();
    assert_eq!(page["text"], "refused\n");
    assert!(inside.requests().is_empty(), "{:?}", inside.requests());
    assert!(server.requests().iter().any(|request| request.path == "/redirect"));
}

#[tokio::test]
async fn nothing_of_a_browser_is_left_when_its_caller_has_gone() {
    let Some(browser) = chromium() else { return };
    let server = WebServer::start(|request| match request.path.as_str() {
        "/" => WebAnswer::html("<script src=/never></script>"),
        _ => WebAnswer::silent(),
    })
    .await;
    let policy = AddressPolicy::default().allow("loopback").unwrap();
    let client = GuardedClient::new(policy, GuardedOptions::default());
    let url = Url::parse(&server.url("/")).unwrap();
    let running = tokio::spawn(async move { browser.render(&url, &client, 1_000_000).await });
    while !server.requests().iter().any(|request| request.path == "/never") {
        tokio::task::yield_now().await;
    }
    let port = server.url("");
    assert!(!processes_with(&port).is_empty());
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    while !processes_with(&port).is_empty() {
        tokio::task::yield_now().await;
    }
}

/// Living processes with `text` among their arguments.
fn processes_with(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let arguments = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let arguments = String::from_utf8_lossy(&arguments).into_owned();
        if arguments.contains(text) {
            found.push(arguments);
        }
    }
    found
}

async fn proxied(allow: &[&str], request: &str) -> String {
    let policy =
        allow.iter().fold(AddressPolicy::default(), |policy, rule| policy.allow(rule).unwrap());
    let client = GuardedClient::new(policy, GuardedOptions::default());
    let proxy = PolicyProxy::start(client, 1000).await.unwrap();
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut reply = Vec::new();
    let _ = stream.read_to_end(&mut reply).await;
    String::from_utf8_lossy(&reply).into_owned()
}

#[tokio::test]
async fn the_proxy_passes_what_the_policy_permits_and_refuses_the_rest() {
    let server = WebServer::with(WebAnswer::html("page")).await;
    let url = server.url("/x?y=1");
    let plain = format!("GET {url} HTTP/1.1\r\nHost: a\r\nProxy-Connection: keep-alive\r\n\r\n");
    let policy = ["loopback"];
    assert!(proxied(&[], &plain).await.starts_with("HTTP/1.1 403"));
    let host = url.trim_start_matches("http://").split('/').next().unwrap().to_owned();
    assert!(
        proxied(&[], &format!("CONNECT {host} HTTP/1.1\r\n\r\n")).await.starts_with("HTTP/1.1 403")
    );
    for request in
        ["GET /x HTTP/1.1\r\n\r\n", "CONNECT a HTTP/1.1\r\n\r\n", "GET ftp://a/ HTTP/1.1\r\n\r\n"]
    {
        assert!(proxied(&policy, request).await.starts_with("HTTP/1.1 400"), "{request}");
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn no_more_comes_back_through_the_proxy_than_its_limit() {
    let server = WebServer::with(WebAnswer::new(200, "text/plain", "word ").endless()).await;
    let reply =
        proxied(&["loopback"], &format!("GET {} HTTP/1.1\r\nHost: a\r\n\r\n", server.url("/")))
            .await;
    assert!(reply.starts_with("HTTP/1.1 200") && reply.len() <= 1000, "{}", reply.len());
    assert!(!server.requests()[0].head.contains("proxy"));
    assert!(server.requests()[0].head.contains("connection: close"));
}
