//! The correction of a single value that a schema refuses.

use jsonschema::JsonType;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::{Number, Value as Json};

/// What `found` should have been, if `complaint` leaves one reasonable answer.
pub(crate) fn mend(complaint: &Kind, found: &Json) -> Option<Json> {
    match complaint {
        Kind::Type { kind } => retype(kind, found),
        Kind::Enum { options } => pick(options.as_array()?, found),
        Kind::Constant { expected_value } => pick(std::slice::from_ref(expected_value), found),
        Kind::Pattern { .. } | Kind::Format { .. } | Kind::MaxLength { .. } => trim(found),
        _ => None,
    }
}

fn retype(kind: &TypeKind, found: &Json) -> Option<Json> {
    let wants = |one: JsonType| match kind {
        TypeKind::Single(only) => *only == one,
        TypeKind::Multiple(set) => set.contains(one),
    };
    let scalar = match found {
        Json::String(text) if wants(JsonType::Number) => number(text),
        Json::String(text) if wants(JsonType::Integer) => number(text).filter(is_whole),
        Json::Number(number) if wants(JsonType::String) => Some(number.to_string().into()),
        _ => None,
    };
    let single = says_list(kind) && !found.is_null() && !found.is_array();
    scalar.or_else(|| single.then(|| Json::Array(vec![found.clone()])))
}

/// Whether a list is all that is wanted, or a list or null.
fn says_list(kind: &TypeKind) -> bool {
    match kind {
        TypeKind::Single(only) => *only == JsonType::Array,
        TypeKind::Multiple(set) => {
            let plain = |one| matches!(one, JsonType::Array | JsonType::Null);
            set.contains(JsonType::Array) && set.iter().all(plain)
        }
    }
}

/// The number that a text is, white space aside. A whole number that would
/// lose digits is none.
fn number(text: &str) -> Option<Json> {
    let text = text.trim();
    let number: Number = serde_json::from_str(text).ok()?;
    let whole = !text.contains(['.', 'e', 'E']);
    if whole && number.is_f64() { None } else { Some(number.into()) }
}

fn is_whole(value: &Json) -> bool {
    value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// The option that `found` means: the same text without its white space, the
/// only one that differs in case, or the same number in the other notation.
fn pick(options: &[Json], found: &Json) -> Option<Json> {
    let said = match found {
        Json::String(text) => text.trim().to_owned(),
        Json::Number(number) => number.to_string(),
        _ => return None,
    };
    let same = |option: &&Json| match option {
        Json::String(text) => text.trim() == said,
        Json::Number(number) => number.to_string() == said,
        _ => false,
    };
    if let Some(option) = options.iter().find(same) {
        return Some(option.clone());
    }
    let folded = said.to_lowercase();
    let mut alike = options
        .iter()
        .filter(|option| option.as_str().is_some_and(|text| text.trim().to_lowercase() == folded));
    match (alike.next(), alike.next()) {
        (Some(only), None) => Some(only.clone()),
        _ => None,
    }
}

fn trim(found: &Json) -> Option<Json> {
    let text = found.as_str()?;
    let trimmed = text.trim();
    if trimmed.len() == text.len() { None } else { Some(trimmed.into()) }
}
