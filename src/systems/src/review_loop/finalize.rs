//! The last step without a model, and the trimming of answers.

use serde_json::json;

use super::config::AnswerFormat;
use super::message::{MessageDraft, MessageFactory, MessageKind, Participant};
use super::outcome::FAILURE_TEXT;
use super::patch::Patch;
use super::state::State;
use super::step::StepName;
use crate::result::Outcome;

/// The patch of the finalizer when no model is asked: the expert's answer as it is, or the
/// sentence that there is none. A question that ends here without an approved answer, and
/// without having been given up, has spent its budget.
pub(super) fn bypass(state: &State, factory: &mut MessageFactory) -> Patch {
    let mut patch = Patch::default();
    let is_approved = state.outcome.is_none()
        && state.bypass
        && state.current_step == StepName::Finalizer.as_str();
    let usual = if is_approved { Outcome::Answered } else { Outcome::Budget };
    let outcome = state.outcome.unwrap_or(usual);
    let mut content = FAILURE_TEXT.to_owned();
    if is_approved {
        let (answer, reasoning) = (&state.expert_answer, &state.expert_reasoning);
        content = json!({"final_answer": answer, "final_reasoning_trace": reasoning}).to_string();
        patch
            .set(State::outcome, outcome)
            .set(State::final_answer, answer)
            .set(State::final_reasoning_trace, reasoning);
    } else if state.outcome.is_none() {
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
        content,
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
        AnswerFormat::Plain | AnswerFormat::Short => answer.to_owned(),
        AnswerFormat::Gaia => gaia(answer),
    }
}

fn gaia(answer: &str) -> String {
    let bare = strip_quotes(answer);
    let is_word = !bare.contains(char::is_whitespace);
    // The last full stop of `U.S.` is a part of it.
    let stripped = bare.strip_suffix('.').filter(|rest| is_word && !rest.contains('.'));
    without_separators(stripped.unwrap_or(bare))
}

fn strip_quotes(answer: &str) -> &str {
    const QUOTES: [(char, char); 4] = [('"', '"'), ('\'', '\''), ('“', '”'), ('‘', '’')];
    let mut bare = answer;
    for (open, close) in QUOTES {
        let inner = bare.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        // `"A" and "B"` are two quotations, and no quotes are around both.
        let inner = inner.filter(|inner| !inner.contains([open, close]));
        bare = inner.map_or(bare, str::trim);
    }
    bare
}

/// Drops the commas of `1,234,567`. They stay where they may be those of a list: between words,
/// groups of other sizes, and after a first group of three digits, as in `132,133,134`.
pub(super) fn without_separators(answer: &str) -> String {
    let is_part = |sign: char| sign.is_ascii_digit() || sign == ',';
    let mut bare = String::with_capacity(answer.len());
    let mut rest = answer;
    while let Some(start) = rest.find(is_part) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|sign| !is_part(sign)).unwrap_or(from.len());
        let (number, after) = from.split_at(end);
        bare.push_str(before);
        if is_grouped(number) {
            bare.extend(number.chars().filter(|sign| *sign != ','));
        } else {
            bare.push_str(number);
        }
        rest = after;
    }
    bare.push_str(rest);
    bare
}

fn is_grouped(number: &str) -> bool {
    let mut groups = number.split(',');
    let first = groups.next().unwrap_or_default();
    let mut others = groups.peekable();
    (1..=2).contains(&first.len())
        && others.peek().is_some()
        && others.all(|group| group.len() == 3)
}
