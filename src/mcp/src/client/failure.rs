//! Failures of the library, as faults.

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::redact;
use rmcp::ServiceError;
use rmcp::service::ClientInitializeError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use serde_json::Value as Json;
use std::error::Error as _;

use super::stderr_tail::StderrTail;

/// Characters of a server's words that a fault quotes.
const QUOTED: usize = 600;

/// Why a call has no result, and whether its server may have begun it.
#[derive(Debug)]
pub(super) enum CallFailure {
    /// The connection is gone; `sent` unless the request certainly never arrived.
    Lost { sent: bool, cause: String },
    /// It took too long.
    TimedOut,
    /// A failure that a new connection would not mend.
    Final(Fault),
}

impl CallFailure {
    /// The call ends with a question for the run that makes it.
    pub(super) fn asks(question: Json) -> Self {
        Self::Final(Fault::question(question))
    }

    pub(super) fn of(server: &str, error: &ServiceError) -> Self {
        if let Some(challenge) = error.auth_challenge() {
            return Self::Final(unauthorized(server, Some(challenge)));
        }
        match error {
            ServiceError::McpError(error) => {
                let message = format!(
                    "the MCP server `{server}` refused the call: {}",
                    quoted(&error.message)
                );
                let fault = Fault::new(FaultCode::ToolFailed, message);
                Self::Final(fault.with("rpc_code", error.code.0).with("server", server))
            }
            ServiceError::TransportSend(error) if refuses_credentials(&*error.error) => {
                Self::Final(unauthorized(server, None))
            }
            ServiceError::TransportSend(error) => {
                let cause = innermost(&*error.error);
                Self::Lost { sent: !never_sent(&*error.error), cause }
            }
            ServiceError::TransportClosed => {
                Self::Lost { sent: true, cause: "it closed the connection".to_owned() }
            }
            ServiceError::Timeout { .. } => Self::TimedOut,
            ServiceError::Cancelled { reason } => {
                let reason = reason.as_deref().unwrap_or("it gave no reason");
                let message =
                    format!("the MCP server `{server}` cancelled the call: {}", quoted(reason));
                Self::Final(Fault::new(FaultCode::ToolFailed, message).with("server", server))
            }
            other => Self::Final(reply_invalid(server, &other.to_string())),
        }
    }
}

/// The reply of a server means nothing.
pub(super) fn reply_invalid(server: &str, cause: &str) -> Fault {
    let message = format!("the reply of the MCP server `{server}` is invalid: {}", quoted(cause));
    Fault::new(FaultCode::McpReplyInvalid, message)
        .hint("report it to the author of the server")
        .with("server", server)
}

/// The server, or its address, cannot be reached.
pub(super) fn unreachable(server: &str, cause: &str) -> Fault {
    let message = format!("the MCP server `{server}` cannot be reached: {}", quoted(cause));
    Fault::new(FaultCode::McpUnreachable, message)
        .hint("start the server, or correct its address")
        .with("server", server)
}

/// The connection broke in a call that may have had its effect.
pub(super) fn connection_lost(server: &str, cause: &str, stderr: &StderrTail) -> Fault {
    let message = format!("the MCP server `{server}` was lost during the call: {}", quoted(cause));
    let fault = Fault::new(FaultCode::McpConnectionLost, message)
        .hint("the call may have had its effect: check before it is repeated")
        .with("server", server);
    with_stderr(fault, stderr)
}

/// The server could not be spoken to.
pub(super) fn handshake_failed(server: &str, cause: &str, stderr: &StderrTail) -> Fault {
    let said = stderr.text();
    // The last line of a traceback, for instance, says what is wrong.
    let said = said.lines().last().map(|line| format!("; its stderr ends with: {}", quoted(line)));
    let message = format!(
        "the MCP server `{server}` did not complete the handshake: {}{}",
        quoted(cause),
        said.unwrap_or_default()
    );
    let fault = Fault::new(FaultCode::McpHandshakeFailed, message)
        .hint(
            "check that the program or address is an MCP server, and read `stderr` in the details",
        )
        .with("server", server);
    with_stderr(fault, stderr)
}

