//! Whether rejected work was submitted again unchanged.

use std::collections::BTreeMap;

use super::config::ResearchMode;
use super::parallel::steps_with_verdict;
use super::patch::Patch;
use super::state::{Decision, State};
use super::step::StepName;

/// Whether something that was just delivered equals what the same agent
/// delivered last, but for case and white space.
pub(super) fn is_stalled(state: &State, mode: ResearchMode, step: Option<StepName>) -> bool {
    let products = step.map_or_else(Vec::new, |step| products(state, mode, step));
    products.iter().any(|(key, product)| state.last_products.get(key) == Some(product))
}

/// Keeps what was just delivered, once it goes to its critic.
pub(super) fn remember(state: &State, mode: ResearchMode, next: StepName, patch: &mut Patch) {
    let Some(step) = StepName::parse(&state.current_step) else { return };
    if step.is_critic() || !next.is_critic() {
        return;
    }
    let kept: BTreeMap<_, _> = products(state, mode, step).into_iter().collect();
    patch.set(State::last_products, kept);
}

/// Forgets what was delivered before a new plan, after which the same findings and the same answer
/// may be right; the plan itself may not.
pub(super) fn forget_research(state: &State, patch: &mut Patch) {
    let planner = StepName::Planner.as_str();
    if state.last_products.keys().any(|key| key != planner) {
        let mut kept = state.last_products.clone();
        kept.retain(|key, _| key == planner);
        patch.replace(State::last_products, kept);
    }
}

fn products(state: &State, mode: ResearchMode, step: StepName) -> Vec<(String, String)> {
    let key = step.as_str();
    match step {
        StepName::Planner => {
            let steps = [state.research_steps.as_slice(), &state.expert_steps].concat();
            vec![(key.to_owned(), normalize(&steps.join("\n")))]
        }
        StepName::Expert => vec![(key.to_owned(), normalize(&state.expert_answer))],
        StepName::Researcher => steps_with_verdict(state, mode, Decision::None)
            .into_iter()
            .filter_map(|index| Some((format!("{key}/{index}"), normalize(state.result(index)?))))
            .collect(),
        _ => Vec::new(),
    }
}

fn normalize(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}
