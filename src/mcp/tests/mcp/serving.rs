//! Our server over HTTP.

use std::sync::Arc;

use antiphon_core::{Fault, FaultCode, SideEffect, ToolOutcome, ToolSpec};
use antiphon_mcp::client::{
    Elicitation, ElicitationAnswer, ElicitationHandler, ElicitationQuestion, McpServices,
};
use antiphon_mcp::server::CallClient;
use antiphon_mcp::{HttpServer, McpSettings, ServedTool, ServerSettings, ToolServer};
use antiphon_runtime::{ReplyChunk, Tool};
use async_trait::async_trait;
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::support::{call, client, client_with, context, tool, watched};

/// One tool that does what its arguments say.
struct Scripted {
    spec: ToolSpec,
    seen: UnboundedSender<&'static str>,
}

struct Ended(UnboundedSender<&'static str>);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.send("ended");
    }
}

#[async_trait]
impl ServedTool for Scripted {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: Json, client: CallClient) -> ToolOutcome {
        let _ended = Ended(self.seen.clone());
        let _ = self.seen.send("begun");
        match arguments["do"].as_str().unwrap_or_default() {
            "fail" => Err(Fault::new(FaultCode::ToolFailed, "no such city").hint("try Lyon")),
            "hang" => std::future::pending().await,
            "count" => {
                client.report(1.0, Some(2.0), Some("half".into())).await;
                Ok(json!({"people": 520_774}))
            }
            "ask" => match client.ask("Which city?", None).await? {
                ElicitationAnswer::Accept(answer) => Ok(answer["answer"].clone()),
                _ => Ok(json!("nowhere")),
            },
            "plot" => Ok(json!({"content": [
                {"type": "text", "text": "a dot"},
                {"type": "image", "mime_type": "image/png", "base64": "iVBORw0KGgo="},
            ]})),
            other => Ok(json!(other)),
        }
    }
}

async fn start(settings: ServerSettings) -> (HttpServer, UnboundedReceiver<&'static str>) {
    let (seen, events) = unbounded_channel();
    let parameters = json!({"type": "object", "properties": {"do": {"type": "string"}}});
    let spec =
        ToolSpec { side_effect: SideEffect::Read, ..ToolSpec::new("run", "Runs.", parameters) };
    let tools = [Arc::new(Scripted { spec, seen }) as Arc<dyn ServedTool>];
    let server = ToolServer::new(tools, settings).unwrap();
    (HttpServer::start(server, 0).await.unwrap(), events)
}

fn at(server: &HttpServer) -> McpSettings {
    McpSettings { server: server.url().to_owned(), ..McpSettings::default() }
}

async fn run(client: &antiphon_mcp::McpClient, what: &str) -> ToolOutcome {
    tool(client, "run").await.call(json!({"do": what}), &context()).await
}

#[tokio::test]
async fn a_tool_is_listed_and_called() {
    let (server, _events) = start(ServerSettings::default()).await;
    let client = client(at(&server));
    let listed = tool(&client, "run").await;
    assert_eq!(listed.spec().description, "Runs.");
    assert_eq!(listed.spec().side_effect, SideEffect::Read);
    assert_eq!(client.revision().await.as_deref(), Some("2026-07-28"));
    assert_eq!(run(&client, "say").await.unwrap(), json!("say"));
    assert_eq!(run(&client, "count").await.unwrap(), json!({"people": 520_774}));
    assert_eq!(run(&client, "plot").await.unwrap()["content"][1]["type"], "image");
    let fault = run(&client, "fail").await.unwrap_err();
    assert_eq!(fault.message, "`run` failed: no such city\nhint: try Lyon");
    client.close().await;
    server.stop().await;
}

#[tokio::test]
async fn progress_reaches_the_client() {
    let (server, _events) = start(ServerSettings::default()).await;
    let client = client(at(&server));
    let (cx, mut chunks) = watched();
    tool(&client, "run").await.call(json!({"do": "count"}), &cx).await.unwrap();
    drop(cx);
    client.close().await;
    let progress = chunks.recv().await.unwrap();
    assert!(matches!(progress, ReplyChunk::Progress { message: Some(half), .. } if half == "half"));
    server.stop().await;
}

struct Lyon;

#[async_trait]
impl ElicitationHandler for Lyon {
    async fn ask(&self, question: ElicitationQuestion) -> Result<ElicitationAnswer, Fault> {
        assert_eq!(question.message, "Which city?");
        Ok(ElicitationAnswer::read(&question, &json!("Lyon")))
    }
}

#[tokio::test]
async fn a_question_reaches_the_person_behind_the_client() {
    let (server, mut events) = start(ServerSettings::default()).await;
    let services =
        McpServices { elicitation: Elicitation::Handler(Arc::new(Lyon)), ..McpServices::default() };
    let client = client_with(at(&server), services);
    assert_eq!(run(&client, "ask").await.unwrap(), json!("Lyon"));
    client.close().await;
    // The work went on where it was: it was begun once.
    assert_eq!(events.recv().await, Some("begun"));
    assert_eq!(events.recv().await, Some("ended"));
    server.stop().await;
    assert_eq!(events.recv().await, None);
}

#[tokio::test]
async fn a_client_that_cannot_ask_is_a_failed_call() {
    let (server, _events) = start(ServerSettings::default()).await;
    let client = client(at(&server));
    let fault = run(&client, "ask").await.unwrap_err();
    assert!(fault.message.contains("it cannot ask"), "{fault}");
    client.close().await;
    server.stop().await;
}

