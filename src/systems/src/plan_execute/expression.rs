//! Expressions that a planner writes where no calculator reads them.

use serde_json::Value as Json;

use super::capability::{CALCULATOR, Capabilities};
use super::operand::ONLY_NUMBER;
use super::plan::{PlanStep, StagedPlan};
use super::reference::{OPEN, OUTPUTS};
use super::validation::{PlanViolation, placed};

/// What is wrong with the prompts of a plan: some have a model write the number that an expression
/// of outputs comes to, although there is a calculator. Outputs may be joined with a sign
/// nevertheless, so that the plan can run.
pub(super) fn model_calculations(
    plan: &StagedPlan,
    capabilities: &Capabilities,
) -> Vec<PlanViolation> {
    if capabilities.role_of(CALCULATOR).is_none() {
        return Vec::new();
    }
    let asked = placed(plan).filter(|(_, step)| step.is_model_step());
    let found = asked.filter_map(|(path, step)| Some((path, asked_expression(step)?)));
    let violation = |(path, expression): (String, &str)| PlanViolation {
        path: format!("{path}.sub_task_input.prompt"),
        message: format!("a model calculates wrongly; have {CALCULATOR} calculate: {expression}"),
        is_soft: true,
    };
    found.map(violation).collect()
}

/// An expression of outputs, alone in a line or behind a colon, of which a step wants the number.
fn asked_expression(step: &PlanStep) -> Option<&str> {
    let prompt = step.sub_task_input.get("prompt").and_then(Json::as_str)?;
    let wants_number = prompt.to_lowercase().contains(ONLY_NUMBER);
    let mut lines = prompt.lines().filter(|_| wants_number);
    lines.find_map(|line| {
        let text = line.rsplit_once(": ").map_or(line, |(_, text)| text).trim();
        (text.contains(&format!("{OPEN}{OUTPUTS}")) && is_expression(&with_ones(text)))
            .then_some(text)
    })
}

/// A text with a number in place of each reference.
fn with_ones(text: &str) -> String {
    let mut parts = text.split(OPEN);
    let first = parts.next().unwrap_or_default().to_owned();
    let rests = parts.map(|part| part.split_once('}').map_or("", |(_, rest)| rest));
    rests.fold(first, |known, rest| known + "1" + rest)
}

/// Whether a text is numbers with operators between them. A hyphen or slash without spaces may join
/// what is none: years, or the parts of a date.
pub(super) fn is_expression(text: &str) -> bool {
    let is_known = |sign: char| sign.is_ascii_digit() || " .()+-*/^".contains(sign);
    let signs: Vec<char> = text.chars().filter(|sign| *sign != ' ').collect();
    let is_spaced = |sign: char| text.contains(&format!(" {sign} "));
    let is_operator = |sign: char| "+*^".contains(sign) || ("-/".contains(sign) && is_spaced(sign));
    let is_operation = |signs: &[char]| {
        matches!(signs, [before, sign, after] if (before.is_ascii_digit() || *before == ')')
            && is_operator(*sign)
            && (after.is_ascii_digit() || *after == '('))
    };
    text.chars().all(is_known) && signs.windows(3).any(is_operation)
}
