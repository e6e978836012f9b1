//! The last step without a model, and the trimming of answers.

use serde_json::json;

use super::config::AnswerFormat;
use super::message::{MessageDraft, MessageFactory, MessageKind, Participant};
use super::outcome::FAILURE_TEXT;
use super::patch::Patch;
use super::state::State;
use super::step::StepName;
use crate::result::Outcome;

/// The patch of the finalizer when no model is asked: nothing that was said
/// before. A question that ends here without having been given up has spent
/// its budget.
pub(super) fn bypass(state: &State, factory: &mut MessageFactory) -> Patch {
    let mut patch = Patch::default();
    let outcome = state.outcome.unwrap_or(Outcome::Budget);
    if state.outcome.is_none() {
        patch
            .set(State::outcome, outcome)
            .set(State::final_answer, FAILURE_TEXT)
            .set(State::final_reasoning_trace, FAILURE_TEXT)
            .set(State::error_component, state.current_step.clone())
            .set(State::current_step, StepName::Finalizer.as_str())
            .set(State::next_step, StepName::Finalizer.as_str());
    }
    let draft = MessageDraft {
        sender: Participant::Finalizer,
        receiver: Participant::Orchestrator,
        kind: MessageKind::Response,
        content: FAILURE_TEXT.to_owned(),
        step_id: None,
    };
    patch.say(factory.sign(draft));
    patch.note("finalized", json!({"outcome": outcome, "bypassed": true}));
    patch
}

/// The answer in the form that is asked for.
pub(super) fn format_answer(answer: &str, format: AnswerFormat) -> String {
    let answer = answer.trim();
    match format {
        AnswerFormat::Plain => answer.to_owned(),
        AnswerFormat::Gaia => gaia(answer),
    }
}

fn gaia(answer: &str) -> String {
    let bare = strip_quotes(answer);
    let is_word = !bare.contains(char::is_whitespace);
    let bare = if is_word { bare.strip_suffix('.').unwrap_or(bare) } else { bare };
    without_separators(bare)
}

fn strip_quotes(answer: &str) -> &str {
    const QUOTES: [(char, char); 4] = [('"', '"'), ('\'', '\''), ('“', '”'), ('‘', '’')];
    let mut bare = answer;
    for (open, close) in QUOTES {
        let inner = bare.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        bare = inner.map_or(bare, str::trim);
    }
    bare
}

/// Drops the commas of `1,234,567`, and no others: a list keeps its own.
fn without_separators(answer: &str) -> String {
    let signs: Vec<char> = answer.chars().collect();
    let digit = |place: usize| signs.get(place).is_some_and(char::is_ascii_digit);
    let separates = |place: usize| {
        let group = (1..=3).all(|offset| digit(place + offset)) && !digit(place + 4);
        let before =
            signs.iter().take(place).rev().take_while(|sign| sign.is_ascii_digit()).count();
        group && (1..=3).contains(&before)
    };
    let kept = signs.iter().enumerate().filter(|&(place, &sign)| sign != ',' || !separates(place));
    kept.map(|(_, &sign)| sign).collect()
}
