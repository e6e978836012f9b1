//! A real web server on loopback whose pages are made by a function of the test, lying ones too.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct WebRequest {
    /// Path and query.
    pub(crate) path: String,
    /// Request line and headers, in lower case.
    pub(crate) head: String,
}

impl WebRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.head.lines().find_map(|line| line.strip_prefix(&format!("{name}:")));
        found.map(str::trim)
    }
}

/// How a body is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyForm {
    Whole,
    /// With another length than it has.
    Announced(usize),
    /// Again and again.
    Endless,
    /// Nothing is said, not even a head.
    Silent,
}

#[derive(Clone, Debug)]
pub(crate) struct WebAnswer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    form: BodyForm,
}

impl WebAnswer {
    pub(crate) fn new(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("content-type".to_owned(), kind.to_owned())];
        Self { status, headers, body: body.into(), form: BodyForm::Whole }
    }

    pub(crate) fn html(body: &str) -> Self {
        Self::new(200, "text/html; charset=utf-8", body)
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn announced(self, length: usize) -> Self {
        Self { form: BodyForm::Announced(length), ..self }
    }

    pub(crate) fn endless(self) -> Self {
        Self { form: BodyForm::Endless, ..self }
    }

    pub(crate) fn silent() -> Self {
        Self { form: BodyForm::Silent, ..Self::new(200, "", "") }
    }
}

pub(crate) struct WebServer {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<WebRequest>>>,
}

impl WebServer {
    pub(crate) async fn start(
        pages: impl Fn(&WebRequest) -> WebAnswer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, pages) = (Arc::clone(&requests), Arc::new(pages));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, pages) = (Arc::clone(&seen), Arc::clone(&pages));
                tokio::spawn(async move { serve(stream, &*pages, &seen).await });
            }
        });
        Self { address, requests }
    }

    /// One page for each path.
    pub(crate) async fn with(answer: WebAnswer) -> Self {
        Self::start(move |_| answer.clone()).await
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<WebRequest> {
        self.requests.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    pages: &(impl Fn(&WebRequest) -> WebAnswer + Sync),
    seen: &Mutex<Vec<WebRequest>>,
) -> Option<()> {
    loop {
        let request = read_request(&mut stream).await?;
        let answer = pages(&request);
        seen.lock().unwrap().push(request);
        if answer.form == BodyForm::Silent {
            // Until the client has had enough.
            let _ = stream.read(&mut [0]).await;
            return None;
        }
        let length = match answer.form {
            BodyForm::Announced(length) => length,
            _ => answer.body.len(),
        };
        let mut head = format!("HTTP/1.1 {} X\r\n", answer.status);
        for (name, value) in &answer.headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        if answer.form != BodyForm::Endless {
            write!(head, "content-length: {length}\r\n").unwrap();
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes()).await.ok()?;
        stream.write_all(&answer.body).await.ok()?;
        if answer.form == BodyForm::Endless {
            while stream.write_all(&answer.body).await.is_ok() {}
        }
        if answer.form != BodyForm::Whole {
            return None;
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<WebRequest> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).await.ok()? == 0 {
            return None;
        }
        bytes.push(byte[0]);
    }
    let head = String::from_utf8(bytes).ok()?;
    let path = head.split(' ').nth(1)?.to_owned();
    Some(WebRequest { path, head: head.to_lowercase() })
}
