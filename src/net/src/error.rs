//! Failures of an HTTP exchange.

use crate::address_policy::AddressRefusal;
use crate::redirect::RedirectRefusal;

/// Why there is no reply. No text contains a secret: URLs appear without user, password and
/// query, and headers without their values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// The URL is not valid.
    #[error("the address is not a usable URL: `{0}`")]
    BadUrl(String),
    /// The method is `CONNECT` or `TRACE`.
    #[error("the HTTP method is not supported: {0}")]
    BadMethod(String),
    /// The policy does not allow the address.
    #[error(transparent)]
    AddressRefused(AddressRefusal),
    /// A redirect is not followed.
    #[error(transparent)]
    RedirectRefused(RedirectRefusal),
    /// A header cannot be sent; its value is not quoted.
    #[error("the header holds characters that HTTP does not allow: `{0}`")]
    BadHeader(String),
    /// The client could not be created, for instance without root certificates.
    #[error("the HTTP client could not be set up: {0}")]
    Setup(String),
    /// No connection was made: refused, unknown host, failed handshake.
    #[error("no connection to `{host}`: {cause}")]
    Unreachable {
        /// Scheme, host and port.
        host: String,
        /// The cause, in the words of the operating system or TLS.
        cause: String,
    },
    /// The connection was cut.
    #[error("the connection to `{host}` broke: {cause}")]
    Cut {
        /// Scheme, host and port.
        host: String,
        /// The cause, in the words of the operating system or TLS.
        cause: String,
    },
    /// The body exceeds the caller's limit.
    #[error("the reply is larger than the limit in bytes: {limit}")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
}

impl HttpError {
    pub(crate) fn from_reqwest(error: reqwest::Error, host: &str) -> Self {
        if let Some(refusal) = refusal(&error) {
            return Self::AddressRefused(refusal.clone());
        }
        let host = host.to_owned();
        let connecting = error.is_connect();
        let cause = innermost(&error.without_url());
        if connecting { Self::Unreachable { host, cause } } else { Self::Cut { host, cause } }
    }
}

/// The innermost cause: the outer ones only say that something below failed.
pub(crate) fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// The refusal of the policy among the causes: resolvers can only fail.
fn refusal(error: &reqwest::Error) -> Option<&AddressRefusal> {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(current) = cause {
        if let Some(refusal) = current.downcast_ref() {
            return Some(refusal);
        }
        cause = current.source();
    }
    None
}
