//! The prompt files, and what the roles read beside them.

use antiphon_core::{Fault, Message, Time};
use serde_json::{Value as Json, json};

use super::DeepResearch;
use super::request::{HistoryMessage, MessageRole};
use super::source::ResearchSource;
use super::state::State;
use crate::citation;
use crate::delimited_input::{DelimitedInput, cut};
use crate::node::NodeContext;
use crate::prompts::PromptSpec;

pub(super) const PROMPTS: &[PromptSpec] = &[
    prompt("coordinator", include_str!("../../prompts/deep_research/coordinator.md")),
    prompt("background", include_str!("../../prompts/deep_research/background.md")),
    prompt("planner", include_str!("../../prompts/deep_research/planner.md")),
    prompt("queries", include_str!("../../prompts/deep_research/queries.md")),
    prompt("researcher", include_str!("../../prompts/deep_research/researcher.md")),
    prompt("observer", include_str!("../../prompts/deep_research/observer.md")),
    prompt("reflector", include_str!("../../prompts/deep_research/reflector.md")),
    prompt("synthesiser", include_str!("../../prompts/deep_research/synthesiser.md")),
    prompt("responder", include_str!("../../prompts/deep_research/responder.md")),
    citation::role::PROMPTS[0],
    citation::role::PROMPTS[1],
    citation::role::PROMPTS[2],
    citation::role::PROMPTS[3],
    citation::role::PROMPTS[4],
    citation::role::PROMPTS[5],
    citation::role::PROMPTS[6],
    citation::role::PROMPTS[7],
    citation::role::PROMPTS[8],
    citation::role::PROMPTS[9],
    citation::role::PROMPTS[10],
    citation::role::PROMPTS[11],
];

const fn prompt(name: &'static str, text: &'static str) -> PromptSpec {
    PromptSpec { name, text, large: None }
}

/// What stands in the forms of replies for words of the model's own.
const FORM: [&str; 4] = ["what it finds", "what exactly", "a few words", "other words"];

/// Whether a small model has copied a text from the form of its reply.
pub(super) fn is_copied(text: &str) -> bool {
    FORM.contains(&text.trim())
}

/// Messages of the conversation that a role reads.
const MESSAGES: usize = 5;
/// Characters of each.
const MESSAGE: usize = 200;
/// Characters of a snippet that a role reads.
const SNIPPET: usize = 300;

/// Notes that a role begins.
pub(super) fn agent_started(cx: &NodeContext<DeepResearch>, agent: &str) {
    cx.note("agent_started", json!({"agent": agent}));
}

/// The conversation with a role: its instructions, its inputs, what to do.
pub(super) fn conversation(
    cx: &NodeContext<DeepResearch>,
    (role, prompt): (&str, &str),
    fields: &[(&str, &str)],
    inputs: &DelimitedInput,
    ask: &str,
) -> Result<Vec<Message>, Fault> {
    let today = day(cx.call.cx.clock.now());
    let mut all = vec![("today", today.as_str())];
    all.extend_from_slice(fields);
    let instructions = cx.system().resources.instructions(role, prompt, &all)?;
    Ok(vec![Message::system(instructions), Message::user(inputs.then(ask))])
}

/// The question, what a person has said about it, and what was said before it.
pub(super) fn question_inputs(state: &State) -> DelimitedInput {
    let mut inputs = DelimitedInput::new();
    let history = &state.conversation_history;
    for message in history.iter().skip(history.len().saturating_sub(MESSAGES)) {
        let speaker = match message.role {
            MessageRole::User => "user",
            MessageRole::Assistant => "assistant",
        };
        inputs.add_named("turn", speaker, &cut(&message.content, MESSAGE));
    }
    for round in &state.clarification_history {
        let asked = round.questions.join("\n");
        inputs.add("clarification", &format!("asked: {asked}\nanswer: {}", round.answer));
    }
    inputs.add("question", &state.query);
    inputs
}

/// What the steps have found.
pub(super) fn add_observations(
    inputs: &mut DelimitedInput,
    state: &State,
    last: usize,
    most: usize,
) {
    let all = &state.all_observations;
    let skipped = all.len().saturating_sub(last);
    for (number, observation) in (1..).zip(all).skip(skipped) {
        let text = cut(&observation.text, most);
        let text = format!("{}\n{text}", observation.step_title);
        inputs.add_numbered("observation", number, &text);
    }
}

/// A source with the beginning of its text.
pub(super) fn add_source(
    inputs: &mut DelimitedInput,
    (number, source): (usize, &ResearchSource),
    most: usize,
) {
    let most = if source.content.is_empty() { SNIPPET } else { most };
    let text = format!("{}\n{}", source.name(), cut(source.text(), most));
    inputs.add_numbered("source", number, &text);
}

/// The plan, a step a line.
pub(super) fn plan_text(state: &State) -> String {
    let plan = state.plan();
    let line = |step: &super::plan::PlanStep| {
        let status = json!(step.status);
        format!("- {} ({})", step.title, status.as_str().unwrap_or_default())
    };
    plan.steps.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// What every role that is code gets.
pub(super) fn brief(state: &State) -> Json {
    let history: &[HistoryMessage] = &state.conversation_history;
    json!({
        "question": state.query,
        "history": history,
        "clarifications": state.clarification_history,
        "depth": state.effective_depth,
        "plan": state.current_plan,
        "step": state.step(),
        "background": state.background_investigation_results,
        "observations": state.all_observations,
        "sources": state.sources,
    })
}

/// As [`brief`], with further fields.
pub(super) fn brief_with(state: &State, more: [(&str, Json); 2]) -> Json {
    let mut fields = brief(state);
    if let Some(fields) = fields.as_object_mut() {
        fields.extend(more.map(|(name, value)| (name.to_owned(), value)));
    }
    fields
}

/// What the caller wants to be observed, as a paragraph of the instructions.
pub(super) fn guidance(cx: &NodeContext<DeepResearch>) -> String {
    match cx.input().system_instructions.as_deref().map_or("", str::trim) {
        "" => String::new(),
        text => format!("\n{text}\n"),
    }
}

/// Year, month and day in UTC.
fn day(now: Time) -> String {
    now.to_string().chars().take_while(|sign| *sign != 'T').collect()
}
