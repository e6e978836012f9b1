//! Which tasks start next. Tasks run in waves: all whose dependencies are complete, in the order of
//! the plan. A task that may change the world runs alone, after all tasks before it and before all
//! after it.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::config::Config;
use super::plan::{ExecutionPlan, SearchTask, TaskError, TaskRecord, TaskStart, TaskStatus};
use super::planning::{PlanCheck, PlanNotes, dependency_failed, lost_reference, note_left_out};
use super::reference::resolved;

/// The next wave, after what came of the last one.
pub(super) struct WavePlan<'c> {
    pub(super) check: PlanCheck<'c>,
    pub(super) config: &'c Config,
}

impl WavePlan<'_> {
    /// Takes over what came of the last wave, and says which tasks start. None start once a task
    /// has failed and the settings stop there.
    pub(super) fn advance(
        &self,
        plan: &mut ExecutionPlan,
        records: &BTreeMap<usize, TaskRecord>,
    ) -> (Vec<TaskStart>, PlanNotes) {
        let mut notes = PlanNotes::default();
        plan.record(records);
        let mut dispatched = Vec::new();
        // A task that fails, or is known already, before it starts makes room for another.
        while dispatched.is_empty() {
            share(plan, self.check.now, &mut notes);
            if self.stops(plan) {
                break;
            }
            fail_dependents(plan, self.check.now, &mut notes);
            let ready = self.ready(plan);
            if ready.is_empty() {
                break;
            }
            for number in ready {
                dispatched.extend(self.start(plan, number, &mut notes));
            }
        }
        (dispatched, notes)
    }

    /// How many tasks have ended; up to the one that failed, if the settings stop there.
    pub(super) fn index(&self, plan: &ExecutionPlan) -> usize {
        let failed = |task: &SearchTask| task.status == TaskStatus::Failed;
        if self.stops(plan) {
            return plan.tasks.iter().position(failed).unwrap_or(plan.tasks.len());
        }
        plan.tasks.iter().filter(|task| task.is_finished()).count()
    }

    fn stops(&self, plan: &ExecutionPlan) -> bool {
        self.config.stop_on_error && plan.with_status(TaskStatus::Failed).next().is_some()
    }

    /// The tasks that may start, in order.
    fn ready(&self, plan: &ExecutionPlan) -> Vec<usize> {
        let is_complete = |number: &usize| {
            plan.task(*number).is_some_and(|task| task.status == TaskStatus::Completed)
        };
        let mut ready = Vec::new();
        let unfinished = plan.tasks.iter().filter(|task| !task.is_finished());
        for (place, task) in unfinished.enumerate() {
            let is_alone = !self.check.catalogue.only_reads(&task.tool_name);
            if ready.len() == self.config.wave_size() || (is_alone && place > 0) {
                break;
            }
            let is_pending = task.status == TaskStatus::Pending;
            if is_pending && task.depends_on.iter().all(is_complete) {
                ready.push(task.task_number);
            }
            if is_alone {
                break;
            }
        }
        ready
    }

    /// Starts a task whose dependencies are complete, unless it fails at once or an equal one has
    /// started.
    fn start(
        &self,
        plan: &mut ExecutionPlan,
        number: usize,
        notes: &mut PlanNotes,
    ) -> Option<TaskStart> {
        let place = plan.tasks.iter().position(|task| task.task_number == number)?;
        let mut task = plan.tasks.get(place)?.clone();
        let dispatch = self.prepared(&mut task, plan, notes);
        let is_shared = self.check.catalogue.shares_results(&task.tool_name);
        let dispatch =
            dispatch.filter(|dispatch| !is_shared || !is_known(&mut task, plan, dispatch));
        if task.status == TaskStatus::Pending {
            task.status = TaskStatus::Executing;
            task.started_at = Some(self.check.now.to_owned());
        }
        *plan.tasks.get_mut(place)? = task;
        dispatch
    }

    /// Resolves and checks the arguments of a task; fails it if that cannot be done.
    fn prepared(
        &self,
        task: &mut SearchTask,
        plan: &ExecutionPlan,
        notes: &mut PlanNotes,
    ) -> Option<TaskStart> {
        let result = |number: usize| plan.task(number).and_then(SearchTask::returned);
        let resolve = |value: &Json| resolved(value, &result);
        let (tool, planned, known) = (&task.tool_name, &task.tool_arguments, task.left_out.len());
        let followed = self.check.without_lost(tool, planned, &resolve, &mut task.left_out);
        if task.left_out.len() > known {
            note_left_out(task, notes);
        }
        match followed {
            Ok(arguments) => task.tool_arguments = arguments,
            Err(lost) => {
                task.fail(lost_reference(lost), self.check.now);
                notes.note_failure(task);
                return None;
            }
        }
        let fits = self.check.check_arguments(task, notes);
        fits.then(|| TaskStart {
            task_number: task.task_number,
            arguments: task.tool_arguments.clone(),
        })
    }
}

/// Whether an equal task has started: then it is that one whose result counts.
fn is_known(task: &mut SearchTask, plan: &ExecutionPlan, dispatch: &TaskStart) -> bool {
    let equal = plan.tasks.iter().find(|other| {
        let has_started = matches!(other.status, TaskStatus::Executing | TaskStatus::Completed);
        has_started
            && other.shares_result_of.is_none()
            && other.is_call(&task.tool_name, &dispatch.arguments)
    });
    task.shares_result_of = equal.map(|other| other.task_number);
    equal.is_some()
}

/// Ends the tasks that wait for the result of an equal one.
fn share(plan: &mut ExecutionPlan, now: &str, notes: &mut PlanNotes) {
    let finished: BTreeMap<usize, (Json, Option<TaskError>)> = plan
        .tasks
        .iter()
        .filter(|task| task.is_finished())
        .map(|task| {
            let result = task.returned().cloned().unwrap_or_default();
            (task.task_number, (result, task.error.clone()))
        })
        .collect();
    for task in plan.tasks.iter_mut().filter(|task| task.status == TaskStatus::Executing) {
        let equal = task.shares_result_of.and_then(|number| finished.get(&number));
        match equal {
            Some((result, None)) => {
                task.complete(result.clone(), now);
                let data = json!({"task_number": task.task_number, "shares_result_of": task.shares_result_of});
                notes.note("task_shared", data);
            }
            Some((_, Some(error))) => {
                task.fail(error.clone(), now);
                notes.note_failure(task);
            }
            _ => {}
        }
    }
}

fn fail_dependents(plan: &mut ExecutionPlan, now: &str, notes: &mut PlanNotes) {
    // In the order of the plan a dependency stands before what depends on it.
    let mut lost: Vec<usize> =
        plan.with_status(TaskStatus::Failed).map(|task| task.task_number).collect();
    for task in plan.tasks.iter_mut().filter(|task| task.status == TaskStatus::Pending) {
        let failing = task.depends_on.iter().find(|number| lost.contains(number));
        if let Some(number) = failing.copied() {
            task.fail(dependency_failed(number), now);
            lost.push(task.task_number);
            notes.note_failure(task);
        }
    }
}
