//! Numbers that come from nowhere. A small planner answers a question about the world by calculating
//! with figures of its own, or by writing them into a file, where it should look them up. A small
//! synthesiser calculates anew what a step has calculated, and gets it wrong.

use antiphon_figures::{QuantityKind, quantities};

use super::capability::{CALCULATOR, Capabilities, FILES, RESEARCH};
use super::plan::{PlanStep, StagedPlan};
use super::reference::OPEN;
use super::validation::{PlanViolation, placed};

/// Numbers that units have in common.
const FACTORS: [f64; 14] =
    [0.0, 1.0, 2.0, 3.0, 4.0, 7.0, 10.0, 12.0, 24.0, 30.0, 60.0, 100.0, 365.0, 1000.0];
/// Up to which number a text may count its own parts.
const COUNTED: f64 = 12.0;

/// What is wrong with the numbers of a plan: some of what it calculates with, or writes into files,
/// are neither in the task nor outputs of steps, although there are tools that look things up.
///
/// Limits, sizes and numbers of results are the planner's own, and so are the texts that it has a
/// model read: what a model writes from them is compared with nothing here.
pub(super) fn invented_numbers(
    plan: &StagedPlan,
    task: &str,
    capabilities: &Capabilities,
) -> Vec<PlanViolation> {
    if !capabilities.has_tools(RESEARCH) {
        return Vec::new();
    }
    let known = KnownNumbers::of(task);
    let invented = placed(plan).filter_map(|(path, step)| {
        let (field, text, may_count) = stated(step)?;
        let given = numbers(&without_references(text));
        let mut shown: Vec<&str> = Vec::new();
        for (written, value) in &given {
            let is_own = may_count && *value <= COUNTED && value.fract() == 0.0;
            if !is_own && !known.has(*value) && !shown.contains(&written.as_str()) {
                shown.push(written);
            }
        }
        let shown = shown.join(", ");
        (!shown.is_empty()).then(|| PlanViolation {
            path: format!("{path}.sub_task_input.{field}"),
            message: format!("neither the task nor a step has these numbers; look them up in an earlier stage and refer to its output: {shown}"),
            is_soft: true,
        })
    });
    invented.collect()
}

/// The numbers of an answer that neither the task nor the results have from which it was worded;
/// they may be rounded, and number the parts of the answer.
pub(super) fn unknown_numbers(answer: &str, task_and_results: &str) -> Vec<String> {
    let known = KnownNumbers::of(task_and_results);
    let is_unknown = |(written, value): &(String, f64)| {
        let may_count = *value <= COUNTED && value.fract() == 0.0;
        let decimals = written.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        !may_count && !known.has(*value) && !known.has_rounded(*value, decimals)
    };
    let unknown = numbers(answer).into_iter().filter(is_unknown);
    unknown.map(|(written, _)| written).collect()
}

/// What a step calculates or writes, by the name of the field, and whether its text may number its
/// own parts.
fn stated(step: &PlanStep) -> Option<(&'static str, &str, bool)> {
    let input = &step.sub_task_input;
    match step.tool_name.as_str() {
        CALCULATOR => Some(("expression", input.get("expression")?.as_str()?, false)),
        FILES => Some(("params.content", input.get("params")?.get("content")?.as_str()?, true)),
        _ => None,
    }
}

/// The numbers of a task, in digits and in words, and those that its percentages are calculated with.
struct KnownNumbers(Vec<f64>);

impl KnownNumbers {
    fn of(task: &str) -> Self {
        let mut known: Vec<f64> = FACTORS.to_vec();
        known.extend(numbers(task).into_iter().map(|(_, value)| value));
        for quantity in quantities(task) {
            let value = quantity.value();
            known.push(value);
            if matches!(quantity.kind, QuantityKind::Percent | QuantityKind::PercentPoint) {
                let share = value / 100.0;
                known.extend([share, 1.0 + share, 1.0 - share]);
            }
        }
        Self(known)
    }

    fn has(&self, number: f64) -> bool {
        self.0.iter().any(|known| (known - number).abs() <= known.abs() * 1e-9)
    }

    fn has_rounded(&self, number: f64, decimals: usize) -> bool {
        let half = 0.5 / 10_f64.powi(i32::try_from(decimals).unwrap_or(i32::MAX));
        let has_decimals = |known: &&f64| known.fract() != 0.0;
        self.0
            .iter()
            .filter(has_decimals)
            .any(|known| (known - number).abs() <= half * (1.0 + 1e-9))
    }
}

/// An expression without its references, whose ids have numbers too.
fn without_references(expression: &str) -> String {
    let mut parts = expression.split(OPEN);
    let first = parts.next().unwrap_or_default().to_owned();
    let rests = parts.map(|part| part.split_once('}').map_or("", |(_, rest)| rest));
    rests.fold(first, |known, rest| known + " " + rest)
}

/// The numbers in a text as they are written, without the signs between their thousands.
fn numbers(text: &str) -> Vec<(String, f64)> {
    let text = text.replace(',', "");
    let runs = text.split(|sign: char| !(sign.is_ascii_digit() || sign == '.'));
    let numbers = runs.map(|run| run.trim_matches('.'));
    numbers.filter_map(|run| Some((run.to_owned(), run.parse().ok()?))).collect()
}
