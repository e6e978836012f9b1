//! What each role replies: the schema that its model is given, and the type
//! that a reply is read into. What has to be thought of first comes first.

use antiphon_core::{Fault, FaultCode, Schema};
use antiphon_reply::CompiledSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use super::config::Config;
use super::step::StepName;

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
pub(super) fn schema(step: StepName, config: &Config) -> Schema {
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
            Schema::new("verdict", verdict())
        }
    }
}

/// Its parser.
pub(super) fn parser(step: StepName, config: &Config) -> Result<CompiledSchema, Fault> {
    CompiledSchema::compile(&schema(step, config))
}

/// A value that has passed the schema, as a type.
pub(super) fn read<T: DeserializeOwned>(value: Option<Json>) -> Result<T, Fault> {
    T::deserialize(value.unwrap_or_default()).map_err(|error| {
        let message = format!("the reply does not have the form of its role: {error}");
        Fault::new(FaultCode::RoleReplyInvalid, message)
    })
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

/// The decision comes first: a small model that has to comment before it
/// decides finds a fault in anything, and rejects it. Rejecting without saying
/// why helps nobody: the condition is beside the properties, where providers
/// that do not know it pass over it.
fn verdict() -> Json {
    json!({
        "type": "object",
        "properties": {
            "decision": {"type": "string", "enum": ["approve", "reject"]},
            "feedback": {"type": "string"},
        },
        "required": ["decision"],
        "if": {"properties": {"decision": {"const": "reject"}}},
        "then": {"properties": {"feedback": text()}, "required": ["feedback"]},
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
