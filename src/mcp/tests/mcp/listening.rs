//! The stream on which a server asks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use antiphon_mcp::McpSettings;
use serde_json::{Value as Json, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use crate::support::{client, specs};

/// A server of the revision 2025-11-25 that has a session.
#[derive(Default)]
struct SessionServer {
    never_opens: bool,
    listed: Notify,
    is_open: AtomicBool,
    was_open: AtomicBool,
}

impl SessionServer {
    async fn serve(self: Arc<Self>) -> McpSettings {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("http://{}/mcp", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(Arc::clone(&self).answer(stream));
            }
        });
        McpSettings { server, ..McpSettings::default() }
    }

    async fn answer(self: Arc<Self>, mut stream: TcpStream) {
        let (method, message) = request(&mut stream).await;
        let id = &message["id"];
        let answer = match (method.as_str(), message["method"].as_str()) {
            ("GET", _) => {
                if self.never_opens {
                    return std::future::pending().await;
                }
                // As long as it takes a client that does not wait to send its first request.
                let _ =
                    tokio::time::timeout(Duration::from_millis(300), self.listed.notified()).await;
                self.is_open.store(true, Ordering::SeqCst);
                "200 OK\r\ncontent-type: text/event-stream\r\n\r\n: open\n\n".to_owned()
            }
            ("POST", Some("initialize")) => reply(
                id,
                &json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "s", "version": "1"}}),
            ),
            ("POST", Some("tools/list")) => {
                self.was_open.store(self.is_open.load(Ordering::SeqCst), Ordering::SeqCst);
                self.listed.notify_one();
                reply(id, &json!({"tools": [{"name": "ask", "inputSchema": {"type": "object"}}]}))
            }
            ("POST", Some("server/discover")) => head("400 Bad Request"),
            _ => head("202 Accepted"),
        };
        let _ = stream.write_all(format!("HTTP/1.1 {answer}").as_bytes()).await;
        if method == "GET" {
            std::future::pending::<()>().await;
        }
    }
}

async fn request(stream: &mut TcpStream) -> (String, Json) {
    let mut stream = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") && stream.read_line(&mut head).await.unwrap() > 0 {
        let line = head.lines().last().unwrap().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    let method = head.split(' ').next().unwrap().to_owned();
    (method, serde_json::from_slice(&body).unwrap_or_default())
}

fn head(status: &str) -> String {
    format!("{status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

fn reply(id: &Json, result: &Json) -> String {
    let body = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    let length = body.len();
    format!(
        "200 OK\r\ncontent-type: application/json\r\nmcp-session-id: s1\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

#[tokio::test]
async fn requests_wait_until_their_server_can_ask() {
    let server = Arc::new(SessionServer::default());
    let client = client(Arc::clone(&server).serve().await);
    assert_eq!(specs(&client).await[0].name, "ask");
    assert!(server.was_open.load(Ordering::SeqCst), "it could not have asked");
    client.close().await;
}

#[tokio::test]
async fn a_server_that_never_opens_its_stream_is_used_all_the_same() {
    let server = Arc::new(SessionServer { never_opens: true, ..SessionServer::default() });
    let client = client(Arc::clone(&server).serve().await);
    assert_eq!(specs(&client).await[0].name, "ask");
    client.close().await;
}
