//! How the conversation of each role begins: its instructions, the input
//! it works on, and what it has been told.

use antiphon_core::{Fault, FaultCode, Message};

use super::config::{Config, CriticContext};
use super::message::{Participant, last_instruction, view};
use super::state::{Decision, State};
use super::step::StepName;
use crate::delimited_input::DelimitedInput;

/// One piece of work: a step, and for research which of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoleTask {
    pub(super) step: StepName,
    pub(super) step_id: Option<usize>,
}

/// The conversation up to where the model has to speak.
pub(super) fn conversation(
    job: RoleTask,
    state: &State,
    config: &Config,
    instructions: String,
) -> Result<Vec<Message>, Fault> {
    let instruction = instruction(job, state)?;
    if job.step == StepName::Planner {
        return Ok(planning(job, state, instructions));
    }
    let delimited = delimited_input(job, state, config)?;
    let mut messages = earlier(job, state);
    if messages.is_empty() {
        messages.push(Message::system(instructions));
    } else if job.step == StepName::Researcher {
        // It has its input already; only the feedback is new.
        messages.push(Message::user(instruction));
        return Ok(messages);
    }
    let text = if job.step.is_critic() {
        // What is reviewed may have been written by anybody.
        let mut delimited = delimited;
        delimited.add("to_review", instruction).text().to_owned()
    } else {
        delimited.then(instruction)
    };
    messages.push(Message::user(text));
    Ok(messages)
}

/// What the orchestrator has told the role last.
fn instruction(job: RoleTask, state: &State) -> Result<&str, Fault> {
    let party = Participant::from(job.step);
    let last = last_instruction(&state.agent_messages, party, job.step_id);
    let content = last.map(|message| message.content.as_str());
    content.ok_or_else(|| {
        let message = format!("the role has no instruction: {}", job.step.as_str());
        Fault::new(FaultCode::ReviewStateCorrupt, message)
    })
}

fn planning(job: RoleTask, state: &State, instructions: String) -> Vec<Message> {
    let mut messages = vec![Message::system(instructions)];
    messages.extend(view(&state.agent_messages, job.step, None));
    let mut delimited = DelimitedInput::new();
    add_file(&mut delimited, state);
    if let Some(first) = messages.get_mut(1) {
        first.content = delimited.then(&first.content.text()).into();
    }
    messages
}

/// What was said when the work was done before.
fn earlier(job: RoleTask, state: &State) -> Vec<Message> {
    match (job.step, job.step_id) {
        (StepName::Researcher, Some(index)) => {
            state.researcher_states.get(&index).map(|known| known.messages.clone())
        }
        (StepName::Expert, _) => state.expert_state.as_ref().map(|known| known.messages.clone()),
        _ => None,
    }
    .unwrap_or_default()
}

/// What a role works on beside what it is told.
fn delimited_input(job: RoleTask, state: &State, config: &Config) -> Result<DelimitedInput, Fault> {
    let mut delimited = DelimitedInput::new();
    if job.step.is_critic() && config.critic_context == CriticContext::Minimal {
        return Ok(delimited);
    }
    delimited.add("question", &state.question);
    match job.step {
        StepName::Researcher => {
            research_step(job, state)?;
            add_file(&mut delimited, state);
            add_earlier_results(job, state, &mut delimited);
        }
        StepName::CriticPlanner => {
            if let Some(file) = &state.file {
                delimited.add("file_name", &file.name);
            }
            for (index, step) in state.research_steps.iter().enumerate() {
                delimited.add_numbered("research_step", index + 1, step);
            }
            for (index, step) in state.expert_steps.iter().enumerate() {
                delimited.add_numbered("expert_step", index + 1, step);
            }
        }
        StepName::CriticResearcher => {
            delimited.add("research_step", research_step(job, state)?);
            let known = job.step_id.and_then(|index| state.researcher_states.get(&index));
            let calls = known.map(|known| known.tool_calls.join("\n")).unwrap_or_default();
            delimited.add("tool_calls", if calls.is_empty() { "none" } else { &calls });
        }
        StepName::Expert => {
            add_file(&mut delimited, state);
            add_research(state, &mut delimited);
        }
        StepName::CriticExpert => {
            add_research(state, &mut delimited);
            delimited.add("reasoning", &state.expert_reasoning);
        }
        StepName::Finalizer => {
            add_research(state, &mut delimited);
            delimited.add("expert_answer", &state.expert_answer);
            delimited.add("expert_reasoning", &state.expert_reasoning);
        }
        StepName::Input | StepName::Planner => {}
    }
    Ok(delimited)
}

/// The text of the research step a job is about.
fn research_step(job: RoleTask, state: &State) -> Result<&str, Fault> {
    let step = job.step_id.and_then(|index| state.research_steps.get(index));
    step.map(String::as_str).ok_or_else(|| {
        let index = job.step_id.map_or_else(|| "none".to_owned(), |index| index.to_string());
        let message = format!("the plan has no research step with the number: {index}");
        Fault::new(FaultCode::ReviewStateCorrupt, message)
    })
}

fn add_file(delimited: &mut DelimitedInput, state: &State) {
    if let Some(file) = &state.file {
        delimited.add_named("file", &file.name, &file.text);
    }
}

fn add_earlier_results(job: RoleTask, state: &State, delimited: &mut DelimitedInput) {
    for (index, result) in approved_results(job, state) {
        delimited.add_numbered("earlier_result", index + 1, result);
    }
}

/// Approved results of research steps before this one.
pub(super) fn approved_results(
    job: RoleTask,
    state: &State,
) -> impl Iterator<Item = (usize, &str)> {
    let is_approved = |index: &usize| state.verdict(*index).decision == Decision::Approve;
    let earlier = (0..job.step_id.unwrap_or_default()).filter(is_approved);
    earlier.filter_map(|index| Some((index, state.result(index)?)))
}

fn add_research(state: &State, delimited: &mut DelimitedInput) {
    for (index, step) in state.research_steps.iter().enumerate() {
        delimited.add_numbered("research_step", index + 1, step);
        if let Some(result) = state.result(index) {
            delimited.add_numbered("research_result", index + 1, result);
        }
    }
}
