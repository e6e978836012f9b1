//! Redirects against two servers: what is followed, and what of a request goes along.

use proptest::prelude::*;

use crate::server::{Answer, Server};
use antiphon_net::redirect::follow;
use antiphon_net::{
    AddressPolicy, AddressRefusal, GuardedClient, GuardedOptions, HttpError, HttpReply,
    HttpRequest, Method, RedirectRefusal, Secret, Url,
};

fn client() -> GuardedClient {
    let policy = AddressPolicy::default().allow("loopback").unwrap();
    GuardedClient::new(policy, GuardedOptions::default())
}

fn port(server: &Server) -> u16 {
    Url::parse(&server.url("")).unwrap().port().unwrap()
}

fn url(server: &Server, path: &str) -> Url {
    Url::parse(&server.url(path)).unwrap()
}

fn redirect(status: u16, to: &str) -> Answer {
    Answer::json(status, &"").header("location", to)
}

fn good() -> Answer {
    Answer::json(200, &"good")
}

/// A request with everything that must not go to another origin.
fn laden(method: Method, url: Url) -> HttpRequest {
    let with = |request: HttpRequest, name: &str, value: &str| request.header(name, value).unwrap();
    let request = HttpRequest::new(method, url)
        .secret_header("x-key", &Secret::new("key-1"))
        .unwrap()
        .secret_header("accept-language", &Secret::new("key-2"))
        .unwrap();
    let request = with(request, "authorization", "Bearer key-3");
    let request = with(request, "cookie", "session=key-4");
    let request = with(request, "x-api-token", "key-5");
    with(request, "accept", "text/html")
}

async fn send(request: &HttpRequest) -> Result<HttpReply, HttpError> {
    client().send(request).await
}

#[tokio::test]
async fn a_redirect_is_followed_relative_and_absolute_and_the_reply_knows_its_url() {
    let server = Server::start([redirect(302, "../b?x=1"), redirect(308, "/c#part"), good()]).await;
    let reply = send(&HttpRequest::get(url(&server, "/a/a"))).await.unwrap();
    assert_eq!(reply.url().path(), "/c");
    assert_eq!(reply.body(10).await.unwrap(), b"good");
    let heads: Vec<_> = server.seen().into_iter().map(|seen| seen.head).collect();
    assert!(heads[1].starts_with("GET /b?x=1 HTTP/1.1"), "{heads:?}");
}

#[tokio::test]
async fn keys_and_cookies_stay_at_their_origin() {
    let other = Server::start([good()]).await;
    let server = Server::start([redirect(302, "/here"), redirect(302, &other.url("/there"))]).await;
    send(&laden(Method::GET, url(&server, "/"))).await.unwrap();
    for number in 1..=5 {
        assert!(server.seen()[1].head.contains(&format!("key-{number}")), "the same origin");
    }
    let seen = other.seen()[0].head.to_ascii_lowercase();
    assert!(!seen.contains("key-") && !seen.contains("referer"), "{seen}");
    assert!(seen.contains("accept: text/html"));
}

#[tokio::test]
async fn another_port_or_name_of_the_same_machine_is_another_origin() {
    let server = Server::start([good()]).await;
    let named = format!("http://localhost:{}/", port(&server));
    let first = Server::start([redirect(302, &named)]).await;
    send(&laden(Method::GET, url(&first, "/"))).await.unwrap();
    assert!(!server.seen()[0].head.contains("key-"));
}

