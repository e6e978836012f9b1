//! The settings of `download`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The settings of `download`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DownloadSettings {
    /// The folder that files are stored in; it must exist.
    pub root: String,
    /// What may be reached beside public addresses: `loopback`, `private`, a host such as `files.example` or `*.example`,
    /// an address or a network such as `10.1.0.0/16`.
    pub allow: Vec<String>,
    /// The ports at which public addresses may be reached.
    pub ports: Vec<u16>,
    /// The media types that are stored, such as `application/pdf` or `image/*`; all if it is empty.
    pub types: Vec<String>,
    /// The longest that one file may take, in seconds.
    pub timeout: f64,
    /// The most bytes of a file.
    pub max_bytes: u64,
    /// Whether a file of the same name is replaced. If not, the new one gets a number.
    pub overwrite: bool,
}

impl Default for DownloadSettings {
    fn default() -> Self {
        Self {
            root: String::new(),
            allow: Vec::new(),
            ports: vec![80, 443, 8080, 8443],
            types: Vec::new(),
            timeout: 300.0,
            max_bytes: 100_000_000,
            overwrite: false,
        }
    }
}
