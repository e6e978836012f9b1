//! What is asked: the first message is the question, and one file may come
//! with it.

use antiphon_core::{Fault, FaultCode, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::attachment::Attachment;
use super::config::Config;
use super::patch::Patch;
use super::state::State;
use super::step::StepName;
use crate::system::SystemInput;

/// What a review loop is asked.
///
/// ```
/// use antiphon_systems::review_loop::QuestionInput;
/// let asked = QuestionInput::from("What is the capital of Peru?");
/// assert_eq!(asked.messages.len(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionInput {
    /// The first is the question; later ones are not looked at.
    pub messages: Vec<InputMessage>,
    /// A file that comes with the question.
    #[serde(default)]
    pub file: Option<Attachment>,
}

impl SystemInput for QuestionInput {
    fn check(&self) -> Result<(), Fault> {
        self.read_question().map(|_| ())
    }

    fn read(given: &Json) -> Result<Self, Fault> {
        Self::deserialize(given).map_err(|error| malformed(&error.to_string()))
    }

    /// Takes one file.
    fn attach(&mut self, attachments: Vec<(String, Vec<u8>)>) -> Result<(), Fault> {
        for (name, content) in attachments {
            if self.file.replace(Attachment::from_bytes(name, content)?).is_some() {
                return Err(malformed("2 files"));
            }
        }
        Ok(())
    }
}

impl QuestionInput {
    /// The question and its file.
    ///
    /// # Errors
    /// A `Validation` fault: `question_blank` if there is nothing to answer,
    /// `question_malformed` if there is more than one file, and what
    /// [`Attachment::check`] finds.
    pub fn read_question(&self) -> Result<(String, Option<Attachment>), Fault> {
        let mut files: Vec<&Attachment> = self.file.iter().collect();
        let question = match self.messages.first().map(|message| &message.content) {
            None => String::new(),
            Some(Content::Text(text)) => text.clone(),
            Some(Content::Parts(parts)) => {
                let mut texts = Vec::new();
                for part in parts {
                    match part {
                        Part::Text { text } => texts.push(text.as_str()),
                        Part::File(file) => files.push(file),
                    }
                }
                texts.join("\n")
            }
        };
        if question.trim().is_empty() {
            let message = format!("the question is blank: {question:?}");
            let fault = Fault::new(FaultCode::QuestionBlank, message);
            return Err(fault.hint("ask something"));
        }
        if files.len() > 1 {
            return Err(malformed(&format!("{} files", files.len())));
        }
        let file = files.first().copied().cloned();
        file.iter().try_for_each(Attachment::check)?;
        Ok((question.trim().to_owned(), file))
    }
}

impl From<&str> for QuestionInput {
    fn from(question: &str) -> Self {
        let content = Content::Text(question.to_owned());
        Self { messages: vec![InputMessage { content }], file: None }
    }
}

/// One message of the caller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InputMessage {
    /// What it says.
    pub content: Content,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Content {
    /// A text.
    Text(String),
    /// Texts, which are joined, and files.
    Parts(Vec<Part>),
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// A text.
    Text {
        /// The text.
        text: String,
    },
    /// A file with its `name` and `text`.
    File(Attachment),
}

/// The patch of the node `input`.
pub(super) fn begin(asked: &QuestionInput, config: &Config, now: Time) -> Result<Patch, Fault> {
    let (question, file) = asked.read_question()?;
    let mut patch = Patch::default();
    let name = file.as_ref().map(|file| file.name.clone());
    patch
        .set(State::question, &question)
        .set(State::asked_on, day(now))
        .set(State::retry_limit, config.retry_limit)
        .set(State::current_step, StepName::Input.as_str())
        .set(State::next_step, StepName::Planner.as_str())
        .note("question_received", serde_json::json!({"question": question, "file": name}));
    if let Some(file) = file {
        patch.set(State::file, file);
    }
    Ok(patch)
}

/// Year, month and day in UTC.
pub(super) fn day(now: Time) -> String {
    now.to_string().chars().take_while(|sign| *sign != 'T').collect()
}

fn malformed(found: &str) -> Fault {
    let message =
        format!("the question must be one message of text with at most one file: {found}");
    Fault::new(FaultCode::QuestionMalformed, message)
}
