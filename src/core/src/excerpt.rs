//! Shortened texts and values for errors and feedback.

use serde_json::Value as Json;

/// Characters of a string value that an error shows.
const SHOWN: usize = 80;

/// At most `limit` characters of `text`, with an ellipsis where it was cut.
pub fn short(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// `text` as a JSON string, shortened; control characters are escaped, so it
/// stays on its line.
pub fn quoted(text: &str) -> String {
    Json::from(short(text, SHOWN)).to_string()
}

/// A value for a reader: scalars as JSON, collections by their size.
pub fn describe(value: &Json) -> String {
    match value {
        Json::Object(fields) if fields.is_empty() => "an empty object".to_owned(),
        Json::Object(fields) => format!("an object with {}", count(fields.len(), "field")),
        Json::Array(items) if items.is_empty() => "an empty list".to_owned(),
        Json::Array(items) => format!("a list of {}", count(items.len(), "item")),
        Json::String(text) if text.chars().nth(SHOWN).is_some() => {
            format!("{} ({} characters)", quoted(text), text.chars().count())
        }
        Json::String(text) => quoted(text),
        scalar => scalar.to_string(),
    }
}

/// `1 item`, `2 items`.
pub fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
