//! JSON to the letter.

use serde_json::Value as Json;

/// The value of a text that is JSON and nothing else. With `cut`, the reply
/// may lack its tail: a bare number at its end could have had more digits and
/// is no value.
pub(crate) fn parse(text: &str, cut: bool) -> Option<Json> {
    let value: Json = serde_json::from_str(text).ok()?;
    if cut && value.is_number() { None } else { Some(value) }
}