#[tokio::test]
async fn a_call_that_is_cancelled_stops_its_work() {
    let (server, mut events) = start(ServerSettings::default()).await;
    let client = client(at(&server));
    let hang = tool(&client, "run").await;
    let calling = tokio::spawn(async move { hang.call(json!({"do": "hang"}), &context()).await });
    assert_eq!(events.recv().await, Some("begun"));
    calling.abort();
    assert_eq!(events.recv().await, Some("ended"));
    client.close().await;
    server.stop().await;
}

#[tokio::test]
async fn stopping_ends_calls() {
    let (server, mut events) = start(ServerSettings::default()).await;
    let client = client(at(&server));
    let hang = tool(&client, "run").await;
    let calling = tokio::spawn(async move { hang.call(json!({"do": "hang"}), &context()).await });
    assert_eq!(events.recv().await, Some("begun"));
    server.stop().await;
    assert_eq!(events.recv().await, Some("ended"));
    assert!(calling.await.unwrap().is_err());
    client.close().await;
}

#[tokio::test]
async fn calls_beyond_the_limit_are_refused() {
    let (server, mut events) =
        start(ServerSettings { max_calls: 1, ..ServerSettings::default() }).await;
    let client = client(at(&server));
    let hang = tool(&client, "run").await;
    let calling = tokio::spawn(async move { hang.call(json!({"do": "hang"}), &context()).await });
    assert_eq!(events.recv().await, Some("begun"));
    let fault = run(&client, "say").await.unwrap_err();
    assert!(fault.message.contains("too many calls"), "{fault}");
    calling.abort();
    client.close().await;
    server.stop().await;
}

#[tokio::test]
async fn an_unknown_tool_is_refused() {
    let (server, _events) = start(ServerSettings::default()).await;
    let reply = post(&server, &[], &legacy("tools/call", &json!({"name": "nothing"}))).await;
    assert!(reply.contains("-32602") || reply.contains("400"), "{reply}");
    server.stop().await;
}

/// The reply to a raw request, with these headers in place of the usual ones.
async fn post(server: &HttpServer, headers: &[(&str, &str)], body: &Json) -> String {
    let address = server.url().trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    let body = body.to_string();
    let host = headers.iter().find(|(name, _)| *name == "Host").map_or(&*address, |it| it.1);
    let others = headers.iter().filter(|(name, _)| *name != "Host");
    let others: Vec<_> = others.map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(&address).await.unwrap();
    stream.write_all(format!("{request}{}\r\n{body}", others.concat()).as_bytes()).await.unwrap();
    let mut reply = vec![0; 2048];
    let count = stream.read(&mut reply).await.unwrap();
    String::from_utf8_lossy(&reply[..count]).into_owned()
}

fn legacy(method: &str, params: &Json) -> Json {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn initialize() -> Json {
    let client = json!({"name": "test", "version": "1"});
    legacy(
        "initialize",
        &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}),
    )
}

#[tokio::test]
async fn names_and_pages_of_strangers_are_refused() {
    let settings = ServerSettings {
        allowed_hosts: vec!["tools.example.com".into()],
        allowed_origins: vec!["https://app.example.com:443".into()],
        ..ServerSettings::default()
    };
    let (server, _events) = start(settings).await;
    let cases = [
        (vec![], "200"),
        (vec![("Host", "evil.example")], "403"),
        (vec![("Host", "tools.example.com")], "200"),
        (vec![("Origin", "http://evil.example")], "403"),
        (vec![("Origin", "null")], "403"),
        (vec![("Origin", "http://localhost:3000")], "200"),
        (vec![("Origin", "https://app.example.com")], "200"),
    ];
    for (headers, expected) in cases {
        let reply = post(&server, &headers, &initialize()).await;
        assert!(reply.starts_with(&format!("HTTP/1.1 {expected}")), "{headers:?}: {reply}");
    }
    server.stop().await;
}

#[tokio::test]
async fn sessions_are_bounded() {
    let (server, _events) =
        start(ServerSettings { max_sessions: 2, ..ServerSettings::default() }).await;
    for expected in ["200", "200", "500"] {
        let reply = post(&server, &[], &initialize()).await;
        assert!(reply.starts_with(&format!("HTTP/1.1 {expected}")), "{reply}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let (server, _events) = start(ServerSettings::default()).await;
    let port = server.url().rsplit(':').next().unwrap().trim_end_matches("/mcp").parse().unwrap();
    let other = ToolServer::new(Vec::new(), ServerSettings::default()).unwrap();
    let fault = HttpServer::start(other, port).await.unwrap_err();
    assert_eq!(fault.code, FaultCode::McpServerFailed);
    server.stop().await;
}

#[tokio::test]
async fn a_lost_server_over_http_is_found_again() {
    let (server, _events) = start(ServerSettings::default()).await;
    let port: u16 =
        server.url().rsplit(':').next().unwrap().trim_end_matches("/mcp").parse().unwrap();
    let client = client(at(&server));
    assert_eq!(call(&client, "run").await.unwrap(), json!(""));
    server.stop().await;
    let run = client.clone();
    let fault = run.tools().await.map(drop).err();
    assert!(fault.is_none_or(|fault| fault.code == FaultCode::McpUnreachable));
    let (seen, _events) = unbounded_channel();
    let spec = ToolSpec::new("run", "Runs.", json!({"type": "object"}));
    let tools = [Arc::new(Scripted { spec, seen }) as Arc<dyn ServedTool>];
    let again = ToolServer::new(tools, ServerSettings::default()).unwrap();
    let again = HttpServer::start(again, port).await.unwrap();
    assert_eq!(call(&client, "run").await.unwrap(), json!(""));
    client.close().await;
    again.stop().await;
}
