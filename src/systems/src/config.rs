//! Reading and checking the settings of a system.

use std::time::Duration;

use antiphon_core::{Fault, FaultCode, settings};
use serde_json::Value as Json;

use crate::system::SystemConfig;

/// Reads and checks settings; those that are left out keep their defaults.
///
/// # Errors
/// A `Validation` fault `system_setting_invalid` that names the key.
pub fn read<C: SystemConfig>(given: &Json) -> Result<C, Fault> {
    let label = format!("the {}", C::LABEL);
    let config: C = settings::read(given, &label, FaultCode::SystemSettingInvalid)?;
    config.check()?;
    Ok(config)
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
