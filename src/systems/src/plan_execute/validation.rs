//! Whether a plan holds together. Everything that is wrong is found at once, each with its place,
//! so that a planner can mend all of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::capability::{Capabilities, DOWNLOADER, FILES, RoleTool, canonical};
use super::operation::operation;
use super::plan::{PlanStep, StagedPlan};
use super::reference::references;
use super::schedule::{ExecutionOrder, waves};
use super::step_request::PROMPTS;

/// Something that is wrong in a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanViolation {
    /// Where: `[0][1].sub_task_input.url`, stage and step counted from 0.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// Whether the plan can run nevertheless.
    pub is_soft: bool,
}

impl fmt::Display for PlanViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, message, .. } = self;
        if path.is_empty() { f.write_str(message) } else { write!(f, "{path}: {message}") }
    }
}

/// A plan that was checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckedPlan {
    /// The plan, unless something is wrong that keeps it from running.
    pub plan: Option<StagedPlan>,
    /// All that is wrong.
    pub violations: Vec<PlanViolation>,
}

/// Checks a plan. `carried` are the steps of earlier attempts whose outputs it may refer to.
pub fn check(
    given: &Json,
    capabilities: &Capabilities,
    carried: &BTreeSet<String>,
    order: ExecutionOrder,
) -> CheckedPlan {
    let mut check = PlanCheck { capabilities, order, violations: Vec::new() };
    let Some(stages) = given.as_array() else {
        check.hard(String::new(), "a plan is a list of stages");
        return CheckedPlan { plan: None, violations: check.violations };
    };
    if stages.is_empty() {
        check.hard(String::new(), "the plan has no stage");
    }
    let plan: Vec<Vec<PlanStep>> = (0..).zip(stages).map(|(at, it)| check.stage(at, it)).collect();
    let plan = StagedPlan(plan);
    check.duplicates(&plan);
    check.references(&plan, carried);
    check.final_answer(&plan);
    let can_run = check.violations.iter().all(|violation| violation.is_soft);
    CheckedPlan { plan: can_run.then_some(plan), violations: check.violations }
}

struct PlanCheck<'c> {
    capabilities: &'c Capabilities,
    order: ExecutionOrder,
    violations: Vec<PlanViolation>,
}

