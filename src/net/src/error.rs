//! How an HTTP exchange fails before it has an answer to judge.

/// Why there is no answer. No text holds a secret: addresses come without
/// user, password and query, and headers without their values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// The address cannot be used.
    #[error("the address is not a usable URL: `{0}`")]
    BadUrl(String),
    /// A header cannot be sent; its value stays unnamed.
    #[error("the header holds characters that HTTP does not allow: `{0}`")]
    BadHeader(String),
    /// The client could not be made, for instance for want of root certificates.
    #[error("the HTTP client could not be set up: {0}")]
    Setup(String),
    /// No connection came about: refused, unknown host, failed handshake.
    #[error("no connection to `{host}`: {cause}")]
    Unreachable {
        /// Scheme, host and port.
        host: String,
        /// What the operating system or TLS says.
        cause: String,
    },
    /// The connection broke after it was made.
    #[error("the connection to `{host}` broke: {cause}")]
    Cut {
        /// Scheme, host and port.
        host: String,
        /// What the operating system or TLS says.
        cause: String,
    },
    /// The body is larger than the caller accepts.
    #[error("the reply is larger than the limit in bytes: {limit}")]
    TooLarge {
        /// The most bytes the body may have.
        limit: usize,
    },
}

impl HttpError {
    pub(crate) fn from_reqwest(error: reqwest::Error, host: &str) -> Self {
        let host = host.to_owned();
        let connecting = error.is_connect();
        let cause = innermost(&error.without_url());
        if connecting { Self::Unreachable { host, cause } } else { Self::Cut { host, cause } }
    }
}

/// The last of the causes: the others only say that something below failed.
pub(crate) fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
