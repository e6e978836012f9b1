//! How what a role replies becomes a change of the state.

use antiphon_core::agent::ToolCallRecord;
use antiphon_core::{Category, Fault, Message};
use serde_json::{Map, Value as Json, json};

use super::changes::Changes;
use super::config::{Config, ResearchMode};
use super::finalize::formatted;
use super::message::{Draft, MessageKind, Party, Pen, attempts};
use super::opening::Job;
use super::outcome::Outcome;
use super::reply::{ExpertAnswer, Final, Finding, Plan, read};
use super::state::{ExpertState, ResearcherState, State, Verdict};
use super::step::StepName;

/// What a role has come to.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    /// The reply, which fits the role's schema.
    pub(super) value: Option<Json>,
    /// The whole conversation; empty if there was none.
    pub(super) messages: Vec<Message>,
    /// The tools that were called.
    pub(super) tool_uses: Vec<ToolCallRecord>,
}

/// What a delivery changes.
pub(super) fn conclude(
    job: Job,
    delivery: Delivery,
    state: &State,
    config: &Config,
    pen: &mut Pen,
) -> Result<Changes, Fault> {
    let mut changes = Changes::default();
    let attempt = attempts(&state.agent_messages, job.step.into(), job.step_id);
    let content = match job.step {
        StepName::Input | StepName::Planner => planned(delivery, attempt, &mut changes)?,
        StepName::Researcher => found(job, delivery, (state, config), attempt, &mut changes)?,
        StepName::Expert => answered(delivery, state, attempt, &mut changes)?,
        StepName::Finalizer => finished(delivery, state, config, &mut changes)?,
        StepName::CriticPlanner | StepName::CriticResearcher | StepName::CriticExpert => {
            judged(job, delivery, attempt, &mut changes)?
        }
    };
    let draft = Draft {
        sender: job.step.into(),
        receiver: Party::Orchestrator,
        kind: MessageKind::Response,
        content,
        step_id: job.step_id,
    };
    changes.say(&pen.sign(draft));
    Ok(changes)
}

fn planned(delivery: Delivery, attempt: usize, changes: &mut Changes) -> Result<String, Fault> {
    let Plan { research_steps, expert_steps } = read(delivery.value)?;
    let trimmed = |steps: &[String]| -> Vec<String> {
        steps.iter().map(|step| step.trim().to_owned()).collect()
    };
    let (research, expert) = (trimmed(&research_steps), trimmed(&expert_steps));
    let plan = json!({"research_steps": research, "expert_steps": expert});
    let note = json!({"research_steps": research, "expert_steps": expert, "attempt": attempt});
    changes.set("research_steps", research).set("expert_steps", expert).note("plan_created", note);
    Ok(plan.to_string())
}

fn found(
    job: Job,
    delivery: Delivery,
    (state, config): (&State, &Config),
    attempt: usize,
    changes: &mut Changes,
) -> Result<String, Fault> {
    let Finding { result } = read(delivery.value)?;
    let result = result.trim().to_owned();
    let index = job.step_id.unwrap_or_default();
    let known = state.research_results.len();
    if config.research_mode == ResearchMode::Sequential && index > known {
        let message = format!("a research result would leave a gap before it: {index}");
        return Err(Fault::new(Category::State, "review_state_corrupt", message));
    }
    let earlier = state.researcher_states.get(&index);
    let mut tool_calls = earlier.map(|known| known.tool_calls.clone()).unwrap_or_default();
    let used = delivery.tool_uses.len();
    tool_calls.extend(delivery.tool_uses.iter().map(told));
    let own = ResearcherState {
        messages: delivery.messages,
        step_index: index,
        result: Some(result.clone()),
        tool_calls,
    };
    changes
        .set("research_results", (index, &result))
        .set("researcher_states", Map::from_iter([(index.to_string(), json!(own))]))
        .note("research_finished", json!({"index": index, "attempt": attempt, "tool_calls": used}));
    Ok(result)
}

fn told(used: &ToolCallRecord) -> String {
    let failed = if used.ok { "" } else { " (failed)" };
    format!("{}({}){failed}", used.name, used.arguments)
}

fn answered(
    delivery: Delivery,
    state: &State,
    attempt: usize,
    changes: &mut Changes,
) -> Result<String, Fault> {
    let ExpertAnswer { reasoning_trace, expert_answer } = read(delivery.value)?;
    let (answer, reasoning) = (expert_answer.trim(), reasoning_trace.trim());
    let own = ExpertState {
        messages: delivery.messages,
        question: state.question.clone(),
        research_steps: state.research_steps.clone(),
        research_results: state.research_results.iter().flatten().cloned().collect(),
        expert_answer: answer.to_owned(),
        expert_reasoning: reasoning.to_owned(),
    };
    changes
        .set("expert_answer", answer)
        .set("expert_reasoning", reasoning)
        .set("expert_state", own)
        .note("expert_finished", json!({ "attempt": attempt }));
    Ok(json!({"expert_answer": answer, "reasoning_trace": reasoning}).to_string())
}

fn judged(
    job: Job,
    delivery: Delivery,
    attempt: usize,
    changes: &mut Changes,
) -> Result<String, Fault> {
    let verdict: Verdict = read(delivery.value)?;
    let [decision, feedback] = match job.step {
        StepName::CriticPlanner => ["critic_planner_decision", "critic_planner_feedback"],
        StepName::CriticExpert => ["critic_expert_decision", "critic_expert_feedback"],
        _ => ["critic_researcher_decision", "critic_researcher_feedback"],
    };
    changes.set(decision, verdict.decision).set(feedback, &verdict.feedback);
    if let Some(index) = job.step_id {
        let entry = Map::from_iter([(index.to_string(), json!(verdict))]);
        changes.set("research_verdicts", entry);
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
    changes.note("verdict", note);
    Ok(json!(verdict).to_string())
}

fn finished(
    delivery: Delivery,
    state: &State,
    config: &Config,
    changes: &mut Changes,
) -> Result<String, Fault> {
    let Final { final_answer, final_reasoning_trace } = read(delivery.value)?;
    let answer = formatted(&final_answer, config.answer_format);
    let reasoning = final_reasoning_trace.trim();
    // A question that was given up stays so, whatever words it gets.
    let outcome = state.outcome.unwrap_or(Outcome::Answered);
    changes
        .set("final_answer", &answer)
        .set("final_reasoning_trace", reasoning)
        .set("outcome", outcome)
        .note("finalized", json!({"outcome": outcome, "bypassed": false}));
    Ok(json!({"final_answer": answer, "final_reasoning_trace": reasoning}).to_string())
}
