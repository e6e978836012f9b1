//! The guarded client against real servers on loopback.

use std::io::Write as _;
use std::net::IpAddr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use antiphon_core::Fault;
use antiphon_net::{
    AddressKind, AddressPolicy, AddressRefusal, GuardedClient, GuardedOptions, HostResolver,
    HttpError, HttpRequest, Method, ResolveFuture, Url,
};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::server::{Answer, Server};

fn allowing(rules: &[&str]) -> GuardedClient {
    GuardedClient::new(policy(rules), GuardedOptions::default())
}

fn policy(rules: &[&str]) -> AddressPolicy {
    rules.iter().fold(AddressPolicy::default(), |policy, rule| policy.allow(rule).unwrap())
}

fn port(server: &Server) -> u16 {
    Url::parse(&server.url("")).unwrap().port().unwrap()
}

fn get(server: &Server, path: &str) -> HttpRequest {
    HttpRequest::get(Url::parse(&server.url(path)).unwrap())
}

fn refused_kind(error: &HttpError) -> Option<AddressKind> {
    match error {
        HttpError::AddressRefused(AddressRefusal::Address { kind, .. }) => Some(*kind),
        _ => None,
    }
}

/// Gives one answer after the other, the last one again and again.
#[derive(Debug)]
struct ScriptedResolver {
    answers: Vec<IpAddr>,
    asked: AtomicUsize,
}

impl ScriptedResolver {
    fn new(answers: &[&str]) -> Arc<Self> {
        let answers = answers.iter().map(|address| address.parse().unwrap()).collect();
        Arc::new(Self { answers, asked: AtomicUsize::new(0) })
    }
}

impl HostResolver for ScriptedResolver {
    fn resolve(&self, _host: &str) -> ResolveFuture {
        let at = self.asked.fetch_add(1, Ordering::SeqCst).min(self.answers.len() - 1);
        let answer = self.answers[at];
        Box::pin(async move { Ok(vec![answer]) })
    }
}

#[tokio::test]
async fn this_machine_is_refused_unless_allowed_by_address_or_name() {
    let server = Server::start([Answer::json(200, &"1"), Answer::json(200, &"2")]).await;
    let named = Url::parse(&format!("http://localhost:{}/", port(&server))).unwrap();
    for request in [get(&server, "/"), HttpRequest::get(named.clone())] {
        let error = allowing(&[]).send(&request).await.unwrap_err();
        assert_eq!(refused_kind(&error), Some(AddressKind::Loopback), "{error:?}");
        let fault = Fault::from(error);
        assert_eq!(fault.code, "address_refused");
        assert!(fault.hint.is_some());
    }
    assert_eq!(server.connections(), 0);
    assert_eq!(allowing(&["127.0.0.1"]).send(&get(&server, "/")).await.unwrap().status(), 200);
    let reply = allowing(&["localhost"]).send(&HttpRequest::get(named)).await.unwrap();
    assert_eq!(reply.status(), 200);
}

#[tokio::test]
async fn a_rule_with_a_port_opens_that_port_only() {
    let open = Server::start([Answer::json(200, &"1")]).await;
    let closed = Server::start([]).await;
    let client = allowing(&[&format!("localhost:{}", port(&open))]);
    for (server, expected) in [(&open, true), (&closed, false)] {
        let url = Url::parse(&format!("http://localhost:{}/", port(server))).unwrap();
        assert_eq!(client.send(&HttpRequest::get(url)).await.is_ok(), expected);
    }
    assert_eq!(closed.connections(), 0);
}

/// The name first leads to 127.0.0.2, which is permitted and stands for a public address here,
/// and then to 127.0.0.1.
#[tokio::test]
async fn a_name_that_is_rebound_between_two_connections_is_refused() {
    let inside = Server::start([]).await;
    let place = format!("127.0.0.2:{}", port(&inside));
    let closing = || Answer::json(200, &"1").header("connection", "close");
    let outside = Server::start_at(&place, [closing()]).await;
    let resolver = ScriptedResolver::new(&["127.0.0.2", "127.0.0.1"]);
    let options = GuardedOptions::default();
    let client = GuardedClient::with_resolver(policy(&["127.0.0.2"]), options, resolver);
    let url = Url::parse(&format!("http://rebound.test:{}/", port(&inside))).unwrap();
    let first = client.send(&HttpRequest::get(url.clone())).await.unwrap();
    assert_eq!(first.body(9).await.unwrap(), b"1");
    let error = client.send(&HttpRequest::get(url)).await.unwrap_err();
    assert_eq!(refused_kind(&error), Some(AddressKind::Loopback), "{error:?}");
    assert_eq!((outside.connections(), inside.connections()), (1, 0));
}

#[tokio::test]
async fn a_name_that_is_rebound_by_a_redirect_to_itself_is_refused() {
    let inside = Server::start([]).await;
    let place = format!("127.0.0.2:{}", port(&inside));
    let again = Answer::json(302, &"").header("location", "/again").header("connection", "close");
    let outside = Server::start_at(&place, [again]).await;
    let resolver = ScriptedResolver::new(&["127.0.0.2", "127.0.0.1"]);
    let options = GuardedOptions::default();
    let client = GuardedClient::with_resolver(policy(&["127.0.0.2"]), options, resolver);
    let url = Url::parse(&format!("http://rebound.test:{}/", port(&inside))).unwrap();
    let error = client.send(&HttpRequest::get(url)).await.unwrap_err();
    assert_eq!(refused_kind(&error), Some(AddressKind::Loopback), "{error:?}");
    assert_eq!((outside.connections(), inside.connections()), (1, 0));
}

