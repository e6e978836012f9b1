//! The settings of `read_page`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When pages are opened in a browser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RenderKind {
    /// If the page has hardly any text but scripts, and a browser is installed.
    #[default]
    Auto,
    /// Never.
    Never,
    /// Each HTML page.
    Always,
}

/// The settings of `read_page`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PageReaderSettings {
    /// What may be reached beside public addresses: `loopback`, `private`, a host such as `wiki.example` or `*.example`,
    /// an address or a network such as `10.1.0.0/16`.
    pub allow: Vec<String>,
    /// The ports at which public addresses may be reached.
    pub ports: Vec<u16>,
    /// The longest that one page may take, in seconds.
    pub timeout: f64,
    /// The most bytes of a page, decompressed.
    pub max_bytes: usize,
    /// The most characters of a page that are kept.
    pub max_characters: usize,
    /// The most characters that one call returns; the rest is read with `offset`.
    pub excerpt: usize,
    /// When pages are opened in a headless Chromium, so that their scripts run.
    pub render: RenderKind,
    /// The Chromium program; an empty text looks for one.
    pub browser: String,
}

impl Default for PageReaderSettings {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            ports: vec![80, 443, 8080, 8443],
            timeout: 30.0,
            max_bytes: 10_000_000,
            max_characters: 2_000_000,
            excerpt: 10_000,
            render: RenderKind::Auto,
            browser: String::new(),
        }
    }
}
