//! Reading settings that arrive as JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use crate::fault::{Fault, FaultCode};

/// Reads the settings of `label`; those that are left out keep their defaults.
///
/// # Errors
/// A fault with `code` that names the setting: it is unknown, or its value has another type.
pub fn read<S>(settings: &Json, label: &str, code: FaultCode) -> Result<S, Fault>
where
    S: DeserializeOwned + Serialize + Default,
{
    S::deserialize(settings).map_err(|error| {
        misread::<S>(settings, label, &code).unwrap_or_else(|| {
            Fault::new(code, format!("the settings of {label} cannot be read: {error}"))
        })
    })
}

/// The fault of the first setting that cannot be read, by its name.
fn misread<S>(settings: &Json, label: &str, code: &FaultCode) -> Option<Fault>
where
    S: DeserializeOwned + Serialize + Default,
{
    let known: Vec<String> = match serde_json::to_value(S::default()) {
        Ok(Json::Object(fields)) => fields.into_iter().map(|(key, _)| key).collect(),
        _ => Vec::new(),
    };
    settings.as_object()?.iter().find_map(|(key, value)| {
        if !known.contains(key) {
            let fault = Fault::new(code.clone(), format!("unknown setting of {label}: {key}"));
            return Some(fault.hint(format!("its settings are {}", known.join(", "))));
        }
        let error = S::deserialize(json!({key: value})).err()?.to_string();
        // Fields may be credentials, in any type.
        let (what, value) = match value.as_object() {
            Some(fields) => {
                let names: Vec<&str> = fields.keys().map(String::as_str).collect();
                (format!("a field of `{key}`"), format!("its fields are {}", names.join(", ")))
            }
            None => (format!("`{key}`"), value.to_string()),
        };
        let message = match error.rsplit_once("expected ") {
            Some((_, kind)) => format!("{what} must be {}: {value}", plain_type(kind)),
            None => format!("{what} is invalid ({error}): {value}"),
        };
        Some(Fault::new(code.clone(), message))
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
