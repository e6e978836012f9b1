//! Results and faults of code as text that a model reads.

use std::borrow::Cow;
use std::fmt::Write as _;

use antiphon_runtime::sandbox::{GuestFault, JobOutcome};
use serde_json::{Map, Value as Json};

use super::sandbox_output::SandboxOutput;
use super::state::State;
use super::task::RESULT;

/// The first `room` characters; says how many are missing.
pub(super) fn cut(text: &str, room: usize) -> String {
    let whole = text.chars().count();
    if whole <= room {
        return text.to_owned();
    }
    let head: String = text.chars().take(room).collect();
    format!("{head}\n... {} more characters", whole - room)
}

/// The result as plainly as a value can be shown: of `result`, else of the
/// last expression.
pub(super) fn value(outcome: &JobOutcome) -> Option<String> {
    result_of(&outcome.locals, outcome.value.as_ref()).map(plain_value)
}

/// The value of `result`, else of the last expression.
pub(super) fn result_of<'v>(
    locals: &'v Map<String, Json>,
    value: Option<&'v Json>,
) -> Option<&'v Json> {
    locals.get(RESULT).or(value)
}

pub(super) fn plain_value(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Object(fields) if fields.get("$").is_some() => {
            let plain = fields.get("repr").or_else(|| fields.get("v"));
            plain.map_or_else(
                || value.to_string(),
                |plain| plain.as_str().map_or_else(|| plain.to_string(), str::to_owned),
            )
        }
        other => other.to_string(),
    }
}

/// A value as an answer without a model: a number, a text, yes or no; else as it is shown.
pub(super) fn plain_answer(state: &State, question: &str) -> String {
    let Some(value) = state.computed.as_ref().and_then(SandboxOutput::result) else {
        return state.shown.clone();
    };
    match value {
        Json::Bool(is_so) => yes_or_no(*is_so, question).to_owned(),
        Json::String(text) => text.clone(),
        Json::Array(items)
            if items.iter().all(|item| number(item).is_some() || item.is_string()) =>
        {
            let items: Vec<String> = items.iter().map(plain_item).collect();
            items.join(", ")
        }
        value if number(value).is_some() => plain_item(value),
        Json::Object(fields) if is_moment(fields) => plain_value(value),
        _ => state.shown.clone(),
    }
}

pub(super) fn plain_item(value: &Json) -> String {
    match value {
        Json::Number(exact) if !exact.is_f64() => exact.to_string(),
        Json::Number(inexact) => plain_number(inexact.as_f64().unwrap_or(f64::NAN)),
        value => plain_value(value),
    }
}

/// A number to twelve digits, which hides the noise of binary fractions.
pub(super) fn plain_number(number: f64) -> String {
    let rounded: f64 = format!("{number:.11e}").parse().unwrap_or(number);
    rounded.to_string()
}

/// Dates and times, whose text needs no words.
fn is_moment(fields: &Map<String, Json>) -> bool {
    let kind = fields.get("$").and_then(Json::as_str);
    matches!(kind, Some("date" | "datetime" | "time"))
}

/// A truth value in the language of the question, where its first words tell it.
fn yes_or_no(is_so: bool, question: &str) -> &'static str {
    const LANGUAGES: [(&str, &str, &str); 4] = [
        ("ist sind hat haben gibt war waren wurde wurden liegt der die das", "Ja", "Nein"),
        ("est sont y la le les a ont", "Oui", "Non"),
        ("es son hay está están el los", "Sí", "No"),
        ("è sono ci il lo gli", "Sì", "No"),
    ];
    let lower = question.to_lowercase();
    let first = lower.split(|sign: char| !sign.is_alphabetic()).find(|word| !word.is_empty());
    let has = |words: &str| words.split(' ').any(|word| Some(word) == first);
    let found = LANGUAGES.iter().find(|(words, ..)| has(words));
    let (yes, no) = found.map_or(("Yes", "No"), |(_, yes, no)| (yes, no));
    if is_so { yes } else { no }
}

