//! A report in the caller's form that still fits its schema once the stages have changed it.

use antiphon_core::reply::{ReplyParser, Violation};
use antiphon_core::{Fault, Schema};
use antiphon_reply::CompiledSchema;
use serde_json::Value as Json;

/// The schema of a report in the caller's form.
///
/// # Errors
/// A `Validation` fault `schema_invalid`.
pub(super) fn compiled(schema: &Json) -> Result<CompiledSchema, Fault> {
    CompiledSchema::compile(&Schema::new("report", schema.clone()))
}

/// A value that fits a schema. Where it does not, it becomes null, or it goes, or what it belongs
/// to does, whichever is the least; none if nothing of it would be left.
pub fn fitted(mut value: Json, schema: &CompiledSchema) -> Option<Json> {
    loop {
        // Numbers of sources may have to become texts, or the reverse.
        if let Ok(parsed) = schema.parse_text(&value.to_string(), false) {
            return Some(parsed.value);
        }
        let violations = violations(&value, schema);
        let first = violations.first()?;
        value = without(&value, &first.path, violations.len(), schema)?;
    }
}

fn violations(value: &Json, schema: &CompiledSchema) -> Vec<Violation> {
    schema.validate(value).err().unwrap_or_default()
}

/// The value with fewer violations: without what stands at the path, or above it.
fn without(value: &Json, path: &str, count: usize, schema: &CompiledSchema) -> Option<Json> {
    let mut pointer = path;
    while let Some((parent, key)) = pointer.rsplit_once('/') {
        for changed in [nulled(value, pointer), removed(value, parent, key)] {
            let better = changed.filter(|it| violations(it, schema).len() < count);
            if better.is_some() {
                return better;
            }
        }
        pointer = parent;
    }
    None
}

fn nulled(value: &Json, pointer: &str) -> Option<Json> {
    let mut value = value.clone();
    *value.pointer_mut(pointer)? = Json::Null;
    Some(value)
}

fn removed(value: &Json, parent: &str, key: &str) -> Option<Json> {
    let mut value = value.clone();
    match value.pointer_mut(parent)? {
        Json::Object(map) => drop(map.shift_remove(&key.replace("~1", "/").replace("~0", "~"))?),
        Json::Array(items) => {
            let place = key.parse().ok().filter(|place| *place < items.len())?;
            items.remove(place);
        }
        _ => return None,
    }
    Some(value)
}
