//! Where a value lies in the output of a step, as its tool declares it.

use serde_json::Value as Json;

use crate::result_shape::{MOST, value_paths};

/// Names that planners take for each other.
const ALIKE: [&[&str]; 2] =
    [&["link", "url", "path", "href"], &["text", "content", "passage", "snippet", "body"]];

/// What is known of an output.
pub(super) enum OutputForm {
    /// Nothing.
    Unknown,
    /// It is a text or a number: no path leads into it.
    Plain,
    /// The paths of its values.
    Paths(Vec<Vec<String>>),
}

impl OutputForm {
    /// The form that a schema declares.
    pub(super) fn of(schema: Option<&Json>) -> Self {
        let Some(schema) = schema else { return Self::Unknown };
        let kinds = match schema.get("type") {
            Some(Json::Array(kinds)) => kinds.iter().filter_map(Json::as_str).collect(),
            Some(Json::String(kind)) => vec![kind.as_str()],
            _ => Vec::new(),
        };
        let is_plain = |kind: &&str| matches!(*kind, "string" | "number" | "integer" | "boolean");
        if !kinds.is_empty() && kinds.iter().all(is_plain) {
            return Self::Plain;
        }
        let paths = value_paths(schema);
        if paths.is_empty() || paths.len() >= MOST {
            return Self::Unknown;
        }
        Self::Paths(paths.iter().map(|path| path.split('.').map(str::to_owned).collect()).collect())
    }

    /// Whether the output has a field of that name.
    pub(super) fn has_field(&self, name: &str) -> bool {
        matches!(self, Self::Paths(paths) if paths.iter().any(|path| path.first().is_some_and(|first| first == name)))
    }

    /// The path that is meant. It stays as it is if it leads to a value, or may mean several.
    pub(super) fn meant<'p>(&'p self, given: &[&'p str]) -> Vec<&'p str> {
        let Self::Paths(paths) = self else {
            return if matches!(self, Self::Plain) { Vec::new() } else { given.to_vec() };
        };
        let leads = |given: &[&str]| paths.iter().any(|path| begins_with(path, given));
        let rests = (0..given.len()).filter_map(|from| given.get(from..));
        if let Some(found) = rests.filter(|rest| !rest.is_empty()).find(|rest| leads(rest)) {
            return found.to_vec();
        }
        let Some(name) = given.iter().rev().find(|part| !is_index(part)) else {
            return given.to_vec();
        };
        let same = [*name];
        let alike = ALIKE.iter().find(|names| names.contains(name));
        let only = |names: &[&str]| {
            let mut ends = paths
                .iter()
                .filter(|path| path.last().is_some_and(|last| names.contains(&last.as_str())));
            ends.next().filter(|_| ends.next().is_none())
        };
        let Some(path) = only(&same).or_else(|| only(alike?)) else { return given.to_vec() };
        let mut indexes = given.iter().copied().filter(|part| is_index(part));
        let part = |part: &'p String| {
            if is_index(part) { indexes.next().unwrap_or(part) } else { part.as_str() }
        };
        path.iter().map(part).collect()
    }
}

fn is_index(part: &str) -> bool {
    part.parse::<usize>().is_ok()
}

/// Whether a path begins so; any index stands for the first one.
fn begins_with(path: &[String], given: &[&str]) -> bool {
    let is_same =
        |(part, given): (&String, &&str)| part == given || (is_index(part) && is_index(given));
    given.len() <= path.len() && path.iter().zip(given).all(is_same)
}
