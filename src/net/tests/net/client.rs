use antiphon_net::{HttpClient, HttpError, HttpRequest, Secret, Url, within};
use antiphon_runtime::ManualClock;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::server::{Answer, Server};

fn url(server: &Server, path: &str) -> Url {
    Url::parse(&server.url(path)).unwrap()
}

#[tokio::test]
async fn a_get_reaches_the_server_and_returns_its_reply() {
    let server = Server::start([Answer::json(200, &"{}").header("x-kind", "small")]).await;
    let request = HttpRequest::get(url(&server, "/things")).header("x-a", "b").unwrap();
    let reply = HttpClient::default().send(&request).await.unwrap();
    assert_eq!((reply.status(), reply.header("X-Kind")), (200, Some("small")));
    assert_eq!(reply.body(100).await.unwrap(), b"{}");
    assert!(server.seen()[0].head.starts_with("GET /things HTTP/1.1"));
    assert!(server.seen()[0].head.contains("x-a: b"));
}

#[tokio::test]
async fn requests_one_after_another_share_a_connection() {
    let server = Server::start([Answer::json(200, &"1"), Answer::json(200, &"2")]).await;
    let client = HttpClient::default();
    for expected in ["1", "2"] {
        let request = HttpRequest::post_json(url(&server, "/"), "{\"a\": 1}");
        let body = client.send(&request).await.unwrap().body(100).await.unwrap();
        assert_eq!(body, expected.as_bytes());
    }
    assert_eq!((server.connections(), server.open()), (1, 1));
    assert_eq!(server.seen()[1].body, "{\"a\": 1}");
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    let elsewhere = Server::start([Answer::json(200, &"{}")]).await;
    let redirect = Answer::json(307, &"").header("location", &elsewhere.url("/"));
    let server = Server::start([redirect]).await;
    let request = HttpRequest::post_json(url(&server, "/"), "{}")
        .secret_header("authorization", &Secret::new("Bearer sk-1"))
        .unwrap();
    assert_eq!(HttpClient::default().send(&request).await.unwrap().status(), 307);
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn a_body_over_the_limit_is_an_error_and_one_at_the_limit_is_not() {
    let answers = [Answer::json(200, &"12345"), Answer::json(200, &"12345")];
    let server = Server::start(answers).await;
    let request = HttpRequest::get(url(&server, "/"));
    let client = HttpClient::default();
    let small = client.send(&request).await.unwrap().body(4).await;
    assert_eq!(small, Err(HttpError::TooLarge { limit: 4 }));
    assert_eq!(client.send(&request).await.unwrap().body(5).await.unwrap(), b"12345");
}

#[tokio::test]
async fn half_a_body_is_an_error_but_its_beginning_can_be_looked_at() {
    let half = || Answer::pieces(200, "text/plain", ["half"]).cut();
    let server = Server::start([half(), half()]).await;
    let request = HttpRequest::get(url(&server, "/"));
    let client = HttpClient::default();
    let body = client.send(&request).await.unwrap().body(100).await;
    assert!(matches!(body, Err(HttpError::Cut { .. })), "{body:?}");
    assert_eq!(client.send(&request).await.unwrap().beginning(3).await, b"hal");
}

#[tokio::test]
async fn a_closed_port_is_unreachable_and_the_error_shows_no_query() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let url = Url::parse(&format!("http://{address}/x?token=hush")).unwrap();
    let error = HttpClient::default().send(&HttpRequest::get(url)).await.unwrap_err();
    assert!(matches!(error, HttpError::Unreachable { .. }), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("hush"));
}

#[tokio::test]
async fn other_schemes_are_refused_without_a_connection() {
    let request = HttpRequest::get(Url::parse("file:///etc/passwd").unwrap());
    let error = HttpClient::default().send(&request).await.unwrap_err();
    assert!(matches!(error, HttpError::BadUrl(_)), "{error:?}");
}

#[test]
fn a_header_with_a_line_break_is_refused_and_a_secret_one_never_prints() {
    let url = Url::parse("http://127.0.0.1/").unwrap();
    let request = HttpRequest::get(url);
    let error = request.clone().secret_header("x-key", &Secret::new("hush\n")).unwrap_err();
    assert_eq!(error, HttpError::BadHeader("x-key".to_owned()));
    let request = request.secret_header("x-key", &Secret::new("hush")).unwrap();
    assert!(!format!("{request:?}").contains("hush"));
}

#[tokio::test]
async fn a_time_limit_is_measured_by_the_callers_clock() {
    let server = Server::start([Answer::pieces(200, "text/plain", ["x"]).hang()]).await;
    let clock = ManualClock::default();
    let request = HttpRequest::get(url(&server, "/"));
    let mut reply = HttpClient::default().send(&request).await.unwrap();
    assert!(reply.chunk().await.unwrap().is_some());
    let minute = std::time::Duration::from_mins(1);
    let wait = within(&clock, Some(minute), reply.chunk());
    let move_on = async { clock.advance(minute) };
    let (waited, ()) = tokio::join!(wait, move_on);
    assert!(waited.is_none());
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_unreachable_over_https() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("https://{}/", listener.local_addr().unwrap())).unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        // Open until the client has had enough.
        let _ = stream.read_to_end(&mut Vec::new()).await;
    });
    let error = HttpClient::default().send(&HttpRequest::get(url)).await.unwrap_err();
    assert!(matches!(error, HttpError::Unreachable { .. }), "{error:?}");
}
