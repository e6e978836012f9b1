//! What each role replies: the schema that its model is given, and the type
//! that a reply is read into. What must be thought of first comes first.

use antiphon_core::Schema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::config::Config;
use super::step::StepName;
use crate::prompts::ModelTier;
use crate::reply::{object, text};

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Plan {
    pub(super) research_steps: Vec<String>,
    pub(super) expert_steps: Vec<String>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Finding {
    pub(super) result: String,
}

/// The expert's answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct ExpertAnswer {
    #[serde(default)]
    pub(super) reasoning_trace: String,
    pub(super) expert_answer: String,
}

/// The last words.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct FinalAnswer {
    #[serde(default)]
    pub(super) final_reasoning_trace: String,
    pub(super) final_answer: String,
}

/// The schema of what a step is replied with.
pub(super) fn schema(step: StepName, config: &Config, critic: ModelTier) -> Schema {
    match step {
        StepName::Input | StepName::Planner => Schema::new("plan", plan(config)),
        StepName::Researcher => Schema::new("finding", object(&json!({"result": text()}))),
        StepName::Expert => {
            let fields = json!({"reasoning_trace": {"type": "string"}, "expert_answer": text()});
            Schema::new("answer", object(&fields))
        }
        StepName::Finalizer => {
            let fields =
                json!({"final_reasoning_trace": {"type": "string"}, "final_answer": text()});
            Schema::new("final", object(&fields))
        }
        StepName::CriticPlanner | StepName::CriticResearcher | StepName::CriticExpert => {
            Schema::new("verdict", verdict(critic))
        }
    }
}

fn plan(config: &Config) -> Json {
    object(&json!({
        "research_steps": {
            "type": "array",
            "items": text(),
            "maxItems": config.max_research_steps,
        },
        "expert_steps": {
            "type": "array",
            "items": text(),
            "minItems": 1,
            "maxItems": config.max_expert_steps,
        },
    }))
}

/// A small model that has to comment before it decides finds a fault in anything, and rejects
/// it, so its decision comes first; a large one decides better once it has given its reasons.
/// Rejecting without saying why helps nobody: the condition is beside the properties, where
/// providers that do not know it pass over it.
fn verdict(tier: ModelTier) -> Json {
    let decision = json!({"type": "string", "enum": ["approve", "reject"]});
    let feedback = json!({"type": "string"});
    let properties = match tier {
        ModelTier::Small => json!({"decision": decision, "feedback": feedback}),
        ModelTier::Large => json!({"feedback": feedback, "decision": decision}),
    };
    json!({
        "type": "object",
        "properties": properties,
        "required": ["decision"],
        "if": {"properties": {"decision": {"const": "reject"}}},
        "then": {"properties": {"feedback": text()}, "required": ["feedback"]},
    })
}
