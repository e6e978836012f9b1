//! The input of a role that is code.

use antiphon_core::{Message, ToolSpec};
use serde::{Deserialize, Serialize};

use super::attachment::Attachment;
use super::config::{Config, CriticContext};
use super::conversation::{RoleTask, approved_results};
use super::evidence::{ToolCallNote, of_expert, of_researcher, tool_calls};
use super::message::{attempts, instruction, last_instruction, view};
use super::state::State;
use super::step::StepName;
use crate::role::Roles;

/// All that a role gets to know. Texts are data: they may come from the web.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoleBrief {
    /// What is to be done.
    pub step: StepName,
    /// The research step it is about, counted from 0.
    pub step_id: Option<usize>,
    /// How often this was asked for, this time included.
    pub attempt: usize,
    /// What the orchestrator says: an instruction, or a critic's feedback.
    pub instruction: String,
    /// The critic's feedback, if this is work that was sent back.
    pub feedback: Option<String>,
    /// What the orchestrator and the role have said to each other so far,
    /// the instruction last; for a critic the instruction alone.
    pub messages: Vec<Message>,
    /// What is asked.
    pub question: String,
    /// The day on which it is asked, as year, month and day.
    pub asked_on: String,
    /// The file that came with it.
    pub file: Option<Attachment>,
    /// The plan's research steps.
    pub research_steps: Vec<String>,
    /// The plan's expert steps.
    pub expert_steps: Vec<String>,
    /// What was found, by research step.
    pub research_results: Vec<Option<String>>,
    /// What was found in research steps before this one, and approved.
    pub earlier_results: Vec<String>,
    /// For a critic: the tools that the model called whose work is under review.
    pub tool_calls: Vec<ToolCallNote>,
    /// The expert's answer so far.
    pub expert_answer: String,
    /// How the expert came to it.
    pub expert_reasoning: String,
    /// The tools that the researcher can be counted on to have.
    pub research_tools: Vec<ToolNote>,
    /// The tools that the expert can be counted on to have.
    pub expert_tools: Vec<ToolNote>,
}

/// A tool, for the planner of its use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolNote {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
}

impl RoleBrief {
    /// What a role gets to know of a piece of work.
    pub(super) fn new(job: RoleTask, state: &State, config: &Config, roles: &Roles) -> Self {
        let log = &state.agent_messages;
        let received = last_instruction(log, job.step.into(), job.step_id);
        let received = received.map(|message| message.content.clone()).unwrap_or_default();
        // Critics and the finalizer begin anew each time.
        let reworks = job.step.worker().is_some() && !job.step.is_critic();
        let sent_back = reworks && received != instruction(job.step, job.step_id, state);
        let whole = Self {
            step: job.step,
            step_id: job.step_id,
            attempt: attempts(log, job.step.into(), job.step_id),
            feedback: sent_back.then(|| received.clone()),
            instruction: received,
            messages: view(log, job.step, job.step_id),
            question: state.question.clone(),
            asked_on: state.asked_on.clone(),
            file: state.file.clone(),
            research_steps: state.research_steps.clone(),
            expert_steps: state.expert_steps.clone(),
            research_results: state.research_results.clone(),
            earlier_results: approved_results(job, state)
                .map(|(_, found)| found.to_owned())
                .collect(),
            tool_calls: match (job.step, job.step_id) {
                (StepName::CriticResearcher, Some(index)) => {
                    tool_calls(of_researcher(state, index))
                }
                (StepName::CriticExpert, _) => tool_calls(of_expert(state)),
                _ => Vec::new(),
            },
            expert_answer: state.expert_answer.clone(),
            expert_reasoning: state.expert_reasoning.clone(),
            research_tools: notes(&roles.tool_specs("researcher")),
            expert_tools: notes(&roles.tool_specs("expert")),
        };
        if job.step.is_critic() && config.critic_context == CriticContext::Minimal {
            return whole.minimal(state);
        }
        whole
    }

    /// The work under review alone.
    fn minimal(self, state: &State) -> Self {
        let Self { step, step_id, attempt, instruction, messages, .. } = self;
        let mut alone = Self { step, step_id, attempt, instruction, messages, ..Self::default() };
        match step {
            StepName::CriticPlanner => {
                alone.research_steps.clone_from(&state.research_steps);
                alone.expert_steps.clone_from(&state.expert_steps);
            }
            StepName::CriticExpert => alone.expert_answer.clone_from(&state.expert_answer),
            _ => {
                let index = step_id.unwrap_or_default();
                alone.research_results = vec![None; index];
                alone.research_results.push(state.result(index).map(str::to_owned));
            }
        }
        alone
    }
}

fn notes(specs: &[ToolSpec]) -> Vec<ToolNote> {
    let note = |spec: &ToolSpec| ToolNote {
        name: spec.name.clone(),
        description: spec.description.clone(),
    };
    specs.iter().map(note).collect()
}
