//! A server over streamable HTTP.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::tool_server::ToolServer;

/// The path at which it is reached.
const PATH: &str = "/mcp";
/// The largest request, in bytes.
const LARGEST: usize = 4 * 1024 * 1024;
/// How long a client may take to send the head of a request.
const HEAD: Duration = Duration::from_secs(10);
/// How long calls may take to end when the server stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// Connections for each session: a client holds one open for messages of the server.
const CONNECTIONS: usize = 4;

type Service = StreamableHttpService<ToolServer, LocalSessionManager>;

/// A server that listens, until it is stopped or dropped.
#[derive(Debug)]
pub struct HttpServer {
    url: String,
    stop: CancellationToken,
    task: Option<tokio::task::JoinHandle<()>>,
}

impl HttpServer {
    /// Listens on a port; 0 for any that is free.
    ///
    /// Only requests that name one of its hosts, and come from no page of a stranger, are
    /// answered: a page that a person visits could otherwise use the server through their browser.
    ///
    /// # Errors
    /// `mcp_server_failed`: the port is taken, or the address is not that of this machine.
    pub async fn start(server: ToolServer, port: u16) -> Result<Self, Fault> {
        let host = server.settings.host.clone();
        let failed = |error: std::io::Error| {
            let message = format!("the MCP server cannot listen on `{host}` port {port}: {error}");
            Fault::new(FaultCode::McpServerFailed, message).hint("choose another port")
        };
        let listener = TcpListener::bind((host.as_str(), port)).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let stop = CancellationToken::new();
        let connections = server.settings.max_sessions.saturating_mul(CONNECTIONS);
        let service = service(server, &stop);
        let task = tokio::spawn(accept(listener, service, stop.clone(), connections));
        Ok(Self { url: format!("http://{address}{PATH}"), stop, task: Some(task) })
    }

    /// The address for clients on this machine.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits until it stops.
    pub async fn wait(mut self) {
        if let Some(task) = self.task.take() {
            // The task neither panics nor is aborted.
            let _ = task.await;
        }
    }

    /// Stops: ends sessions and calls, and waits for them for a few seconds.
    pub async fn stop(self) {
        self.stop.cancel();
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, self.wait()).await;
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn service(server: ToolServer, stop: &CancellationToken) -> Service {
    let settings = Arc::clone(&server.settings);
    let own = [settings.host.as_str(), "localhost", "127.0.0.1", "::1"];
    let hosts = own.into_iter().map(str::to_owned).chain(settings.allowed_hosts.iter().cloned());
    let pages = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"].map(String::from);
    let origins = pages.into_iter().chain(settings.allowed_origins.iter().cloned());
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(hosts)
        .with_allowed_origins(origins)
        .with_cancellation_token(stop.clone())
        .with_max_request_body_bytes(LARGEST);
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(Duration::from_secs(settings.idle_timeout));
    let sessions = Arc::new(sessions);
    let known = Arc::clone(&sessions);
    let serve = move || {
        // The list is locked for moments only.
        let open = known.sessions.try_read().map_or(0, |sessions| sessions.len());
        if open < settings.max_sessions {
            Ok(server.clone())
        } else {
            Err(std::io::Error::other("too many sessions"))
        }
    };
    StreamableHttpService::new(serve, sessions, config)
}

async fn accept(listener: TcpListener, service: Service, stop: CancellationToken, most: usize) {
    let mut connections = JoinSet::new();
    let permits = Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        // A connection that failed on its way is the client's loss.
        let Ok((stream, _)) = accepted else { continue };
        // Beyond the limit it is closed at once, so that clients that hold connections open do
        // not keep others waiting without a word.
        if let Ok(permit) = Arc::clone(&permits).try_acquire_owned() {
            let exchange = exchange(stream, service.clone(), stop.clone());
            connections.spawn(async move {
                exchange.await;
                drop(permit);
            });
        }
    }
    while connections.join_next().await.is_some() {}
}

async fn exchange(stream: TcpStream, service: Service, stop: CancellationToken) {
    let routed = TowerToHyperService::new(service);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(stream), routed);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // Clients go whenever they like.
        _ = connection.as_mut() => {}
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, connection).await;
        }
    }
}
