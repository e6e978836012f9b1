//! References to results of earlier tasks in the arguments of later ones: `{{task_1.path.0}}`, or
//! `{{tool.path.0}}` for the one earlier task that calls the tool.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::source::plain_value;
use crate::json_texts::{InsertionLimit, TextPart, joined, replace, visit};

/// What begins a reference, within its braces.
const TASK: &str = "task_";
/// Words for the result itself that models put before a path.
const SELF: [&str; 2] = ["result", "output"];

/// The numbers of the earlier tasks that call each tool, by its name.
pub(super) type TasksByTool<'t> = BTreeMap<&'t str, Vec<usize>>;

/// What a reference begins with.
enum ReferenceTarget<'t> {
    Task(usize),
    Tool(&'t str),
}

/// A reference to a value in the result of a task.
struct TaskReference<'t> {
    target: ReferenceTarget<'t>,
    path: Vec<&'t str>,
    /// As it was written, with its braces.
    text: &'t str,
}

/// Why a reference has no value.
#[derive(Debug)]
pub(super) enum ReferenceFailure {
    /// It leads to no value.
    Nowhere(String),
    /// The values are too large together.
    TooLarge(String),
}

/// The numbers of the tasks that a value refers to.
pub(super) fn referenced(value: &Json) -> BTreeSet<usize> {
    let mut numbers = BTreeSet::new();
    visit(value, &mut |_, text| {
        for segment in segments(text, &[]) {
            if let TextPart::Value(reference) = segment {
                numbers.extend(reference.task_number());
            }
        }
    });
    numbers
}

/// The value with the planner's numbers of tasks replaced by ours, and names of tools by the number
/// of the task that calls them.
///
/// # Errors
/// A reference names a tool that no earlier task calls, or several.
pub(super) fn renumbered(
    value: &Json,
    number: &dyn Fn(usize) -> usize,
    callers: &TasksByTool<'_>,
) -> Result<Json, ReferenceFailure> {
    let tools: Vec<&str> = callers.keys().copied().collect();
    let renumber = |text: &str| {
        let parts = segments(text, &tools).into_iter().map(|segment| match segment {
            TextPart::Text(text) => Ok(text),
            TextPart::Value(reference) => {
                let task_number = match reference.target {
                    ReferenceTarget::Task(theirs) => number(theirs),
                    ReferenceTarget::Tool(tool) => only_caller(tool, callers, reference.text)?,
                };
                let task = format!("{TASK}{task_number}");
                let path: Vec<&str> =
                    std::iter::once(task.as_str()).chain(reference.path).collect();
                Ok(Cow::Owned(format!("{{{{{}}}}}", path.join("."))))
            }
        });
        Ok(Json::String(parts.collect::<Result<String, ReferenceFailure>>()?))
    };
    replace(value, &renumber)
}

/// The number of the one earlier task that calls a tool.
fn only_caller(
    tool: &str,
    callers: &TasksByTool<'_>,
    text: &str,
) -> Result<usize, ReferenceFailure> {
    let how_many = match callers.get(tool).map(Vec::as_slice) {
        Some([only]) => return Ok(*only),
        Some([_, _, ..]) => "several earlier tasks call",
        _ => "no earlier task calls",
    };
    let message = format!("the reference names a tool that {how_many}: {text}");
    Err(ReferenceFailure::Nowhere(message))
}

/// The value with the results of other tasks in place of its references. A text that is one
/// reference becomes the value with its type; in a longer text, values stand as text. What is put
/// in is not read again.
///
/// # Errors
/// A reference leads nowhere, or the values are too large together.
pub(super) fn resolved<'r>(
    value: &Json,
    result: &dyn Fn(usize) -> Option<&'r Json>,
) -> Result<Json, ReferenceFailure> {
    let limit = InsertionLimit::default();
    let insert = |reference: &TaskReference<'_>| {
        let value = lookup(reference, result)?;
        if limit.admits(&value) {
            return Ok(value);
        }
        let text = reference.text;
        let message = format!("the values of the references have more than 4 MiB: {text}");
        Err(ReferenceFailure::TooLarge(message))
    };
    replace(value, &|text| joined(&segments(text, &[]), &insert))
}

