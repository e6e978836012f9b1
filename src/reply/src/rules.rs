//! A compiled schema.

use jsonschema::{PatternOptions, ValidationError, Validator, ValidatorMap};
use serde_json::Value as Json;

use antiphon_core::{Fault, FaultCode, Schema};

use crate::cycle::is_recursive;
use crate::depth::{self, measure};
use crate::explain::explain;
use antiphon_core::excerpt::describe;
use antiphon_core::reply::Violation;

/// Errors that may be worked out for one value before the value counts as too
/// tangled to explain.
const TANGLE: usize = 500_000;

/// Steps back that a pattern may take in one text.
const BACKTRACKS: usize = 100_000;

/// What a schema demands, ready to be checked.
#[derive(Debug)]
pub(crate) struct SchemaRules {
    whole: Validator,
    /// Validators of the parts, for schemas with choices or conditions.
    parts: Option<ValidatorMap>,
    /// Alternatives of the widest choice, when choices may nest as deep as a
    /// value does.
    widest: Option<usize>,
}

impl SchemaRules {
    /// Compiles `schema`; nothing is loaded from anywhere.
    pub(crate) fn compile(schema: &Schema) -> Result<Self, Fault> {
        if measure(&schema.json).levels > depth::LIMIT {
            let limit = depth::LIMIT;
            return Err(invalid(format!(
                "the schema `{}` nests deeper than: {limit}",
                schema.name
            )));
        }
        let options = jsonschema::options()
            .offline()
            .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS));
        let broken = |error: ValidationError<'_>| refuse(&schema.name, &error);
        let whole = options.build(&schema.json).map_err(broken)?;
        let choice = widest_choice(&schema.json);
        let parts = match choice {
            Some(_) => Some(options.build_map(&schema.json).map_err(broken)?),
            None => None,
        };
        let widest = choice.filter(|_| is_recursive(&schema.json));
        Ok(Self { whole, parts, widest })
    }

    /// Whether `value` fits. Always fast, unlike the search for errors.
    pub(crate) fn fits(&self, value: &Json) -> bool {
        self.whole.is_valid(value)
    }

    /// The rules of the part of the schema at `pointer`, for a part of a choice
    /// or condition.
    pub(crate) fn part(&self, pointer: &str) -> Option<&Validator> {
        self.parts.as_ref()?.get(&format!("#{pointer}"))
    }

    /// The errors of `value`, or none if they cannot be worked out: in a schema
    /// whose choices nest in themselves they double with each level.
    pub(crate) fn errors<'v>(&'v self, value: &'v Json) -> Option<Vec<ValidationError<'v>>> {
        if let Some(widest) = self.widest {
            let extent = measure(value);
            let levels = u32::try_from(extent.levels).unwrap_or(u32::MAX);
            let work = widest.saturating_pow(levels).saturating_mul(extent.nodes);
            if work > TANGLE {
                return None;
            }
        }
        Some(self.whole.iter_errors(value).collect())
    }

    /// The errors of a value that does not fit, for a reader.
    pub(crate) fn violations(&self, value: &Json) -> Vec<Violation> {
        let Some(errors) = self.errors(value) else {
            return vec![Violation::new("", "a value that fits the schema", describe(value))];
        };
        let mut violations = Vec::new();
        for error in &errors {
            explain(error, &mut violations);
        }
        violations
    }
}

/// The number of alternatives of the widest choice; conditions count as
/// narrow ones, and a schema with neither has none.
fn widest_choice(schema: &Json) -> Option<usize> {
    let mut widest = None;
    let mut open = vec![schema];
    while let Some(part) = open.pop() {
        match part {
            Json::Array(items) => open.extend(items),
            Json::Object(fields) => {
                for keyword in ["anyOf", "oneOf"] {
                    widest = widest.max(fields.get(keyword).and_then(Json::as_array).map(Vec::len));
                }
                widest = widest.max(fields.get("if").map(|_| 1));
                open.extend(fields.values());
            }
            _ => {}
        }
    }
    widest
}

fn refuse(name: &str, error: &ValidationError<'_>) -> Fault {
    let path = error.instance_path().as_str();
    let place = if path.is_empty() { String::new() } else { format!(" at `{path}`") };
    let found = describe(error.instance());
    invalid(format!("the schema `{name}` is not a valid JSON schema{place}: {found}"))
        .with("path", path)
        .with("cause", error.to_string())
}

fn invalid(message: String) -> Fault {
    Fault::new(FaultCode::SchemaInvalid, message).hint(
        "give a JSON schema (draft 2020-12) whose references all point into the schema itself",
    )
}
