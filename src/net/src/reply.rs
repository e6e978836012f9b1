//! HTTP replies, whose bodies may still be arriving.

use bytes::Bytes;

use reqwest::Url;

use crate::error::HttpError;

/// A reply whose head has arrived. Dropping it closes the connection.
#[derive(Debug)]
pub struct HttpReply {
    inner: reqwest::Response,
    host: String,
}

impl HttpReply {
    pub(crate) const fn new(inner: reqwest::Response, host: String) -> Self {
        Self { inner, host }
    }

    /// The status code.
    pub fn status(&self) -> u16 {
        self.inner.status().as_u16()
    }

    /// What was requested last: after redirects, their target.
    pub fn url(&self) -> &Url {
        self.inner.url()
    }

    /// The announced length of the body in bytes, if it is not compressed.
    pub fn content_length(&self) -> Option<u64> {
        self.inner.content_length()
    }

    /// The names and values of all headers that are plain text, names in lower case.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        let headers = self.inner.headers().iter();
        headers.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
    }

    /// The header with that name, in any case, if it exists and is plain text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.inner.headers().get(name)?.to_str().ok()
    }

    /// The next chunk of the body; `None` at its end.
    ///
    /// # Errors
    /// [`HttpError::Cut`] when the connection breaks before the end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        let piece = self.inner.chunk().await;
        piece.map_err(|error| HttpError::from_reqwest(error, &self.host))
    }

    /// The whole body.
    ///
    /// # Errors
    /// [`HttpError::TooLarge`] if it has more than `limit` bytes, by its announced length or as
    /// read; [`HttpError::Cut`].
    pub async fn body(mut self, limit: usize) -> Result<Vec<u8>, HttpError> {
        let announced = self.inner.content_length().unwrap_or_default();
        if usize::try_from(announced).map_or(true, |length| length > limit) {
            return Err(HttpError::TooLarge { limit });
        }
        let mut body = Vec::new();
        while let Some(piece) = self.chunk().await? {
            if body.len() + piece.len() > limit {
                return Err(HttpError::TooLarge { limit });
            }
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }

    /// The body up to `limit` bytes, or as much of it as arrives: for error pages, where half is
    /// better than nothing.
    pub async fn beginning(mut self, limit: usize) -> Vec<u8> {
        let mut body = Vec::new();
        while let Ok(Some(piece)) = self.chunk().await {
            body.extend_from_slice(&piece);
            if body.len() >= limit {
                body.truncate(limit);
                break;
            }
        }
        body
    }
}
