//! What the errors of a validator mean, in our own words.

use antiphon_core::excerpt::{count, describe, quoted, short};
use antiphon_core::reply::Violation;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value as Json;

use crate::suggest::UNKNOWN;

/// Adds what `error` means to `violations`: one for each field that is missing
/// or not allowed, and for a choice the errors of its likeliest branch.
pub(crate) fn explain(error: &ValidationError<'_>, violations: &mut Vec<Violation>) {
    let path = error.instance_path().as_str();
    match error.kind() {
        Kind::Required { property } => {
            let field = child(path, property.as_str().unwrap_or_default());
            violations.push(Violation::new(field, "a value, the field is required", "nothing"));
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            for name in unexpected {
                let found = error.instance().get(name).map_or_else(|| quoted(name), describe);
                violations.push(Violation::new(child(path, name), UNKNOWN, found));
            }
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            explain_choice(error, context, violations);
        }
        kind => violations.push(Violation::new(path, expected(kind), describe(error.instance()))),
    }
}

/// A choice between plain types is one expectation. Otherwise the branch
/// meant is the one with the fewest errors among those of the right type.
fn explain_choice(
    error: &ValidationError<'_>,
    branches: &[Vec<ValidationError<'static>>],
    violations: &mut Vec<Violation>,
) {
    let path = error.instance_path().as_str();
    let refusals = branches.iter().filter_map(|branch| refusal(branch, path));
    let types: Vec<String> = refusals.map(|error| expected(error.kind())).collect();
    let meant = branches
        .iter()
        .filter(|branch| !branch.is_empty() && refusal(branch, path).is_none())
        .min_by_key(|branch| branch.len());
    match meant {
        Some(branch) => branch.iter().for_each(|inner| explain(inner, violations)),
        None if types.is_empty() => violations.push(Violation::new(
            path,
            "a value that fits one of the alternatives",
            describe(error.instance()),
        )),
        None => {
            violations.push(Violation::new(path, types.join(" or "), describe(error.instance())));
        }
    }
}

/// The error that says that the value at `path` itself is of the wrong type.
fn refusal<'e>(
    branch: &'e [ValidationError<'static>],
    path: &str,
) -> Option<&'e ValidationError<'static>> {
    branch.iter().find(|error| {
        matches!(error.kind(), Kind::Type { .. }) && error.instance_path().as_str() == path
    })
}

fn child(path: &str, name: &str) -> String {
    format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn expected(kind: &Kind) -> String {
    match kind {
        Kind::Type { kind: TypeKind::Single(one) } => type_name(*one).to_owned(),
        Kind::Type { kind: TypeKind::Multiple(set) } => {
            set.iter().map(type_name).collect::<Vec<_>>().join(" or ")
        }
        Kind::Enum { options } => one_of(options),
        Kind::Constant { expected_value } => constant(expected_value),
        Kind::Pattern { pattern } => format!("text that matches the pattern {}", quoted(pattern)),
        Kind::Format { format } => format!("text in the format {}", quoted(format)),
        Kind::Not { .. } => "a value that the schema does not rule out".to_owned(),
        Kind::FalseSchema => "no value here".to_owned(),
        Kind::UniqueItems => "a list without repeated items".to_owned(),
        Kind::Contains => "a list with an item of the kind that the schema asks for".to_owned(),
        Kind::OneOfMultipleValid { .. } => "a value that fits one alternative only".to_owned(),
        Kind::PropertyNames { error } => format!("field names that are {}", expected(error.kind())),
        Kind::UnevaluatedItems { .. } => "no further items".to_owned(),
        Kind::Custom { message, .. } => message.clone(),
        other => limit(other)
            .unwrap_or_else(|| format!("a value that the keyword `{}` allows", other.keyword())),
    }
}

/// What the keywords with a number ask for.
fn limit(kind: &Kind) -> Option<String> {
    Some(match kind {
        Kind::MinLength { limit: 1 } => "text that is not empty".to_owned(),
        Kind::MinLength { limit } => format!("text of at least {limit} characters"),
        Kind::MaxLength { limit } => format!("text of at most {limit} characters"),
        Kind::Minimum { limit } => format!("a number of at least {limit}"),
        Kind::Maximum { limit } => format!("a number of at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("a number above {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("a number below {limit}"),
        Kind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        Kind::MinItems { limit } => format!("a list of at least {}", items(*limit)),
        Kind::MaxItems { limit } => format!("a list of at most {}", items(*limit)),
        Kind::AdditionalItems { limit } => {
            format!("a list of at most {}", count(*limit, "item"))
        }
        Kind::MinProperties { limit } => format!("an object with at least {limit} fields"),
        Kind::MaxProperties { limit } => format!("an object with at most {limit} fields"),
        _ => return None,
    })
}

fn items(limit: u64) -> String {
    usize::try_from(limit).map_or_else(|_| format!("{limit} items"), |limit| count(limit, "item"))
}

const fn type_name(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Array => "a list",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "a whole number",
        JsonType::Null => "null",
        JsonType::Number => "a number",
        JsonType::Object => "an object",
        JsonType::String => "text",
    }
}

fn one_of(options: &Json) -> String {
    match options.as_array().map(Vec::as_slice) {
        Some([only]) => constant(only),
        Some(many) => {
            let names: Vec<String> = many.iter().map(constant).collect();
            format!("one of {}", names.join(", "))
        }
        None => constant(options),
    }
}

fn constant(value: &Json) -> String {
    short(&value.to_string(), 80)
}
