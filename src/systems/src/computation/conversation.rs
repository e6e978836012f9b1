//! How the conversations with the model begin.

use antiphon_core::{Fault, Message};
use antiphon_runtime::sandbox::GuestFault;
use serde_json::json;

use super::Computation;
use super::hints::{asked_column, hints};
use super::outcome::{ComputationAttempt, RejectedWording};
use super::reply::plan_form;
use super::state::State;
use super::task::{RESULT, Task};
use super::value_text::{cut, fault_text};
use crate::delimited_input::DelimitedInput;
use crate::prompts::{ModelTier, PromptSpec};

/// The prompt files.
pub(super) const PROMPTS: &[PromptSpec] = &[
    PromptSpec {
        name: "planner",
        text: include_str!("../../prompts/computation/planner.md"),
        large: None,
    },
    PromptSpec {
        name: "column",
        text: include_str!("../../prompts/computation/column.md"),
        large: None,
    },
    PromptSpec {
        name: "summariser",
        text: include_str!("../../prompts/computation/summariser.md"),
        large: None,
    },
];

/// Asks for code: the inputs, the question, and how earlier code went wrong.
pub(super) fn coding(
    system: &Computation,
    task: &Task,
    state: &State,
) -> Result<Vec<Message>, Fault> {
    let Computation { config, resources, .. } = system;
    let packages = match &*config.packages.join(", ") {
        "" => "Nothing but the standard library can be imported.".to_owned(),
        packages => format!("Beside the standard library these can be imported: {packages}."),
    };
    let has_reasoning = state.has_reasoning(config);
    let fields = [("packages", packages.as_str()), ("form", &plan_form(has_reasoning))];
    let instructions = resources.instructions("planner", "planner", &fields)?;
    let mut delimited = DelimitedInput::new();
    // What is the same for every question comes first: a server may remember it.
    if !state.inputs.is_empty() {
        delimited.add("inputs", &state.inputs);
    }
    for function in &task.functions {
        delimited.add_named("function", &function.name, &function.doc);
    }
    if !task.facts.is_empty() {
        delimited.add("facts", &json!(task.facts).to_string());
    }
    delimited.add("question", &task.question);
    // A small model that reads its own code writes the same again.
    let is_small = resources.roles.tier("planner") == ModelTier::Small;
    if let Some(last) = state.failed().last().filter(|_| is_small) {
        delimited.add("error", &cut(&mistake(task, state, last, false), config.max_shown));
        let again = format!("{AFTER_ERROR} {}", task_line(task, state));
        return Ok(vec![Message::system(instructions), Message::user(delimited.then(&again))]);
    }
    let opening = Message::user(delimited.then(&task_line(task, state)));
    let mut messages = vec![Message::system(instructions), opening];
    for attempt in state.failed() {
        let mut plan = json!({"python": attempt.python, "explain": attempt.explain});
        if has_reasoning {
            plan = json!({
                "reasoning": attempt.reasoning, "python": attempt.python, "explain": attempt.explain,
            });
        }
        messages.push(Message::assistant(plan.to_string()));
        let mut delimited = DelimitedInput::new();
        delimited.add("error", &cut(&mistake(task, state, attempt, true), config.max_shown));
        let line = task_line(task, state);
        let again = format!("Write the whole code again, without that mistake. {line}");
        messages.push(Message::user(delimited.then(&again)));
    }
    Ok(messages)
}

/// The instruction after a failure for a small model, which does not see its failed code.
const AFTER_ERROR: &str = "Earlier code had that error: write other code.";

/// What was wrong with code, and what may mend it.
fn mistake(task: &Task, state: &State, attempt: &ComputationAttempt, has_line: bool) -> String {
    let wrong = match (&attempt.fault, &attempt.no_answer) {
        (Some(fault), _) if has_line => fault_text(fault),
        (Some(fault), _) => fault_text(&GuestFault { line: None, ..fault.clone() }),
        (None, Some(reason)) => format!("{reason}\n{LOOK_AGAIN}"),
        (None, None) => String::new(),
    };
    let hints = hints(task, state, attempt);
    [wrong].into_iter().chain(hints).collect::<Vec<_>>().join("\n")
}

/// What to do about code whose result is empty.
const LOOK_AGAIN: &str = "Compare each value and condition in the code with the inputs.";

/// What the code starts from and comes to, said last.
fn task_line(task: &Task, state: &State) -> String {
    let names: Vec<String> = task.names().map(|name| format!("`{name}`")).collect();
    let column = asked_column(task, state);
    let value = column.map_or_else(String::new, |(_, name)| format!(", a value of `{name}`,"));
    match &*names.join(", ") {
        "" => format!("Assign the answer to `{RESULT}`."),
        names => format!("Compute it from {names}, and assign the answer{value} to `{RESULT}`."),
    }
}

/// What to do about an answer that states what the result does not.
const AGAIN: &str = "Put the result into words again. State its value, and only numbers, units and \
                     dates that are in it or in the question.";

/// Asks for words.
pub(super) fn summing_up(
    system: &Computation,
    task: &Task,
    state: &State,
) -> Result<Vec<Message>, Fault> {
    let Computation { config, resources, .. } = system;
    let guidance = match config.guidance.trim() {
        "" => String::new(),
        guidance => format!("\n{guidance}\n"),
    };
    let max_highlights = config.max_highlights.to_string();
    let fields = [("max_highlights", max_highlights.as_str()), ("guidance", &guidance)];
    let mut delimited = DelimitedInput::new();
    delimited.add("question", &task.question);
    if let Some(last) = state.attempts.last() {
        delimited.add("reasoning", &last.reasoning).add("code", &last.python);
    }
    if !state.printed.is_empty() {
        delimited.add("printed", &cut(&state.printed, config.max_shown));
    }
    delimited.add("result", &cut(&state.shown, config.max_shown));
    let instructions = resources.instructions("summariser", "summariser", &fields)?;
    let mut messages = vec![Message::system(instructions), Message::user(delimited.text())];
    for RejectedWording { answer, differences } in &state.rejected {
        let earlier = json!({"fits": true, "answer": answer, "highlights": []});
        messages.push(Message::assistant(earlier.to_string()));
        let mut delimited = DelimitedInput::new();
        delimited.add("error", &cut(&differences.join("\n"), config.max_shown));
        messages.push(Message::user(delimited.then(AGAIN)));
    }
    Ok(messages)
}
