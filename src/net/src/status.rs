//! The meaning of status codes for retries.

/// The meaning of an HTTP status, as far as the client's next step depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusKind {
    /// 2xx: the body is the reply.
    Success,
    /// 3xx: never followed, because a key would be sent along.
    Redirect,
    /// 401 and 403: the credential is missing, wrong or insufficient.
    Unauthorized,
    /// 402: there is no credit left.
    PaymentRequired,
    /// 404 and 410: it does not exist.
    NotFound,
    /// 408: the server stopped waiting.
    TimedOut,
    /// 429: too many requests; the same request may succeed later.
    RateLimited,
    /// Any other 4xx: the same request would be refused again.
    Refused,
    /// 409, 425, 5xx and unknown ones: the same request may succeed later.
    ServerError,
}

impl StatusKind {
    /// The meaning of `status`.
    pub const fn of(status: u16) -> Self {
        match status {
            200..=299 => Self::Success,
            300..=399 => Self::Redirect,
            401 | 403 => Self::Unauthorized,
            402 => Self::PaymentRequired,
            404 | 410 => Self::NotFound,
            408 => Self::TimedOut,
            429 => Self::RateLimited,
            409 | 425 => Self::ServerError,
            400..=499 => Self::Refused,
            _ => Self::ServerError,
        }
    }
}
