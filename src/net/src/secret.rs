//! A value that never prints.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};

/// A key, token or password. It shows as `***`, cannot be serialised, and its
/// memory is wiped when it is dropped.
///
/// ```
/// let key = antiphon_net::Secret::new("sk-123");
/// assert_eq!(format!("{key} {key:?}"), "*** ***");
/// ```
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// Takes charge of `value`.
    pub fn new(value: impl Into<String>) -> Self {
        Self(SecretString::from(value.into()))
    }

    /// The value itself, for the one place that must send it.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl From<String> for Secret {
    fn from(value: String) -> Self {
        Self::new(value)
    }
}

impl From<&str> for Secret {
    fn from(value: &str) -> Self {
        Self::new(value)
    }
}
