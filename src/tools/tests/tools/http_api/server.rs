//! A server on loopback that answers as a test says, and remembers what it was asked.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(super) struct SeenRequest {
    pub(super) method: String,
    /// Path and query.
    pub(super) target: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl SeenRequest {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// An answer: status, headers, body. Status 0 cuts the connection; a `content-length` beyond that of
/// the body cuts it within the body.
pub(super) struct Answer(pub(super) u16, pub(super) Vec<(String, String)>, pub(super) String);

impl Answer {
    pub(super) fn json(status: u16, body: &serde_json::Value) -> Self {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Self(status, headers, body.to_string())
    }

    pub(super) fn text(status: u16, kind: &str, body: &str) -> Self {
        Self(status, vec![("content-type".to_owned(), kind.to_owned())], body.to_owned())
    }

    pub(super) fn redirect(status: u16, location: &str) -> Self {
        Self(status, vec![("location".to_owned(), location.to_owned())], String::new())
    }

    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.1.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn cut() -> Self {
        Self(0, Vec::new(), String::new())
    }
}

pub(super) struct TestServer {
    pub(super) url: String,
    seen: Arc<Mutex<Vec<SeenRequest>>>,
}

impl TestServer {
    /// `answer` gets each request and its number, from 0.
    pub(super) async fn start(
        answer: impl Fn(&SeenRequest, usize) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let requests = Arc::clone(&seen);
        let answer = Arc::new(answer);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (requests, answer) = (Arc::clone(&requests), Arc::clone(&answer));
                tokio::spawn(async move { serve(stream, &requests, &*answer).await });
            }
        });
        Self { url, seen }
    }

    pub(super) fn seen(&self) -> Vec<SeenRequest> {
        self.seen.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    seen: &Mutex<Vec<SeenRequest>>,
    answer: &(impl Fn(&SeenRequest, usize) -> Answer + Send + Sync),
) {
    let Some(request) = read(&mut stream).await else { return };
    let number = {
        let mut seen = seen.lock().unwrap();
        seen.push(request.clone());
        seen.len() - 1
    };
    let Answer(status, headers, body) = answer(&request, number);
    if status == 0 {
        return;
    }
    let mut reply = format!("HTTP/1.1 {status} Status\r\nconnection: close\r\n");
    let body = if request.method == "HEAD" { "" } else { &body };
    if !headers.iter().any(|(name, _)| name == "content-length") {
        let _ = write!(reply, "content-length: {}\r\n", body.len());
    }
    for (name, value) in headers {
        let _ = write!(reply, "{name}: {value}\r\n");
    }
    let _ = write!(reply, "\r\n{body}");
    let _ = stream.write_all(reply.as_bytes()).await;
    let _ = stream.shutdown().await;
}

async fn read(stream: &mut TcpStream) -> Option<SeenRequest> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0_usize);
    while bytes.len() < end + 4 + length {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
    let body = String::from_utf8_lossy(&bytes[end + 4..]).into_owned();
    Some(SeenRequest { method, target, headers, body })
}
