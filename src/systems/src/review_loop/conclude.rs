//! How what a role replies becomes a change of the state.

use std::collections::BTreeMap;

use antiphon_core::{Fault, FaultCode};
use serde_json::json;

use super::ReviewLoop;
use super::config::{Config, ResearchMode};
use super::conversation::RoleTask;
use super::faithful::changed_word;
use super::finalize::format_answer;
use super::listed_parts::dropped_part;
use super::message::{MessageDraft, MessageFactory, MessageKind, Participant, attempts};
use super::patch::Patch;
use super::reply::{
    CriticReply, ExpertReply, FinalAnswer, PlannedStep, ResearchPlan, ResearcherReply,
};
use super::state::{Decision, ExpertState, ResearcherState, State};
use super::step::StepName;
use crate::reply::RoleReply;
use crate::result::Outcome;

/// The patch that follows from the reply of a role.
pub(super) fn conclude(
    job: RoleTask,
    reply: RoleReply,
    state: &State,
    system: &ReviewLoop,
    factory: &mut MessageFactory,
) -> Result<Patch, Fault> {
    let config = &system.config;
    let mut patch = Patch::default();
    let attempt = attempts(&state.agent_messages, job.step.into(), job.step_id);
    let content = match job.step {
        StepName::Input | StepName::Planner => conclude_plan(reply, attempt, &mut patch)?,
        StepName::Researcher => {
            conclude_research(job, reply, (state, config), attempt, &mut patch)?
        }
        StepName::Expert => conclude_expert(reply, state, attempt, &mut patch)?,
        StepName::Finalizer => conclude_final_answer(reply, state, config, &mut patch)?,
        StepName::CriticPlanner | StepName::CriticResearcher | StepName::CriticExpert => {
            conclude_verdict(job, reply, system.critic.escalates, attempt, &mut patch)?
        }
    };
    let draft = MessageDraft {
        sender: job.step.into(),
        receiver: Participant::Orchestrator,
        kind: MessageKind::Response,
        content,
        step_id: job.step_id,
    };
    patch.say(factory.sign(draft));
    Ok(patch)
}

fn conclude_plan(mut reply: RoleReply, attempt: usize, patch: &mut Patch) -> Result<String, Fault> {
    let ResearchPlan { research_steps, expert_steps, known } = reply.read()?;
    let mut research = Vec::new();
    let mut dependencies = BTreeMap::new();
    for (index, step) in research_steps.into_iter().enumerate() {
        let (step, numbers) = match step {
            PlannedStep::Alone(step) => (step, Vec::new()),
            PlannedStep::After { step, depends_on } => (step, depends_on),
        };
        if let Some(number) = numbers.iter().find(|number| !(1..=index).contains(number)) {
            return Err(later_step(index + 1, *number));
        }
        if !numbers.is_empty() {
            let needed: Vec<usize> = numbers.iter().map(|number| number - 1).collect();
            dependencies.insert(index, needed);
        }
        research.push(step.trim().to_owned());
    }
    let expert: Vec<String> = expert_steps.iter().map(|step| step.trim().to_owned()).collect();
    let mut plan = json!({"research_steps": research, "expert_steps": expert});
    let mut note = json!({"research_steps": research, "expert_steps": expert, "attempt": attempt});
    for value in [&mut plan, &mut note] {
        let Some(fields) = value.as_object_mut() else { continue };
        if !dependencies.is_empty() {
            fields.insert("depends_on".to_owned(), json!(dependencies));
        }
        if !known {
            fields.insert("known".to_owned(), json!(false));
        }
    }
    patch
        .set(State::research_steps, research)
        .set(State::expert_steps, expert)
        .set(State::research_dependencies, dependencies)
        .set(State::plan_known, known)
        .note("plan_created", note);
    Ok(plan.to_string())
}

fn later_step(step: usize, number: usize) -> Fault {
    let message =
        format!("research step {step} may depend on earlier research steps only, not on: {number}");
    Fault::new(FaultCode::RoleReplyInvalid, message)
}

fn conclude_research(
    job: RoleTask,
    mut reply: RoleReply,
    (state, config): (&State, &Config),
    attempt: usize,
    patch: &mut Patch,
) -> Result<String, Fault> {
    let ResearcherReply { result } = reply.read()?;
    let result = result.trim().to_owned();
    let index = job.step_id.unwrap_or_default();
    let known = state.research_results.len();
    if config.research_mode == ResearchMode::Sequential && index > known {
        let message = format!("a research result would leave a gap before it: {index}");
        return Err(Fault::new(FaultCode::ReviewStateCorrupt, message));
    }
    let used = reply.tool_uses.len();
    let own = ResearcherState {
        messages: reply.messages,
        step_index: index,
        result: Some(result.clone()),
    };
    patch
        .set(State::research_results, (index, result.clone()))
        .set(State::researcher_states, [(index, own)])
        .note("research_finished", json!({"index": index, "attempt": attempt, "tool_calls": used}));
    Ok(result)
}

