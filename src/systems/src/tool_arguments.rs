//! Arguments of tools as models write them: what a schema knows of them, and what can go.

use antiphon_core::reply::UnreadableReply;
use serde_json::{Map, Value as Json};

/// The arguments that a schema describes.
pub(crate) fn properties(schema: &Json) -> Option<&Map<String, Json>> {
    schema.get("properties").and_then(Json::as_object)
}

/// Those without which there is no call.
pub(crate) fn required(schema: &Json) -> Vec<&str> {
    let names = schema.get("required").and_then(Json::as_array);
    names.into_iter().flatten().filter_map(Json::as_str).collect()
}

/// Whether an argument may be a text.
pub(crate) fn is_text(schema: &Json) -> bool {
    match schema.get("type") {
        Some(Json::String(kind)) => kind == "string",
        Some(Json::Array(kinds)) => kinds.iter().any(|kind| kind == "string"),
        _ => false,
    }
}

/// The names that are given but unknown to a schema which allows no others.
pub(crate) fn unknown(schema: &Json, fields: &Map<String, Json>) -> Vec<String> {
    let is_closed = schema.get("additionalProperties") == Some(&Json::Bool(false));
    let Some(known) = properties(schema).filter(|_| is_closed) else { return Vec::new() };
    fields.keys().filter(|name| !known.contains_key(*name)).cloned().collect()
}

/// The optional arguments that do not fit.
pub(crate) fn unfit_options(schema: &Json, unfit: &UnreadableReply) -> Vec<String> {
    let needed = required(schema);
    let name = |path: &str| {
        // The first part of a JSON pointer is the name of the argument.
        let name = path.split('/').nth(1).unwrap_or_default();
        name.replace("~1", "/").replace("~0", "~")
    };
    let names = unfit.errors.iter().map(|violation| name(&violation.path));
    names.filter(|name| !needed.contains(&name.as_str())).collect()
}

/// Gives a field its name, if it is there under exactly one of the others. Returns that one.
pub(crate) fn renamed<'o>(
    fields: &mut Map<String, Json>,
    name: &str,
    others: &[&'o str],
) -> Option<&'o str> {
    if fields.contains_key(name) {
        return None;
    }
    let mut present = others.iter().copied().filter(|other| fields.contains_key(*other));
    let only = present.next().filter(|_| present.next().is_none())?;
    let value = fields.remove(only)?;
    fields.insert(name.to_owned(), value);
    Some(only)
}
