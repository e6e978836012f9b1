//! How the conversation of each role begins: its instructions, the input
//! it works on, and the instructions it has received.

use antiphon_core::{Content, ContentPart, Fault, FaultCode, Message, Role};

use super::ReviewLoop;
use super::config::CriticContext;
use super::evidence::{add_tool_calls, of_expert, of_researcher};
use super::message::{Participant, last_instruction, view};
use super::state::{Decision, State};
use super::step::StepName;
use crate::delimited_input::{DelimitedInput, cut, escape};

/// Characters of the attached file that a critic sees.
const FILE_OF_CRITIC: usize = 16_000;

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
    system: &ReviewLoop,
    instructions: String,
) -> Result<Vec<Message>, Fault> {
    let instruction = instruction(job, state)?;
    if job.step == StepName::Planner {
        return Ok(planning(job, state, instructions));
    }
    let mut messages = earlier(job, state);
    if messages.is_empty() {
        messages.push(Message::system(instructions));
    } else {
        messages.push(Message::user(again(job, state, instruction)));
        return Ok(messages);
    }
    let mut delimited = delimited_input(job, state, system)?;
    let text = if job.step.is_critic() {
        // What is reviewed may have been written by anybody.
        delimited.add("to_review", instruction).text()
    } else {
        delimited.then(&escape(instruction))
    };
    messages.push(Message::user(text));
    Ok(messages)
}

/// What is new for a role that has its input already: the feedback, and for the expert the
/// research, which it must not lose sight of in a long conversation.
fn again(job: RoleTask, state: &State, feedback: &str) -> String {
    let mut delimited = DelimitedInput::new();
    if job.step == StepName::Expert {
        add_research(state, &mut delimited);
    }
    delimited.then(&escape(feedback))
}

/// The last instruction of the orchestrator to the role.
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
    let exchange = view(&state.agent_messages, job.step, None);
    messages.extend(exchange.into_iter().map(escaped));
    let mut delimited = DelimitedInput::new();
    if let Some(file) = &state.file {
        delimited.add_named("file", &file.name, &file.text);
    }
    if let Some(first) = messages.get_mut(1) {
        first.content = delimited.then(&first.content.text()).into();
    }
    messages
}

fn escaped(mut message: Message) -> Message {
    match &mut message.content {
        Content::Text(text) => *text = escape(text).into_owned(),
        Content::Parts(parts) => {
            for part in parts {
                if let ContentPart::Text { text } = part {
                    *text = escape(text).into_owned();
                }
            }
        }
    }
    message
}

/// What was said when the work was done before. A reply may quote a tag.
fn earlier(job: RoleTask, state: &State) -> Vec<Message> {
    let messages = match (job.step, job.step_id) {
        (StepName::Researcher, Some(index)) => of_researcher(state, index),
        (StepName::Expert, _) => of_expert(state),
        _ => &[],
    };
    let safe = |message: &Message| match message.role {
        Role::Assistant => escaped(message.clone()),
        _ => message.clone(),
    };
    messages.iter().map(safe).collect()
}

/// The input of a role beside its instruction.
fn delimited_input(
    job: RoleTask,
    state: &State,
    system: &ReviewLoop,
) -> Result<DelimitedInput, Fault> {
    let mut delimited = DelimitedInput::new();
    let critic = system.resources.roles.tier("critic");
    if job.step.is_critic() && system.config.critic_context == CriticContext::Minimal {
        return Ok(delimited);
    }
    delimited.add("question", &state.question);
    add_file(job.step, state, &mut delimited);
    match job.step {
        StepName::Researcher => {
            research_step(job, state)?;
            add_earlier_results(job, state, &mut delimited);
        }
        StepName::CriticPlanner => {
            for (index, step) in state.research_steps.iter().enumerate() {
                delimited.add_numbered("research_step", index + 1, step);
            }
            for (index, step) in state.expert_steps.iter().enumerate() {
                delimited.add_numbered("expert_step", index + 1, step);
            }
            add_not_known(state.plan_known, &mut delimited);
        }
        StepName::CriticResearcher => {
            delimited.add("research_step", research_step(job, state)?);
            add_earlier_results(job, state, &mut delimited);
            let index = job.step_id.unwrap_or_default();
            add_tool_calls(of_researcher(state, index), critic, &mut delimited);
        }
        StepName::Expert => add_research(state, &mut delimited),
        StepName::CriticExpert => {
            add_research(state, &mut delimited);
            add_tool_calls(of_expert(state), critic, &mut delimited);
            delimited.add("reasoning", &state.expert_reasoning);
            add_not_known(state.expert_known, &mut delimited);
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

/// Adds the attached file: whole for those who work with it, its beginning for critics.
pub(super) fn add_file(step: StepName, state: &State, delimited: &mut DelimitedInput) {
    let Some(file) = &state.file else { return };
    match step {
        StepName::Finalizer => {}
        step if step.is_critic() => {
            delimited.add_named("file", &file.name, &cut(&file.text, FILE_OF_CRITIC));
        }
        _ => {
            delimited.add_named("file", &file.name, &file.text);
        }
    }
}

fn add_not_known(known: bool, delimited: &mut DelimitedInput) {
    if !known {
        delimited.add("not_known", "The work says that the answer cannot be known.");
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
