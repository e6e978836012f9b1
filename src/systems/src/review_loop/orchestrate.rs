//! One pass of the orchestrator: looks where the question stands, has the
//! table decide, and does what was decided.

use antiphon_core::{Category, Fault};
use serde_json::{Value as Json, json};

use super::changes::Changes;
use super::config::{Config, FeedbackType};
use super::decide::{Decision, Entry, Failure, Limits, Situation, Tally, decide};
use super::message::{Draft, MessageKind, Party, Pen, instruction, last_instruction};
use super::outcome::{FAILURE_TEXT, Outcome};
use super::parallel::{judged, next_wave, undelivered, under_review};
use super::progress;
use super::state::{Decision as Judgement, State, Verdict};
use super::step::StepName;

/// What one pass changes.
pub(super) fn pass(state: &State, config: &Config, pen: &mut Pen) -> Changes {
    let situation = look(state, config);
    let decision = decide(&situation, &Limits::of(config, state.retry_limit));
    let mut changes = Changes::default();
    report(state, &situation, &decision, &mut changes);
    let Some(next) = decision.next else {
        changes.end();
        return changes;
    };
    changes.set("next_step", next.as_str()).set("current_step", next.as_str());
    changes.set("bypass", decision.bypass);
    count(state, &decision.tally, &mut changes);
    if config.stop_on_no_progress {
        progress::remember(state, config.research_mode, next, &mut changes);
    }
    if decision.ending.is_some() {
        give_up(state, &situation, &decision, &mut changes);
    } else {
        changes.reset("error").reset("error_component");
    }
    dispatch(state, config, &decision, pen, &mut changes);
    clear_verdicts(state, &decision, &mut changes);
    changes
}

/// Where the question stands.
fn look(state: &State, config: &Config) -> Situation {
    let mode = config.research_mode;
    let step = StepName::parse(&state.current_step);
    let (verdict, rejected) = verdict(state, config, step);
    let begun = under_review(state, mode);
    let lost = begun.iter().any(|&index| state.result(index).is_none());
    Situation {
        step,
        failure: state.error.as_ref().map(|fault| failure(state, step, fault)),
        verdict,
        rejected,
        planned: state.research_steps.len(),
        index: state.current_research_index,
        missing: begun.is_empty() || (lost && config.strict_state),
        stalled: config.stop_on_no_progress && progress::is_stalled(state, mode, step),
        given_up: state.outcome.is_some(),
        tally: Tally {
            total: state.retry_count,
            by_agent: state.retries_by_agent,
            by_step: state.step_rejections.clone(),
            errors: state.counted_errors,
        },
    }
}

/// The verdict of the step, and the research steps that were rejected.
fn verdict(state: &State, config: &Config, step: Option<StepName>) -> (Judgement, Vec<usize>) {
    match step {
        Some(StepName::CriticPlanner) => (state.critic_planner_decision, Vec::new()),
        Some(StepName::CriticExpert) => (state.critic_expert_decision, Vec::new()),
        Some(StepName::CriticResearcher) => {
            let mode = config.research_mode;
            let rejected = judged(state, mode, Judgement::Reject);
            let all = under_review(state, mode);
            let missing = all.is_empty() || !judged(state, mode, Judgement::None).is_empty();
            let verdict = match (missing, rejected.is_empty()) {
                (true, _) => Judgement::None,
                (false, true) => Judgement::Approve,
                (false, false) => Judgement::Reject,
            };
            (verdict, rejected)
        }
        _ => (Judgement::None, Vec::new()),
    }
}

fn failure(state: &State, step: Option<StepName>, fault: &Fault) -> Failure {
    if !is_passing(fault.category) {
        return Failure::Lasting(match fault.category {
            Category::Cancelled => Outcome::Cancelled,
            Category::Budget => Outcome::Budget,
            _ => Outcome::Error,
        });
    }
    let open = step.map_or_else(Vec::new, |step| undelivered(state, step));
    Failure::Passing(u32::try_from(open.len().max(1)).unwrap_or(u32::MAX))
}

/// Whether the same agent may well succeed when it tries again.
pub(super) const fn is_passing(category: Category) -> bool {
    category.is_transient() || matches!(category, Category::ModelOutput | Category::Tool)
}

/// Tells what was seen and decided.
fn report(state: &State, situation: &Situation, decision: &Decision, changes: &mut Changes) {
    if let Some(fault) = &state.error {
        report_error(state, fault, changes);
    }
    if decision.tally.total > situation.tally.total {
        let data = json!({
            "agent": component(state, situation),
            "count": decision.tally.total,
            "limit": state.retry_limit,
        });
        changes.note("retry", data);
    }
    let to = decision.next.map_or("END", StepName::as_str);
    let data = json!({"from": state.current_step, "to": to, "rule": decision.rule});
    changes.note("step_determined", data);
    if decision.ending == Some(Outcome::RetryLimit) {
        changes.note("retry_limit_reached", json!({"agent": component(state, situation)}));
    }
}

fn report_error(state: &State, fault: &Fault, changes: &mut Changes) {
    let data = json!({
        "component": state.current_step,
        "category": fault.category,
        "code": fault.code,
        "message": fault.message,
        "recoverable": is_passing(fault.category),
    });
    changes.note("agent_error", data);
}

