//! HTTP requests.

use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};

use crate::error::HttpError;
use crate::secret::Secret;

/// A request that can be sent any number of times.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
}

impl HttpRequest {
    /// A GET request for `url`.
    pub fn get(url: Url) -> Self {
        Self::new(Method::GET, url)
    }

    /// A request without body. `CONNECT` and `TRACE` are sent by no client of this crate.
    pub fn new(method: Method, url: Url) -> Self {
        Self { method, url, headers: HeaderMap::new(), body: None }
    }

    /// A POST request with `body`, which is JSON text.
    pub fn post_json(url: Url, body: impl Into<Bytes>) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Self { method: Method::POST, url, headers, body: Some(body.into()) }
    }

    /// Sets the body. Its type is a header: see [`Self::header`].
    #[must_use]
    pub fn body(self, body: impl Into<Bytes>) -> Self {
        Self { body: Some(body.into()), ..self }
    }

    /// Its method.
    pub const fn method(&self) -> &Method {
        &self.method
    }

    /// Where it goes.
    pub const fn url(&self) -> &Url {
        &self.url
    }

    /// Adds a header, or replaces the one with that name.
    ///
    /// # Errors
    /// [`HttpError::BadHeader`] if name or value contain characters that HTTP does not allow.
    pub fn header(self, name: &str, value: &str) -> Result<Self, HttpError> {
        self.insert(name, value, false)
    }

    /// Adds a header whose value is secret.
    ///
    /// # Errors
    /// [`HttpError::BadHeader`] if name or value contain characters that HTTP does not allow.
    pub fn secret_header(self, name: &str, value: &Secret) -> Result<Self, HttpError> {
        self.insert(name, value.expose(), true)
    }

    fn insert(mut self, name: &str, value: &str, sensitive: bool) -> Result<Self, HttpError> {
        let refused = || HttpError::BadHeader(name.to_owned());
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| refused())?;
        value.set_sensitive(sensitive);
        self.headers.insert(key, value);
        Ok(self)
    }
}
