//! Reading and checking the settings of a system.

use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use serde_json::{Value as Json, json};

use crate::system::SystemConfig;

/// Reads and checks settings; those that are left out keep their defaults.
///
/// # Errors
/// A `Validation` fault `system_setting_invalid` that names the key.
pub fn read<C: SystemConfig>(settings: &Json) -> Result<C, Fault> {
    let config = C::deserialize(settings).map_err(|error| {
        misread::<C>(settings).unwrap_or_else(|| {
            invalid(format!("the settings of the {} cannot be read: {error}", C::LABEL))
        })
    })?;
    config.check()?;
    Ok(config)
}

/// The fault of the first setting that cannot be read, by its name.
fn misread<C: SystemConfig>(settings: &Json) -> Option<Fault> {
    let known: Vec<String> = match serde_json::to_value(C::default()) {
        Ok(Json::Object(fields)) => fields.into_iter().map(|(key, _)| key).collect(),
        _ => Vec::new(),
    };
    settings.as_object()?.iter().find_map(|(key, value)| {
        if !known.contains(key) {
            let message = format!("unknown setting of the {}: {key}", C::LABEL);
            return Some(invalid(message).hint(format!("its settings are {}", known.join(", "))));
        }
        let error = C::deserialize(json!({key: value})).err()?.to_string();
        let message = match error.rsplit_once("expected ") {
            Some((_, kind)) => format!("`{key}` must be {}: {value}", plain_type(kind)),
            None => format!("`{key}` is invalid ({error}): {value}"),
        };
        Some(invalid(message))
    })
}

/// A Rust type in the words of somebody who sets it.
fn plain_type(kind: &str) -> &str {
    match kind {
        "f64" => "a number",
        "u32" | "u64" | "usize" => "a non-negative integer",
        "a boolean" => "true or false",
        kind if kind.starts_with("struct ") => "an object",
        kind => kind,
    }
}

/// Whether a count is at least one.
pub(crate) fn at_least_one(key: &str, value: u64) -> Result<(), Fault> {
    if value > 0 { Ok(()) } else { Err(invalid(format!("`{key}` must be at least 1: {value}"))) }
}

/// Whether a temperature is one that models know.
pub(crate) fn check_temperature(temperature: Option<f64>) -> Result<(), Fault> {
    match temperature.filter(|value| !(0.0..=2.0).contains(value)) {
        Some(value) => Err(invalid(format!("`temperature` must be between 0 and 2: {value}"))),
        None => Ok(()),
    }
}

/// A number of seconds above 0 as a duration.
pub(crate) fn seconds(key: &str, value: f64) -> Result<Duration, Fault> {
    let duration = Duration::try_from_secs_f64(value).ok().filter(|duration| !duration.is_zero());
    duration.ok_or_else(|| invalid(format!("`{key}` must be a time in seconds above 0: {value}")))
}

/// A `Validation` fault `system_setting_invalid`.
pub(crate) fn invalid(message: String) -> Fault {
    Fault::new(FaultCode::SystemSettingInvalid, message)
}
