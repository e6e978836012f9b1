//! Which research steps go out together. A wave of one is how steps are done
//! one at a time, so both modes are the same code.

use super::config::ResearchMode;
use super::decide::{Decision, StepEntry};
use super::message::{Participant, owes};
use super::state::{Decision as Judgement, State};
use super::step::StepName;

/// The research steps whose verdicts count now: the present one, or all of them.
pub(super) fn under_review(state: &State, mode: ResearchMode) -> Vec<usize> {
    match (state.current_index(), mode) {
        (None, _) => Vec::new(),
        (Some(index), ResearchMode::Sequential) => vec![index],
        (Some(index), ResearchMode::Parallel) => (0..=index).collect(),
    }
}

/// Those of them with that verdict.
pub(super) fn steps_with_verdict(
    state: &State,
    mode: ResearchMode,
    judgement: Judgement,
) -> Vec<usize> {
    let all = under_review(state, mode).into_iter();
    all.filter(|&index| state.verdict(index).decision == judgement).collect()
}

/// The research steps of the last wave that were not delivered.
pub(super) fn undelivered_steps(state: &State, step: StepName) -> Vec<usize> {
    let open = |&index: &usize| owes(&state.agent_messages, Participant::from(step), Some(index));
    state.wave.iter().copied().filter(open).collect()
}

/// The research index and the wave with which the next step begins.
pub(super) fn next_wave(
    state: &State,
    decision: &Decision,
    mode: ResearchMode,
) -> (i64, Vec<usize>) {
    let started = if decision.fresh { -1 } else { state.current_research_index };
    let wave = match decision.next {
        Some(step) if step.is_research() && decision.entry == StepEntry::Again => {
            undelivered_steps(state, step)
        }
        Some(StepName::Researcher) if decision.entry == StepEntry::Rework => {
            steps_with_verdict(state, mode, Judgement::Reject)
        }
        Some(StepName::Researcher) => return advance(started, state, mode),
        Some(StepName::CriticResearcher) => steps_with_verdict(state, mode, Judgement::None),
        _ => return (started, Vec::new()),
    };
    // A state that came from elsewhere may know of no wave: somebody has to go.
    let somebody = || vec![state.current_index().unwrap_or_default()];
    (started, if wave.is_empty() { somebody() } else { wave })
}

/// The next steps of the plan, up to one that needs the result of another of them. Waves follow
/// the order of the plan, so that the index tells which steps were begun.
fn advance(started: i64, state: &State, mode: ResearchMode) -> (i64, Vec<usize>) {
    let first = usize::try_from(started + 1).unwrap_or_default();
    let waits = |index: &usize| {
        let needed = state.research_dependencies.get(index);
        needed.into_iter().flatten().any(|&earlier| earlier >= first)
    };
    let wave: Vec<usize> = match mode {
        ResearchMode::Sequential => vec![first],
        ResearchMode::Parallel => {
            (first..state.research_steps.len()).take_while(|index| !waits(index)).collect()
        }
    };
    let index = wave.last().and_then(|&last| i64::try_from(last).ok()).unwrap_or(started);
    (index, wave)
}
