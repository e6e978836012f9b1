//! Results of tools that are longer than the model reads: texts end early, and lists and tables
//! lose their last items. A mark says how much was cut.

use serde_json::{Map, Value as Json};

use crate::excerpt::count;

/// What the model reads of a value.
#[derive(Debug)]
pub(super) struct ShownText {
    pub(super) text: String,
    /// Whether something is missing.
    pub(super) cut: bool,
}

/// A value with at most `limit` characters, the mark not counted.
pub(super) fn excerpt(value: &Json, limit: usize) -> ShownText {
    let text = match value {
        Json::String(text) => return truncate(text.clone(), limit),
        value => value.to_string(),
    };
    let length = text.chars().count();
    if length <= limit {
        return ShownText { text, cut: false };
    }
    let Some(ShortenedList { value, kept, of }) = shorten(value, limit) else {
        return truncate(text, limit);
    };
    let shown = value.to_string();
    let missing = length.saturating_sub(shown.chars().count());
    let items = count(of, "item");
    let mark = format!("[truncated: {kept} of {items}; {missing} of {length} characters were cut]");
    ShownText { text: format!("{shown}\n{mark}"), cut: true }
}

/// A text with at most `limit` characters, the mark not counted.
pub(super) fn truncate(text: String, limit: usize) -> ShownText {
    let length = text.chars().count();
    if length <= limit {
        return ShownText { text, cut: false };
    }
    let kept: String = text.chars().take(limit).collect();
    let missing = length - limit;
    let text = format!("{kept}\n[truncated: {missing} of {length} characters were cut]");
    ShownText { text, cut: true }
}

/// A value whose longest list has lost its last items.
struct ShortenedList {
    value: Json,
    kept: usize,
    of: usize,
}

/// The value with as many items of its longest list as fit; `None` if none fits.
fn shorten(value: &Json, limit: usize) -> Option<ShortenedList> {
    match value {
        Json::Array(items) => {
            let kept = fitting(items, limit.checked_sub(2)?);
            let shown = Json::Array(items.iter().take(kept).cloned().collect());
            (kept > 0).then_some(ShortenedList { value: shown, kept, of: items.len() })
        }
        // The rows of a table, or the hits of a search, beside facts about them.
        Json::Object(fields) => {
            let (name, longest) = fields
                .iter()
                .filter(|(_, field)| field.is_array() || field.is_object())
                .max_by_key(|(_, field)| length_of(field))?;
            let around = length_of(value) - length_of(longest);
            let inner = shorten(longest, limit.checked_sub(around)?)?;
            let mut shown: Map<String, Json> = fields.clone();
            shown.insert(name.clone(), inner.value);
            Some(ShortenedList { value: Json::Object(shown), ..inner })
        }
        _ => None,
    }
}

/// How many of the items fit, with commas between them.
fn fitting(items: &[Json], limit: usize) -> usize {
    let mut left = limit;
    for (index, item) in items.iter().enumerate() {
        let needed = length_of(item) + usize::from(index > 0);
        let Some(rest) = left.checked_sub(needed) else { return index };
        left = rest;
    }
    items.len()
}

fn length_of(value: &Json) -> usize {
    value.to_string().chars().count()
}
