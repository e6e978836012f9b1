//! Calculations with numbers that come from nowhere. A small planner answers a question about the
//! world by calculating with figures of its own, where it should look them up.

use std::collections::BTreeSet;

use super::capability::{CALCULATOR, Capabilities, RESEARCH};
use super::plan::StagedPlan;
use super::reference::OPEN;
use super::validation::{PlanViolation, placed};

/// Numbers that units have in common.
const FACTORS: [&str; 14] =
    ["0", "1", "2", "3", "4", "7", "10", "12", "24", "30", "60", "100", "365", "1000"];

/// What is wrong with the calculations of a plan: they have numbers that are neither in the task nor
/// outputs of steps, although there are tools that look things up.
pub(super) fn invented_numbers(
    plan: &StagedPlan,
    task: &str,
    capabilities: &Capabilities,
) -> Vec<PlanViolation> {
    if !capabilities.has_tools(RESEARCH) {
        return Vec::new();
    }
    let known = numbers(task);
    let is_known = |number: &String| known.contains(number) || FACTORS.contains(&number.as_str());
    let invented = placed(plan).filter_map(|(path, step)| {
        let expression = step.sub_task_input.get("expression")?.as_str()?;
        let mut given = numbers(&without_references(expression));
        given.retain(|number| !is_known(number));
        let shown = given.into_iter().collect::<Vec<_>>().join(", ");
        let is_invented = step.tool_name == CALCULATOR && !shown.is_empty();
        is_invented.then(|| PlanViolation {
            path: format!("{path}.sub_task_input.expression"),
            message: format!("neither the task nor a step has these numbers; look them up in an earlier stage and refer to its output: {shown}"),
            is_soft: true,
        })
    });
    invented.collect()
}

/// An expression without its references, whose ids have numbers too.
fn without_references(expression: &str) -> String {
    let mut parts = expression.split(OPEN);
    let first = parts.next().unwrap_or_default().to_owned();
    let rests = parts.map(|part| part.split_once('}').map_or("", |(_, rest)| rest));
    rests.fold(first, |known, rest| known + " " + rest)
}

/// The numbers in a text, without the signs between their thousands.
fn numbers(text: &str) -> BTreeSet<String> {
    let text = text.replace(',', "");
    let runs = text.split(|sign: char| !(sign.is_ascii_digit() || sign == '.'));
    let numbers = runs.map(|run| run.trim_matches('.'));
    numbers.filter(|run| !run.is_empty()).map(str::to_owned).collect()
}
