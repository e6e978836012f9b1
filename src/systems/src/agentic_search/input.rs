//! What is asked, and with which tools.

use antiphon_core::{Fault, FaultCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::system::SystemInput;

/// A question, and the tools that may be used for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SearchInput {
    /// What is to be answered.
    pub question: String,
    /// The names of the tools that may be used; empty for all.
    pub enabled_tools: Vec<String>,
}

impl SystemInput for SearchInput {
    fn check(&self) -> Result<(), Fault> {
        if self.question.trim().is_empty() {
            return Err(Fault::new(FaultCode::QuestionBlank, "the question is blank"));
        }
        Ok(())
    }
}

impl From<&str> for SearchInput {
    fn from(question: &str) -> Self {
        Self { question: question.to_owned(), ..Self::default() }
    }
}
