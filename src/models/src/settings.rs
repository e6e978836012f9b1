//! Settings of a model.

use std::collections::BTreeMap;
use std::time::Duration;

use antiphon_core::RetryPolicy;
use antiphon_net::{HttpClient, Secret};
use serde_json::{Map, Value as Json};

/// The address, credentials and limits of a model.
///
/// ```
/// use antiphon_models::ModelSettings;
/// let settings = ModelSettings { base_url: Some("http://127.0.0.1:8130/v1".into()), ..ModelSettings::default() };
/// assert_eq!(settings.timeout.as_secs(), 600);
/// ```
#[derive(Clone, Debug)]
pub struct ModelSettings {
    /// The server's address; by default the environment's or the provider's.
    pub base_url: Option<String>,
    /// The key; by default the environment's.
    pub api_key: Option<Secret>,
    /// The time limit of one attempt, from request to last byte; 10 minutes.
    pub timeout: Duration,
    /// How long a stream may be silent; 2 minutes.
    pub idle_timeout: Duration,
    /// How often a request is attempted; three times.
    pub retry: RetryPolicy,
    /// Headers to send. Their values are treated as secrets.
    pub headers: BTreeMap<String, Secret>,
    /// Fields to add to the body, for parameters of a single provider.
    pub extra_body: Map<String, Json>,
    /// Whether each request carries the call's key in the header `Idempotency-Key`, so that a
    /// server that supports it carries out a repeated request only once; false by default.
    pub idempotency_header: bool,
    /// The largest reply in bytes; 16 MiB.
    pub max_reply_bytes: usize,
    /// Connections to share with other models; by default none are shared.
    pub http: Option<HttpClient>,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            base_url: None,
            api_key: None,
            timeout: Duration::from_mins(10),
            idle_timeout: Duration::from_mins(2),
            retry: RetryPolicy::default(),
            headers: BTreeMap::new(),
            extra_body: Map::new(),
            idempotency_header: false,
            max_reply_bytes: 16 << 20,
            http: None,
        }
    }
}