fn count(state: &State, tally: &Tally, changes: &mut Changes) {
    if tally.total == state.retry_count {
        return;
    }
    changes
        .set("retry_count", tally.total)
        .set("retries_by_agent", tally.by_agent)
        .set("step_rejections", &tally.by_step)
        .set("counted_errors", tally.errors);
}

/// Where the question ended: whose work was rejected, else what failed.
fn component<'s>(state: &'s State, situation: &Situation) -> &'s str {
    let step = situation.step.filter(|_| situation.failure.is_none());
    let worker = step.and_then(StepName::worker);
    worker.map_or(state.current_step.as_str(), |worker| worker.as_str())
}

fn give_up(state: &State, situation: &Situation, decision: &Decision, changes: &mut Changes) {
    let corrupt = corruption(state, decision.rule).filter(|_| state.error.is_none());
    if let Some(fault) = corrupt {
        report_error(state, &fault, changes);
        changes.replace("error", fault);
    }
    // Whoever gave up first has said how.
    if state.outcome.is_none() {
        changes
            .set("outcome", decision.ending)
            .set("final_answer", FAILURE_TEXT)
            .set("final_reasoning_trace", FAILURE_TEXT)
            .set("error_component", component(state, situation));
    }
}

/// What is wrong with a state that no row of the table fits.
fn corruption(state: &State, rule: &str) -> Option<Fault> {
    let step = &state.current_step;
    let message = match rule {
        "unknown_step" => format!("the question stands at a step that does not exist: {step}"),
        "verdict_missing" => format!("the critic has left no verdict, step: {step}"),
        "result_missing" => {
            let index = state.current_research_index;
            format!("the researcher has left no result, research step: {index}")
        }
        _ => return None,
    };
    Some(Fault::new(Category::State, "review_state_corrupt", message))
}

/// Says to the next agent what to do.
fn dispatch(
    state: &State,
    config: &Config,
    decision: &Decision,
    pen: &mut Pen,
    changes: &mut Changes,
) {
    let Some(next) = decision.next else { return };
    if decision.fresh {
        changes.reset("research_results").reset("researcher_states").reset("research_verdicts");
        changes.reset("step_rejections");
    }
    let (index, wave) = next_wave(state, decision, config.research_mode);
    if index != state.current_research_index || decision.fresh {
        changes.set("current_research_index", index);
    }
    changes.set("wave", &wave);
    let mut steps: Vec<Option<usize>> = wave.into_iter().map(Some).collect();
    if !next.is_research() {
        steps = vec![None];
    }
    for step_id in steps {
        let (kind, content) = compose(state, config, decision, next, step_id);
        let draft =
            Draft { sender: Party::Orchestrator, receiver: next.into(), kind, content, step_id };
        changes.say(&pen.sign(draft));
    }
}

fn compose(
    state: &State,
    config: &Config,
    decision: &Decision,
    next: StepName,
    step_id: Option<usize>,
) -> (MessageKind, String) {
    let last = last_instruction(&state.agent_messages, next.into(), step_id);
    if let Some(last) = last.filter(|_| decision.entry == Entry::Again) {
        return (last.kind, last.content.clone());
    }
    if decision.entry == Entry::Rework {
        let kind = match config.feedback_type {
            FeedbackType::Instruction => MessageKind::Instruction,
            FeedbackType::Feedback => MessageKind::Feedback,
        };
        return (kind, feedback(state, next, step_id));
    }
    (MessageKind::Instruction, instruction(next, step_id, state))
}

fn feedback(state: &State, next: StepName, step_id: Option<usize>) -> String {
    match (next, step_id) {
        (StepName::Planner, _) => state.critic_planner_feedback.clone(),
        (StepName::Expert, _) => state.critic_expert_feedback.clone(),
        (_, Some(index)) => state.verdict(index).feedback,
        (_, None) => String::new(),
    }
}

/// Forgets the verdict that has been acted on, and what the critic that is
/// sent next said before.
fn clear_verdicts(state: &State, decision: &Decision, changes: &mut Changes) {
    let done = StepName::parse(&state.current_step);
    for critic in [done, decision.next].into_iter().flatten() {
        let keys = match critic {
            StepName::CriticPlanner => ["critic_planner_decision", "critic_planner_feedback"],
            StepName::CriticResearcher => {
                ["critic_researcher_decision", "critic_researcher_feedback"]
            }
            StepName::CriticExpert => ["critic_expert_decision", "critic_expert_feedback"],
            _ => continue,
        };
        for key in keys {
            changes.reset(key);
        }
    }
    if decision.entry == Entry::Rework && decision.next == Some(StepName::Researcher) {
        let kept = |(_, verdict): &(&usize, &Verdict)| verdict.decision == Judgement::Approve;
        let kept: serde_json::Map<String, Json> = state
            .research_verdicts
            .iter()
            .filter(kept)
            .map(|(index, verdict)| (index.to_string(), json!(verdict)))
            .collect();
        changes.replace("research_verdicts", kept);
    }
}
