//! A server over streamable HTTP.

use std::collections::HashMap;

use antiphon_core::Fault;
use antiphon_net::HttpClient;
use http::{HeaderName, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransportConfig,
};

use super::failure::unreachable;
use super::listening::ListeningClient;
use super::settings::invalid;
use super::target::AddressTarget;

/// The longest message, in bytes.
const LONGEST: usize = 16 * 1024 * 1024;
/// The most bytes of an error page that are read.
const ERROR_PAGE: usize = 16 * 1024;

/// The transport to an address. The address is the caller's own choice, so that it may be on this
/// machine or in a private network; redirects are not followed, so that no server chooses another.
pub(super) fn transport<C: StreamableHttpClient + Sync>(
    client: C,
    target: &AddressTarget,
) -> Result<StreamableHttpClientTransport<ListeningClient<C>>, Fault> {
    let config = StreamableHttpClientTransportConfig::with_uri(target.url.as_str())
        .custom_headers(headers(target)?)
        .max_sse_event_size(LONGEST)
        .max_json_response_size(LONGEST)
        .max_error_response_size(ERROR_PAGE)
        .reinit_on_expired_session(true);
    Ok(StreamableHttpClientTransport::with_client(ListeningClient::new(client), config))
}

/// The client for an address.
pub(super) fn client(pool: &HttpClient, target: &AddressTarget) -> Result<reqwest::Client, Fault> {
    let server = antiphon_net::without_secrets(&target.url);
    pool.raw(&target.url).map_err(|error| unreachable(&server, &error.to_string()))
}

fn headers(target: &AddressTarget) -> Result<HashMap<HeaderName, HeaderValue>, Fault> {
    let headers = target.headers.iter().map(|(name, value)| {
        let refused =
            || invalid(format!("the header holds characters that HTTP does not allow: {name}"));
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused())?;
        if let Some(own) = OWN.iter().find(|own| key.as_str().eq_ignore_ascii_case(own)) {
            return Err(invalid(format!("the header belongs to the protocol: {own}")));
        }
        let mut value = HeaderValue::from_str(value.expose()).map_err(|_| refused())?;
        value.set_sensitive(true);
        Ok((key, value))
    });
    headers.collect()
}

/// Headers that the protocol sets.
const OWN: [&str; 6] = [
    "accept",
    "content-type",
    "mcp-session-id",
    "mcp-protocol-version",
    "mcp-method",
    "last-event-id",
];
