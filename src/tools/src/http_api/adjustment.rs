//! Parameters that are added after the server has asked for them.

use antiphon_core::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::call::ApiCall;
use super::catalogue::{ApiEndpoint, ParameterLocation};

/// Query parameters to add when an error mentions all of some names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdjustmentRule {
    /// The names that the server's message must contain, in any case.
    pub when_error_mentions: Vec<String>,
    /// Parameters and their values. `{today}` in a text is the date in UTC.
    pub set: Map<String, Json>,
}

/// Adds what the server's message asks for; returns the names that were added. Parameters that
/// the call has are kept.
pub(super) fn adjust(
    call: &mut ApiCall,
    endpoint: &ApiEndpoint,
    rules: &[AdjustmentRule],
    known: &Map<String, Json>,
    (message, now): (&str, Time),
) -> Vec<String> {
    let message = message.to_lowercase();
    let mut added = Vec::new();
    let mut add = |name: &str, value: Json| {
        if call.query.get(name).is_none_or(Json::is_null) && accepts(endpoint, name) {
            call.query.insert(name.to_owned(), value);
            added.push(name.to_owned());
        }
    };
    for rule in rules {
        let is_mentioned = |name: &String| message.contains(&name.to_lowercase());
        if !rule.when_error_mentions.is_empty() && rule.when_error_mentions.iter().all(is_mentioned)
        {
            for (name, value) in &rule.set {
                add(name, with_date(value, now));
            }
        }
    }
    // Parameters that the host knows and that the message names.
    let squeezed = squeeze(&message);
    for (name, value) in known {
        let is_mentioned = name.len() > 1 && squeezed.contains(&squeeze(name));
        let declared = endpoint.parameters.iter().find(|parameter| {
            parameter.location == ParameterLocation::Query
                && squeeze(&parameter.name) == squeeze(name)
        });
        if let (true, Some(parameter)) = (is_mentioned, declared) {
            add(&parameter.name, value.clone());
        }
    }
    added
}

fn accepts(endpoint: &ApiEndpoint, name: &str) -> bool {
    let is_it = |parameter: &super::ApiParameter| {
        parameter.location == ParameterLocation::Query && parameter.name == name
    };
    endpoint.any_query || endpoint.parameters.iter().any(is_it)
}

/// A name without case and separators: `startDate` and `start_date` are the same parameter.
fn squeeze(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn with_date(value: &Json, now: Time) -> Json {
    match value {
        Json::String(text) => Json::from(text.replace("{today}", &date(now))),
        other => other.clone(),
    }
}

/// The date in UTC, by the algorithm of Howard Hinnant for the proleptic Gregorian calendar.
fn date(now: Time) -> String {
    let days = now.as_micros() / 86_400_000_000;
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}
