//! References to outputs of earlier steps: `@{outputs.STEP.result_data}` or
//! `@{outputs.STEP.processed_result_data.0.link}` in the texts of a step's input.

use std::fmt;

use serde_json::{Map, Value as Json};

use super::capability::MODEL;
use super::operand::{is_prose, with_operands};
use super::step_output::{StepError, StepErrorKind, StepOutput, StepStatus};
use crate::json_texts::{InsertionLimit, TextPart, joined, replace_fields, visit};

/// What begins a reference.
pub(super) const OPEN: &str = "@{";
/// What follows, before the id of a step.
pub(super) const OUTPUTS: &str = "outputs.";

/// What of an output a reference means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputField {
    /// The result.
    Result,
    /// Its summary; the result if there is none.
    Processed,
}

impl OutputField {
    pub(super) const ALL: [Self; 2] = [Self::Result, Self::Processed];

    /// Its name in references.
    pub(super) fn name(self) -> &'static str {
        self.suffix().trim_start_matches('.')
    }

    const fn suffix(self) -> &'static str {
        match self {
            Self::Result => ".result_data",
            Self::Processed => ".processed_result_data",
        }
    }
}

/// A reference to a value in the output of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputReference<'t> {
    /// The step.
    pub step: &'t str,
    /// What of its output.
    pub field: OutputField,
    /// The way to the value: names of fields, and indexes.
    pub path: Vec<&'t str>,
    /// As it was written.
    pub text: &'t str,
}

/// A reference that cannot be one, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MalformedReference<'t> {
    /// As it was written.
    pub text: &'t str,
    /// What is wrong.
    pub reason: &'static str,
}

impl fmt::Display for MalformedReference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason, self.text)
    }
}

/// A reference as it was read.
pub type ReadReference<'t> = Result<OutputReference<'t>, MalformedReference<'t>>;

/// The references in the input of a step, each with its path. `is_step` says whether a step of an
/// id exists: ids may hold dots, and the shortest one that exists counts.
pub fn references<'v>(
    input: &'v Map<String, Json>,
    is_step: &dyn Fn(&str) -> bool,
) -> Vec<(String, ReadReference<'v>)> {
    let mut found = Vec::new();
    for (name, value) in input {
        visit(value, &mut |path, text| {
            for part in split(text, is_step) {
                if let TextPart::Value(reference) = part {
                    found.push((format!(".{name}{path}"), reference));
                }
            }
        });
    }
    found
}

/// The input with the values of its references in their place. A text that is one reference
/// becomes the value with its type; in a longer text values stand as text. What is put in is not
/// read again.
///
/// # Errors
/// `ReferenceResolution`: a reference is malformed, or leads to no value of a completed step; or
/// the values are too large together.
pub fn resolved<'o>(
    input: &Map<String, Json>,
    is_step: &dyn Fn(&str) -> bool,
    output: &dyn Fn(&str) -> Option<&'o StepOutput>,
) -> Result<Map<String, Json>, StepError> {
    let outputs = OutputResolver::new(is_step, output);
    replace_fields(input, &|text| outputs.fill(text))
}

/// Finds the values of references, all for the input of one step.
pub(super) struct OutputResolver<'f, 'o> {
    is_step: &'f dyn Fn(&str) -> bool,
    output: &'f dyn Fn(&str) -> Option<&'o StepOutput>,
    limit: InsertionLimit,
}

impl<'f, 'o> OutputResolver<'f, 'o> {
    pub(super) fn new(
        is_step: &'f dyn Fn(&str) -> bool,
        output: &'f dyn Fn(&str) -> Option<&'o StepOutput>,
    ) -> Self {
        Self { is_step, output, limit: InsertionLimit::default() }
    }

    /// A text as words and references.
    pub(super) fn parts<'t>(&self, text: &'t str) -> Vec<TextPart<'t, ReadReference<'t>>> {
        split(text, self.is_step)
    }

    /// The value of a reference.
    pub(super) fn value(&self, read: &ReadReference<'_>) -> Result<Json, StepError> {
        let reference =
            read.as_ref().map_err(|malformed| unresolved(malformed.reason, malformed.text))?;
        let value = lookup(reference, self.is_step, self.output)
            .map_err(|reason| unresolved(&reason, reference.text))?;
        self.admit(value, reference.text)?;
        Ok(value.clone())
    }

    /// Counts a value that is put into the input; `text` says what stands for it there.
    pub(super) fn admit(&self, value: &Json, text: &str) -> Result<(), StepError> {
        if self.limit.admits(value) { Ok(()) } else { Err(too_large(text)) }
    }

    /// Counts a text that is put into the input once more.
    pub(super) fn admit_again(&self, bytes: usize, text: &str) -> Result<(), StepError> {
        if self.limit.admits_bytes(bytes) { Ok(()) } else { Err(too_large(text)) }
    }

    /// A text with its values: the value itself if the text is one reference.
    pub(super) fn fill(&self, text: &str) -> Result<Json, StepError> {
        joined(&self.parts(text), &|read| self.value(read))
    }

    /// The same for a calculation, with the numbers that values state.
    pub(super) fn fill_numbers(&self, text: &str) -> Result<Json, StepError> {
        let filled = |part| match part {
            TextPart::Text(words) => Ok(TextPart::Text(words)),
            TextPart::Value(read) => {
                let value = self.value(&read)?;
                if is_prose(&value) { Err(no_number(&read)) } else { Ok(TextPart::Value(value)) }
            }
        };
        let parts = self.parts(text).into_iter().map(filled).collect::<Result<Vec<_>, _>>()?;
        joined(&with_operands(parts), &|value| Ok(value.clone()))
    }
}

