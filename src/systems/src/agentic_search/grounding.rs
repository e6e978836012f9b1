//! Whether an answer states only numbers, units and dates that stand in the results it was made
//! from, or follow from them.

use antiphon_citation::sentences;
use antiphon_figures::{
    ComputedNumber, FigureEvidence, FigureMismatch, StatedQuantity, quantities,
};
use antiphon_html::to_text;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config::Config;
use super::conversation::shown_results;
use super::plan::{ExecutionPlan, TaskStatus};
use super::source::TaskPassages;
use super::state::State;

/// A number of an answer that stands in no result and follows from numbers that do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComputedFigure {
    /// As the answer states it.
    pub stated: String,
    /// `sum`, `difference`, `ratio` or `growth`.
    pub operation: String,
    /// The numbers of the results that it follows from.
    pub operands: Vec<String>,
}

/// The figures of an answer, compared with the results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AnswerFigures {
    /// What the answer states and no result supports, in words.
    pub(super) unsupported: Vec<String>,
    /// What it states that follows from the results.
    pub(super) computed: Vec<ComputedFigure>,
}

/// Compares an answer with the results, as the synthesiser reads them, and with the question and
/// its conversation. Nothing is compared without results.
pub(super) fn figures(state: &State, config: &Config, today: &str, html: &str) -> AnswerFigures {
    let plan = state.plan();
    let shown = shown_results(&plan, config);
    let mut found = AnswerFigures::default();
    if !config.check_figures || shown.is_empty() {
        return found;
    }
    let answer = without_source_numbers(&to_text(html));
    for mismatch in known(state, &plan, today, &shown).mismatches(&answer) {
        match computed(&mismatch, &answer, &shown) {
            Some(figure) if found.computed.contains(&figure) => {}
            Some(figure) => found.computed.push(figure),
            None => found.unsupported.push(mismatch.to_string()),
        }
    }
    found
}

fn known(
    state: &State,
    plan: &ExecutionPlan,
    today: &str,
    shown: &[(TaskPassages<'_>, usize)],
) -> FigureEvidence {
    let mut known = FigureEvidence::new();
    known.text(today).text(&state.query);
    known.text(state.clarification.as_deref().unwrap_or_default());
    for turn in &state.conversation_history {
        known.text(&turn.query).text(&turn.response);
    }
    // What was done may be counted.
    known.number(shown.iter().map(|(found, _)| found.passages.len()).sum::<usize>());
    for status in [TaskStatus::Completed, TaskStatus::Failed] {
        known.number(plan.with_status(status).count());
    }
    for (found, room) in shown {
        known.text(&found.remark).number(found.passages.len());
        for (passage, text) in found.shown_passages(*room) {
            known.text(passage.shown_title.as_deref().unwrap_or_default());
            known.text(passage.location.as_deref().unwrap_or_default());
            known.text(&text);
        }
    }
    known
}

/// How a number that no result holds follows from the results, in every sentence that states it.
fn computed(
    mismatch: &FigureMismatch,
    answer: &str,
    shown: &[(TaskPassages<'_>, usize)],
) -> Option<ComputedFigure> {
    let FigureMismatch::Number(number) = mismatch else { return None };
    let passages = shown.iter().flat_map(|(found, room)| found.shown_passages(*room));
    let known: Vec<StatedQuantity> = passages.flat_map(|(_, text)| quantities(&text)).collect();
    let lines = answer.lines();
    let sentences = lines.flat_map(|line| sentences(line).into_iter().map(move |it| it.of(line)));
    let states_it = |sentence: &&str| quantities(sentence).iter().any(|one| one.text == *number);
    let mut found = None;
    for sentence in sentences.flatten().filter(states_it) {
        found = Some(ComputedNumber::find(number, sentence, &known)?);
    }
    let ComputedNumber { operation, operands } = found?;
    Some(ComputedFigure { stated: number.clone(), operation: operation.to_owned(), operands })
}

/// A text without the numbers of sources in it, such as `[2]`.
fn without_source_numbers(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once('[') {
        kept.push_str(before);
        match inside.split_once(']') {
            Some((numbers, after)) if is_list_of_numbers(numbers) => rest = after,
            _ => {
                kept.push('[');
                rest = inside;
            }
        }
    }
    kept.push_str(rest);
    kept
}

fn is_list_of_numbers(text: &str) -> bool {
    let is_number = |part: &str| {
        let part = part.trim();
        !part.is_empty() && part.chars().all(|sign| sign.is_ascii_digit())
    };
    text.split(',').all(is_number)
}
