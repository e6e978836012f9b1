//! The orchestrator: reads where the question stands, has the table decide, and does what was
//! decided.

use std::collections::BTreeMap;

use antiphon_core::{Category, Fault, FaultCode};
use serde_json::json;

use super::config::{Config, FeedbackType};
use super::decide::{
    Decision, DecisionContext, ESCALATED, Failure, Limits, RetryTally, StepEntry, decide,
};
use super::message::{
    MessageDraft, MessageFactory, MessageKind, Participant, instruction, last_instruction,
};
use super::outcome::FAILURE_TEXT;
use super::parallel::{next_wave, steps_with_verdict, undelivered_steps, under_review};
use super::patch::Patch;
use super::progress;
use super::state::{Decision as Judgement, State, Verdict};
use super::step::{StepName, Worker};
use crate::result::Outcome;
use crate::state::is_passing;

/// The patch of the node.
pub(super) fn orchestrate(
    state: &State,
    config: &Config,
    words_answers: bool,
    factory: &mut MessageFactory,
) -> Patch {
    let context = decision_context(state, config);
    let decision = decide(&context, &Limits::of(config, state.retry_limit, words_answers));
    let mut patch = Patch::default();
    report(state, &context, &decision, &mut patch);
    let Some(next) = decision.next else {
        patch.end();
        return patch;
    };
    patch.set(State::next_step, next.as_str()).set(State::current_step, next.as_str());
    patch.set(State::bypass, decision.bypass);
    count(state, &decision.tally, &mut patch);
    if config.stop_on_no_progress {
        progress::remember(state, config.research_mode, next, &mut patch);
    }
    if decision.ending.is_some() {
        give_up(state, &context, &decision, &mut patch);
    } else {
        patch.reset(State::error).reset(State::error_component);
    }
    dispatch(state, config, &decision, factory, &mut patch);
    clear_verdicts(state, &decision, &mut patch);
    patch
}

