//! Results of tools that are not whole.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// The fields of a result that is not whole.
const RESULT: &str = "result";
const ERRORS: &str = "partial_errors";

/// A part of a step that failed while the step as a whole did not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartialError {
    /// What failed, such as an address.
    pub source: String,
    /// Why.
    pub message: String,
}

impl std::fmt::Display for PartialError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.source, self.message)
    }
}

/// What a tool has returned, and what of it has failed. A tool says so with an object of two
/// fields: `{"result": …, "partial_errors": [{"source": …, "message": …}]}`.
///
/// ```
/// use antiphon_systems::partial_result::PartialResult;
/// use serde_json::json;
/// let errors = json!([{"source": "b.txt", "message": "not found"}]);
/// let read = PartialResult::of(json!({"result": "a", "partial_errors": errors}));
/// assert_eq!((&read.value, &*read.errors[0].source), (&json!("a"), "b.txt"));
/// assert!(PartialResult::of(json!({"result": "a"})).errors.is_empty());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PartialResult {
    /// The result.
    pub value: Json,
    /// What has failed; empty if it is whole.
    pub errors: Vec<PartialError>,
}

impl PartialResult {
    /// What a tool has returned. Any other value is a whole result.
    pub fn of(mut returned: Json) -> Self {
        let errors = returned.as_object().filter(|fields| fields.len() == 2).and_then(|fields| {
            fields.get(RESULT)?;
            Vec::deserialize(fields.get(ERRORS)?).ok()
        });
        match (errors, returned.get_mut(RESULT)) {
            (Some(errors), Some(value)) => Self { value: value.take(), errors },
            _ => Self { value: returned, errors: Vec::new() },
        }
    }

    /// As a tool returns it.
    pub fn into_returned(self) -> Json {
        let Self { value, errors } = self;
        if errors.is_empty() { value } else { json!({RESULT: value, ERRORS: errors}) }
    }
}
