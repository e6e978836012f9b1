//! Settings that are given in part: what is left out keeps the value of others.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};

/// The settings with those that are given in place of theirs.
///
/// # Errors
/// Why one cannot be taken over, in the words of serde.
pub(super) fn replaced<S: Serialize + DeserializeOwned>(
    settings: &S,
    given: &Map<String, Json>,
) -> Result<S, String> {
    let mut fields = match json!(settings) {
        Json::Object(fields) => fields,
        _ => Map::new(),
    };
    for (key, value) in given {
        let Some(known) = fields.get_mut(key) else {
            let known: Vec<String> = fields.keys().map(|known| format!("`{known}`")).collect();
            return Err(format!("unknown field `{key}`, expected one of {}", known.join(", ")));
        };
        *known = value.clone();
    }
    S::deserialize(Json::Object(fields)).map_err(|error| error.to_string())
}
