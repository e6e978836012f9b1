//! From the reply of the planner to tasks: all of this is code, because a plan that does not hold
//! together must not cost another request.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::catalogue::ToolCatalogue;
use super::plan::{ExecutionPlan, SearchTask, TaskError, TaskErrorKind, TaskStatus};
use super::reference::{ReferenceFailure, TasksByTool, referenced, renumbered};
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

/// The number of a task as a model may write it, such as `2`, `"2"` or `"task_2"`; no negative one.
fn number(value: &Json) -> Option<usize> {
    if let Some(text) = value.as_str() {
        let text = text.trim().to_lowercase();
        let digits = text.strip_prefix("task").unwrap_or(&text);
        return digits.trim_start_matches(['_', ' ', '-', '#']).parse().ok();
    }
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
        "references_left_out" => {
            let names: Vec<&str> = data
                .get("left_out")
                .and_then(Json::as_object)
                .map(|fields| fields.keys().map(String::as_str).collect())
                .unwrap_or_default();
            let names = names.join(", ");
            Some(format!("Task {number} goes without {names}: the reference leads to no value"))
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
        known.retain_mut(|(_, task)| {
            let given = std::mem::take(&mut task.tool_name);
            let Some(meant) = self.catalogue.meant(&given) else {
                let data = json!({"tool": given, "reason": "no enabled tool has this name"});
                notes.note("task_dropped", data);
                return false;
            };
            if meant != given {
                notes.note("tool_name_repaired", json!({"given": given, "tool": meant}));
            }
            meant.clone_into(&mut task.tool_name);
            true
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
        let mut left_out = Map::new();
        let renumber = |value: &Json| renumbered(value, &ours, callers);
        let (arguments, lost) =
            match self.without_lost(&tool_name, &arguments, &renumber, &mut left_out) {
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
            left_out,
            depends_on,
            ..SearchTask::default()
        };
        note_left_out(&task, notes);
        if let Some(message) = lost {
            task.fail(lost_reference(message), self.now);
            notes.note_failure(&task);
        } else if referenced(&task.tool_arguments).is_empty() {
            self.check_arguments(&mut task, notes);
        }
        task
    }

    /// The arguments with their references followed. Optional ones whose reference leads nowhere
    /// are moved out.
    ///
    /// # Errors
    /// A reference of a required argument leads nowhere, or the values are too large together.
    pub(super) fn without_lost(
        &self,
        tool: &str,
        arguments: &Json,
        follow: &dyn Fn(&Json) -> Result<Json, ReferenceFailure>,
        left_out: &mut Map<String, Json>,
    ) -> Result<Json, ReferenceFailure> {
        let mut kept = arguments.clone();
        if let Some(fields) = kept.as_object_mut() {
            fields.retain(|name, value| {
                let is_lost = || matches!(follow(value), Err(ReferenceFailure::Nowhere(_)));
                let goes = self.catalogue.is_optional(tool, name) && is_lost();
                if goes {
                    left_out.insert(name.clone(), value.take());
                }
                !goes
            });
        }
        follow(&kept)
    }

    /// Whether a completed task of earlier plans is the same call.
    pub(super) fn repeats(&self, task: &SearchTask, past: &ExecutionPlan) -> bool {
        let is_same = |other: &SearchTask| other.is_call(&task.tool_name, &task.tool_arguments);
        let is_shared = self.catalogue.shares_results(&task.tool_name);
        is_shared && past.with_status(TaskStatus::Completed).any(is_same)
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

/// Notes the arguments of a task that go without a call because of their references.
pub(super) fn note_left_out(task: &SearchTask, notes: &mut PlanNotes) {
    if !task.left_out.is_empty() {
        let data = json!({"task_number": task.task_number, "left_out": task.left_out});
        notes.note("references_left_out", data);
    }
}

/// The failure of a task a reference of which cannot be followed.
pub(super) fn lost_reference(lost: ReferenceFailure) -> TaskError {
    let (ReferenceFailure::Nowhere(message) | ReferenceFailure::TooLarge(message)) = lost;
    TaskError::new(TaskErrorKind::ReferenceError, message)
}

/// The failure of a task one of whose dependencies has failed.
pub(super) fn dependency_failed(number: usize) -> TaskError {
    let message = format!("a task that it depends on has failed: {number}");
    TaskError::new(TaskErrorKind::DependencyFailed, message)
}