#[tokio::test]
async fn the_resolver_is_asked_once_for_a_connection() {
    let server = Server::start([Answer::json(200, &"1"), Answer::json(200, &"2")]).await;
    let resolver = ScriptedResolver::new(&["127.0.0.1"]);
    let asked = Arc::clone(&resolver);
    let options = GuardedOptions::default();
    let client = GuardedClient::with_resolver(policy(&["127.0.0.1"]), options, resolver);
    let url = Url::parse(&format!("http://once.test:{}/", port(&server))).unwrap();
    for _ in 0..2 {
        let reply = client.send(&HttpRequest::get(url.clone())).await.unwrap();
        reply.body(9).await.unwrap();
    }
    assert_eq!((asked.asked.load(Ordering::SeqCst), server.connections()), (1, 1));
}

#[tokio::test]
async fn a_name_without_address_is_unreachable() {
    let url = Url::parse("http://nowhere.invalid/").unwrap();
    let error = allowing(&[]).send(&HttpRequest::get(url)).await.unwrap_err();
    assert!(matches!(error, HttpError::Unreachable { .. }), "{error:?}");
    assert_eq!(Fault::from(error).code, "server_unreachable");
}

#[tokio::test]
async fn all_methods_are_sent_but_those_that_open_tunnels_or_echo_keys() {
    for method in ["PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] {
        let server = Server::start([Answer::json(200, &"")]).await;
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = HttpRequest::new(method.clone(), Url::parse(&server.url("/x")).unwrap());
        assert_eq!(allowing(&["loopback"]).send(&request).await.unwrap().status(), 200);
        assert!(server.seen()[0].head.starts_with(&format!("{method} /x ")));
    }
    let server = Server::start([]).await;
    for method in [Method::CONNECT, Method::TRACE] {
        let request = HttpRequest::new(method.clone(), Url::parse(&server.url("/")).unwrap());
        let error = allowing(&["loopback"]).send(&request).await.unwrap_err();
        assert_eq!(error, HttpError::BadMethod(method.to_string()));
    }
    assert_eq!(server.connections(), 0);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn the_size_limit_counts_decompressed_bytes() {
    let bomb = gzip(&vec![b' '; 20_000_000]);
    assert!(bomb.len() < 100_000);
    let answer = || Answer::pieces(200, "text/html", [bomb.clone()]);
    let server = Server::start([answer().header("content-encoding", "gzip")]).await;
    let reply = allowing(&["loopback"]).send(&get(&server, "/")).await.unwrap();
    assert_eq!(reply.body(1_000_000).await, Err(HttpError::TooLarge { limit: 1_000_000 }));
    assert!(server.seen()[0].head.contains("gzip"));
}

#[tokio::test]
async fn a_broken_compression_is_an_error() {
    let mut broken = gzip(&b"text".repeat(1000));
    let middle = broken.len() / 2;
    broken.truncate(middle);
    let answer = Answer::pieces(200, "text/html", [broken]).header("content-encoding", "gzip");
    let server = Server::start([answer]).await;
    let reply = allowing(&["loopback"]).send(&get(&server, "/")).await.unwrap();
    let error = reply.body(1_000_000).await.unwrap_err();
    assert!(matches!(error, HttpError::Cut { .. }), "{error:?}");
}

#[tokio::test]
async fn a_connection_for_another_protocol_obeys_the_policy_too() {
    let server = Server::start([]).await;
    let client = allowing(&[]);
    for host in ["localhost", "127.0.0.1", "[::1]", "0x7f.1", "2130706433"] {
        let error = client.connect(host, port(&server)).await.unwrap_err();
        assert_eq!(refused_kind(&error), Some(AddressKind::Loopback), "{host}: {error:?}");
    }
    for host in ["a/b", "a?b", "", "a b", "a:1"] {
        let error = client.connect(host, 80).await.unwrap_err();
        assert!(matches!(error, HttpError::BadUrl(_)), "{host}: {error:?}");
    }
    assert!(allowing(&["loopback"]).connect("127.0.0.1", port(&server)).await.is_ok());
}

/// A proxy would resolve names itself, out of the policy's sight. Variables of the environment
/// can only be set for another process: this one starts itself again.
#[tokio::test]
async fn proxies_of_the_environment_are_not_used() {
    let proxy = Server::start([]).await;
    let server = Server::start([Answer::json(200, &"direct")]).await;
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "guarded_client::child_behind_a_proxy", "--ignored"]);
    for name in ["http_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env(name, proxy.url(""));
    }
    command.env("TARGET", server.url("/")).env_remove("NO_PROXY").env_remove("no_proxy");
    let done = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    assert_eq!((proxy.connections(), server.connections()), (0, 1));
}

#[tokio::test]
#[ignore = "started by `proxies_of_the_environment_are_not_used`"]
async fn child_behind_a_proxy() {
    let url = Url::parse(&std::env::var("TARGET").unwrap()).unwrap();
    let reply = allowing(&["loopback"]).send(&HttpRequest::get(url)).await.unwrap();
    assert_eq!(reply.body(10).await.unwrap(), b"direct");
}
