//! What can be set about a model besides its name.

use std::collections::BTreeMap;
use std::time::Duration;

use antiphon_core::RetryPolicy;
use antiphon_net::{HttpClient, Secret};
use serde_json::{Map, Value as Json};

/// How to reach a model, and how patiently.
///
/// ```
/// use antiphon_models::ModelSettings;
/// let settings = ModelSettings { base_url: Some("http://127.0.0.1:8130/v1".into()), ..ModelSettings::default() };
/// assert_eq!(settings.timeout.as_secs(), 600);
/// ```
#[derive(Clone, Debug)]
pub struct ModelSettings {
    /// Where the server listens; none for the environment's or the provider's own.
    pub base_url: Option<String>,
    /// The key; none for the environment's.
    pub api_key: Option<Secret>,
    /// The longest one attempt may take, from request to last byte; 10 minutes.
    pub timeout: Duration,
    /// The longest a stream may be silent; 2 minutes.
    pub idle_timeout: Duration,
    /// How often a request is sent before its failure counts; three times.
    pub retry: RetryPolicy,
    /// Headers to send along. Their values are kept as secret as the key.
    pub headers: BTreeMap<String, Secret>,
    /// Fields to send along in the body, for what only one provider knows.
    pub extra_body: Map<String, Json>,
    /// Whether each request carries the key of its call in the header
    /// `Idempotency-Key`, so that a server that knows such keys does the same
    /// request only once. It does not.
    pub idempotency_header: bool,
    /// The most bytes a reply may have; 16 MiB.
    pub max_reply_bytes: usize,
    /// Connections to share with other models; none for own ones.
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
