//! What the model replies: the schema it is given, and the type a reply is
//! read into. What has to be thought of first comes first.

use antiphon_core::{Fault, FaultCode, Schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::config::Config;

/// Code that is to answer the question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Plan {
    #[serde(default)]
    pub(super) reasoning: String,
    pub(super) python: String,
    #[serde(default)]
    pub(super) explain: String,
}

/// A result in words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Summary {
    pub(super) answer: String,
    #[serde(default)]
    pub(super) highlights: Vec<String>,
}

/// What the fields of a plan hold, in their order.
const REASONING: &str = "in one sentence, what is computed from which columns";
const PYTHON: &str = "the code, which ends with result = ...";
const EXPLAIN: &str = "what the code does, in one sentence";

pub(super) fn plan(config: &Config) -> Schema {
    let sentence = json!({"type": "string"});
    let fields = if config.reasoning {
        json!({"reasoning": sentence, "python": text(), "explain": sentence})
    } else {
        json!({"python": text(), "explain": sentence})
    };
    Schema::new("plan", object(&fields))
}

/// A plan as the prompt shows it.
pub(super) fn plan_form(config: &Config) -> String {
    let form = if config.reasoning {
        json!({"reasoning": REASONING, "python": PYTHON, "explain": EXPLAIN})
    } else {
        json!({"python": PYTHON, "explain": EXPLAIN})
    };
    form.to_string()
}

pub(super) fn summary(config: &Config) -> Schema {
    let highlights = json!({"type": "array", "items": text(), "maxItems": config.max_highlights});
    Schema::new("summary", object(&json!({"answer": text(), "highlights": highlights})))
}

/// A value that has passed the schema, as a type.
pub(super) fn read<T: DeserializeOwned>(value: Option<Json>) -> Result<T, Fault> {
    T::deserialize(value.unwrap_or_default()).map_err(|error| {
        let message = format!("the reply does not have the form of its role: {error}");
        Fault::new(FaultCode::RoleReplyInvalid, message)
    })
}

/// A text that is not blank.
fn text() -> Json {
    json!({"type": "string", "minLength": 1, "not": {"pattern": "^\\s*$"}})
}

fn object(properties: &Json) -> Json {
    let names: Vec<&String> =
        properties.as_object().into_iter().flat_map(|map| map.keys()).collect();
    json!({"type": "object", "properties": properties, "required": names})
}
