//! Numbers of something that no result names. What is found for a question that nothing answers is
//! about something else, and a small model takes the number of that.

use std::collections::BTreeSet;

use antiphon_figures::{FigureEvidence, FigureMismatch, quantities};
use serde_json::Value as Json;

use super::operand::ONLY_NUMBER;
use super::plan::PlanStep;
use super::record::ContextEntry;
use super::reference::references;
use super::state::State;
use super::step_output::{StepError, StepErrorKind, StepStatus};
use crate::json_texts::visit;

/// Why no number can be taken: the step wants one of something that the task calls by name, and no
/// result so far has any word of that name.
pub(super) fn unnamed_subject(state: &State, step: &PlanStep) -> Option<StepError> {
    let prompt = step.sub_task_input.get("prompt").and_then(Json::as_str)?;
    let reads = !references(&step.sub_task_input, &|_| true).is_empty();
    if !reads || !prompt.to_lowercase().contains(ONLY_NUMBER) {
        return None;
    }
    let asked: BTreeSet<&str> = words(prompt).collect();
    let names: Vec<&str> =
        names(&state.user_task).into_iter().filter(|name| asked.contains(name)).collect();
    let mut found = FoundWords::default();
    let known = state.execution_context.iter().chain(state.completed_steps.values());
    known.filter(|entry| is_evidence(entry)).for_each(|entry| found.add(&entry.raw_result_data));
    if names.is_empty() || found.has_any(&names) {
        return None;
    }
    let message = format!("no result so far names it: {}", names.join(" "));
    Some(StepError::new(StepErrorKind::InvalidInput, message))
}

/// Whether a step has found something: what a model writes repeats the names that it was told.
fn is_evidence(entry: &ContextEntry) -> bool {
    entry.status == StepStatus::Completed && !entry.step().is_model_step()
}

/// The capitalised words of a text past the beginnings of its sentences. Abbreviations, months and
/// units are none: texts write them in several ways.
fn names(text: &str) -> Vec<&str> {
    let mut begins = true;
    let mut names = Vec::new();
    for part in text.split_whitespace() {
        let is_first = std::mem::replace(&mut begins, part.ends_with(['.', '!', '?', ':']));
        let bare = part.trim_matches(|sign: char| !sign.is_alphanumeric());
        let word = words(bare).next().unwrap_or_default();
        let is_word = bare.len() == word.len() || bare.ends_with("'s") || bare.ends_with("’s");
        let is_name = word.starts_with(char::is_uppercase)
            && word.chars().count() > 2
            && word.chars().skip(1).all(char::is_lowercase);
        if is_name && is_word && !is_first && !names.contains(&word) && !has_forms(word) {
            names.push(word);
        }
    }
    names
}

/// Whether it is a month, a weekday or a unit.
fn has_forms(word: &str) -> bool {
    let stated = FigureEvidence::new().mismatches(word);
    let measured = quantities(&format!("1 {word}"));
    stated.iter().any(|one| matches!(one, FigureMismatch::Date(_)))
        || measured.iter().any(|one| !one.units.is_empty())
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The words of results in lower case: those that were capitalised, and all.
#[derive(Default)]
struct FoundWords {
    capitalised: BTreeSet<String>,
    all: BTreeSet<String>,
}

impl FoundWords {
    fn add(&mut self, value: &Json) {
        visit(value, &mut |_, text| {
            for word in words(text) {
                if word.starts_with(char::is_uppercase) {
                    self.capitalised.insert(word.to_lowercase());
                }
                self.all.insert(word.to_lowercase());
            }
        });
    }

    /// Whether one of these names is there, or all of them in small letters.
    fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| begins(&self.capitalised, name))
            || names.iter().all(|name| begins(&self.all, name))
    }
}

/// Whether a word is there, also with an ending: `Merrows`.
fn begins(known: &BTreeSet<String>, name: &str) -> bool {
    let name = name.to_lowercase();
    known.range(name.clone()..).next().is_some_and(|word| word.starts_with(&name))
}
