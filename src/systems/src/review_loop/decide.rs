//! The decision table: from where a question stands to what happens next.
//! Pure, and the only place where this is decided.

use std::collections::BTreeMap;

use super::config::{AgentLimits, Config, LimitScope, OnFailure};
use super::state::{Decision as Judgement, Retries};
use super::step::{StepName, Worker};
use crate::result::Outcome;

/// The row for an answer that is sent back to the planner.
pub const ESCALATED: &str = "escalated";

/// Where a question stands, as far as decisions depend on it.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct DecisionContext {
    /// The step that was done last; none if it has a name that does not exist.
    pub step: Option<StepName>,
    /// What failed in it.
    pub failure: Option<Failure>,
    /// The critic's verdict, if the step is a critic: of several, rejected if
    /// one is and missing if one is; not known too if it approves of work that states it, and at
    /// the input if a small expert says so.
    pub verdict: Judgement,
    /// Whether the critic of the answer asks for research.
    pub needs_research: bool,
    /// The research steps whose results were rejected, in order.
    pub rejected: Vec<usize>,
    /// How many research steps the plan has.
    pub planned: usize,
    /// The research step that was begun last; −1 before the first.
    pub index: i64,
    /// A result that should be there is not.
    pub missing: bool,
    /// Rejected work was submitted again unchanged.
    pub stalled: bool,
    /// The question has been given up already.
    pub given_up: bool,
    /// What was counted so far.
    pub tally: RetryTally,
}

/// What failed in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// This many agents failed in a way that may well not happen again.
    Passing(u32),
    /// Something that trying again does not mend; how the question ends.
    Lasting(Outcome),
}

/// What is counted against the limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetryTally {
    /// Everything.
    pub total: u32,
    /// Rejections by whose work was rejected.
    pub by_agent: Retries,
    /// Rejections by research step.
    pub by_step: BTreeMap<usize, u32>,
    /// Errors.
    pub errors: u32,
}

/// The limits that a question is given up at, and how.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Of everything that is counted.
    pub retries: u32,
    /// Of rejections, beside it.
    pub per_agent: AgentLimits,
    /// What the researcher's own limit counts.
    pub scope: LimitScope,
    /// Whether the finalizer's model is asked all the same.
    pub on_failure: OnFailure,
    /// Whether the finalizer words an approved answer, which else is delivered as it is.
    pub words_answers: bool,
}

impl Limits {
    /// Those of the settings, with the shared limit that the state holds.
    pub fn of(config: &Config, retries: u32, words_answers: bool) -> Self {
        Self {
            retries,
            per_agent: config.per_agent_limits.unwrap_or_default(),
            scope: config.researcher_limit_scope,
            on_failure: config.finalizer_on_failure,
            words_answers,
        }
    }

    fn is_reached(&self, tally: &RetryTally) -> bool {
        let by_step = tally.by_step.values().copied().max().unwrap_or_default();
        let researcher = match self.scope {
            LimitScope::Question => tally.by_agent.researcher,
            LimitScope::Step => by_step,
        };
        let over = |count: u32, limit: Option<u32>| limit.is_some_and(|limit| count >= limit);
        tally.total >= self.retries
            || over(tally.by_agent.planner, self.per_agent.planner)
            || over(researcher, self.per_agent.researcher)
            || over(tally.by_agent.expert, self.per_agent.expert)
    }
}

/// What happens next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The step to do; none when all is done.
    pub next: Option<StepName>,
    /// The row of the table, for the trace.
    pub rule: &'static str,
    /// The counts with what this step adds.
    pub tally: RetryTally,
    /// What brings the agent to work.
    pub entry: StepEntry,
    /// Whether everything known from research is forgotten.
    pub fresh: bool,
    /// How the question is given up, if it is: both texts are `FAILURE_TEXT`.
    pub ending: Option<Outcome>,
    /// Whether the finalizer does without its model.
    pub bypass: bool,
}

/// What brings an agent to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepEntry {
    /// It is its turn. A researcher takes the next step that is not begun yet.
    Turn,
    /// It tries again what it failed at.
    Again,
    /// It gets its work back with the critic's feedback.
    Rework,
}

/// Sub-steps (a) to (c) of one pass: the row of the table, the limits, and
/// what entering the next step brings with it.
pub fn decide(context: &DecisionContext, limits: &Limits) -> Decision {
    // (a) The next step.
    let row = determine(context);

    // (b) The limits, on every pass, after what this step adds to the count.
    let tally = count(context, row, limits);
    let row = match row.ending {
        None if row.next.is_some() && limits.is_reached(&tally) => {
            Row::ends("limit_reached", Outcome::RetryLimit)
        }
        _ => row,
    };

    // (c) What the next step brings with it.
    let failed = row.ending.is_some() || context.given_up;
    let spared = limits.on_failure == OnFailure::Bypass
        || context.step == Some(StepName::Finalizer)
        || matches!(row.ending, Some(Outcome::Budget | Outcome::Cancelled | Outcome::NoAnswer));
    let delivers = row.next == Some(StepName::Finalizer) && !failed && !limits.words_answers;
    Decision {
        next: row.next,
        rule: row.rule,
        tally,
        entry: row.entry,
        fresh: row.fresh,
        ending: row.ending,
        bypass: delivers || (failed && spared),
    }
}

