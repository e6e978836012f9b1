//! The port of search engines, and the one implementation for those that are asked over HTTP.

use std::time::Duration;

use antiphon_core::{Fault, FaultCode, RetryPolicy};
use antiphon_net::{
    HttpClient, HttpError, HttpReply, Redactor, Secret, StatusKind, Url, retry_after, within,
};
use antiphon_runtime::CallContext;
use async_trait::async_trait;
use serde_json::Value as Json;

use crate::document::html_text;

use super::engines::{RawResult, SearchEngine};
use super::request::{WebQuery, WebResult, WebResultSet};

/// The most bytes of a reply.
const LARGEST: usize = 5_000_000;

/// The most characters of a title or a snippet.
const LONGEST: usize = 600;

/// A longer pause is not worth waiting for: another engine is asked.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

/// Something that searches the web.
#[async_trait]
pub trait SearchBackend: Send + Sync {
    /// Its name in results and messages.
    fn name(&self) -> &str;

    /// Searches once; repeats after transient failures are its own affair.
    ///
    /// # Errors
    /// `search_failed` if there is no usable reply, `search_refused` if the same request would be refused again,
    /// `search_key_refused`.
    async fn search(&self, query: &WebQuery, cx: &CallContext) -> Result<WebResultSet, Fault>;
}

/// An engine that is asked over HTTP. Its client follows no redirects, so that the key goes nowhere else.
#[derive(Clone, Debug)]
pub struct HttpSearchBackend {
    engine: SearchEngine,
    base: Url,
    key: Option<Secret>,
    redactor: Redactor,
    client: HttpClient,
    timeout: Duration,
    retry: RetryPolicy,
}

impl HttpSearchBackend {
    /// An engine at an address, with its key.
    pub fn new(engine: SearchEngine, base: Url, key: Option<Secret>, timeout: Duration) -> Self {
        let redactor = Redactor::new(key.clone());
        let client = HttpClient::default();
        Self { engine, base, key, redactor, client, timeout, retry: RetryPolicy::default() }
    }

    async fn attempt(&self, query: &WebQuery, cx: &CallContext) -> Result<Json, Fault> {
        let name = self.engine.name();
        let request = self.engine.request(&self.base, self.key.as_ref(), query);
        let request = request.map_err(|error| self.failed(&error.to_string()))?;
        let exchange = async {
            let reply = self.client.send(&request).await?;
            let head = ReplyHead::of(&reply, cx);
            let body = if head.kind == StatusKind::Success {
                reply.body(LARGEST).await?
            } else {
                reply.beginning(10_000).await
            };
            Ok::<_, HttpError>((head, body))
        };
        let done = within(&*cx.clock, Some(self.timeout), exchange).await;
        let done = done.ok_or_else(|| {
            self.failed(&format!("no reply within {} s", self.timeout.as_secs_f64()))
        })?;
        let (head, body) = done.map_err(|error| self.failed(&error.to_string()))?;
        let reply: Option<Json> = serde_json::from_slice(&body).ok();
        if head.kind != StatusKind::Success {
            return Err(self.refusal(&head, reply.as_ref()));
        }
        reply.ok_or_else(|| self.failed(&format!("the reply of `{name}` is not JSON")))
    }

    /// The fault of a status other than success, which its details have.
    fn refusal(&self, head: &ReplyHead, reply: Option<&Json>) -> Fault {
        self.fault_of(head, reply).with("status", head.status)
    }

