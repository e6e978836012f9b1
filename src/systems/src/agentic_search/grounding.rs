//! Whether an answer states only numbers, units and dates that stand in the results it was made from.

use antiphon_figures::{FigureEvidence, FigureMismatch};
use antiphon_html::to_text;

use super::config::Config;
use super::conversation::shown_results;
use super::plan::TaskStatus;
use super::state::State;

/// What an answer states that neither the results, as the synthesiser reads them, nor the question
/// and its conversation hold. Nothing is compared without results.
pub(super) fn unsupported(state: &State, config: &Config, today: &str, html: &str) -> Vec<String> {
    let plan = state.plan();
    let shown = shown_results(&plan, config);
    if !config.check_figures || shown.is_empty() {
        return Vec::new();
    }
    let mut known = FigureEvidence::new();
    known.text(today).text(&state.query);
    known.text(state.clarification.as_deref().unwrap_or_default());
    for turn in &state.conversation_history {
        known.text(&turn.query).text(&turn.response);
    }
    // What was done may be counted.
    known.number(shown.iter().map(|(found, _)| found.passages.len()).sum::<usize>());
    for status in [TaskStatus::Completed, TaskStatus::Failed] {
        known.number(plan.with_status(status).count());
    }
    for (found, room) in &shown {
        known.text(&found.remark).number(found.passages.len());
        for (passage, text) in found.shown_passages(*room) {
            known.text(passage.title.as_deref().unwrap_or_default());
            known.text(passage.location.as_deref().unwrap_or_default());
            known.text(&text);
        }
    }
    let found = known.mismatches(&without_source_numbers(&to_text(html)));
    found.iter().map(FigureMismatch::to_string).collect()
}

/// A text without the numbers of sources in it, such as `[2]`.
fn without_source_numbers(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once('[') {
        kept.push_str(before);
        match inside.split_once(']') {
            Some((numbers, after)) if is_list_of_numbers(numbers) => rest = after,
            _ => {
                kept.push('[');
                rest = inside;
            }
        }
    }
    kept.push_str(rest);
    kept
}

fn is_list_of_numbers(text: &str) -> bool {
    let is_number = |part: &str| {
        let part = part.trim();
        !part.is_empty() && part.chars().all(|sign| sign.is_ascii_digit())
    };
    text.split(',').all(is_number)
}
