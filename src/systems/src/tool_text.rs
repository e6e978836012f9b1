//! Tools as planners that are models read them. The JSON Schema itself misleads a small model: it
//! writes the schema of an argument in place of its value.

use std::fmt::Write as _;

use antiphon_core::ToolSpec;
use serde_json::Value as Json;

use crate::delimited_input::cut;
use crate::result_shape::value_paths;
use crate::tool_arguments::{properties, required};

/// Characters of a description of a tool once there are too many.
const SHORT: usize = 200;
/// Characters of a description of an argument.
const ARGUMENT: usize = 120;

/// What a tool does, its arguments with their types, and the values that its results hold, each as
/// references name it: after `prefix`.
pub(crate) fn tool_text(tool: &ToolSpec, prefix: &str) -> String {
    let mut text = tool.description.trim().to_owned();
    add_arguments(&mut text, tool, |schema| {
        let description = schema.get("description").and_then(Json::as_str)?;
        let line = description.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(cut(&line, ARGUMENT).into_owned())
    });
    let returned = tool.results.as_ref().map(value_paths);
    if let Some(paths) = returned.filter(|paths| !paths.is_empty()) {
        let paths: Vec<String> = paths.iter().map(|path| format!("{prefix}{path}")).collect();
        // Writing to a string cannot fail.
        let _ = write!(text, "\nreturns: {}", paths.join(", "));
    }
    text
}

/// The same in fewer words.
pub(crate) fn short_tool_text(tool: &ToolSpec) -> String {
    let mut text = cut(tool.description.trim(), SHORT).into_owned();
    add_arguments(&mut text, tool, |_| None);
    text
}

/// A call of a tool with what it needs, and what that does: one line. A tool that needs nothing by
/// itself is shown with its first argument.
pub(crate) fn call_text(tool: &ToolSpec) -> String {
    let mut needed = required(&tool.parameters);
    let known = properties(&tool.parameters);
    if needed.is_empty() {
        needed.extend(known.and_then(|known| known.keys().next()).map(String::as_str));
    }
    let argument = |name: &&str| match known.and_then(|known| known.get(*name)) {
        Some(schema) if schema.get("enum").is_some() => format!("{name}: {}", kind(schema)),
        _ => (*name).to_owned(),
    };
    let arguments: Vec<String> = needed.iter().map(argument).collect();
    let description = tool.description.trim();
    let sentence = description.split_once(". ").map_or(description, |(first, _)| first);
    let sentence = sentence.trim_end_matches('.');
    format!("{} {{{}}}: {sentence}.", tool.name, arguments.join(", "))
}

fn add_arguments(
    text: &mut String,
    tool: &ToolSpec,
    description: impl Fn(&Json) -> Option<String>,
) {
    let properties = tool.parameters.get("properties").and_then(Json::as_object);
    let required = tool.parameters.get("required").and_then(Json::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|required| required == name));
    for (name, schema) in properties.into_iter().flatten() {
        let need = if is_required(name) { ", required" } else { "" };
        // As above.
        let _ = write!(text, "\n- {name} ({}{need})", kind(schema));
        if let Some(description) = description(schema) {
            let _ = write!(text, ": {description}");
        }
    }
}

/// The type of an argument, in a few words.
fn kind(schema: &Json) -> String {
    if let Some(values) = schema.get("enum") {
        return format!("one of {values}");
    }
    let kind = match schema.get("type") {
        Some(Json::String(kind)) => kind.clone(),
        Some(Json::Array(kinds)) => {
            kinds.iter().filter_map(Json::as_str).collect::<Vec<_>>().join(" or ")
        }
        _ => "any".to_owned(),
    };
    match schema.get("default") {
        Some(default) if !default.is_null() => format!("{kind}, default {default}"),
        _ => kind,
    }
}
