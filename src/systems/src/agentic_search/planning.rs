//! From the reply of the planner to tasks: all of this is code, because a plan that does not hold
//! together must not cost another request.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::catalogue::ToolCatalogue;
use super::plan::{ExecutionPlan, SearchTask, TaskError, TaskErrorKind};
use super::reference::{TasksByTool, referenced, renumbered};
use super::state::State;
use crate::patch::Patch;

/// What the planner replies.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PlanReply {
    pub(super) reasoning: Option<String>,
    pub(super) tasks: Vec<PlannedTask>,
    /// What a person should be asked.
    pub(super) question: Option<String>,
}

/// A task as the planner writes it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PlannedTask {
    task_number: Option<Json>,
    tool_name: String,
    tool_arguments: Option<Json>,
    description: Option<String>,
    depends_on: Option<Vec<Json>>,
}

impl PlannedTask {
    fn own_number(&self) -> Option<usize> {
        self.task_number.as_ref().and_then(number)
    }
}

/// A number as a model may have meant it; no negative one, or one beyond all tasks.
fn number(value: &Json) -> Option<usize> {
    value.as_u64().and_then(|number| usize::try_from(number).ok())
}

/// What a plan is checked against.
pub(super) struct PlanCheck<'c> {
    pub(super) catalogue: ToolCatalogue<'c>,
    pub(super) question: &'c str,
    pub(super) max_tasks: usize,
    /// The number of the last task of earlier plans.
    pub(super) last: usize,
    pub(super) now: &'c str,
}