#[tokio::test]
async fn a_body_goes_along_only_within_the_origin() {
    let server = Server::start([redirect(307, "/b"), good()]).await;
    let request = laden(Method::PUT, url(&server, "/a")).body("data");
    send(&request).await.unwrap();
    assert!(server.seen()[1].head.starts_with("PUT /b"));
    assert_eq!(server.seen()[1].body, "data");

    let other = Server::start([]).await;
    for (method, status) in [(Method::PUT, 302), (Method::POST, 307), (Method::DELETE, 308)] {
        let server = Server::start([redirect(status, &other.url("/"))]).await;
        let error = send(&laden(method, url(&server, "/"))).await.unwrap_err();
        let refused =
            matches!(error, HttpError::RedirectRefused(RedirectRefusal::OtherOrigin { .. }));
        assert!(refused, "{error}");
    }
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn a_post_becomes_a_get_as_in_browsers() {
    for (method, status, then) in [
        (Method::POST, 301, "GET"),
        (Method::POST, 302, "GET"),
        (Method::PUT, 303, "GET"),
        (Method::HEAD, 303, "HEAD"),
        (Method::POST, 308, "POST"),
    ] {
        let server = Server::start([redirect(status, "/b"), good()]).await;
        let request = HttpRequest::new(method, url(&server, "/a"))
            .header("content-type", "text/plain")
            .unwrap();
        send(&request.body("data")).await.unwrap();
        let seen = &server.seen()[1];
        assert!(seen.head.starts_with(&format!("{then} /b")), "{status}: {}", seen.head);
        assert_eq!(seen.head.contains("content-type"), then != "GET" && !seen.body.is_empty());
    }
}

#[tokio::test]
async fn a_circle_ends_at_the_limit_and_with_a_limit_of_zero_a_redirect_is_a_reply() {
    let server = Server::start((0..20).map(|_| redirect(302, "/"))).await;
    let error = send(&HttpRequest::get(url(&server, "/"))).await.unwrap_err();
    assert_eq!(error, HttpError::RedirectRefused(RedirectRefusal::TooMany { limit: 5 }));
    assert_eq!(server.seen().len(), 6);

    let options = GuardedOptions { max_redirects: 0, ..GuardedOptions::default() };
    let client = GuardedClient::new(client().policy().clone(), options);
    assert_eq!(client.send(&HttpRequest::get(url(&server, "/"))).await.unwrap().status(), 302);
}

#[tokio::test]
async fn a_redirect_without_target_is_a_reply_and_one_to_nonsense_is_refused() {
    let server = Server::start([Answer::json(302, &""), redirect(302, "http://[")]).await;
    assert_eq!(send(&HttpRequest::get(url(&server, "/"))).await.unwrap().status(), 302);
    let error = send(&HttpRequest::get(url(&server, "/"))).await.unwrap_err();
    let refused = matches!(error, HttpError::RedirectRefused(RedirectRefusal::Malformed { .. }));
    assert!(refused, "{error}");
}

#[tokio::test]
async fn each_hop_is_held_against_the_policy() {
    for (to, expected) in [
        ("http://169.254.169.254/latest/meta-data/", "metadata"),
        ("http://10.0.0.1/", "private network"),
        ("http://0x0a000001/", "private network"),
        ("http://[::ffff:127.0.0.1]/", "contains an IPv4 address"),
        ("http://8.8.8.8:22/", "port of `8.8.8.8`: 22"),
        ("http://user:pw@127.0.0.1/", "user name"),
        ("ftp://127.0.0.1/", "scheme `ftp`"),
        ("file://127.0.0.1/etc/passwd", "scheme `file`"),
    ] {
        let server = Server::start([redirect(302, to)]).await;
        let error = send(&HttpRequest::get(url(&server, "/"))).await.unwrap_err();
        let HttpError::AddressRefused(refusal) = error else { panic!("{to}: {error}") };
        assert!(refusal.to_string().contains(expected), "{to}: {refusal}");
        assert!(!matches!(refusal, AddressRefusal::User { url } if url.contains("pw")));
    }
}

#[test]
fn https_is_not_left() {
    let request = HttpRequest::get(Url::parse("https://a.example/").unwrap());
    for to in ["http://a.example/", "http://b.example/?token=hush"] {
        let error = follow(&request, 302, to).unwrap_err();
        assert!(matches!(error, RedirectRefusal::Downgrade { .. }), "{error}");
        assert!(!error.to_string().contains("hush"));
    }
    assert_eq!(follow(&request, 302, "//b.example").unwrap().url().scheme(), "https");
    let plain = HttpRequest::get(Url::parse("http://a.example/").unwrap());
    assert_eq!(follow(&plain, 302, "https://a.example/").unwrap().url().scheme(), "https");
}

proptest! {
    #[test]
    fn no_target_gets_keys_or_a_body_of_another_origin(
        location in "(http:|https:)?(//|/|\\\\){0,3}[ab]?(\\.example)?(:(80|443|81))?[/?#@a]{0,4}",
        status in prop::sample::select(vec![301_u16, 302, 303, 307, 308]),
        method in prop::sample::select(vec!["GET", "POST", "PUT", "DELETE", "HEAD"]),
    ) {
        let start = Url::parse("http://a.example/x").unwrap();
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = laden(method, start.clone()).body("data-6");
        if let Ok(next) = follow(&request, status, &location) {
            let shown = format!("{next:?}");
            let kept = shown.contains("key") || shown.contains("data-6") || shown.contains("cookie");
            prop_assert!(!kept || next.url().origin() == start.origin(), "{}", shown);
        }
    }
}
