//! Limits of calls, and parameters that are added to them.

use std::time::Duration;

use serde_json::{Map, Value as Json};

use super::adjustment::AdjustmentRule;
use super::reply::ReplyLimits;

/// Limits of calls.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiOptions {
    /// The longest that one call may take, repetitions included; 30 seconds.
    pub timeout: Duration,
    /// The most requests of one call; 3.
    pub max_requests: usize,
    /// The largest reply in bytes; 5,000,000.
    pub max_bytes: usize,
    /// What of a reply is kept.
    pub reply: ReplyLimits,
    /// Parameters to add when an error with status 400 or 422 asks for them.
    pub adjustments: Vec<AdjustmentRule>,
    /// Values of parameters that are added when such an error names them.
    pub known_values: Map<String, Json>,
    /// The IANA time zone in which a day begins, unless a call has its own; UTC.
    pub timezone: String,
}

impl Default for ApiOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            max_requests: 3,
            max_bytes: 5_000_000,
            reply: ReplyLimits::default(),
            adjustments: Vec::new(),
            known_values: Map::new(),
            timezone: "UTC".to_owned(),
        }
    }
}
