//! What is asked.

use antiphon_core::{Fault, FaultCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::classification::{QueryMode, ResearchDepth};
use super::source::ResearchSource;
use crate::system::SystemInput;

/// A question, and how it is to be researched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ResearchRequest {
    /// What is to be answered.
    pub question: String,
    /// Which way it takes.
    pub query_mode: QueryMode,
    /// How thorough the research is.
    pub research_depth: ResearchDepth,
    /// What the report has to observe, beside the instructions of its role.
    pub system_instructions: Option<String>,
    /// Whether a person may be asked what the question means.
    pub enable_clarification: bool,
    /// Whether each claim of the report is verified; by default in a deep research only.
    pub verify_sources: Option<bool>,
    /// Earlier messages, the latest last, in place of those that the thread keeps.
    pub conversation_history: Vec<HistoryMessage>,
    /// Pages that are known already, beside those that the thread keeps.
    pub existing_sources: Vec<ResearchSource>,
}

/// A message of the conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistoryMessage {
    /// Who wrote it.
    pub role: MessageRole,
    /// What it says.
    pub content: String,
}

/// Who wrote a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// The person who asks.
    #[default]
    User,
    /// The system.
    Assistant,
}

impl ResearchRequest {
    /// Whether each claim of the report is verified.
    pub fn verifies(&self) -> bool {
        self.verify_sources.unwrap_or(self.query_mode == QueryMode::DeepResearch)
    }
}

impl Default for ResearchRequest {
    fn default() -> Self {
        Self {
            question: String::new(),
            query_mode: QueryMode::default(),
            research_depth: ResearchDepth::default(),
            system_instructions: None,
            enable_clarification: true,
            verify_sources: None,
            conversation_history: Vec::new(),
            existing_sources: Vec::new(),
        }
    }
}

impl SystemInput for ResearchRequest {
    fn check(&self) -> Result<(), Fault> {
        if self.question.trim().is_empty() {
            return Err(Fault::new(FaultCode::QuestionBlank, "the question is blank"));
        }
        if self.existing_sources.iter().any(|source| source.url.trim().is_empty()) {
            let message = "an existing source has no address: `url` is blank";
            return Err(Fault::new(FaultCode::InputInvalid, message));
        }
        Ok(())
    }
}

impl From<&str> for ResearchRequest {
    fn from(question: &str) -> Self {
        Self { question: question.to_owned(), ..Self::default() }
    }
}
