//! Parameters that are added after the server has asked for them.

use antiphon_core::Time;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::call::ApiCall;
use super::catalogue::{ApiEndpoint, ParameterLocation};

/// The placeholder of the date.
const TODAY: &str = "{today}";

/// Query parameters to add when an error mentions all of some names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdjustmentRule {
    /// The names that the server's message must contain, in any case.
    pub when_error_mentions: Vec<String>,
    /// Parameters and their values. `{today}` in a text is the date in the time zone of the call.
    pub set: Map<String, Json>,
}

/// Adds what the server's message asks for; returns the names that were added. Parameters that
/// the call has are kept.
pub(super) fn adjust(
    call: &mut ApiCall,
    endpoint: &ApiEndpoint,
    rules: &[AdjustmentRule],
    known: &Map<String, Json>,
    (message, today): (&str, &str),
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
                add(name, with_date(value, today));
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
            add(&parameter.name, with_date(value, today));
        }
    }
    added
}

/// Whether a value that may be added has the date in it.
pub(super) fn need_date(rules: &[AdjustmentRule], known: &Map<String, Json>) -> bool {
    let has_date = |value: &Json| value.as_str().is_some_and(|text| text.contains(TODAY));
    rules.iter().flat_map(|rule| rule.set.values()).chain(known.values()).any(has_date)
}

/// A word in braces that is no placeholder: a value is sent with it as it stands.
pub(super) fn unknown_placeholder(
    rules: &[AdjustmentRule],
    known: &Map<String, Json>,
) -> Option<String> {
    let values = rules.iter().flat_map(|rule| rule.set.values()).chain(known.values());
    let in_braces = |text: &str| {
        let pieces = text.split('{').skip(1).filter_map(|piece| Some(piece.split_once('}')?.0));
        let is_word = |word: &&str| {
            !word.is_empty() && word.chars().all(|sign| sign.is_alphanumeric() || sign == '_')
        };
        let placeholders = pieces.filter(is_word).map(|word| format!("{{{word}}}"));
        placeholders.collect::<Vec<_>>()
    };
    let mut found = values.filter_map(Json::as_str).flat_map(in_braces);
    found.find(|placeholder| placeholder != TODAY)
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

fn with_date(value: &Json, today: &str) -> Json {
    match value {
        Json::String(text) => Json::from(text.replace(TODAY, today)),
        other => other.clone(),
    }
}

/// The time zone of an IANA name such as `Europe/Berlin`.
pub(super) fn time_zone(name: &str) -> Option<TimeZone> {
    TimeZone::get(name.trim()).ok()
}

/// The date of an instant in a time zone.
pub(super) fn date_in(zone: TimeZone, now: Time) -> String {
    let micros = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
    let instant = Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX);
    instant.to_zoned_datetime(zone).date().to_string()
}