/// The events of a check, for the patch of its node.
#[derive(Debug, Default)]
pub(super) struct PlanNotes(Vec<(&'static str, Json)>);

impl PlanNotes {
    /// Adds an event.
    pub(super) fn note(&mut self, name: &'static str, data: Json) {
        self.0.push((name, data));
    }

    /// Adds the event of a task that has failed.
    pub(super) fn note_failure(&mut self, task: &SearchTask) {
        let data = json!({"task_number": task.task_number, "error": task.error});
        self.note("task_failed", data);
    }

    /// Moves the events into a patch; returns a sentence for each that a reader should know.
    pub(super) fn move_into(self, patch: &mut Patch<State>) -> Vec<String> {
        let mut steps = Vec::new();
        for (name, data) in self.0 {
            steps.extend(step_of(name, &data));
            patch.note(name, data);
        }
        steps
    }
}

/// A sentence for what happens to tasks without a call.
fn step_of(name: &str, data: &Json) -> Option<String> {
    let number = data.get("task_number").map(Json::to_string).unwrap_or_default();
    match name {
        "task_failed" => {
            let message = data.pointer("/error/message").and_then(Json::as_str).unwrap_or_default();
            Some(format!("Task {number} failed: {message}"))
        }
        "task_shared" => {
            let other = data.get("shares_result_of").map(Json::to_string).unwrap_or_default();
            Some(format!("Task {number} has the result of the equal task {other}"))
        }
        "task_dropped" => {
            let tool = data.get("tool").and_then(Json::as_str).unwrap_or_default();
            Some(format!("A task was left out: there is no tool {tool}"))
        }
        _ => None,
    }
}

impl PlanCheck<'_> {
    /// The tasks of a reply: those with known tools, at most as many as allowed, numbered in their
    /// order, with dependencies on earlier ones only. `past` are the tasks of earlier plans.
    pub(super) fn tasks(
        &self,
        planned: Vec<PlannedTask>,
        past: &ExecutionPlan,
    ) -> (Vec<SearchTask>, PlanNotes) {
        let mut notes = PlanNotes::default();
        let given = planned.len();
        let mut known: Vec<(usize, PlannedTask)> = (1..).zip(planned).collect();
        known.retain(|(_, task)| {
            let is_known = self.catalogue.specs.iter().any(|spec| spec.name == task.tool_name);
            if !is_known {
                let data =
                    json!({"tool": task.tool_name, "reason": "no enabled tool has this name"});
                notes.note("task_dropped", data);
            }
            is_known
        });
        if known.len() > self.max_tasks {
            notes.note("tasks_cut", json!({"planned": given, "kept": self.max_tasks}));
            known.truncate(self.max_tasks);
        }
        let numbers = self.numbers(&known);
        let mut tasks = Vec::new();
        for ((_, planned), number) in known.into_iter().zip(self.last + 1..) {
            let callers = self.callers(&tasks, past);
            let task = self.task(planned, number, (&numbers, &callers), &mut notes);
            tasks.push(task);
        }
        (tasks, notes)
    }

    /// The earlier tasks by tool: those of this plan; of earlier plans only where this one has none.
    fn callers<'t>(&'t self, tasks: &[SearchTask], past: &ExecutionPlan) -> TasksByTool<'t> {
        let of = |tasks: &[SearchTask], tool: &str| -> Vec<usize> {
            let calling = tasks.iter().filter(|task| task.tool_name == tool);
            calling.map(|task| task.task_number).collect()
        };
        let by_tool = |tool: &'t str| {
            let own = of(tasks, tool);
            (tool, if own.is_empty() { of(&past.tasks, tool) } else { own })
        };
        self.catalogue.specs.iter().map(|spec| by_tool(&spec.name)).collect()
    }

    /// From the planner's numbers to ours. It may have numbered its tasks itself; else their
    /// positions count.
    fn numbers(&self, known: &[(usize, PlannedTask)]) -> BTreeMap<usize, usize> {
        let own: BTreeSet<usize> = known.iter().filter_map(|(_, task)| task.own_number()).collect();
        let is_numbered = own.len() == known.len();
        let theirs = known.iter().map(|(position, task)| match task.own_number() {
            Some(number) if is_numbered => number,
            _ => *position,
        });
        theirs.zip(self.last + 1..).collect()
    }

    fn task(
        &self,
        planned: PlannedTask,
        task_number: usize,
        (numbers, callers): (&BTreeMap<usize, usize>, &TasksByTool<'_>),
        notes: &mut PlanNotes,
    ) -> SearchTask {
        let PlannedTask { tool_name, tool_arguments, description, depends_on, .. } = planned;
        // A number that no task of this plan has is one of an earlier plan, or of nothing.
        let ours = |number: usize| numbers.get(&number).copied().unwrap_or(number);
        let arguments = tool_arguments.unwrap_or_else(|| json!({}));
        let (arguments, lost) = match renumbered(&arguments, &ours, callers) {
            Ok(arguments) => (arguments, None),
            Err(message) => (arguments, Some(message)),
        };
        let (stated, mut ignored): (Vec<Json>, Vec<Json>) =
            depends_on.unwrap_or_default().into_iter().partition(|value| number(value).is_some());
        let stated = stated.iter().filter_map(number).map(ours);
        let wanted: BTreeSet<usize> = stated.chain(referenced(&arguments)).collect();
        let placed: BTreeSet<usize> = numbers.values().copied().chain(1..=self.last).collect();
        let (depends_on, unplaced): (Vec<usize>, Vec<usize>) =
            wanted.into_iter().partition(|number| *number < task_number && placed.contains(number));
        ignored.extend(unplaced.into_iter().map(Json::from));
        if !ignored.is_empty() {
            let data = json!({"task_number": task_number, "depends_on": ignored});
            notes.note("dependency_ignored", data);
        }
        let description = description.filter(|text| !text.trim().is_empty());
        let mut task = SearchTask {
            task_number,
            description: description.unwrap_or_else(|| tool_name.clone()),
            tool_name,
            tool_arguments: arguments,
            depends_on,
            ..SearchTask::default()
        };
        if let Some(message) = lost {
            task.fail(TaskError::new(TaskErrorKind::ReferenceError, message), self.now);
            notes.note_failure(&task);
        } else if referenced(&task.tool_arguments).is_empty() {
            self.check_arguments(&mut task, notes);
        }
        task
    }

    /// Makes the arguments of a task fit, or fails it. Returns whether they fit.
    pub(super) fn check_arguments(&self, task: &mut SearchTask, notes: &mut PlanNotes) -> bool {
        let checked = self.catalogue.check(&task.tool_name, &task.tool_arguments, self.question);
        match checked {
            Ok(checked) => {
                if checked.is_repaired {
                    let data = json!({"task_number": task.task_number, "given": task.tool_arguments, "sent": checked.value});
                    notes.note("arguments_repaired", data);
                }
                task.tool_arguments = checked.value;
                true
            }
            Err(fault) => {
                task.fail(TaskError::of(&fault), self.now);
                notes.note_failure(task);
                false
            }
        }
    }

    /// The plan of one task that no model has made, if there is a tool.
    pub(super) fn fallback(&self) -> Option<SearchTask> {
        let (tool_name, tool_arguments) = self.catalogue.fallback(self.question)?;
        Some(SearchTask {
            task_number: self.last + 1,
            description: "fallback".to_owned(),
            tool_name,
            tool_arguments,
            ..SearchTask::default()
        })
    }
}

/// The failure of a task one of whose dependencies has failed.
pub(super) fn dependency_failed(number: usize) -> TaskError {
    let message = format!("a task that it depends on has failed: {number}");
    TaskError::new(TaskErrorKind::DependencyFailed, message)
}
