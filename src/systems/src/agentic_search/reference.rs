//! References to results of earlier tasks in the arguments of later ones: `{{task_1.path.0}}`.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::source::plain_value;

/// What begins a reference, within its braces.
const TASK: &str = "task_";
/// Words for the result itself that models put before a path.
const SELF: [&str; 2] = ["result", "output"];

/// A part of a text.
enum Piece<'t> {
    Text(&'t str),
    Reference(TaskReference<'t>),
}

/// A reference to a value in the result of a task.
struct TaskReference<'t> {
    task_number: usize,
    path: Vec<&'t str>,
    /// As it was written, with its braces.
    text: &'t str,
}

/// The numbers of the tasks that a value refers to.
pub(super) fn referenced(value: &Json) -> BTreeSet<usize> {
    let mut numbers = BTreeSet::new();
    visit(value, &mut |text| {
        for piece in pieces(text) {
            if let Piece::Reference(reference) = piece {
                numbers.insert(reference.task_number);
            }
        }
    });
    numbers
}

/// The value with other numbers of tasks in its references.
pub(super) fn renumbered(value: &Json, number: &dyn Fn(usize) -> usize) -> Json {
    let renumber = |text: &str| {
        let parts = pieces(text).into_iter().map(|piece| match piece {
            Piece::Text(text) => Cow::Borrowed(text),
            Piece::Reference(reference) => {
                let task = format!("{TASK}{}", number(reference.task_number));
                let path: Vec<&str> =
                    std::iter::once(task.as_str()).chain(reference.path).collect();
                Cow::Owned(format!("{{{{{}}}}}", path.join(".")))
            }
        });
        Ok(Json::String(parts.collect()))
    };
    // Renumbering cannot fail.
    replace(value, &renumber).unwrap_or_else(|_| value.clone())
}

/// The value with the results of other tasks in place of its references. A text that is one
/// reference becomes the value with its type; in a longer text, values stand as text. What is put
/// in is not read again.
///
/// # Errors
/// A reference that leads nowhere.
pub(super) fn resolved<'r>(
    value: &Json,
    result: &dyn Fn(usize) -> Option<&'r Json>,
) -> Result<Json, String> {
    let resolve = |text: &str| {
        let pieces = pieces(text);
        if let [Piece::Reference(reference)] = pieces.as_slice() {
            return lookup(reference, result);
        }
        let mut filled = String::new();
        for piece in &pieces {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Reference(reference) => match lookup(reference, result)? {
                    Json::String(text) => filled.push_str(&text),
                    other => filled.push_str(&other.to_string()),
                },
            }
        }
        Ok(Json::String(filled))
    };
    replace(value, &resolve)
}

fn lookup<'r>(
    reference: &TaskReference<'_>,
    result: &dyn Fn(usize) -> Option<&'r Json>,
) -> Result<Json, String> {
    let nowhere = || reference.text.to_owned();
    let result = result(reference.task_number).ok_or_else(nowhere)?;
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

/// The parts of a text, in their order; braces around anything else are text.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let (mut pieces, mut from, mut at) = (Vec::new(), 0, 0);
    while let Some(open) = text.get(at..).and_then(|rest| rest.find("{{")).map(|found| at + found) {
        let inside = open + 2;
        let Some(close) = text.get(inside..).and_then(|rest| rest.find("}}")) else { break };
        let end = inside + close + 2;
        match text.get(inside..inside + close).and_then(parse) {
            Some((task_number, path)) => {
                if let Some(before) = text.get(from..open).filter(|before| !before.is_empty()) {
                    pieces.push(Piece::Text(before));
                }
                let text = text.get(open..end).unwrap_or_default();
                pieces.push(Piece::Reference(TaskReference { task_number, path, text }));
                (from, at) = (end, end);
            }
            None => at = inside,
        }
    }
    if let Some(rest) = text.get(from..).filter(|rest| !rest.is_empty() || pieces.is_empty()) {
        pieces.push(Piece::Text(rest));
    }
    pieces
}

/// A task and a path, such as `task_1.results[0].url`.
fn parse(inside: &str) -> Option<(usize, Vec<&str>)> {
    let rest = inside.trim().strip_prefix(TASK)?;
    let mut parts = rest.split(['.', '[', ']']);
    let number = parts.next()?.parse().ok()?;
    let path: Vec<&str> = parts.map(str::trim).filter(|part| !part.is_empty()).collect();
    Some((number, path))
}

fn visit(value: &Json, see: &mut dyn FnMut(&str)) {
    match value {
        Json::String(text) => see(text),
        Json::Array(items) => items.iter().for_each(|item| visit(item, see)),
        Json::Object(fields) => fields.values().for_each(|field| visit(field, see)),
        _ => {}
    }
}

/// The value with every text in it replaced; the names of fields stay.
fn replace(value: &Json, with: &dyn Fn(&str) -> Result<Json, String>) -> Result<Json, String> {
    Ok(match value {
        Json::String(text) => with(text)?,
        Json::Array(items) => {
            items.iter().map(|item| replace(item, with)).collect::<Result<_, _>>()?
        }
        Json::Object(fields) => Json::Object(
            fields
                .iter()
                .map(|(name, field)| Ok((name.clone(), replace(field, with)?)))
                .collect::<Result<_, String>>()?,
        ),
        other => other.clone(),
    })
}
