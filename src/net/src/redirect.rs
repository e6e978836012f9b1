//! Where a redirect leads, and what of the request goes there.

use reqwest::Method;
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, CONTENT_TYPE, HeaderMap, IF_RANGE, RANGE, USER_AGENT,
};

use crate::client::without_secrets;
use crate::request::HttpRequest;

/// Headers that another origin may see: none can contain a key.
const HARMLESS: [reqwest::header::HeaderName; 6] =
    [ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, IF_RANGE, RANGE, USER_AGENT];

/// Whether a reply with that status asks for another request, if it has a `Location`.
pub(crate) const fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// The request that a redirect asks for. At another origin it has no header that may contain a
/// key, and no body.
///
/// # Errors
/// A refusal other than [`RedirectRefusal::TooMany`].
pub fn follow(
    request: &HttpRequest,
    status: u16,
    location: &str,
) -> Result<HttpRequest, RedirectRefusal> {
    let malformed = || RedirectRefusal::Malformed { from: without_secrets(&request.url) };
    let url = request.url.join(location.trim()).map_err(|_| malformed())?;
    if !url.has_host() {
        return Err(malformed());
    }
    if request.url.scheme() == "https" && url.scheme() == "http" {
        return Err(RedirectRefusal::Downgrade { to: without_secrets(&url) });
    }
    let (method, body) = if becomes_get(&request.method, status) {
        (Method::GET, None)
    } else {
        (request.method.clone(), request.body.clone())
    };
    let same_origin = url.origin() == request.url.origin();
    if !same_origin && !matches!(method, Method::GET | Method::HEAD) {
        let method = method.to_string();
        return Err(RedirectRefusal::OtherOrigin { method, to: without_secrets(&url) });
    }
    let body = body.filter(|_| same_origin);
    let mut headers = if same_origin { request.headers.clone() } else { harmless(request) };
    if body.is_none() {
        headers.remove(CONTENT_TYPE);
    }
    Ok(HttpRequest { method, url, headers, body })
}

/// As browsers do it.
fn becomes_get(method: &Method, status: u16) -> bool {
    match status {
        303 => *method != Method::HEAD,
        301 | 302 => *method == Method::POST,
        _ => false,
    }
}

fn harmless(request: &HttpRequest) -> HeaderMap {
    let kept =
        |name| Some((name, request.headers.get(name).filter(|value| !value.is_sensitive())?));
    HARMLESS.iter().filter_map(kept).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Why a redirect is not followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedirectRefusal {
    /// There were more in a row than allowed, perhaps in a circle.
    #[error("more redirects in a row than allowed: {limit}")]
    TooMany {
        /// How many are followed.
        limit: usize,
    },
    /// From HTTPS to HTTP, where everybody on the way can read and change the reply.
    #[error("a redirect from https to http is not followed: {to}")]
    Downgrade {
        /// Its target without query.
        to: String,
    },
    /// The target is not a URL.
    #[error("a redirect without a usable target, from {from}")]
    Malformed {
        /// What was requested, without query.
        from: String,
    },
    /// A request that changes something would go to another origin, perhaps with data.
    #[error("a {method} request is not redirected to another origin: {to}")]
    OtherOrigin {
        /// The method.
        method: String,
        /// Its target without query.
        to: String,
    },
}
