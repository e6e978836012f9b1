//! Plans as planners mean them. A small model names a tool, a role or an output in another way than
//! it was told; where that can mean only one thing, code puts it right, and says so. What could
//! mean two things stays, and validation finds it.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value as Json, json};

use super::capability::Capabilities;
use crate::tool_arguments::renamed;

mod file_input;
mod input;
mod number_step;
mod output_form;
mod output_reference;
mod searched_expression;
mod stages;
mod tool;

/// Something in a plan that was put right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanRepair {
    /// Where: `[0][1].tool_name`, stage and step counted from 0.
    pub path: String,
    /// What was done.
    pub message: String,
}

impl fmt::Display for PlanRepair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// A plan as it is meant.
#[derive(Clone, Debug, PartialEq)]
pub struct RepairedPlan {
    /// The stages.
    pub stages: Json,
    /// What was put right in them, in order.
    pub repairs: Vec<PlanRepair>,
}

/// The tools of completed steps of earlier attempts, by the ids of the steps.
pub type CarriedTools = BTreeMap<String, String>;

/// A step as the planner wrote it.
type DraftStep = Map<String, Json>;

/// What planners call the fields of a step.
const FIELDS: [(&str, &[&str]); 5] = [
    ("stepId", &["step_id", "stepID", "id"]),
    ("assigned_agent_role", &["role", "agent_role", "agent"]),
    ("tool_name", &["tool", "toolName"]),
    ("sub_task_input", &["input", "tool_input", "arguments", "tool_arguments", "args"]),
    ("narrative_step", &["narrative", "description", "purpose"]),
];

/// Puts a plan right. `carried` are the steps of earlier attempts that it may refer to.
pub fn repaired(given: &Json, capabilities: &Capabilities, carried: &CarriedTools) -> RepairedPlan {
    let mut repair = PlanDraft { capabilities, carried, stages: Vec::new(), repairs: Vec::new() };
    let read = given.as_array().is_some_and(|stages| repair.read(stages));
    if !read {
        return RepairedPlan { stages: given.clone(), repairs: Vec::new() };
    }
    repair.number_steps();
    repair.each_step(&mut |step| {
        step.name_fields();
        step.name_tool();
        step.fit_input();
    });
    repair.fix_references();
    repair.calculate_searched();
    repair.take_numbers();
    repair.separate_stages();
    repair.give_outputs();
    RepairedPlan { stages: json!(repair.stages), repairs: repair.repairs }
}

/// A plan on its way to what is meant.
struct PlanDraft<'c> {
    capabilities: &'c Capabilities,
    carried: &'c CarriedTools,
    stages: Vec<Vec<DraftStep>>,
    repairs: Vec<PlanRepair>,
}

/// A step of it.
struct StepDraft<'d> {
    capabilities: &'d Capabilities,
    path: String,
    fields: &'d mut DraftStep,
    repairs: &'d mut Vec<PlanRepair>,
}

impl PlanDraft<'_> {
    /// Takes over the stages. A step in the place of a stage is a stage of its own. Nothing is
    /// taken over, and the answer is no, if something is neither.
    fn read(&mut self, stages: &[Json]) -> bool {
        for (at, stage) in stages.iter().enumerate() {
            let steps = match stage {
                Json::Object(fields) if fields.get("steps").is_some_and(Json::is_array) => {
                    self.note(format!("[{at}]"), "its `steps` are the stage".to_owned());
                    fields.get("steps").and_then(Json::as_array)
                }
                Json::Object(step) => {
                    self.note(format!("[{at}]"), "the step is a stage of its own".to_owned());
                    self.stages.push(vec![step.clone()]);
                    continue;
                }
                other => other.as_array(),
            };
            let read = |step: &Json| step.as_object().cloned();
            match steps.map(|steps| steps.iter().map(read).collect::<Option<Vec<_>>>()) {
                Some(Some(steps)) => self.stages.push(steps),
                _ => return false,
            }
        }
        true
    }

    fn note(&mut self, path: String, message: String) {
        self.repairs.push(PlanRepair { path, message });
    }

    fn each_step(&mut self, work: &mut dyn FnMut(&mut StepDraft<'_>)) {
        let Self { capabilities, stages, repairs, .. } = self;
        for (stage, steps) in stages.iter_mut().enumerate() {
            for (at, fields) in steps.iter_mut().enumerate() {
                let path = format!("[{stage}][{at}]");
                work(&mut StepDraft { capabilities, path, fields, repairs });
            }
        }
    }

    /// Gives an id to steps that have none. Others keep theirs, as references may name them.
    fn number_steps(&mut self) {
        let taken: Vec<String> = self.stages.iter().flatten().filter_map(id_of).collect();
        let mut free = (1..).map(|number| format!("s{number}"));
        let carried = self.carried;
        self.each_step(&mut |step| {
            step.rename(0);
            let given = step.fields.get("stepId").cloned().unwrap_or_default();
            if given.as_str().is_some_and(|id| !id.trim().is_empty()) {
                return;
            }
            let is_free = |id: &String| !taken.contains(id) && !carried.contains_key(id);
            let id = given.as_u64().map(|number| number.to_string());
            let id = id.or_else(|| free.find(is_free)).unwrap_or_default();
            step.set("stepId", json!(id), format!("the step is numbered: {id}"));
        });
    }
}

/// The id that a step has, under any of its names.
fn id_of(step: &DraftStep) -> Option<String> {
    let [(id, others), ..] = FIELDS;
    let mut names = std::iter::once(&id).chain(others);
    names.find_map(|name| step.get(*name)?.as_str().map(str::to_owned))
}

/// The text of a field; blank if there is none.
fn text_of<'s>(step: &'s DraftStep, field: &str) -> &'s str {
    step.get(field).and_then(Json::as_str).unwrap_or_default().trim()
}

impl StepDraft<'_> {
    /// Puts a field right.
    fn set(&mut self, field: &str, value: Json, message: String) {
        self.fields.insert(field.to_owned(), value);
        let path = format!("{}.{field}", self.path);
        self.repairs.push(PlanRepair { path, message });
    }

    fn note(&mut self, path: &str, message: String) {
        self.repairs.push(PlanRepair { path: format!("{}{path}", self.path), message });
    }

    /// Gives the fields their names, and a step without a purpose that of its tool.
    fn name_fields(&mut self) {
        for field in 1..FIELDS.len() {
            self.rename(field);
        }
        let tool = text_of(self.fields, "tool_name").to_owned();
        if text_of(self.fields, "narrative_step").is_empty() && !tool.is_empty() {
            self.set("narrative_step", json!(tool), format!("it is what the tool does: {tool}"));
        }
    }

    /// Gives a field its name, if it is there under exactly one other.
    fn rename(&mut self, field: usize) {
        let Some((name, others)) = FIELDS.get(field) else { return };
        if let Some(other) = renamed(self.fields, name, others) {
            self.note(&format!(".{name}"), format!("it was under another name: {other}"));
        }
    }
}