impl PlanCheck<'_> {
    fn hard(&mut self, path: String, message: impl Into<String>) {
        self.violations.push(PlanViolation { path, message: message.into(), is_soft: false });
    }

    fn soft(&mut self, path: String, message: impl Into<String>) {
        self.violations.push(PlanViolation { path, message: message.into(), is_soft: true });
    }

    fn stage(&mut self, at: usize, given: &Json) -> Vec<PlanStep> {
        let Some(steps) = given.as_array().filter(|steps| !steps.is_empty()) else {
            self.hard(format!("[{at}]"), "a stage is a list of at least one step");
            return Vec::new();
        };
        let read = |(index, step): (usize, &Json)| self.step(&format!("[{at}][{index}]"), step);
        steps.iter().enumerate().map(read).collect()
    }

    /// A step, as far as it can be read.
    fn step(&mut self, path: &str, given: &Json) -> PlanStep {
        let Some(fields) = given.as_object() else {
            self.hard(path.to_owned(), "a step is an object");
            return PlanStep::default();
        };
        let step = PlanStep {
            step_id: self.text(path, fields, "stepId"),
            assigned_agent_role: self.text(path, fields, "assigned_agent_role"),
            tool_name: self.text(path, fields, "tool_name"),
            narrative_step: self.text(path, fields, "narrative_step"),
            sub_task_input: self.object(path, fields),
        };
        let is_sign = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '.' | '-');
        if step.step_id.len() > 64 || !step.step_id.chars().all(is_sign) {
            let message = "an id has at most 64 letters, digits, `_`, `.` and `-`";
            self.hard(format!("{path}.stepId"), message);
        }
        self.tool(path, &step);
        step
    }

    fn text(&mut self, path: &str, fields: &Map<String, Json>, name: &str) -> String {
        let text = fields.get(name).and_then(Json::as_str).map(str::trim);
        if text.is_none_or(str::is_empty) {
            self.hard(format!("{path}.{name}"), "it must be a text that is not blank");
        }
        text.unwrap_or_default().to_owned()
    }

    fn object(&mut self, path: &str, fields: &Map<String, Json>) -> Map<String, Json> {
        let input = fields.get("sub_task_input").and_then(Json::as_object);
        if input.is_none() {
            self.hard(format!("{path}.sub_task_input"), "it must be an object");
        }
        input.cloned().unwrap_or_default()
    }

    fn tool(&mut self, path: &str, step: &PlanStep) {
        let PlanStep { assigned_agent_role: role, tool_name: name, .. } = step;
        if role.is_empty() || name.is_empty() {
            return;
        }
        if !self.capabilities.has_role(role) {
            let message = format!("there is no such role: {role}");
            return self.hard(format!("{path}.assigned_agent_role"), message);
        }
        let Some(tool) = self.capabilities.tool(role, name) else {
            let message = match self.capabilities.role_of(name) {
                Some(owner) => format!("the tool is one of {owner}, not of {role}: {name}"),
                None => format!("there is no such tool: {name}"),
            };
            return self.hard(format!("{path}.tool_name"), message);
        };
        let tool = tool.clone();
        self.input(&format!("{path}.sub_task_input"), step, &tool);
    }

    fn input(&mut self, path: &str, step: &PlanStep, tool: &RoleTool) {
        let input = &step.sub_task_input;
        for problem in input_problems(tool, input, !has_references(input)) {
            self.hard(format!("{path}{}", problem.0), problem.1);
        }
        let name = canonical(&step.tool_name);
        if name == FILES || name == DOWNLOADER {
            let known = input.get("operation").and_then(Json::as_str);
            let known = known.and_then(|known| operation(name, known));
            let params = input.get("params").and_then(Json::as_object);
            if let (Some(known), Some(params)) = (known, params) {
                for (param, message) in known.problems(params) {
                    self.hard(format!("{path}.params.{param}"), message);
                }
            }
        }
        if step.is_model_step() && !PROMPTS.iter().any(|key| input.contains_key(*key)) {
            self.hard(path.to_owned(), "it needs `prompt`, `prompt_template` or `messages`");
        }
    }

    fn duplicates(&mut self, plan: &StagedPlan) {
        let mut seen: BTreeMap<&str, String> = BTreeMap::new();
        for (path, step) in placed(plan) {
            if step.step_id.is_empty() {
                continue;
            }
            if let Some(first) = seen.get(step.step_id.as_str()) {
                let message = format!("the id is that of {first} too: {}", step.step_id);
                self.hard(format!("{path}.stepId"), message);
            } else {
                seen.insert(&step.step_id, path);
            }
        }
    }

    fn references(&mut self, plan: &StagedPlan, carried: &BTreeSet<String>) {
        let is_step = |id: &str| plan.step(id).is_some() || carried.contains(id);
        let waves = waves(plan, self.order, self.capabilities);
        let wave_of = |id: &str| waves.iter().position(|wave| wave.iter().any(|one| one == id));
        for ((_, step), (path, _)) in plan.steps().zip(placed(plan)) {
            for (inner, read) in references(&step.sub_task_input, &is_step) {
                let path = format!("{path}.sub_task_input{inner}");
                let reference = match read {
                    Ok(reference) => reference,
                    Err(malformed) => {
                        self.hard(path, malformed.to_string());
                        continue;
                    }
                };
                let text = reference.text;
                match plan.step(reference.step) {
                    Some(_) if wave_of(reference.step) < wave_of(&step.step_id) => {}
                    Some(_) if self.order == ExecutionOrder::Dag => {
                        self.soft(path, format!("the steps wait for each other: {text}"));
                    }
                    Some(_) => {
                        let message = format!("the step is not in an earlier stage: {text}");
                        self.soft(path, message);
                    }
                    None if carried.contains(reference.step) => {}
                    None => self.soft(path, format!("there is no such step: {text}")),
                }
            }
        }
    }

    fn final_answer(&mut self, plan: &StagedPlan) {
        let last = plan.0.len().saturating_sub(1);
        let is_alone = plan.stage(last).len() == 1;
        for ((stage, step), (path, _)) in plan.steps().zip(placed(plan)) {
            if step.is_final_answer() && (stage != last || !is_alone) {
                let path = format!("{path}.sub_task_input.isFinalAnswer");
                self.soft(path, "only the one step of the last stage can be the answer");
            }
        }
    }
}

/// The steps with their paths.
pub(super) fn placed(plan: &StagedPlan) -> impl Iterator<Item = (String, &PlanStep)> {
    let stages = plan.0.iter().enumerate();
    stages.flat_map(|(stage, steps)| {
        let steps = steps.iter().enumerate();
        steps.map(move |(at, step)| (format!("[{stage}][{at}]"), step))
    })
}

fn has_references(input: &Map<String, Json>) -> bool {
    !references(input, &|_| false).is_empty()
}

/// What is wrong with the input of a tool, each with its path. With references in it, only the
/// names of its fields are known.
fn input_problems(
    tool: &RoleTool,
    input: &Map<String, Json>,
    is_whole: bool,
) -> Vec<(String, String)> {
    if is_whole {
        return match super::step_input::fitting(tool, input) {
            Ok(_) => Vec::new(),
            Err(violations) => violations,
        };
    }
    let parameters = &tool.spec.parameters;
    let required = parameters.get("required").and_then(Json::as_array);
    let required = required.into_iter().flatten().filter_map(Json::as_str);
    let missing = required.filter(|name| !input.contains_key(*name));
    let mut problems: Vec<(String, String)> =
        missing.map(|name| (format!(".{name}"), "the tool needs it".to_owned())).collect();
    if parameters.get("additionalProperties") == Some(&Json::Bool(false)) {
        let known = parameters.get("properties").and_then(Json::as_object);
        let is_unknown = |name: &&String| known.is_none_or(|known| !known.contains_key(*name));
        let unknown = input.keys().filter(is_unknown);
        problems.extend(
            unknown.map(|name| (format!(".{name}"), "the tool has no such field".to_owned())),
        );
    }
    problems
}
