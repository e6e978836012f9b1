//! A real HTTP server on loopback that does what a test tells it to, the
//! wrong things too. Each request gets the next answer.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A request as it came over the wire.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Request line and headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

/// What the server does with one request.
pub(crate) struct Answer {
    head: String,
    pieces: Vec<Vec<u8>>,
    then: Then,
}

enum Then {
    /// Ends the body and waits for the next request.
    End,
    /// Drops the connection in the middle of the body.
    Cut,
    /// Says nothing more and keeps the connection.
    Hang,
}

impl Answer {
    /// A whole JSON reply.
    pub(crate) fn json(status: u16, body: &impl ToString) -> Self {
        Self::pieces(status, "application/json", [body.to_string()])
    }

    /// A reply that comes in pieces, each flushed on its own.
    pub(crate) fn pieces<P: Into<Vec<u8>>>(
        status: u16,
        kind: &str,
        pieces: impl IntoIterator<Item = P>,
    ) -> Self {
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n"
        );
        Self { head, pieces: pieces.into_iter().map(Into::into).collect(), then: Then::End }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        write!(self.head, "{name}: {value}\r\n").unwrap();
        self
    }

    pub(crate) fn cut(mut self) -> Self {
        self.then = Then::Cut;
        self
    }

    pub(crate) fn hang(mut self) -> Self {
        self.then = Then::Hang;
        self
    }
}

pub(crate) struct Server {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

struct State {
    answers: VecDeque<Answer>,
    seen: Vec<Seen>,
    connections: usize,
    open: usize,
}

impl Server {
    pub(crate) async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::start_at("127.0.0.1:0", answers).await
    }

    pub(crate) async fn start_at(place: &str, answers: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind(place).await.unwrap();
        let address = listener.local_addr().unwrap();
        let answers = answers.into_iter().collect();
        let state =
            Arc::new(Mutex::new(State { answers, seen: Vec::new(), connections: 0, open: 0 }));
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&shared);
                state.lock().unwrap().connections += 1;
                state.lock().unwrap().open += 1;
                tokio::spawn(async move {
                    serve(stream, &state).await;
                    state.lock().unwrap().open -= 1;
                });
            }
        });
        Self { address, state }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.lock().unwrap().seen.clone()
    }

    /// Connections so far.
    pub(crate) fn connections(&self) -> usize {
        self.state.lock().unwrap().connections
    }

    /// Connections that nobody has closed yet.
    pub(crate) fn open(&self) -> usize {
        self.state.lock().unwrap().open
    }
}

async fn serve(mut stream: TcpStream, state: &Mutex<State>) {
    while let Some(seen) = read(&mut stream).await {
        let answer = {
            let mut state = state.lock().unwrap();
            state.seen.push(seen);
            state.answers.pop_front()
        };
        // A request that no test expected gets no answer: it must fail.
        let Some(Answer { head, pieces, then }) = answer else { return };
        if !head.is_empty() {
            stream.write_all(format!("{head}\r\n").as_bytes()).await.unwrap();
        }
        for piece in pieces {
            let size = format!("{:x}\r\n", piece.len());
            let chunk = [size.as_bytes(), &piece, b"\r\n"].concat();
            if stream.write_all(&chunk).await.is_err() {
                return;
            }
            stream.flush().await.unwrap();
        }
        match then {
            Then::End => stream.write_all(b"0\r\n\r\n").await.unwrap(),
            Then::Cut => return,
            Then::Hang => {
                // Ends when the client has had enough.
                let _ = stream.read(&mut [0]).await;
                return;
            }
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let length = head.to_ascii_lowercase();
    let length = length.split_once("content-length: ").map_or("0", |(_, rest)| rest);
    let length: usize = length.split("\r\n").next().unwrap().parse().unwrap();
    while bytes.len() < end + 4 + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = String::from_utf8(bytes[end + 4..].to_vec()).unwrap();
    Some(Seen { head, body })
}
