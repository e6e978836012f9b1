//! What each role replies: the schema that its model is given, and the type
//! that a reply is read into. What must be thought of first comes first.

use antiphon_core::Schema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::CriticOptions;
use super::config::{Config, ResearchMode};
use super::state::Verdict;
use super::step::StepName;
use crate::prompts::ModelTier;
use crate::reply::{answer_text, object, text};

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct ResearchPlan {
    pub(super) research_steps: Vec<PlannedStep>,
    pub(super) expert_steps: Vec<String>,
    #[serde(default = "yes")]
    pub(super) known: bool,
}

/// A research step, perhaps with the numbers of earlier ones, counted from 1, whose results it
/// needs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum PlannedStep {
    Alone(String),
    After {
        step: String,
        #[serde(default)]
        depends_on: Vec<usize>,
    },
}

const fn yes() -> bool {
    true
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct ResearcherReply {
    pub(super) result: String,
}

/// The expert's answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct ExpertReply {
    #[serde(default)]
    pub(super) reasoning_trace: String,
    #[serde(default = "yes")]
    pub(super) known: bool,
    pub(super) expert_answer: String,
}

/// What a critic says.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct CriticReply {
    #[serde(flatten)]
    pub(super) verdict: Verdict,
    #[serde(default)]
    pub(super) needs_research: bool,
}

/// The last words.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct FinalAnswer {
    #[serde(default)]
    pub(super) final_reasoning_trace: String,
    pub(super) final_answer: String,
}

/// The schema of what a step is replied with.
pub(super) fn schema(step: StepName, config: &Config, critic: CriticOptions) -> Schema {
    match step {
        StepName::Input | StepName::Planner => Schema::new("plan", plan(config)),
        StepName::Researcher => Schema::new("finding", object(&json!({"result": text()}))),
        StepName::Expert => {
            let known = json!({"type": "boolean"});
            let fields = json!({
                "reasoning_trace": {"type": "string"}, "known": known, "expert_answer": answer_text(),
            });
            Schema::new("answer", with_required(&fields, &["reasoning_trace", "expert_answer"]))
        }
        StepName::Finalizer => {
            let fields =
                json!({"final_reasoning_trace": {"type": "string"}, "final_answer": answer_text()});
            Schema::new("final", object(&fields))
        }
        StepName::CriticPlanner | StepName::CriticResearcher | StepName::CriticExpert => {
            Schema::new("verdict", verdict(critic))
        }
    }
}

fn plan(config: &Config) -> Json {
    let step = match config.research_mode {
        ResearchMode::Sequential => text(),
        ResearchMode::Parallel => {
            let numbers = json!({"type": "array", "items": {"type": "integer", "minimum": 1}});
            let after = object(&json!({"step": text(), "depends_on": numbers}));
            json!({"anyOf": [text(), after]})
        }
    };
    let fields = json!({
        "research_steps": {"type": "array", "items": step, "maxItems": config.max_research_steps},
        "expert_steps": {
            "type": "array",
            "items": text(),
            "minItems": 1,
            "maxItems": config.max_expert_steps,
        },
        "known": {"type": "boolean"},
    });
    with_required(&fields, &["research_steps", "expert_steps"])
}

/// Whether something is known may be left out: it is, unless somebody says otherwise.
fn with_required(fields: &Json, required: &[&str]) -> Json {
    json!({"type": "object", "properties": fields, "required": required})
}

/// A small model that has to comment before it decides finds a fault in anything, and rejects
/// it, so its decision comes first; a large one decides better once it has given its reasons.
/// Rejecting without saying why helps nobody: the condition is beside the properties, where
/// providers that do not know it pass over it.
fn verdict(critic: CriticOptions) -> Json {
    let decision = json!({"type": "string", "enum": ["approve", "reject", "not_known"]});
    let feedback = json!({"type": ["string", "null"]});
    let mut properties = match critic.tier {
        ModelTier::Small => json!({"decision": decision, "feedback": feedback}),
        ModelTier::Large => json!({"feedback": feedback, "decision": decision}),
    };
    if let Some(fields) = properties.as_object_mut().filter(|_| critic.escalates) {
        fields.insert("needs_research".to_owned(), json!({"type": "boolean"}));
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": ["decision"],
        "if": {"properties": {"decision": {"enum": ["reject", "not_known"]}}},
        "then": {"properties": {"feedback": text()}, "required": ["feedback"]},
    })
}