fn conclude_expert(
    mut reply: RoleReply,
    state: &State,
    attempt: usize,
    patch: &mut Patch,
) -> Result<String, Fault> {
    let ExpertReply { reasoning_trace, known, expert_answer } = reply.read()?;
    let (answer, reasoning) = (expert_answer.trim(), reasoning_trace.trim());
    let own = ExpertState {
        messages: reply.messages,
        question: state.question.clone(),
        research_steps: state.research_steps.clone(),
        research_results: state.research_results.iter().flatten().cloned().collect(),
        expert_answer: answer.to_owned(),
        expert_reasoning: reasoning.to_owned(),
    };
    patch
        .set(State::expert_answer, answer)
        .set(State::expert_reasoning, reasoning)
        .set(State::expert_known, known)
        .set(State::expert_state, own);
    let mut answered = json!({"expert_answer": answer, "reasoning_trace": reasoning});
    let mut note = json!({ "attempt": attempt });
    for value in [&mut answered, &mut note].into_iter().filter(|_| !known) {
        value.as_object_mut().map(|fields| fields.insert("known".to_owned(), json!(false)));
    }
    patch.note("expert_finished", note);
    Ok(answered.to_string())
}

fn conclude_verdict(
    job: RoleTask,
    mut reply: RoleReply,
    escalates: bool,
    attempt: usize,
    patch: &mut Patch,
) -> Result<String, Fault> {
    let CriticReply { mut verdict, needs_research } = reply.read()?;
    if job.step == StepName::CriticResearcher && verdict.decision == Decision::NotKnown {
        // The step may say that nothing was found; whether that ends the question, others decide.
        verdict.decision = Decision::Reject;
    }
    let (decision, feedback) = (verdict.decision, &verdict.feedback);
    // Rejected plans and research go back to those who see to the research anyway.
    let needs_research = needs_research
        && escalates
        && job.step == StepName::CriticExpert
        && decision == Decision::Reject;
    match job.step {
        StepName::CriticPlanner => patch
            .set(State::critic_planner_decision, decision)
            .set(State::critic_planner_feedback, feedback),
        StepName::CriticExpert => patch
            .set(State::critic_expert_decision, decision)
            .set(State::critic_expert_feedback, feedback)
            .set(State::critic_expert_needs_research, needs_research),
        _ => patch
            .set(State::critic_researcher_decision, decision)
            .set(State::critic_researcher_feedback, feedback),
    };
    if let Some(index) = job.step_id {
        patch.set(State::research_verdicts, [(index, verdict.clone())]);
    }
    let mut note = json!({
        "target": job.step.worker(),
        "decision": verdict.decision,
        "feedback": verdict.feedback,
        "attempt": attempt,
    });
    if let (Some(index), Some(fields)) = (job.step_id, note.as_object_mut()) {
        fields.insert("index".to_owned(), index.into());
    }
    let mut said = json!(verdict);
    for value in [&mut said, &mut note].into_iter().filter(|_| needs_research) {
        value.as_object_mut().map(|fields| fields.insert("needs_research".to_owned(), json!(true)));
    }
    patch.note("verdict", note);
    Ok(said.to_string())
}

fn conclude_final_answer(
    mut reply: RoleReply,
    state: &State,
    config: &Config,
    patch: &mut Patch,
) -> Result<String, Fault> {
    let FinalAnswer { final_answer, final_reasoning_trace } = reply.read()?;
    let (mut answer, mut reasoning) = (final_answer.as_str(), final_reasoning_trace.trim());
    // A question that was given up stays so, also with a final text.
    let outcome = state.outcome.unwrap_or(Outcome::Answered);
    // The code of a caller may know better than the expert; a model may not.
    let is_model = !reply.messages.is_empty();
    let expert = &state.expert_answer;
    let changed = changed_word(expert, answer).or_else(|| dropped_part(expert, answer));
    if let Some(word) = changed.filter(|_| is_model && outcome == Outcome::Answered) {
        patch.note("final_answer_refused", json!({"answer": answer, "changed": word}));
        (answer, reasoning) = (&state.expert_answer, &state.expert_reasoning);
    }
    let answer = format_answer(answer, config.answer_format);
    patch
        .set(State::final_answer, &answer)
        .set(State::final_reasoning_trace, reasoning)
        .set(State::outcome, outcome)
        .note("finalized", json!({"outcome": outcome, "bypassed": false}));
    Ok(json!({"final_answer": answer, "final_reasoning_trace": reasoning}).to_string())
}
