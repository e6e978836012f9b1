//! What the model replies: the schema it is given, and the type a reply is
//! read into. What must be thought of first comes first.

use antiphon_core::Schema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::config::Config;
use crate::reply::{object, text};

/// Code that is to answer the question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// How the model gets to the answer.
    #[serde(default)]
    pub reasoning: String,
    /// The code.
    pub python: String,
    /// What the code does.
    #[serde(default)]
    pub explain: String,
}

/// A result in words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The answer.
    pub answer: String,
    /// Further facts.
    #[serde(default)]
    pub highlights: Vec<String>,
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
