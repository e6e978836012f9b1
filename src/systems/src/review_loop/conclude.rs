//! How what a role replies becomes a change of the state.

use antiphon_core::agent::ToolCallRecord;
use antiphon_core::{Fault, FaultCode};
use serde_json::json;

use super::config::{Config, ResearchMode};
use super::conversation::RoleTask;
use super::finalize::format_answer;
use super::message::{MessageDraft, MessageFactory, MessageKind, Participant, attempts};
use super::patch::Patch;
use super::reply::{ExpertAnswer, FinalAnswer, Finding, Plan};
use super::state::{ExpertState, ResearcherState, State, Verdict};
use super::step::StepName;
use crate::reply::RoleReply;
use crate::result::Outcome;

/// The patch that follows from the reply of a role.
pub(super) fn conclude(
    job: RoleTask,
    reply: RoleReply,
    state: &State,
    config: &Config,
    factory: &mut MessageFactory,
) -> Result<Patch, Fault> {
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
            conclude_verdict(job, reply, attempt, &mut patch)?
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
    let Plan { research_steps, expert_steps } = reply.read()?;
    let trimmed = |steps: &[String]| -> Vec<String> {
        steps.iter().map(|step| step.trim().to_owned()).collect()
    };
    let (research, expert) = (trimmed(&research_steps), trimmed(&expert_steps));
    let plan = json!({"research_steps": research, "expert_steps": expert});
    let note = json!({"research_steps": research, "expert_steps": expert, "attempt": attempt});
    patch
        .set(State::research_steps, research)
        .set(State::expert_steps, expert)
        .note("plan_created", note);
    Ok(plan.to_string())
}

fn conclude_research(
    job: RoleTask,
    mut reply: RoleReply,
    (state, config): (&State, &Config),
    attempt: usize,
    patch: &mut Patch,
) -> Result<String, Fault> {
    let Finding { result } = reply.read()?;
    let result = result.trim().to_owned();
    let index = job.step_id.unwrap_or_default();
    let known = state.research_results.len();
    if config.research_mode == ResearchMode::Sequential && index > known {
        let message = format!("a research result would leave a gap before it: {index}");
        return Err(Fault::new(FaultCode::ReviewStateCorrupt, message));
    }
    let earlier = state.researcher_states.get(&index);
    let mut tool_calls = earlier.map(|known| known.tool_calls.clone()).unwrap_or_default();
    let used = reply.tool_uses.len();
    tool_calls.extend(reply.tool_uses.iter().map(tool_call_text));
    let own = ResearcherState {
        messages: reply.messages,
        step_index: index,
        result: Some(result.clone()),
        tool_calls,
    };
    patch
        .set(State::research_results, (index, result.clone()))
        .set(State::researcher_states, [(index, own)])
        .note("research_finished", json!({"index": index, "attempt": attempt, "tool_calls": used}));
    Ok(result)
}

fn tool_call_text(used: &ToolCallRecord) -> String {
    let failed = if used.ok { "" } else { " (failed)" };
    format!("{}({}){failed}", used.name, used.arguments)
}

fn conclude_expert(
    mut reply: RoleReply,
    state: &State,
    attempt: usize,
    patch: &mut Patch,
) -> Result<String, Fault> {
    let ExpertAnswer { reasoning_trace, expert_answer } = reply.read()?;
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
        .set(State::expert_state, own)
        .note("expert_finished", json!({ "attempt": attempt }));
    Ok(json!({"expert_answer": answer, "reasoning_trace": reasoning}).to_string())
}

fn conclude_verdict(
    job: RoleTask,
    mut reply: RoleReply,
    attempt: usize,
    patch: &mut Patch,
) -> Result<String, Fault> {
    let verdict: Verdict = reply.read()?;
    let (decision, feedback) = (verdict.decision, &verdict.feedback);
    match job.step {
        StepName::CriticPlanner => patch
            .set(State::critic_planner_decision, decision)
            .set(State::critic_planner_feedback, feedback),
        StepName::CriticExpert => patch
            .set(State::critic_expert_decision, decision)
            .set(State::critic_expert_feedback, feedback),
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
    patch.note("verdict", note);
    Ok(json!(verdict).to_string())
}

fn conclude_final_answer(
    mut reply: RoleReply,
    state: &State,
    config: &Config,
    patch: &mut Patch,
) -> Result<String, Fault> {
    let FinalAnswer { final_answer, final_reasoning_trace } = reply.read()?;
    let answer = format_answer(&final_answer, config.answer_format);
    let reasoning = final_reasoning_trace.trim();
    // A question that was given up stays so, whatever words it gets.
    let outcome = state.outcome.unwrap_or(Outcome::Answered);
    patch
        .set(State::final_answer, &answer)
        .set(State::final_reasoning_trace, reasoning)
        .set(State::outcome, outcome)
        .note("finalized", json!({"outcome": outcome, "bypassed": false}));
    Ok(json!({"final_answer": answer, "final_reasoning_trace": reasoning}).to_string())
}