    fn fault_of(&self, head: &ReplyHead, reply: Option<&Json>) -> Fault {
        let name = self.engine.name();
        let said =
            reply.and_then(SearchEngine::complaint).map(|said| plain(&self.redactor.clean(&said)));
        let said = said
            .filter(|said| !said.is_empty())
            .map_or_else(String::new, |said| format!(": {said}"));
        let status = head.status;
        let refused = |code| {
            Fault::new(code, format!("`{name}` refused the search with status {status}{said}"))
        };
        let about_key = said.contains("SUBSCRIPTION_TOKEN") || said.contains("subscription token");
        match head.kind {
            StatusKind::Unauthorized if self.engine == SearchEngine::Searxng => {
                refused(FaultCode::SearchRefused)
                    .hint("enable the format `json` under `search` in the settings of SearXNG")
            }
            StatusKind::Unauthorized => refused(FaultCode::SearchKeyRefused),
            StatusKind::Refused if about_key => refused(FaultCode::SearchKeyRefused),
            StatusKind::PaymentRequired => {
                refused(FaultCode::SearchRefused).hint("the plan has no searches left")
            }
            StatusKind::Refused if matches!(status, 432 | 433) => {
                refused(FaultCode::SearchRefused).hint("the plan has no searches left")
            }
            StatusKind::RateLimited | StatusKind::ServerError | StatusKind::TimedOut => {
                let fault = self.failed(&format!("status {status}{said}"));
                match head.pause {
                    Some(pause) => fault.retry_after(pause),
                    None => fault,
                }
            }
            _ => refused(FaultCode::SearchRefused),
        }
    }

    fn failed(&self, cause: &str) -> Fault {
        let cause = self.redactor.clean(cause);
        Fault::new(
            FaultCode::SearchFailed,
            format!("`{}` did not answer the search: {cause}", self.engine.name()),
        )
    }
}

#[async_trait]
impl SearchBackend for HttpSearchBackend {
    fn name(&self) -> &str {
        self.engine.name()
    }

    async fn search(&self, query: &WebQuery, cx: &CallContext) -> Result<WebResultSet, Fault> {
        let name = self.engine.name();
        if query.page > self.engine.last_page() {
            let message = format!("`{name}` has no such page of results: {}", query.page);
            return Err(
                Fault::new(FaultCode::SearchRefused, message).hint("use other words instead")
            );
        }
        let mut attempt = 1;
        let reply = loop {
            let fault = match self.attempt(query, cx).await {
                Ok(reply) => break reply,
                Err(fault) => fault,
            };
            let is_limited = fault.details.get("status") == Some(&Json::from(429));
            let is_repeated =
                fault.code == FaultCode::SearchFailed && !(is_limited && cx.has_alternative);
            let pause = is_repeated
                .then(|| self.retry.pause(attempt, &fault, cx.seed))
                .flatten()
                .filter(|pause| *pause <= LONGEST_PAUSE)
                .filter(|pause| {
                    cx.deadline.is_none_or(|deadline| cx.clock.now() + *pause < deadline)
                });
            let Some(pause) = pause else { return Err(fault) };
            cx.clock.sleep(pause).await;
            attempt += 1;
        };
        let found = self.engine.results(&reply);
        let found =
            found.ok_or_else(|| self.failed("the reply has another shape than documented"))?;
        let notes = self.engine.missing(query).into_iter();
        let notes = notes
            .map(|filter| format!("`{name}` has no filter for {filter}; it was not applied"))
            .collect();
        Ok(WebResultSet { results: cleaned(found, query.limit, name), notes })
    }
}

/// Results that can be opened, with plain text.
pub(super) fn cleaned(found: Vec<RawResult>, limit: usize, backend: &str) -> Vec<WebResult> {
    let usable = found.into_iter().filter_map(|raw| {
        let url = Url::parse(raw.url.trim()).ok()?;
        let web =
            matches!(url.scheme(), "http" | "https") && url.has_host() && url.username().is_empty();
        let title = Some(plain(&raw.title)).filter(|title| !title.is_empty());
        web.then(|| WebResult {
            rank: 0,
            title: title.unwrap_or_else(|| url.to_string()),
            url: url.to_string(),
            snippet: plain(&raw.snippet),
            published: raw.published.as_deref().map(plain),
            backend: backend.to_owned(),
        })
    });
    usable.take(limit).collect()
}

/// The part of a reply that comes first.
struct ReplyHead {
    status: u16,
    kind: StatusKind,
    pause: Option<Duration>,
}

impl ReplyHead {
    fn of(reply: &HttpReply, cx: &CallContext) -> Self {
        let status = reply.status();
        let pause = retry_after(|name| reply.header(name), cx.clock.now());
        Self { status, kind: StatusKind::of(status), pause }
    }
}

/// HTML as text on one line.
pub(super) fn plain(html: &str) -> String {
    let text =
        if html.contains(['<', '&']) { html_text(html, LONGEST).text } else { html.to_owned() };
    let words =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ").chars().take(LONGEST).collect()
}
