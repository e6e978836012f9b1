//! The settings of the tools.

use std::path::Path;
use std::time::Duration;

use antiphon_core::Fault;
use antiphon_net::AddressPolicy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::adjustment::AdjustmentRule;
use super::auth::AuthProfile;
use super::catalogue::ApiCatalogue;
use super::client::HttpApi;
use super::fault;
use super::options::ApiOptions;
use super::reply::ReplyLimits;
use super::scoring::ScoringMode;

/// The settings of the tools `http_api`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HttpApiSettings {
    /// The path of a catalogue in YAML or JSON, or of an `OpenAPI` document; or its text, which has
    /// more than one line or begins with a brace. Required.
    pub catalogue: String,
    /// The address of the API; that of the catalogue if left out.
    pub base_url: Option<String>,
    /// Who calls.
    pub auth: AuthProfile,
    /// For whom the calls are; tokens are kept for each.
    pub principal: String,
    /// Whether endpoints that change something may be called.
    pub writes: bool,
    /// What may be reached beside public addresses, such as `loopback`, `private`, a network or a
    /// host.
    pub allow: Vec<String>,
    /// How many endpoints are shown for a question.
    pub candidates: usize,
    /// How endpoints are chosen for a question.
    pub scoring: ScoringMode,
    /// Parameters to add when the server's error asks for them.
    pub adjustments: Vec<AdjustmentRule>,
    /// Values of parameters that are added when the server's error names them.
    pub known_values: Map<String, Json>,
    /// The IANA time zone of `{today}` in `adjustments`, unless a call has its own; UTC.
    pub timezone: String,
    /// The longest that a call may take, in seconds.
    pub timeout: f64,
    /// The largest reply in bytes.
    pub max_bytes: usize,
    /// The most rows of a result.
    pub max_rows: usize,
}

impl Default for HttpApiSettings {
    fn default() -> Self {
        let options = ApiOptions::default();
        Self {
            catalogue: String::new(),
            base_url: None,
            auth: AuthProfile::None,
            principal: "default".to_owned(),
            writes: false,
            allow: Vec::new(),
            candidates: 5,
            scoring: ScoringMode::Count,
            adjustments: Vec::new(),
            known_values: Map::new(),
            timezone: options.timezone,
            timeout: options.timeout.as_secs_f64(),
            max_bytes: options.max_bytes,
            max_rows: options.reply.rows,
        }
    }
}

impl HttpApiSettings {
    /// The API that the settings describe. Reads the catalogue, and connects to nothing.
    ///
    /// # Errors
    /// A `Validation` fault `tool_setting_invalid` or `api_catalogue_invalid`.
    pub fn open(&self) -> Result<HttpApi, Fault> {
        let catalogue = ApiCatalogue::parse(&self.catalogue_text()?)?;
        let mut policy = AddressPolicy::default();
        for rule in &self.allow {
            policy = policy.allow(rule).map_err(|rule| {
                let hint =
                    "write loopback, private, an address, a network or a host, with a port or not";
                fault::setting(format!("`allow` has a malformed rule: {rule}"), hint)
            })?;
        }
        let timeout = Duration::try_from_secs_f64(self.timeout).unwrap_or_default();
        if timeout.is_zero() || timeout > Duration::from_hours(1) {
            let problem = format!(
                "`timeout` must be a number of seconds, above 0 and up to 3600: {}",
                self.timeout
            );
            return Err(fault::setting(problem, "choose another time limit"));
        }
        for (name, value) in [
            ("candidates", self.candidates),
            ("max_bytes", self.max_bytes),
            ("max_rows", self.max_rows),
        ] {
            if value == 0 {
                let problem = format!("`{name}` must be at least 1: {value}");
                return Err(fault::setting(problem, "choose a larger limit"));
            }
        }
        let options = ApiOptions {
            timeout,
            max_bytes: self.max_bytes,
            reply: ReplyLimits { rows: self.max_rows, ..ReplyLimits::default() },
            adjustments: self.adjustments.clone(),
            known_values: self.known_values.clone(),
            timezone: self.timezone.clone(),
            ..ApiOptions::default()
        };
        HttpApi::new(catalogue, self.base_url.as_deref(), self.auth.clone(), policy, options)
    }

    fn catalogue_text(&self) -> Result<String, Fault> {
        let text = self.catalogue.trim();
        if text.is_empty() {
            let hint = "set it to the path or the text of a catalogue or an OpenAPI document";
            return Err(fault::setting("`catalogue` is missing", hint));
        }
        if text.contains('\n') || text.starts_with('{') {
            return Ok(self.catalogue.clone());
        }
        std::fs::read_to_string(Path::new(text)).map_err(|error| {
            let problem = format!("the catalogue cannot be read ({error}): {text}");
            fault::setting(problem, "check the path; a text must have more than one line")
        })
    }
}
