//! Engines on loopback.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, Time};
use antiphon_net::{Secret, Url};
use antiphon_runtime::{CallContext, Clock};
use antiphon_tools::web_search::{
    HttpSearchBackend, SearchBackend, SearchEngine, WebQuery, WebResultSet,
};

use crate::server::{Answer, Server};

pub(super) const KEY: &str = "sk-live-0123456789abcdef";

pub(super) fn query(text: &str) -> WebQuery {
    WebQuery { text: text.to_owned(), limit: 5, page: 1, ..WebQuery::default() }
}

/// A clock that moves by itself, so that pauses take no time.
pub(super) fn context() -> CallContext {
    CallContext::new(Arc::new(PauseClock))
}

pub(super) fn backend(engine: SearchEngine, server: &Server) -> HttpSearchBackend {
    let base = Url::parse(&server.url("/")).unwrap();
    let key = (engine != SearchEngine::Searxng).then(|| Secret::new(KEY));
    HttpSearchBackend::new(engine, base, key, Duration::from_secs(5))
}

/// What an engine makes of these answers, and the server.
pub(super) async fn ask(
    engine: SearchEngine,
    answers: Vec<Answer>,
    query: &WebQuery,
) -> (Result<WebResultSet, Fault>, Server) {
    let server = Server::start(answers).await;
    let found = backend(engine, &server).search(query, &context()).await;
    (found, server)
}

/// A clock on which pauses between attempts are over at once, and the time limits of requests never are.
struct PauseClock;

impl Clock for PauseClock {
    fn now(&self) -> Time {
        Time::default()
    }

    fn sleep(&self, delay: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        if delay < Duration::from_secs(5) {
            return Box::pin(std::future::ready(()));
        }
        Box::pin(std::future::pending())
    }
}
