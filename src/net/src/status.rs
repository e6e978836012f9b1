//! What a status code means to a caller that may try again.

/// The meaning of an HTTP status, as far as a client's next move depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusKind {
    /// 2xx: the body is the answer.
    Success,
    /// 3xx: never followed, since a key would travel along.
    Redirect,
    /// 401 and 403: the credential is missing, wrong or not allowed.
    Unauthorized,
    /// 402: nothing is left to pay with.
    PaymentRequired,
    /// 404 and 410: there is no such thing.
    NotFound,
    /// 408: the server gave up waiting.
    TimedOut,
    /// 429: too many requests; the same one may pass later.
    RateLimited,
    /// Any other 4xx: the same request will be refused again.
    Refused,
    /// 409, 425, 5xx and what no standard knows: the same request may pass later.
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