/// The table itself.
fn determine(context: &DecisionContext) -> Row {
    use StepName as Step;

    match (context.step, context.failure, context.verdict) {
        (None, ..) => Row::ends("unknown_step", Outcome::Error),
        (Some(_), Some(Failure::Lasting(how)), _) => Row::ends("failed", how),
        (Some(Step::Input), _, Judgement::NotKnown) => {
            Row::ends("not_answerable", Outcome::NoAnswer)
        }
        (Some(Step::Input), ..) => Row::go("planned_first", Step::Planner),
        (Some(step), Some(Failure::Passing(_)), _) => Row::again(step),
        (Some(step), ..) if context.stalled && !step.is_critic() => {
            Row::ends("no_progress", Outcome::RetryLimit)
        }
        (Some(Step::Planner), ..) => Row::go("plan_made", Step::CriticPlanner),
        (Some(Step::CriticPlanner), _, Judgement::NotKnown) => {
            Row::ends("plan_not_known", Outcome::NoAnswer)
        }
        (Some(Step::CriticPlanner), _, Judgement::Approve) if context.planned > 0 => {
            Row::go("plan_approved", Step::Researcher).fresh()
        }
        (Some(Step::CriticPlanner), _, Judgement::Approve) => {
            Row::go("plan_approved_without_research", Step::Expert).fresh()
        }
        (Some(Step::CriticPlanner), _, Judgement::Reject) => Row::rework(Step::Planner),
        (Some(Step::Researcher), ..) if context.missing => {
            Row::ends("result_missing", Outcome::Error)
        }
        (Some(Step::Researcher), ..) => Row::go("research_done", Step::CriticResearcher),
        (Some(Step::CriticResearcher), _, Judgement::Approve) if is_last(context) => {
            Row::go("research_complete", Step::Expert)
        }
        (Some(Step::CriticResearcher), _, Judgement::Approve) => {
            Row::go("research_approved", Step::Researcher)
        }
        (Some(Step::CriticResearcher), _, Judgement::Reject) => Row::rework(Step::Researcher),
        (Some(Step::Expert), ..) => Row::go("answer_made", Step::CriticExpert),
        (Some(Step::CriticExpert), _, Judgement::NotKnown) => {
            Row::ends("answer_not_known", Outcome::NoAnswer)
        }
        (Some(Step::CriticExpert), _, Judgement::Approve) => {
            Row::go("answer_approved", Step::Finalizer)
        }
        (Some(Step::CriticExpert), _, Judgement::Reject) if context.needs_research => {
            Row { rule: ESCALATED, ..Row::rework(Step::Planner).fresh() }
        }
        (Some(Step::CriticExpert), _, Judgement::Reject) => Row::rework(Step::Expert),
        (Some(Step::CriticPlanner | Step::CriticResearcher | Step::CriticExpert), ..) => {
            Row::ends("verdict_missing", Outcome::Error)
        }
        (Some(Step::Finalizer), ..) => Row::DONE,
    }
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
struct Row {
    next: Option<StepName>,
    rule: &'static str,
    entry: StepEntry,
    fresh: bool,
    ending: Option<Outcome>,
}

impl Row {
    const DONE: Self =
        Self { next: None, rule: "done", entry: StepEntry::Turn, fresh: false, ending: None };

    const fn go(rule: &'static str, next: StepName) -> Self {
        Self { next: Some(next), rule, ..Self::DONE }
    }

    const fn again(step: StepName) -> Self {
        Self { entry: StepEntry::Again, ..Self::go("tried_again", step) }
    }

    const fn rework(step: StepName) -> Self {
        Self { entry: StepEntry::Rework, ..Self::go("rejected", step) }
    }

    const fn ends(rule: &'static str, how: Outcome) -> Self {
        Self { ending: Some(how), ..Self::go(rule, StepName::Finalizer) }
    }

    const fn fresh(self) -> Self {
        Self { fresh: true, ..self }
    }
}

fn is_last(context: &DecisionContext) -> bool {
    context.index >= i64::try_from(context.planned).unwrap_or(i64::MAX) - 1
}

/// Adds what the step calls for, one by one, and stops where a limit is reached.
fn count(context: &DecisionContext, row: Row, limits: &Limits) -> RetryTally {
    let mut tally = context.tally.clone();
    if let (true, Some(Failure::Passing(errors))) = (row.entry == StepEntry::Again, context.failure)
    {
        for _ in 0..errors {
            if limits.is_reached(&tally) {
                break;
            }
            tally.total += 1;
            tally.errors += 1;
        }
    }
    let Some(worker) =
        context.step.and_then(StepName::worker).filter(|_| row.entry == StepEntry::Rework)
    else {
        return tally;
    };
    let rejected = context.rejected.iter().map(|&index| Some(index));
    let rejected: Vec<Option<usize>> =
        if worker == Worker::Researcher { rejected.collect() } else { vec![None] };
    for index in rejected {
        if limits.is_reached(&tally) {
            break;
        }
        tally.total += 1;
        tally.by_agent.add(worker);
        if let Some(index) = index {
            *tally.by_step.entry(index).or_default() += 1;
        }
    }
    tally
}