/// Whether the result is the number zero.
pub(super) fn is_zero(outcome: &JobOutcome) -> bool {
    let result = result_of(&outcome.locals, outcome.value.as_ref());
    result.and_then(number).is_some_and(|number| number == 0.0)
}

/// The number that a value is; none for one that is not finite.
pub(super) fn number(value: &Json) -> Option<f64> {
    number_digits(value)?.parse().ok()
}

/// All digits of the number that a value is; none for one that is not finite.
pub(super) fn number_digits(value: &Json) -> Option<Cow<'_, str>> {
    let digits = match value {
        Json::Number(number) => Cow::Owned(number.to_string()),
        Json::Object(fields) => match fields.get("$").and_then(Json::as_str)? {
            "int" | "decimal" => Cow::Borrowed(fields.get("v")?.as_str()?),
            _ => return None,
        },
        _ => return None,
    };
    digits.parse().is_ok_and(f64::is_finite).then_some(digits)
}

/// Why a result answers nothing: it is missing or empty.
pub(super) fn emptiness(outcome: &JobOutcome, is_empty: bool) -> Option<String> {
    if is_empty {
        return Some("the code computed an empty result".to_owned());
    }
    let value = result_of(&outcome.locals, outcome.value.as_ref())?;
    let what = match value {
        Json::Null => "`None`, which is no value",
        Json::String(text) if text.trim().is_empty() => "an empty text",
        Json::Array(items) if items.is_empty() => "an empty list",
        Json::Array(items) if items.iter().all(is_missing) => "missing values only",
        Json::Object(fields) if fields.is_empty() => "an empty dict",
        Json::Object(fields) if is_empty_collection(fields) => "an empty collection",
        value if is_missing(value) => "`NaN`, which is no value",
        _ => return None,
    };
    Some(format!("the code computed {what}"))
}

fn is_empty_collection(fields: &Map<String, Json>) -> bool {
    let kind = fields.get("$").and_then(Json::as_str);
    matches!(kind, Some("tuple" | "set" | "frozenset" | "dict"))
        && fields.get("v").and_then(Json::as_array).is_some_and(Vec::is_empty)
}

/// `None`, and the values that pandas and numpy have for what is missing.
fn is_missing(value: &Json) -> bool {
    const TEXTS: [&str; 6] = ["nan", "none", "null", "nat", "<na>", "n/a"];
    match value {
        Json::Null => true,
        Json::String(text) => TEXTS.contains(&&*text.trim().to_lowercase()),
        Json::Object(fields) => {
            let text = |name| fields.get(name).and_then(Json::as_str);
            match text("$") {
                Some("float" | "decimal") => {
                    text("v").is_some_and(|value| value.eq_ignore_ascii_case("nan"))
                }
                Some("object") => text("repr").is_some_and(|repr| matches!(repr, "NaT" | "<NA>")),
                _ => false,
            }
        }
        _ => false,
    }
}

/// A text that says something: models also write `none` where a field is to be empty.
pub(crate) fn said(text: &str) -> Option<&str> {
    const NOTHING: [&str; 8] = ["", "none", "nothing", "null", "n/a", "no", "empty", "-"];
    let text = text.trim();
    let bare = text.trim_end_matches('.').to_lowercase();
    (!NOTHING.contains(&&*bare)).then_some(text)
}

/// What went wrong, where, and in which line.
pub(super) fn fault_text(fault: &GuestFault) -> String {
    let mut text = String::new();
    if let Some(exception) = &fault.exception {
        let _ = write!(text, "{exception}: ");
    }
    let _ = write!(text, "{}", fault.message);
    if let Some(line) = fault.line {
        let _ = write!(text, "\nin line {line}");
        if let Some(source) = &fault.source {
            let _ = write!(text, ": {}", source.trim());
        }
    }
    let _ = write!(text, "\n({})", fault.kind);
    text
}
