//! A proxy on loopback that connects only to what the address policy permits.
//!
//! A browser resolves names and follows redirects itself, so nothing that is checked before it starts holds later.
//! Behind this proxy it resolves nothing: each connection names its host here, where it is resolved, checked and connected
//! to in one step.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use antiphon_net::{GuardedClient, Url};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The most bytes of the head of a request.
const HEAD: usize = 64 * 1024;

/// How a head ends that no further one follows.
const LAST: [&str; 3] = ["connection: close", "", ""];

/// The most connections of one page at a time.
const CONNECTIONS: usize = 64;

/// A running proxy. Dropping it closes its connections.
#[derive(Debug)]
pub struct PolicyProxy {
    address: SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

impl PolicyProxy {
    /// Starts a proxy on a free port of loopback. At most `limit` bytes come back through it.
    ///
    /// # Errors
    /// That of the operating system, if there is no port.
    pub async fn start(client: GuardedClient, limit: usize) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let left = Arc::new(AtomicUsize::new(limit));
        let task = tokio::spawn(async move {
            // Aborted with this task.
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                while open.len() >= CONNECTIONS {
                    let _ = open.join_next().await;
                }
                while open.try_join_next().is_some() {}
                let (client, left) = (client.clone(), Arc::clone(&left));
                // A connection that fails is the browser's affair.
                open.spawn(async move {
                    let _ = serve(stream, &client, &left).await;
                });
            }
        });
        Ok(Self { address, task })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for PolicyProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One connection of the browser: a tunnel, or one plain request.
async fn serve(
    mut browser: TcpStream,
    client: &GuardedClient,
    left: &AtomicUsize,
) -> io::Result<()> {
    let Some((head, rest)) = read_head(&mut browser).await? else { return Ok(()) };
    let Some(target) = ProxyTarget::parse(&head) else {
        return answer(&mut browser, "400 Bad Request").await;
    };
    let Ok(mut server) = client.connect(&target.host, target.port).await else {
        return answer(&mut browser, "403 Forbidden").await;
    };
    match &target.forwarded {
        None => browser.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
        Some(head) => server.write_all(head.as_bytes()).await?,
    }
    server.write_all(&rest).await?;
    relay(browser, server, target.forwarded.is_some(), left).await
}

async fn answer(browser: &mut TcpStream, status: &str) -> io::Result<()> {
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    browser.write_all(head.as_bytes()).await
}

/// The head of a message, and what has arrived of its body; `None` if the connection ended before.
async fn read_head<R: AsyncRead + Unpin>(reader: &mut R) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            let head = String::from_utf8_lossy(&bytes).into_owned();
            return Ok(Some((head, rest)));
        }
        if bytes.len() > HEAD || reader.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
}

/// Copies in both directions until one side has ended or the limit is reached.
async fn relay(
    browser: TcpStream,
    server: TcpStream,
    is_reply: bool,
    left: &AtomicUsize,
) -> io::Result<()> {
    let (mut from_browser, mut to_browser) = browser.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let down = async {
        if is_reply && !relay_head(&mut from_server, &mut to_browser, left).await? {
            return Ok(());
        }
        let mut buffer = vec![0; 16 * 1024];
        loop {
            let read = from_server.read(&mut buffer).await?;
            let Some(piece) = buffer.get(..read).filter(|_| read > 0 && spend(left, read)) else {
                return to_browser.shutdown().await;
            };
            to_browser.write_all(piece).await?;
        }
    };
    tokio::select! {
        done = tokio::io::copy(&mut from_browser, &mut to_server) => done.map(|_| ()),
        done = down => done,
    }
}

/// Passes the head of a reply on, with the word that no further one follows, whatever the server says: the browser would
/// send its next request to the same server, and it may be for another one.
async fn relay_head(
    server: &mut OwnedReadHalf,
    browser: &mut OwnedWriteHalf,
    left: &AtomicUsize,
) -> io::Result<bool> {
    let Some((head, rest)) = read_head(server).await? else { return Ok(false) };
    let mut lines = head.trim_end().split("\r\n").filter(|line| !is_of_hop(line));
    let status = lines.next().unwrap_or_default();
    let head: Vec<&str> = std::iter::once(status).chain(lines).chain(LAST).collect();
    let head = head.join("\r\n");
    if !spend(left, head.len() + rest.len()) {
        return Ok(false);
    }
    browser.write_all(head.as_bytes()).await?;
    browser.write_all(&rest).await?;
    Ok(true)
}

/// Takes bytes off the limit; false if there are not as many.
fn spend(left: &AtomicUsize, bytes: usize) -> bool {
    let order = Ordering::Relaxed;
    left.fetch_update(order, order, |left| left.checked_sub(bytes)).is_ok()
}

/// Where a request of the browser goes.
#[derive(Debug, PartialEq, Eq)]
struct ProxyTarget {
    host: String,
    port: u16,
    /// The head as the server gets it; none for a tunnel.
    forwarded: Option<String>,
}

impl ProxyTarget {
    fn parse(head: &str) -> Option<Self> {
        let (line, headers) = head.split_once("\r\n")?;
        let mut words = line.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if method == "CONNECT" {
            let (host, port) = target.rsplit_once(':')?;
            let port = port.parse().ok()?;
            return Some(Self { host: host.to_owned(), port, forwarded: None });
        }
        let url = Url::parse(target).ok().filter(|url| url.scheme() == "http")?;
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let path = format!("{}{query}", url.path());
        let kept = headers.split("\r\n").filter(|header| !header.is_empty() && !is_of_hop(header));
        // One request for a connection: the next one may be for another host.
        let line = format!("{method} {path} {version}");
        let head: Vec<&str> = std::iter::once(line.as_str()).chain(kept).chain(LAST).collect();
        let forwarded = head.join("\r\n");
        let port = url.port_or_known_default()?;
        Some(Self { host: url.host_str()?.to_owned(), port, forwarded: Some(forwarded) })
    }
}

/// Headers between the browser and its proxy only.
fn is_of_hop(header: &str) -> bool {
    let name = header.split(':').next().unwrap_or_default().trim();
    ["connection", "proxy-connection", "keep-alive", "proxy-authorization"]
        .iter()
        .any(|hop| name.eq_ignore_ascii_case(hop))
}
