//! What a step asks a model for: the words of the plan, and between tags what earlier steps have
//! returned. That may come from a page or a file, so nothing of it can pass for the plan's words.

use antiphon_core::{Fault, Message, Role};
use serde_json::{Map, Value as Json};

use super::plan::PlanStep;
use super::record::ContextEntry;
use super::reference::{OutputResolver, ReadReference};
use super::step_output::{StepError, StepErrorKind};
use crate::delimited_input::{DelimitedInput, escape};
use crate::json_texts::{TextPart, plain_text, replace};
use crate::template::{all_fields, fill};

/// What stands for the result of the step before.
const PREVIOUS: &str = "previous_step_output";
/// The tag between which results stand.
const RESULT: &str = "result";

/// Any of these says what is written.
pub(super) const PROMPTS: [&str; 4] =
    ["prompt", "prompt_template", "messages", "data_from_previous_step"];

/// A step with a model, and what it reads.
pub(super) struct StepRequest<'s> {
    pub(super) step: &'s PlanStep,
    /// The last step of an earlier stage.
    pub(super) previous: Option<&'s ContextEntry>,
    pub(super) outputs: OutputResolver<'s, 's>,
}

/// A part of a prompt. Nothing in it can be taken for a tag but the tags themselves.
#[derive(Default)]
struct PromptText {
    text: String,
    /// Whether the plan says anything in it.
    has_words: bool,
}

impl PromptText {
    fn words(&mut self, words: &str) {
        self.has_words |= !words.trim().is_empty();
        self.text.push_str(words);
    }

    fn result(&mut self, name: &str, value: &Json) {
        let text = plain_text(value);
        if value.is_null() || text.trim().is_empty() {
            return;
        }
        self.text.truncate(self.text.trim_end().len());
        self.text.push('\n');
        self.text.push_str(DelimitedInput::new().add_named(RESULT, name, &text).text().as_str());
    }
}