fn lookup<'r>(
    reference: &TaskReference<'_>,
    result: &dyn Fn(usize) -> Option<&'r Json>,
) -> Result<Json, ReferenceFailure> {
    let nowhere = || {
        let message = format!("the reference leads to no value: {}", reference.text);
        ReferenceFailure::Nowhere(message)
    };
    let result = reference.task_number().and_then(result).ok_or_else(nowhere)?;
    let whole = plain_value(result);
    let mut path = reference.path.as_slice();
    if let [first, rest @ ..] = path
        && SELF.contains(first)
        && whole.get(first).is_none()
    {
        path = rest;
    }
    let mut found = whole.as_ref();
    for part in path {
        let next = match found {
            Json::Array(items) => part.parse::<usize>().ok().and_then(|index| items.get(index)),
            other => other.get(part),
        };
        found = next.ok_or_else(nowhere)?;
    }
    Ok(found.clone())
}

impl TaskReference<'_> {
    const fn task_number(&self) -> Option<usize> {
        match self.target {
            ReferenceTarget::Task(number) => Some(number),
            ReferenceTarget::Tool(_) => None,
        }
    }
}

/// The parts of a text, in their order; braces around anything else are text.
fn segments<'t>(text: &'t str, tools: &[&'t str]) -> Vec<TextPart<'t, TaskReference<'t>>> {
    let (mut segments, mut from, mut at) = (Vec::new(), 0, 0);
    while let Some(open) = text.get(at..).and_then(|rest| rest.find("{{")).map(|found| at + found) {
        let inside = open + 2;
        let Some(close) = text.get(inside..).and_then(|rest| rest.find("}}")) else { break };
        let end = inside + close + 2;
        match text.get(inside..inside + close).and_then(|inside| parse(inside, tools)) {
            Some((target, path)) => {
                if let Some(before) = text.get(from..open).filter(|before| !before.is_empty()) {
                    segments.push(TextPart::Text(before.into()));
                }
                let text = text.get(open..end).unwrap_or_default();
                segments.push(TextPart::Value(TaskReference { target, path, text }));
                (from, at) = (end, end);
            }
            None => at = inside,
        }
    }
    if let Some(rest) = text.get(from..).filter(|rest| !rest.is_empty() || segments.is_empty()) {
        segments.push(TextPart::Text(rest.into()));
    }
    segments
}

/// A task or a tool and a path, such as `task_1.results[0].url`.
fn parse<'t>(inside: &'t str, tools: &[&'t str]) -> Option<(ReferenceTarget<'t>, Vec<&'t str>)> {
    let inside = inside.trim();
    let (target, rest) = numbered(inside).or_else(|| named(inside, tools))?;
    let parts = rest.split(['.', '[', ']']).map(str::trim);
    Some((target, parts.filter(|part| !part.is_empty()).collect()))
}

fn numbered(inside: &str) -> Option<(ReferenceTarget<'_>, &str)> {
    let rest = inside.strip_prefix(TASK)?;
    let end = rest.find(['.', '[']).unwrap_or(rest.len());
    let (number, path) = rest.split_at_checked(end)?;
    Some((ReferenceTarget::Task(number.parse().ok()?), path))
}

/// Names of tools may have dots, and one may be the beginning of another: the longest counts.
fn named<'t>(inside: &'t str, tools: &[&'t str]) -> Option<(ReferenceTarget<'t>, &'t str)> {
    let after = |tool: &&'t str| {
        let rest = inside.strip_prefix(*tool)?;
        (rest.is_empty() || rest.starts_with(['.', '['])).then_some((*tool, rest))
    };
    let (tool, rest) = tools.iter().filter_map(after).max_by_key(|(tool, _)| tool.len())?;
    Some((ReferenceTarget::Tool(tool), rest))
}
