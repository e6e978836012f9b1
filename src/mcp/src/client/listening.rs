//! Requests that wait for the stream on which their server may ask something.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, ClientNotification};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    StreamableHttpResponseLimits,
};
use sse_stream::{Error as SseError, Sse};
use tokio::sync::watch;

/// How long a request waits for the stream. Some servers answer only when they have something to
/// say.
const OPENING: Duration = Duration::from_secs(1);

/// A client whose first requests wait until the stream of their session is open or refused, for at
/// most [`OPENING`]. The library opens it beside them, and what a server asks while there is none is
/// lost: the call of a tool that asks would never end. After a lost stream nothing waits.
#[derive(Clone)]
pub(super) struct ListeningClient<C> {
    inner: C,
    is_opening: watch::Sender<bool>,
}

impl<C> ListeningClient<C> {
    pub(super) fn new(inner: C) -> Self {
        Self { inner, is_opening: watch::Sender::new(false) }
    }

    async fn wait_until_open(&self) {
        let mut is_opening = self.is_opening.subscribe();
        let open = is_opening.wait_for(|is_opening| !is_opening);
        if tokio::time::timeout(OPENING, open).await.is_err() {
            self.is_opening.send_replace(false);
        }
    }
}

type PostResult<E> = Result<StreamableHttpPostResponse, StreamableHttpError<E>>;
type StreamResult<E> = Result<BoxStream<'static, Result<Sse, SseError>>, StreamableHttpError<E>>;
type Headers = HashMap<HeaderName, HeaderValue>;

impl<C: StreamableHttpClient + Sync> StreamableHttpClient for ListeningClient<C> {
    type Error = C::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        authorization: Option<String>,
        headers: Headers,
    ) -> PostResult<Self::Error> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(
            uri,
            message,
            session,
            authorization,
            headers,
            limits,
        )
        .await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        authorization: Option<String>,
        headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> PostResult<Self::Error> {
        if matches!(message, ClientJsonRpcMessage::Request(_)) {
            self.wait_until_open().await;
        }
        let begins = session.is_some() && is_initialized(&message);
        let posted = self.inner.post_message_with_response_limits(
            uri,
            message,
            session,
            authorization,
            headers,
            limits,
        );
        let posted = posted.await;
        if begins && posted.is_ok() {
            self.is_opening.send_replace(true);
        }
        posted
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        authorization: Option<String>,
        headers: Headers,
    ) -> Result<(), StreamableHttpError<Self::Error>> {
        self.inner.delete_session(uri, session, authorization, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        authorization: Option<String>,
        headers: Headers,
    ) -> StreamResult<Self::Error> {
        let longest = StreamableHttpResponseLimits::default().max_sse_event_size;
        self.get_stream_with_max_sse_event_size(
            uri,
            session,
            last_event,
            authorization,
            headers,
            longest,
        )
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        authorization: Option<String>,
        headers: Headers,
        longest: usize,
    ) -> StreamResult<Self::Error> {
        let _opening = last_event.is_none().then(|| OpeningGuard(&self.is_opening));
        let stream = self.inner.get_stream_with_max_sse_event_size(
            uri,
            session,
            last_event,
            authorization,
            headers,
            longest,
        );
        stream.await
    }
}

/// Ends the wait for a stream, also if its future is dropped.
struct OpeningGuard<'a>(&'a watch::Sender<bool>);

impl Drop for OpeningGuard<'_> {
    fn drop(&mut self) {
        self.0.send_replace(false);
    }
}

fn is_initialized(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, ClientJsonRpcMessage::Notification(notification)
        if matches!(notification.notification, ClientNotification::InitializedNotification(_)))
}
