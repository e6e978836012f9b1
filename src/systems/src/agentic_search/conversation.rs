//! What the two models read.

use std::fmt::Write as _;

use antiphon_core::{Fault, Message, Schema, Time, ToolSpec};
use antiphon_html::escape;
use serde_json::{Value as Json, json};

use super::AgenticSearch;
use super::config::Config;
use super::plan::{ExecutionPlan, TaskStatus};
use super::source::{TaskPassages, passages, result_text, shares};
use super::state::State;
use crate::delimited_input::{DelimitedInput, cut};
use crate::prompts::PromptSpec;
use crate::reply::{PLACEHOLDER, text};
use crate::tool_text::{short_tool_text, tool_text};

/// The prompt files.
pub(super) const PROMPTS: &[PromptSpec] = &[
    PromptSpec {
        name: "planner",
        text: include_str!("../../prompts/agentic_search/planner.md"),
        large: None,
    },
    PromptSpec {
        name: "clarify",
        text: include_str!("../../prompts/agentic_search/clarify.md"),
        large: None,
    },
    PromptSpec {
        name: "synthesiser",
        text: include_str!("../../prompts/agentic_search/synthesiser.md"),
        large: None,
    },
];

/// What a compact synthesis reads: so many results, and characters of each.
const COMPACT: (usize, usize) = (2, 200);

/// The schema of a plan. All else is checked by code, which repairs more than a model would.
pub(super) fn plan_schema(config: &Config) -> Schema {
    let task = json!({
        "type": "object",
        "properties": {
            "task_number": {"type": ["integer", "string", "null"]},
            "tool_name": text(),
            "tool_arguments": {"type": ["object", "null"]},
            "description": {"type": ["string", "null"]},
            "depends_on": {"type": ["array", "null"], "items": {"type": ["integer", "string"]}},
        },
        "required": ["tool_name"],
    });
    let mut fields = json!({
        "reasoning": {"type": ["string", "null"]},
        "tasks": {"type": "array", "items": task},
    });
    if let Some(fields) = fields.as_object_mut().filter(|_| config.clarify) {
        fields.insert("question".to_owned(), json!({"type": ["string", "null"]}));
    }
    Schema::new("plan", json!({"type": "object", "properties": fields, "required": ["tasks"]}))
}

/// The schema of an answer.
pub(super) fn answer_schema(config: &Config) -> Schema {
    let mut fields = json!({
        "reasoning": {"type": ["string", "null"]},
        "response_content": text(),
        "sources": {"type": ["array", "null"], "items": {"type": "integer"}},
    });
    if let Some(fields) = fields.as_object_mut().filter(|_| config.replans()) {
        fields.insert("sufficient".to_owned(), json!({"type": ["boolean", "null"]}));
        fields.insert("missing".to_owned(), json!({"type": ["string", "null"]}));
    }
    let required = ["response_content"];
    Schema::new("answer", json!({"type": "object", "properties": fields, "required": required}))
}

fn answer_form(config: &Config) -> String {
    let answer = escape(PLACEHOLDER);
    let mut form = format!(
        "{{\"reasoning\": \"how the results lead to the answer, in one sentence\", \
         \"response_content\": \"<p>{answer}</p>\", \"sources\": [1]"
    );
    if config.replans() {
        form.push_str(
            ", \"sufficient\": true, \"missing\": \"what has to be found for a full answer\"",
        );
    }
    form + "}"
}

/// Asks for a plan: the tools first, because they are the same for every question.
pub(super) fn planning(
    system: &AgenticSearch,
    state: &State,
    now: Time,
) -> Result<Vec<Message>, Fault> {
    let AgenticSearch { config, resources, .. } = system;
    let max_tasks = config.max_tasks.to_string();
    let may_ask = config.clarify && state.clarification.is_none();
    let (clarify, form) = if may_ask {
        let tier = resources.roles.tier("planner");
        (resources.prompts.fill("clarify", tier, &[])? + "\n", ", \"question\": \"\"")
    } else {
        (String::new(), "")
    };
    let fields = [
        ("today", &*day(now)),
        ("max_tasks", &max_tasks),
        ("reference", "{{task_1.results.0.path}}"),
        ("clarify", &clarify),
        ("form", form),
    ];
    let instructions = resources.instructions("planner", "planner", &fields)?;
    let mut delimited = DelimitedInput::new();
    for (name, text) in shown_tools(&state.available_tools, &state.query, config.planning_chars) {
        delimited.add_named("tool", &name, &text);
    }
    add_turns(&mut delimited, state, config, config.history_prompt_turns);
    let plan = state.plan();
    add_results(&mut delimited, &plan, config);
    if !state.missing.is_empty() {
        delimited.add("missing", &state.missing);
    }
    delimited.add("question", &state.query);
    add_clarification(&mut delimited, state);
    let ask = match plan.tasks.last() {
        Some(last) => format!(
            "Plan further tasks that find what is missing. Number them from {}.",
            last.task_number + 1
        ),
        None => "Plan the tasks.".to_owned(),
    };
    Ok(vec![Message::system(instructions), Message::user(delimited.then(&ask))])
}

/// Asks for the answer.
pub(super) fn answering(
    system: &AgenticSearch,
    state: &State,
    now: Time,
) -> Result<Vec<Message>, Fault> {
    let AgenticSearch { config, resources, .. } = system;
    let guidance = match config.guidance.trim() {
        "" => String::new(),
        guidance => format!("\n{guidance}\n"),
    };
    let fields = [("today", &*day(now)), ("guidance", &guidance), ("form", &answer_form(config))];
    let instructions = resources.instructions("synthesiser", "synthesiser", &fields)?;
    let mut delimited = DelimitedInput::new();
    add_turns(&mut delimited, state, config, config.history_prompt_turns.saturating_sub(1));
    let plan = state.plan();
    add_results(&mut delimited, &plan, config);
    for task in plan.with_status(TaskStatus::Failed) {
        let message = task.error.as_ref().map_or("", |error| &error.message);
        let text = format!("{}\n{}: {message}", task.description, task.tool_name);
        delimited.add_numbered("failed_task", task.task_number, &text);
    }
    delimited.add("question", &state.query);
    add_clarification(&mut delimited, state);
    let messages = vec![Message::system(instructions), Message::user(delimited.text())];
    Ok(messages)
}