impl StepRequest<'_> {
    /// The messages that the step asks for. If all of them are results, the purpose of the step
    /// says what is done with them.
    ///
    /// # Errors
    /// `InvalidInput` for a prompt that is blank, or a placeholder without a value;
    /// `ReferenceResolution` as for the input of any step: the result of the step before counts as
    /// the value of a reference.
    pub(super) fn messages(&self) -> Result<Vec<Message>, StepError> {
        let input = &self.step.sub_task_input;
        let mut said = match input.get("messages") {
            Some(Json::Array(messages)) => self.conversation(messages)?,
            Some(other) => vec![(Role::User, self.text(other)?)],
            None => vec![(Role::User, self.prompt(input)?)],
        };
        said.retain(|(_, text)| !text.text.trim().is_empty());
        let has_words = said.iter().any(|(_, text)| text.has_words);
        let Some((_, last)) = said.last_mut() else {
            return Err(invalid("the prompt is blank".to_owned()));
        };
        if !has_words {
            last.text.push_str("What the step is for: ");
            last.text.push_str(&escape(&self.step.narrative_step));
        }
        Ok(said.into_iter().map(|(role, text)| message(role, text.text.trim())).collect())
    }

    fn conversation(&self, messages: &[Json]) -> Result<Vec<(Role, PromptText)>, StepError> {
        let one = |given: &Json| {
            let role = match given.get("role").and_then(Json::as_str) {
                Some("system") => Role::System,
                Some("assistant") => Role::Assistant,
                _ => Role::User,
            };
            Ok((role, self.text(given.get("content").unwrap_or(given))?))
        };
        messages.iter().map(one).collect()
    }

    fn prompt(&self, input: &Map<String, Json>) -> Result<PromptText, StepError> {
        if input.get("data_from_previous_step") == Some(&Json::Bool(true)) {
            return Ok(self.previous_result()?.unwrap_or_default());
        }
        match input.get("prompt_template").and_then(Json::as_str) {
            Some(template) => self.template(template, input.get("prompt_params")),
            None => self.text(input.get("prompt").unwrap_or(&Json::Null)),
        }
    }

    /// The text of a value of the plan.
    fn text(&self, value: &Json) -> Result<PromptText, StepError> {
        let mut text = PromptText::default();
        match value {
            Json::Null => {}
            Json::String(words) => {
                for part in self.outputs.parts(words) {
                    match part {
                        TextPart::Text(words) => text.words(&escape(&words)),
                        TextPart::Value(read) => self.referred(&read, &mut text)?,
                    }
                }
            }
            other => {
                let filled = replace(other, &|words| self.outputs.fill(words))?;
                if filled == *other {
                    text.words(&escape(&plain_text(other)));
                } else {
                    text.result(&self.step.step_id, &filled);
                }
            }
        }
        Ok(text)
    }

    fn referred(&self, read: &ReadReference<'_>, text: &mut PromptText) -> Result<(), StepError> {
        let name = read.as_ref().map_or("", |reference| reference.step);
        text.result(name, &self.outputs.value(read)?);
        Ok(())
    }

    /// A template. What references put into it is not looked through for placeholders.
    fn template(&self, template: &str, params: Option<&Json>) -> Result<PromptText, StepError> {
        let mut whole = PromptText::default();
        for part in self.outputs.parts(template) {
            match part {
                TextPart::Text(words) => self.filled(&escape(&words), params, &mut whole)?,
                TextPart::Value(read) => self.referred(&read, &mut whole)?,
            }
        }
        Ok(whole)
    }

    fn filled(
        &self,
        template: &str,
        params: Option<&Json>,
        whole: &mut PromptText,
    ) -> Result<(), StepError> {
        let unfilled = |fault: Fault| invalid(fault.message.clone());
        let mut values: Vec<(&str, PromptText)> = Vec::new();
        for name in all_fields(template).map_err(unfilled)? {
            if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
                self.outputs.admit_again(value.text.len(), name)?;
                continue;
            }
            let message = "a placeholder of the prompt has no value";
            let value = self.param(name, params)?;
            values.push((name, value.ok_or_else(|| invalid(format!("{message}: {name}")))?));
        }
        let texts: Vec<_> = values.iter().map(|(name, value)| (*name, &*value.text)).collect();
        let blanks: Vec<_> = values.iter().map(|(name, _)| (*name, "")).collect();
        whole.has_words |= !fill(template, &blanks).map_err(unfilled)?.trim().is_empty()
            || values.iter().any(|(_, value)| value.has_words);
        whole.text.push_str(&fill(template, &texts).map_err(unfilled)?);
        Ok(())
    }

    /// The value of a placeholder; none if it has none.
    fn param(&self, name: &str, params: Option<&Json>) -> Result<Option<PromptText>, StepError> {
        let given = params.and_then(|params| params.get(name));
        if name == PREVIOUS || given.is_some_and(|given| given == "{previous_step_output}") {
            return self.previous_result();
        }
        if let Some(Json::String(reference)) = params {
            let params = self.outputs.fill(reference)?;
            let mut text = PromptText::default();
            text.result(name, params.get(name).unwrap_or(&Json::Null));
            return Ok(Some(text).filter(|text| !text.text.is_empty()));
        }
        let Some(given) = given else { return Ok(None) };
        let text = self.text(given)?;
        Ok(Some(text).filter(|text| !text.text.is_empty() || given == ""))
    }

    fn previous_result(&self) -> Result<Option<PromptText>, StepError> {
        let Some(entry) = self.previous else { return Ok(None) };
        self.outputs.admit(entry.processed(), PREVIOUS)?;
        let mut text = PromptText::default();
        text.result(&entry.step_id, entry.processed());
        Ok(Some(text).filter(|text| !text.text.is_empty()))
    }
}

fn message(role: Role, text: &str) -> Message {
    match role {
        Role::System => Message::system(text),
        Role::Assistant => Message::assistant(text),
        _ => Message::user(text),
    }
}

fn invalid(message: String) -> StepError {
    StepError::new(StepErrorKind::InvalidInput, message)
}

/// Whether the result of the step before stands in the prompt of a step.
pub(super) fn reads_previous(step: &PlanStep) -> bool {
    let input = &step.sub_task_input;
    input.get("data_from_previous_step") == Some(&Json::Bool(true))
        || input.values().any(|value| value.to_string().contains(PREVIOUS))
}