/// Where the question stands.
fn decision_context(state: &State, config: &Config) -> DecisionContext {
    let mode = config.research_mode;
    let step = StepName::parse(&state.current_step);
    let (verdict, rejected) = verdict(state, config, step);
    let started = under_review(state, mode);
    let lost = started.iter().any(|&index| state.result(index).is_none());
    DecisionContext {
        step,
        failure: state.error.as_ref().map(|fault| failure(state, step, fault)),
        verdict,
        needs_research: state.critic_expert_needs_research,
        rejected,
        planned: state.research_steps.len(),
        index: state.current_research_index,
        missing: started.is_empty() || (lost && config.strict_state),
        stalled: config.stop_on_no_progress && progress::is_stalled(state, mode, step),
        given_up: state.outcome.is_some(),
        tally: RetryTally {
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
        Some(StepName::Input) if state.is_answerable == Some(false) => {
            (Judgement::NotKnown, Vec::new())
        }
        Some(StepName::CriticPlanner) => {
            (agreed(state.critic_planner_decision, state.plan_known), Vec::new())
        }
        Some(StepName::CriticExpert) => {
            (agreed(state.critic_expert_decision, state.expert_known), Vec::new())
        }
        Some(StepName::CriticResearcher) => {
            let mode = config.research_mode;
            let rejected = steps_with_verdict(state, mode, Judgement::Reject);
            let all = under_review(state, mode);
            let missing =
                all.is_empty() || !steps_with_verdict(state, mode, Judgement::None).is_empty();
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

/// Approval of work that states that the answer cannot be known is that verdict too.
fn agreed(verdict: Judgement, known: bool) -> Judgement {
    if verdict == Judgement::Approve && !known { Judgement::NotKnown } else { verdict }
}

fn failure(state: &State, step: Option<StepName>, fault: &Fault) -> Failure {
    if !is_passing(fault.category) {
        return Failure::Lasting(match fault.category {
            Category::Cancelled => Outcome::Cancelled,
            Category::Budget => Outcome::Budget,
            _ => Outcome::Error,
        });
    }
    let open = step.map_or_else(Vec::new, |step| undelivered_steps(state, step));
    Failure::Passing(u32::try_from(open.len().max(1)).unwrap_or(u32::MAX))
}

/// Tells what was seen and decided.
fn report(state: &State, context: &DecisionContext, decision: &Decision, patch: &mut Patch) {
    if let Some(fault) = &state.error {
        report_error(state, fault, patch);
    }
    if decision.tally.total > context.tally.total {
        let data = json!({
            "agent": component(state, context),
            "count": decision.tally.total,
            "limit": state.retry_limit,
        });
        patch.note("retry", data);
    }
    let to = decision.next.map_or("END", StepName::as_str);
    let data = json!({"from": state.current_step, "to": to, "rule": decision.rule});
    patch.note("step_determined", data);
    if decision.ending == Some(Outcome::RetryLimit) {
        patch.note("retry_limit_reached", json!({"agent": component(state, context)}));
    }
}

fn report_error(state: &State, fault: &Fault, patch: &mut Patch) {
    let data = json!({
        "component": state.current_step,
        "category": fault.category,
        "code": fault.code,
        "message": fault.message,
        "recoverable": is_passing(fault.category),
    });
    patch.note("agent_error", data);
}

fn count(state: &State, tally: &RetryTally, patch: &mut Patch) {
    if tally.total == state.retry_count {
        return;
    }
    patch
        .set(State::retry_count, tally.total)
        .set(State::retries_by_agent, tally.by_agent)
        .set(State::step_rejections, tally.by_step.clone())
        .set(State::counted_errors, tally.errors);
}

/// Where the question ended: whose work was rejected, else what failed.
fn component<'s>(state: &'s State, context: &DecisionContext) -> &'s str {
    let step = context.step.filter(|_| context.failure.is_none());
    let worker = step.and_then(StepName::worker);
    worker.map_or(state.current_step.as_str(), |worker| worker.as_str())
}

fn give_up(state: &State, context: &DecisionContext, decision: &Decision, patch: &mut Patch) {
    let corrupt = corruption(state, decision.rule).filter(|_| state.error.is_none());
    if let Some(fault) = corrupt {
        report_error(state, &fault, patch);
        patch.replace(State::error, fault);
    }
    if decision.ending == Some(Outcome::NoAnswer) {
        patch.set(State::reason, Some(reason(state, context)));
    }
    // The outcome of the step that gave up first stays.
    if state.outcome.is_none() {
        patch
            .set(State::outcome, decision.ending)
            .set(State::final_answer, FAILURE_TEXT)
            .set(State::final_reasoning_trace, FAILURE_TEXT)
            .set(State::error_component, component(state, context).to_owned());
    }
}

/// The reason where a small model says that nobody could know the answer.
const NOT_ANSWERABLE: &str = "the model expects that no book has the answer: it is about the future, or only the person \
    who asks could know it; a file, documents or a larger model may help";

/// Why the answer cannot be known: what the critic says if it decided so, else the work it
/// approved.
fn reason(state: &State, context: &DecisionContext) -> String {
    match context.step.and_then(StepName::worker) {
        None => NOT_ANSWERABLE.to_owned(),
        Some(Worker::Planner) if state.critic_planner_decision == Judgement::NotKnown => {
            state.critic_planner_feedback.clone()
        }
        Some(Worker::Planner) => state.expert_steps.join(" "),
        _ if state.critic_expert_decision == Judgement::NotKnown => {
            state.critic_expert_feedback.clone()
        }
        _ => state.expert_answer.clone(),
    }
}

/// What is wrong with a state that no row of the table fits.
fn corruption(state: &State, rule: &str) -> Option<Fault> {
    let step = &state.current_step;
    let message = match rule {
        "unknown_step" => format!("unknown step of the question: {step}"),
        "verdict_missing" => format!("the critic gave no verdict, step: {step}"),
        "result_missing" => {
            let index = state.current_research_index;
            format!("the researcher gave no result, research step: {index}")
        }
        _ => return None,
    };
    Some(Fault::new(FaultCode::ReviewStateCorrupt, message))
}

/// Says to the next agent what to do.
fn dispatch(
    state: &State,
    config: &Config,
    decision: &Decision,
    factory: &mut MessageFactory,
    patch: &mut Patch,
) {
    let Some(next) = decision.next else { return };
    if decision.fresh {
        patch
            .reset(State::research_results)
            .reset(State::researcher_states)
            .reset(State::research_verdicts);
        patch.reset(State::step_rejections);
        progress::forget_research(state, patch);
    }
    let (index, wave) = next_wave(state, decision, config.research_mode);
    if index != state.current_research_index || decision.fresh {
        patch.set(State::current_research_index, index);
    }
    patch.set(State::wave, wave.clone());
    let mut steps: Vec<Option<usize>> = wave.into_iter().map(Some).collect();
    if !next.is_research() {
        steps = vec![None];
    }
    for step_id in steps {
        let (kind, content) = compose(state, config, decision, next, step_id);
        let draft = MessageDraft {
            sender: Participant::Orchestrator,
            receiver: next.into(),
            kind,
            content,
            step_id,
        };
        patch.say(factory.sign(draft));
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
    if let Some(last) = last.filter(|_| decision.entry == StepEntry::Again) {
        return (last.kind, last.content.clone());
    }
    if decision.entry == StepEntry::Rework {
        let kind = match config.feedback_type {
            FeedbackType::Instruction => MessageKind::Instruction,
            FeedbackType::Feedback => MessageKind::Feedback,
        };
        return (kind, feedback(state, decision, next, step_id));
    }
    (MessageKind::Instruction, instruction(next, step_id, state))
}

fn feedback(state: &State, decision: &Decision, next: StepName, step_id: Option<usize>) -> String {
    match (next, step_id) {
        _ if decision.rule == ESCALATED => state.critic_expert_feedback.clone(),
        (StepName::Planner, _) => state.critic_planner_feedback.clone(),
        (StepName::Expert, _) => state.critic_expert_feedback.clone(),
        (_, Some(index)) => state.verdict(index).feedback,
        (_, None) => String::new(),
    }
}

/// Forgets the verdict that has been acted on, and what the critic that is
/// sent next said before.
fn clear_verdicts(state: &State, decision: &Decision, patch: &mut Patch) {
    let done = StepName::parse(&state.current_step);
    for critic in [done, decision.next].into_iter().flatten() {
        match critic {
            StepName::CriticPlanner => {
                patch.reset(State::critic_planner_decision).reset(State::critic_planner_feedback)
            }
            StepName::CriticResearcher => patch
                .reset(State::critic_researcher_decision)
                .reset(State::critic_researcher_feedback),
            StepName::CriticExpert => {
                patch.reset(State::critic_expert_decision).reset(State::critic_expert_feedback)
            }
            _ => continue,
        };
    }
    // The router still has to see that the question goes back.
    if state.critic_expert_needs_research && decision.rule != ESCALATED {
        patch.reset(State::critic_expert_needs_research);
    }
    if decision.entry == StepEntry::Rework && decision.next == Some(StepName::Researcher) {
        let kept = |(_, verdict): &(&usize, &Verdict)| verdict.decision == Judgement::Approve;
        let kept = state.research_verdicts.iter().filter(kept);
        let kept: BTreeMap<_, _> = kept.map(|(index, verdict)| (*index, verdict.clone())).collect();
        patch.replace(State::research_verdicts, kept);
    }
}
