//! What the model replies: the schema it is given, and the type a reply is
//! read into. What must be thought of first comes first.

use antiphon_core::Schema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::config::Config;
use crate::reply::{answer_text, object, text};

/// Code that is to answer the question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeReply {
    /// How the model gets to the answer.
    #[serde(default)]
    pub reasoning: String,
    /// What the question needs and the inputs do not hold; then the code is not run.
    #[serde(default)]
    pub missing: Option<String>,
    /// The code.
    pub python: String,
    /// What the code does.
    #[serde(default)]
    pub explain: String,
}

/// A result in words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Whether what the code reads is what the question asks for.
    #[serde(default)]
    pub fits: Option<bool>,
    /// The answer.
    pub answer: String,
    /// Further facts.
    #[serde(default)]
    pub highlights: Vec<String>,
}

/// What the fields of a plan hold, in their order.
const REASONING: &str = "in one sentence, what is computed from which columns";
const MISSING: &str = "what the question asks for and no input holds; empty if all is there";
const PYTHON: &str = "the code, which ends with result = ...";
const EXPLAIN: &str = "what the code does, in one sentence";

/// The schema of a plan, which begins with how the model gets to the answer or lacks that.
pub(super) fn plan(has_reasoning: bool) -> Schema {
    let sentence = json!({"type": "string"});
    let missing = json!({"type": ["string", "null"]});
    let fields = if has_reasoning {
        json!({"reasoning": sentence, "missing": missing, "python": text(), "explain": sentence})
    } else {
        json!({"missing": missing, "python": text(), "explain": sentence})
    };
    Schema::new("plan", optional(object(&fields), "missing"))
}

/// A plan as the prompt shows it.
pub(super) fn plan_form(has_reasoning: bool) -> String {
    let form = if has_reasoning {
        json!({"reasoning": REASONING, "missing": MISSING, "python": PYTHON, "explain": EXPLAIN})
    } else {
        json!({"missing": MISSING, "python": PYTHON, "explain": EXPLAIN})
    };
    form.to_string()
}

pub(super) fn summary(config: &Config) -> Schema {
    let highlights = json!({"type": "array", "items": text(), "maxItems": config.max_highlights});
    let fits = json!({"type": ["boolean", "null"]});
    let fields = json!({"fits": fits, "answer": answer_text(), "highlights": highlights});
    Schema::new("summary", optional(object(&fields), "fits"))
}

/// The schema without the need for one of its fields.
fn optional(mut schema: Json, field: &str) -> Json {
    if let Some(Json::Array(required)) = schema.get_mut("required") {
        required.retain(|name| name != field);
    }
    schema
}
