//! Settings of a model.

use std::collections::BTreeMap;
use std::time::Duration;

use antiphon_core::RetryPolicy;
use antiphon_net::{HttpClient, Secret};
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::capabilities::CapabilityOverrides;

/// The address, credentials and limits of a model.
///
/// ```
/// use antiphon_models::ModelSettings;
/// let settings = ModelSettings { base_url: Some("http://127.0.0.1:8130/v1".into()), ..ModelSettings::default() };
/// assert_eq!(settings.timeout.as_secs(), 600);
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "SettingsFields")]
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
    /// What the model accepts, where that differs from what is known of its provider and family.
    pub capabilities: CapabilityOverrides,
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
            capabilities: CapabilityOverrides::NONE,
            max_reply_bytes: 16 << 20,
            http: None,
        }
    }
}

/// Settings as users write them; times are in seconds.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct SettingsFields {
    base_url: Option<String>,
    api_key: Option<String>,
    timeout: Option<f64>,
    idle_timeout: Option<f64>,
    max_attempts: Option<u32>,
    headers: Option<BTreeMap<String, String>>,
    extra_body: Option<Map<String, Json>>,
    idempotency_header: Option<bool>,
    capabilities: Option<CapabilityOverrides>,
    max_reply_bytes: Option<usize>,
}

impl TryFrom<SettingsFields> for ModelSettings {
    type Error = String;

    fn try_from(given: SettingsFields) -> Result<Self, String> {
        let mut settings = Self {
            base_url: given.base_url,
            api_key: given.api_key.map(Secret::new),
            extra_body: given.extra_body.unwrap_or_default(),
            idempotency_header: given.idempotency_header.unwrap_or(false),
            capabilities: given.capabilities.unwrap_or_default(),
            ..Self::default()
        };
        if settings.capabilities.default_max_tokens == Some(0) {
            return Err("`default_max_tokens` must be an integer of at least 1: 0".into());
        }
        if let Some(timeout) = given.timeout {
            settings.timeout = time_limit("timeout", timeout)?;
        }
        if let Some(timeout) = given.idle_timeout {
            settings.idle_timeout = time_limit("idle_timeout", timeout)?;
        }
        if let Some(attempts) = given.max_attempts {
            if attempts == 0 {
                return Err("`max_attempts` must be an integer of at least 1: 0".into());
            }
            settings.retry.max_attempts = attempts;
        }
        if let Some(limit) = given.max_reply_bytes {
            if limit == 0 {
                return Err("`max_reply_bytes` must be an integer of at least 1: 0".into());
            }
            settings.max_reply_bytes = limit;
        }
        let headers = given.headers.unwrap_or_default().into_iter();
        settings.headers = headers.map(|(name, value)| (name, Secret::new(value))).collect();
        Ok(settings)
    }
}

fn time_limit(name: &str, given: f64) -> Result<Duration, String> {
    let limit = seconds(name, given)?;
    if limit.is_zero() {
        return Err(format!("`{name}` must be a number of seconds above zero: {given}"));
    }
    Ok(limit)
}

/// A duration in seconds as users write it.
pub(crate) fn seconds(name: &str, given: f64) -> Result<Duration, String> {
    Duration::try_from_secs_f64(given)
        .map_err(|_| format!("`{name}` must be a non-negative number of seconds: {given}"))
}