fn no_number(read: &ReadReference<'_>) -> StepError {
    let reference = read.as_ref().map_or_else(|it| it.text, |it| it.text);
    let message = format!(
        "{reference} is a text and no number; have {MODEL} write only the number of it in an earlier stage"
    );
    StepError::new(StepErrorKind::InvalidInput, message)
}

fn too_large(reference: &str) -> StepError {
    unresolved("the values of the references have more than 4 MiB", reference)
}

fn unresolved(reason: &str, reference: &str) -> StepError {
    let error =
        StepError::new(StepErrorKind::ReferenceResolution, format!("{reason}: {reference}"));
    StepError { reference: Some(reference.to_owned()), ..error }
}

fn lookup<'o>(
    reference: &OutputReference<'_>,
    is_step: &dyn Fn(&str) -> bool,
    output: &dyn Fn(&str) -> Option<&'o StepOutput>,
) -> Result<&'o Json, String> {
    if !is_step(reference.step) {
        return Err("the reference names a step that does not exist".to_owned());
    }
    let Some(output) = output(reference.step) else {
        return Err("the reference names a step that has not run yet".to_owned());
    };
    if output.status != StepStatus::Completed {
        return Err("the reference names a step that has failed".to_owned());
    }
    let mut found = match reference.field {
        OutputField::Result => &output.result_data,
        OutputField::Processed => output.processed(),
    };
    for part in &reference.path {
        let next = match found {
            Json::Array(items) => part.parse::<usize>().ok().and_then(|index| items.get(index)),
            other => other.get(part),
        };
        found = next.ok_or("the reference leads to no value of its output")?;
    }
    Ok(found)
}

/// The parts of a text; `\@{` stands for the sign itself, and so does `@{` before anything but
/// `outputs`.
fn split<'t>(
    text: &'t str,
    is_step: &dyn Fn(&str) -> bool,
) -> Vec<TextPart<'t, ReadReference<'t>>> {
    let (mut parts, mut words, mut rest) = (Vec::new(), String::new(), text);
    while let Some((before, after)) = rest.split_once(OPEN) {
        if let Some(before) = before.strip_suffix('\\') {
            words.push_str(before);
            words.push_str(OPEN);
            rest = after;
            continue;
        }
        words.push_str(before);
        if !after.trim_start().starts_with(OUTPUTS) {
            words.push_str(OPEN);
            rest = after;
            continue;
        }
        if !words.is_empty() {
            parts.push(TextPart::Text(std::mem::take(&mut words).into()));
        }
        let (inside, next) = after.split_once('}').unwrap_or((after, ""));
        let is_closed = inside.len() < after.len();
        let written = rest.get(before.len()..rest.len() - next.len()).unwrap_or(rest);
        let read =
            if is_closed { parse(inside, written, is_step) } else { Err("it is not closed") };
        parts.push(TextPart::Value(
            read.map_err(|reason| MalformedReference { text: written, reason }),
        ));
        rest = next;
    }
    words.push_str(rest);
    if !words.is_empty() || parts.is_empty() {
        parts.push(TextPart::Text(words.into()));
    }
    parts
}

fn parse<'t>(
    inside: &'t str,
    text: &'t str,
    is_step: &dyn Fn(&str) -> bool,
) -> Result<OutputReference<'t>, &'static str> {
    if inside.contains(char::is_whitespace) {
        return Err("a reference holds no white space");
    }
    let named = inside.strip_prefix(OUTPUTS).unwrap_or(inside);
    let mut candidates = candidates(named);
    candidates.sort_by_key(|(step, ..)| step.len());
    let known = candidates.iter().position(|(step, ..)| is_step(step)).unwrap_or(0);
    let Some((step, field, path)) = candidates.into_iter().nth(known) else {
        return Err("a reference ends with `result_data` or `processed_result_data`, and a path");
    };
    let path: Vec<&str> = path.split('.').skip(1).collect();
    if step.is_empty() || path.iter().any(|part| part.is_empty()) {
        return Err("a part of the reference is empty");
    }
    Ok(OutputReference { step, field, path, text })
}

/// The ways to divide a reference into the id of a step, a field and a path.
fn candidates(named: &str) -> Vec<(&str, OutputField, &str)> {
    let of = |field: OutputField| {
        named.match_indices(field.suffix()).filter_map(move |(at, suffix)| {
            let (step, rest) = named.split_at_checked(at)?;
            let path = rest.get(suffix.len()..)?;
            (path.is_empty() || path.starts_with('.')).then_some((step, field, path))
        })
    };
    OutputField::ALL.into_iter().flat_map(of).collect()
}
