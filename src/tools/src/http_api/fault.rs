//! Faults of catalogues and calls. What a server says appears in them, without secrets and cut.

use antiphon_core::{Fault, FaultCode};

pub(super) fn catalogue(problem: impl Into<String>) -> Fault {
    Fault::new(FaultCode::ApiCatalogueInvalid, problem.into()).hint(
        "see the guide of built-in tools for the form of a catalogue; OpenAPI 3.0 and 3.1 are read \
         too",
    )
}

pub(super) fn setting(problem: impl Into<String>, hint: &str) -> Fault {
    Fault::new(FaultCode::ToolSettingInvalid, problem.into()).hint(hint.to_owned())
}

pub(super) fn unknown_endpoint(method: &str, path: &str, similar: &[String]) -> Fault {
    let message = format!("no endpoint of the catalogue has this method and path: {method} {path}");
    let fault = Fault::new(FaultCode::ApiEndpointUnknown, message);
    if similar.is_empty() {
        return fault.hint("look the endpoints up, and repeat method and path exactly");
    }
    fault.hint(format!("repeat method and path exactly as listed: {}", similar.join(", ")))
}

pub(super) fn call(problem: &str, endpoint: &str) -> Fault {
    Fault::new(FaultCode::ApiCallInvalid, format!("the call of `{endpoint}` is invalid: {problem}"))
        .hint("give the parameters that the endpoint declares, in `path`, `query` and `body`")
        .with("endpoint", endpoint)
}

/// The server refused the call: 4xx apart from 401, 403 and 429.
pub(super) fn rejected(endpoint: &str, status: u16, said: &str, hint: String) -> Fault {
    let message =
        format!("the server rejected the call of `{endpoint}` with status {status}: {said}");
    Fault::new(FaultCode::ApiCallRejected, message)
        .hint(hint)
        .with("status", status)
        .with("endpoint", endpoint)
}

pub(super) fn unauthorized(endpoint: &str, status: u16, said: &str) -> Fault {
    let message =
        format!("the server did not accept the login for `{endpoint}`, status {status}: {said}");
    Fault::new(FaultCode::ApiUnauthorized, message)
        .hint("check the auth profile of the tool: another call will not help")
        .with("status", status)
        .with("endpoint", endpoint)
}

/// 5xx and 429: the same call may succeed later.
pub(super) fn server_failed(endpoint: &str, status: u16, said: &str) -> Fault {
    let message = format!("the server failed to answer `{endpoint}`, status {status}: {said}");
    Fault::new(FaultCode::ApiServerFailed, message)
        .hint("try again later")
        .with("status", status)
        .with("endpoint", endpoint)
}

pub(super) fn timeout(endpoint: &str, seconds: f64) -> Fault {
    let message =
        format!("`{endpoint}` did not answer within its time limit in seconds: {seconds}");
    Fault::new(FaultCode::ApiTimeout, message)
        .hint("ask for less, or raise `timeout` of the tool")
        .with("endpoint", endpoint)
}

pub(super) fn token(place: &str, problem: &str) -> Fault {
    let message = format!("no token from `{place}`: {problem}");
    Fault::new(FaultCode::ApiTokenFailed, message)
        .hint("check the credentials and the address of the token endpoint in the auth profile")
}
