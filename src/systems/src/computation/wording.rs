//! Whether an answer in words states the result, and nothing beside it.

use serde_json::{Value as Json, json};

use super::Computation;
use super::graph::refuse;
use super::input_table;
use super::outcome::RejectedWording;
use super::reply::Summary;
use super::sandbox_output::SandboxOutput;
use super::state::State;
use super::value_text::{number_digits, plain_item, result_of};
use crate::node::NodeContext;
use crate::patch::Patch;
use crate::prompts::ModelTier;
use antiphon_figures::{FigureEvidence, FigureMismatch, added};

/// The longest text that an answer has to repeat, in characters.
const LONGEST: usize = 60;

/// Takes an answer over if it states the result alone; else says what it states beside it.
pub(super) fn conclude(cx: &NodeContext<Computation>, mut summary: Summary) -> Patch<State> {
    let mut patch = Patch::default();
    if summary.fits == Some(false) && is_doubtful(cx) {
        refuse(&mut patch, misfit(cx));
        return patch;
    }
    let known = evidence(cx);
    let mismatches: Vec<String> = mismatches(&known, &cx.state, &summary.answer)
        .iter()
        .map(FigureMismatch::to_string)
        .collect();
    if mismatches.is_empty() {
        summary.highlights.retain(|fact| known.unsupported(fact).is_empty());
        patch.set(State::summary, summary);
        return patch;
    }
    let rejected = RejectedWording { answer: summary.answer, differences: mismatches };
    patch.note("wording_rejected", json!(rejected)).set(State::rejected, [rejected]);
    patch
}

/// What an answer states beside the result, and what of the result it leaves out.
fn mismatches(known: &FigureEvidence, state: &State, answer: &str) -> Vec<FigureMismatch> {
    let mut found = known.unsupported(answer);
    let Some(value) = state.computed.as_ref().and_then(SandboxOutput::result) else { return found };
    if number_digits(value).is_some_and(|digits| !known.states(answer, digits)) {
        found.push(FigureMismatch::Missing(plain_item(value)));
    }
    if let Json::String(text) = value
        && text.chars().count() <= LONGEST
        && !repeats(answer, text)
    {
        found.push(FigureMismatch::Missing(text.clone()));
    }
    found
}

/// Whether an answer has a text in it; one with digits may be written in another way.
fn repeats(answer: &str, text: &str) -> bool {
    if text.contains(|sign: char| sign.is_ascii_digit()) {
        return added(text, answer).is_empty();
    }
    let plain = |text: &str| {
        let spaced = text.replace(['_', '-'], " ").to_lowercase();
        spaced.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    plain(answer).contains(plain(text).trim_end_matches('.'))
}

/// All that an answer may state: the result and what was printed, and what was asked.
fn evidence(cx: &NodeContext<Computation>) -> FigureEvidence {
    let (task, state) = (cx.input(), &cx.state);
    let mut known = FigureEvidence::new();
    known.text(&task.question).text(&state.shown).text(&state.printed);
    known.text(&cx.system().config.guidance).text(&json!(task.facts).to_string());
    for name in task.names() {
        known.name(name);
    }
    for function in &task.functions {
        known.units(&function.name).units(&function.doc);
    }
    let python = state.attempts.last().map_or("", |last| &last.python);
    let used = input_table::used(python, &state.sources);
    for column in used.iter().flat_map(|source| &source.columns) {
        known.name(&column.name);
    }
    if used.is_empty() {
        known.units(&state.inputs);
    }
    let value = state.computed.as_ref().and_then(SandboxOutput::result);
    if let Some(value) = value {
        add_value(&mut known, value);
    }
    known
}

/// The numbers in a value at full length, and how many items it has.
fn add_value(known: &mut FigureEvidence, value: &Json) {
    if let Some(digits) = number_digits(value) {
        known.number(digits);
        return;
    }
    match value {
        Json::String(text) => {
            known.text(text);
        }
        Json::Array(items) => {
            for item in items {
                add_value(known, item);
            }
            known.text(&items.len().to_string());
        }
        Json::Object(fields) => {
            for (name, field) in fields.iter().filter(|(name, _)| *name != "$") {
                known.name(name);
                add_value(known, field);
            }
            known.text(&fields.len().to_string());
        }
        _ => {}
    }
}

/// Whether a model is believed that says that the code reads something else than was asked for:
/// a small one only where code finds it doubtful too.
fn is_doubtful(cx: &NodeContext<Computation>) -> bool {
    let tier = cx.system().resources.roles.tier("summariser");
    tier == ModelTier::Large || !unnamed(cx).is_empty()
}

fn unnamed(cx: &NodeContext<Computation>) -> Vec<String> {
    let python = cx.state.attempts.last().map_or("", |last| &last.python);
    let used = input_table::used(python, &cx.state.sources);
    input_table::unnamed(&cx.input().question, &cx.state, &used)
}

fn misfit(cx: &NodeContext<Computation>) -> String {
    match &*unnamed(cx).join("`, `") {
        "" => "the result is not what the question asks for".to_owned(),
        columns => format!("the code reads `{columns}`, which is not what the question asks for"),
    }
}

impl SandboxOutput {
    /// The value of `result`, else of the last expression.
    pub(super) fn result(&self) -> Option<&Json> {
        result_of(&self.locals, self.value.as_ref())
    }
}
