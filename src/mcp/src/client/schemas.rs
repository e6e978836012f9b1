//! Schemas from servers: untrusted, so bounded and without outside references.

use serde_json::{Map, Value as Json};

/// The longest schema, in bytes of JSON.
const LONGEST: usize = 64 * 1024;
/// The deepest nesting.
const DEEPEST: usize = 32;

/// The schema of a tool's arguments, as models read it.
///
/// # Errors
/// Why it is refused.
pub(super) fn parameters(given: &Map<String, Json>) -> Result<Json, String> {
    let mut schema = given.clone();
    match schema.get("type") {
        None => {
            schema.insert("type".to_owned(), "object".into());
        }
        Some(kind) if kind == "object" => {}
        Some(kind) => return Err(format!("its arguments must be an object, but are: {kind}")),
    }
    bounded(schema)
}

/// A schema that is small enough to be used.
///
/// # Errors
/// Why it is refused.
pub(super) fn bounded(mut schema: Map<String, Json>) -> Result<Json, String> {
    schema.remove("$schema");
    let schema = Json::Object(schema);
    check(&schema, 0)?;
    let length = schema.to_string().len();
    if length > LONGEST {
        return Err(format!("its schema is longer than {LONGEST} bytes: {length}"));
    }
    Ok(schema)
}

fn check(value: &Json, depth: usize) -> Result<(), String> {
    if depth > DEEPEST {
        return Err(format!("its schema is nested more deeply than {DEEPEST} levels"));
    }
    match value {
        Json::Array(items) => items.iter().try_for_each(|item| check(item, depth + 1)),
        Json::Object(fields) => fields.iter().try_for_each(|(key, value)| {
            if let Some(target) = reference(key, value)
                && !target.starts_with('#')
            {
                let target: String = target.chars().take(100).collect();
                return Err(format!("its schema refers to another document: {target}"));
            }
            check(value, depth + 1)
        }),
        _ => Ok(()),
    }
}

/// The target of a reference. A property may have any name, so that only texts count.
fn reference<'a>(key: &str, value: &'a Json) -> Option<&'a str> {
    matches!(key, "$ref" | "$dynamicRef" | "$recursiveRef").then(|| value.as_str())?
}
