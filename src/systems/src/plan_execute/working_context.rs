//! What is known of a task across all attempts, for its models and for a reader.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::plan::PlanStep;
use super::record::ContextEntry;
use super::step_output::StepStatus;
use crate::delimited_input::cut;

/// The most findings that are kept; the oldest go.
const FINDINGS: usize = 200;
/// The most errors that are kept; the oldest go.
const ERRORS: usize = 100;

/// What is known of a task. Names on the wire are exact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CurrentWorkingContext {
    /// When it was written last, in UTC.
    pub last_updated_at: String,
    /// How far the task is.
    pub summary_of_progress: String,
    /// What steps have found.
    pub key_findings: Vec<KeyFinding>,
    /// What the task is about, by name.
    pub identified_entities: Map<String, Json>,
    /// What is open.
    pub pending_questions: Vec<String>,
    /// What comes next.
    pub next_objective: String,
    /// How sure it is, from 0 to 1.
    pub confidence_score: f64,
    /// What went wrong.
    pub errors_encountered: Vec<StepErrorRecord>,
}

/// What a step has found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyFinding {
    /// Its id.
    pub finding_id: String,
    /// What the step was for.
    pub source_step_narrative: String,
    /// Its tool.
    pub source_tool_name: String,
    /// The result, or its beginning.
    pub data: Json,
    /// When, in UTC.
    pub timestamp: String,
}

/// What went wrong in a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepErrorRecord {
    /// Its id.
    pub error_id: String,
    /// What the step was for; the plan if there was none.
    pub source_step_narrative: String,
    /// Its tool.
    pub source_tool_name: String,
    /// Why it failed.
    pub error_message: String,
    /// When, in UTC.
    pub timestamp: String,
}

impl Default for CurrentWorkingContext {
    fn default() -> Self {
        Self {
            last_updated_at: String::new(),
            summary_of_progress: "The task was received; nothing is done yet.".to_owned(),
            key_findings: Vec::new(),
            identified_entities: Map::new(),
            pending_questions: Vec::new(),
            next_objective: "Make a plan.".to_owned(),
            confidence_score: 0.7,
            errors_encountered: Vec::new(),
        }
    }
}

impl CurrentWorkingContext {
    /// Says how far the task is, and what comes next.
    pub(super) fn moved(&mut self, now: &str, progress: String, next: &str) {
        now.clone_into(&mut self.last_updated_at);
        self.summary_of_progress = progress;
        next.clone_into(&mut self.next_objective);
    }

    /// Adds what came of a step: a finding of at most `most` characters, and what has failed.
    pub(super) fn add(&mut self, entry: &ContextEntry, most: usize, now: &str) {
        now.clone_into(&mut self.last_updated_at);
        match (entry.status, &entry.error_details) {
            (StepStatus::Completed, _) => {
                self.finding(entry, most, now);
                for error in &entry.partial_errors {
                    self.error(&entry.step(), &error.to_string(), now);
                }
            }
            (StepStatus::Failed, Some(error)) => {
                self.error(&entry.step(), &error.message, now);
            }
            _ => {}
        }
    }

    fn finding(&mut self, entry: &ContextEntry, most: usize, now: &str) {
        let data = entry.processed();
        if is_empty(data) {
            return;
        }
        let data = shortened(data, most);
        let is_known = self
            .key_findings
            .iter()
            .any(|known| known.source_step_narrative == entry.narrative_step && known.data == data);
        if is_known {
            return;
        }
        self.key_findings.push(KeyFinding {
            finding_id: format!("{}-{}", entry.step_id, self.key_findings.len() + 1),
            source_step_narrative: entry.narrative_step.clone(),
            source_tool_name: entry.tool_name.clone(),
            data,
            timestamp: now.to_owned(),
        });
        keep_last(&mut self.key_findings, FINDINGS);
    }

    /// Adds what went wrong in a step.
    pub(super) fn error(&mut self, step: &PlanStep, message: &str, now: &str) {
        self.errors_encountered.push(StepErrorRecord {
            error_id: format!("{}-{}", step.step_id, self.errors_encountered.len() + 1),
            source_step_narrative: step.narrative_step.clone(),
            source_tool_name: step.tool_name.clone(),
            error_message: message.to_owned(),
            timestamp: now.to_owned(),
        });
        keep_last(&mut self.errors_encountered, ERRORS);
    }

    /// For a worker: how far the task is, in a text.
    pub(super) fn summary(&self) -> String {
        let findings = last(&self.key_findings, 5).iter();
        let findings = findings.map(|one| {
            format!("{}: {}", one.source_step_narrative, crate::json_texts::plain_text(&one.data))
        });
        let progress = [self.summary_of_progress.clone(), self.next_objective.clone()];
        progress.into_iter().chain(findings).collect::<Vec<_>>().join("\n")
    }

    /// For a model: how far the task is, with the last findings and errors.
    pub(super) fn brief(&self) -> Json {
        let findings = last(&self.key_findings, 5);
        let errors = last(&self.errors_encountered, 3);
        json!({
            "summaryOfProgress": self.summary_of_progress,
            "nextObjective": self.next_objective,
            "confidenceScore": self.confidence_score,
            "keyFindings": findings.iter().map(|one| json!({"step": one.source_step_narrative, "data": one.data})).collect::<Vec<_>>(),
            "errorsEncountered": errors.iter().map(|one| json!({"step": one.source_step_narrative, "error": one.error_message})).collect::<Vec<_>>(),
        })
    }
}

/// The last items of a list.
pub(super) fn last<T>(items: &[T], most: usize) -> &[T] {
    items.get(items.len().saturating_sub(most)..).unwrap_or_default()
}

fn keep_last<T>(items: &mut Vec<T>, most: usize) {
    items.drain(..items.len().saturating_sub(most));
}

fn is_empty(data: &Json) -> bool {
    match data {
        Json::Null => true,
        Json::String(text) => text.trim().is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// A value as it is if its text is short enough, else the beginning of that.
pub(super) fn shortened(data: &Json, most: usize) -> Json {
    let text = crate::json_texts::plain_text(data);
    if text.chars().count() <= most { data.clone() } else { json!(cut(&text, most)) }
}

/// The beginning of a value as text.
pub(super) fn preview(data: &Json, most: usize) -> String {
    cut(&crate::json_texts::plain_text(data), most).into_owned()
}