/// What a person has said about the question.
fn add_clarification(delimited: &mut DelimitedInput, state: &State) {
    if let (Some(asked), Some(answer)) = (&state.clarifying_question, &state.clarification) {
        delimited.add("clarification", &format!("asked: {asked}\nanswer: {answer}"));
    }
}

/// Year, month and day in UTC.
pub(super) fn day(now: Time) -> String {
    now.to_string().chars().take_while(|sign| *sign != 'T').collect()
}

fn add_turns(delimited: &mut DelimitedInput, state: &State, config: &Config, most: usize) {
    let history = &state.conversation_history;
    for turn in history.iter().skip(history.len().saturating_sub(most)) {
        let answer = cut(&turn.response, config.history_prompt_chars);
        delimited.add("turn", &format!("question: {}\nanswer: {answer}", turn.query));
    }
}

/// The results that a prompt shows, each with the characters that it has for them.
pub(super) fn shown_results<'p>(
    plan: &'p ExecutionPlan,
    config: &Config,
) -> Vec<(TaskPassages<'p>, usize)> {
    let mut shown = passages(plan);
    if config.compact_synthesis {
        shown.truncate(COMPACT.0);
        return shown.into_iter().map(|found| (found, COMPACT.1)).collect();
    }
    let sizes: Vec<usize> = shown.iter().map(TaskPassages::size).collect();
    let rooms = shares(&sizes, config.synthesis_chars);
    shown.into_iter().zip(rooms).collect()
}

/// The results of all tasks within the budget, which they share evenly.
fn add_results(delimited: &mut DelimitedInput, plan: &ExecutionPlan, config: &Config) {
    for (found, room) in shown_results(plan, config) {
        let task = found.task;
        let mut head = format!("{}\n{}({})", task.description, task.tool_name, task.tool_arguments);
        if !task.left_out.is_empty() {
            // Writing to a string cannot fail.
            let _ = write!(head, ", without {}", json!(task.left_out));
        }
        let text = format!("{head}\n{}", found.shown(room));
        delimited.add_numbered("task_result", task.task_number, &text);
    }
}

/// The tools with their descriptions, as many as the budget allows: first with shorter
/// descriptions, then those whose words are in the question.
fn shown_tools(tools: &[ToolSpec], question: &str, room: usize) -> Vec<(String, String)> {
    let described = |text: fn(&ToolSpec) -> String| -> Vec<(String, String)> {
        tools.iter().map(|tool| (tool.name.clone(), text(tool))).collect()
    };
    let size = |texts: &[(String, String)]| -> usize {
        texts.iter().map(|(name, text)| name.len() + text.chars().count()).sum()
    };
    let full = described(|tool| tool_text(tool, ""));
    if size(&full) <= room {
        return full;
    }
    let short = described(short_tool_text);
    if size(&short) <= room {
        return short;
    }
    let words = words(question);
    let score = |(name, text): &(String, String)| {
        let own = self::words(&format!("{name} {text}"));
        words.iter().filter(|word| own.contains(word)).count()
    };
    let mut order: Vec<usize> = (0..short.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(short.get(index).map_or(0, score)));
    let mut left = room;
    let mut kept: Vec<usize> = Vec::new();
    for index in order {
        let Some(tool) = short.get(index) else { continue };
        let needed = size(std::slice::from_ref(tool));
        if needed <= left || kept.is_empty() {
            left = left.saturating_sub(needed);
            kept.push(index);
        }
    }
    kept.sort_unstable();
    kept.into_iter().filter_map(|index| short.get(index).cloned()).collect()
}

/// The words of a text that say something, in lower case.
fn words(text: &str) -> Vec<String> {
    let parts = text.split(|sign: char| !sign.is_alphanumeric());
    parts.filter(|word| word.chars().count() > 2).map(str::to_lowercase).collect()
}

/// What a planner that is code gets.
pub(super) fn planning_brief(config: &Config, state: &State) -> Json {
    let tool = |spec: &ToolSpec| json!({"name": spec.name, "description": spec.description, "parameters": spec.parameters});
    json!({
        "question": state.query,
        "tools": state.available_tools.iter().map(tool).collect::<Vec<_>>(),
        "history": state.conversation_history,
        "max_tasks": config.max_tasks,
        "tasks": state.plan().tasks,
        "missing": state.missing,
        "clarification": state.clarification,
    })
}

/// What a synthesiser that is code gets.
pub(super) fn answering_brief(state: &State) -> Json {
    let plan = state.plan();
    let results: Vec<Json> = passages(&plan)
        .iter()
        .flat_map(|task| task.sources(|_| true).into_iter().zip(&task.passages))
        .map(|(source, passage)| {
            json!({
                "number": source.number,
                "task_number": source.task_number,
                "tool_name": source.tool_name,
                "title": source.title,
                "location": source.location,
                "text": passage.text,
            })
        })
        .collect();
    let failed: Vec<_> = plan.with_status(TaskStatus::Failed).collect();
    json!({
        "question": state.query,
        "results": results,
        "failed": failed,
        "history": state.conversation_history,
    })
}

/// A result in one line, for a reader.
pub(super) fn preview(result: &Json, most: usize) -> String {
    cut(&result_text(result), most).into_owned()
}
