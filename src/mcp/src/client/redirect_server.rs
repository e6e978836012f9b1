//! The end of a person's login: their browser is sent to an address on this machine (RFC 8252,
//! section 7.3).

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use antiphon_net::Url;
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;

const PATH: &str = "/callback";
/// How long one connection of a browser may take.
const CONNECTION: Duration = Duration::from_secs(30);
const DONE: &str = "<!doctype html><title>antiphon</title>\
    <p>The answer has arrived. You can close this page.</p>";
const UNEXPECTED: &str = "Nothing waits for this.";

/// Waits for the redirect of one login.
pub(super) struct RedirectServer {
    listener: TcpListener,
    origin: String,
}

impl RedirectServer {
    /// Listens on a port of this machine; 0 for any that is free.
    pub(super) async fn listen(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let origin = format!("http://{}", listener.local_addr()?);
        Ok(Self { listener, origin })
    }

    /// The address to which the browser has to be sent.
    pub(super) fn uri(&self) -> String {
        format!("{}{PATH}", self.origin)
    }

    /// The full address of the redirect that belongs to a page. Any other page that a browser shows
    /// could send it here too, but does not know the `state` of this login.
    pub(super) async fn arrived(self, page: &Url) -> io::Result<String> {
        let state = parameter(page, "state");
        let (sender, mut redirects) = mpsc::channel(1);
        loop {
            tokio::select! {
                Some(redirect) = redirects.recv() => return Ok(redirect),
                accepted = self.listener.accept() => {
                    let (stream, _) = accepted?;
                    // Browsers also open connections that they do not use.
                    tokio::spawn(timeout(
                        CONNECTION,
                        answer(stream, self.origin.clone(), state.clone(), sender.clone()),
                    ));
                }
            }
        }
    }
}

async fn answer(
    stream: TcpStream,
    origin: String,
    state: Option<String>,
    redirects: mpsc::Sender<String>,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let redirect = format!("{origin}{}", request.uri());
        let is_expected = request.uri().path() == PATH
            && Url::parse(&redirect).is_ok_and(|url| parameter(&url, "state") == state);
        // The first one counts.
        let _ = is_expected.then(|| redirects.try_send(redirect));
        let (status, text) =
            if is_expected { (StatusCode::OK, DONE) } else { (StatusCode::NOT_FOUND, UNEXPECTED) };
        let mut response = Response::new(text.to_owned());
        *response.status_mut() = status;
        let html = http::HeaderValue::from_static("text/html; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, html);
        async move { Ok::<_, Infallible>(response) }
    });
    // A browser that goes away has lost its page alone.
    let _ = http1::Builder::new()
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// The value of a parameter in the query of an address.
pub(super) fn parameter(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}