/// A credential is missing, wrong or not sufficient.
pub(super) fn unauthorized(server: &str, challenge: Option<&str>) -> Fault {
    let message = format!("the MCP server `{server}` refused the credentials");
    let fault = Fault::new(FaultCode::McpUnauthorized, message)
        .hint(
            "pass a valid token with headers={\"Authorization\": \"Bearer …\"}, or login=\"browser\" \
             if the server has people log in",
        )
        .with("server", server);
    match challenge {
        Some(challenge) => fault.with("challenge", quoted(challenge)),
        None => fault,
    }
}

/// A handshake that failed, and whether an older form of it may succeed.
pub(super) fn of_handshake(
    server: &str,
    error: &ClientInitializeError,
    stderr: &StderrTail,
) -> (Fault, bool) {
    if error.is_authorization_required() || error.auth_challenge().is_some() {
        return (unauthorized(server, error.auth_challenge()), false);
    }
    match error {
        ClientInitializeError::TransportError { error, .. }
            if refuses_credentials(&*error.error) =>
        {
            (unauthorized(server, None), false)
        }
        ClientInitializeError::TransportError { error, .. } if never_sent(&*error.error) => {
            (unreachable(server, &innermost(&*error.error)), false)
        }
        ClientInitializeError::TransportError { error, .. } => {
            (handshake_failed(server, &innermost(&*error.error), stderr), true)
        }
        ClientInitializeError::ConnectionClosed(_) => {
            (handshake_failed(server, "it ended before it answered", stderr), true)
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
            (of_handshake(server, fallback, stderr).0, false)
        }
        other => (handshake_failed(server, &other.to_string(), stderr), true),
    }
}

fn with_stderr(fault: Fault, stderr: &StderrTail) -> Fault {
    let text = stderr.text();
    if text.is_empty() { fault } else { fault.with("stderr", redact::clean_text(&text)) }
}

/// Whether no connection was made, so that the server knows nothing of the request.
fn never_sent(error: &(dyn std::error::Error + 'static)) -> bool {
    http_error(error).is_some_and(reqwest::Error::is_connect)
}

/// Whether the server refused the request without saying which credentials it wants. The library
/// tells that in words alone.
fn refuses_credentials(error: &(dyn std::error::Error + 'static)) -> bool {
    let statuses = ["HTTP 401 ", "HTTP 403 "];
    matches!(
        find_cause(error),
        Some(TransportFailure::UnexpectedServerResponse(text))
            if statuses.iter().any(|status| text.starts_with(status))
    )
}

type TransportFailure = StreamableHttpError<reqwest::Error>;

/// The failed exchange of HTTP at the bottom of a failure. The library does not name it as the
/// source of its own error.
fn http_error<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e reqwest::Error> {
    match find_cause(error) {
        Some(TransportFailure::Client(found)) => Some(found),
        _ => find_cause(error),
    }
}

/// The first cause of a type.
fn find_cause<'e, E: std::error::Error + 'static>(
    error: &'e (dyn std::error::Error + 'static),
) -> Option<&'e E> {
    std::iter::successors(Some(error), |&error| error.source())
        .find_map(|cause| cause.downcast_ref())
}

/// The cause at the bottom of a failure. A failed exchange of HTTP names the whole address, which
/// may hold a key, and so only its own cause is told.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    if let Some(TransportFailure::UnexpectedContentType(found)) = find_cause(error) {
        let found = found.as_deref().unwrap_or("no content type");
        return format!("it answered with {found}, not with JSON or events");
    }
    let http = http_error(error);
    if let Some(status) = http.and_then(reqwest::Error::status) {
        return format!("it answered with the status {status}");
    }
    let mut cause = error;
    if let Some(http) = http {
        match http.source() {
            Some(inner) => cause = inner,
            None => return "the exchange failed".to_owned(),
        }
    }
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// A server's words: bounded, on one line, and without known secrets.
pub(super) fn quoted(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut line = redact::clean_text(&line).into_owned();
    if let Some((end, _)) = line.char_indices().nth(QUOTED) {
        line.truncate(end);
        line.push('…');
    }
    line
}
