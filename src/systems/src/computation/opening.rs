//! How the conversations with the model begin.

use antiphon_core::{Fault, Message};
use serde_json::json;

use super::config::Config;
use super::shown::{cut, trouble};
use super::state::State;
use super::task::Task;
use crate::material::Material;
use crate::template::fill;

const PLAN: &str = include_str!("../../prompts/computation/plan.md");
const SUMMARY: &str = include_str!("../../prompts/computation/summary.md");

/// Asks for code: the question, the inputs, and how earlier code went wrong.
pub(super) fn planning(task: &Task, state: &State, config: &Config) -> Result<Vec<Message>, Fault> {
    let packages = match &*config.packages.join(", ") {
        "" => "Nothing but the standard library can be imported.".to_owned(),
        packages => format!("Beside the standard library these can be imported: {packages}."),
    };
    let instructions = fill(PLAN, &[("packages", &packages)])?;
    let mut material = Material::new();
    material.add("question", &task.question);
    if !task.context.is_empty() {
        material.add("context", &json!(task.context).to_string());
    }
    if !state.inputs.is_empty() {
        material.add("inputs", &state.inputs);
    }
    for function in &task.functions {
        material.add_named("function", &function.name, &function.doc);
    }
    let mut messages = vec![Message::system(instructions), Message::user(material.text())];
    for attempt in &state.attempts {
        let Some(wrong) = &attempt.trouble else { continue };
        let plan = json!({
            "reasoning": attempt.reasoning, "python": attempt.python, "explain": attempt.explain,
        });
        messages.push(Message::assistant(plan.to_string()));
        let mut material = Material::new();
        material.add("error", &cut(&trouble(wrong), config.max_shown));
        messages.push(Message::user(material.then("Write the whole code again, mended.")));
    }
    Ok(messages)
}

/// Asks for words.
pub(super) fn summing_up(
    task: &Task,
    state: &State,
    config: &Config,
) -> Result<Vec<Message>, Fault> {
    let guidance = match config.guidance.trim() {
        "" => String::new(),
        guidance => format!("\n{guidance}\n"),
    };
    let max_highlights = config.max_highlights.to_string();
    let fields = [("max_highlights", max_highlights.as_str()), ("guidance", &guidance)];
    let mut material = Material::new();
    material.add("question", &task.question);
    if let Some(last) = state.attempts.last() {
        material.add("reasoning", &last.reasoning).add("code", &last.python);
    }
    if !state.printed.is_empty() {
        material.add("printed", &cut(&state.printed, config.max_shown));
    }
    material.add("result", &cut(&state.shown, config.max_shown));
    Ok(vec![Message::system(fill(SUMMARY, &fields)?), Message::user(material.text())])
}
