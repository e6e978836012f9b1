//! Numbers for calculations. What looks things up returns a text, and a small planner calculates
//! with all of it, though it was shown the step that takes the number.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json, json};

use super::{DraftStep, PlanDraft, text_of};
use crate::plan_execute::capability::{CALCULATOR, EXPLORER, MODEL, ORCHESTRATOR, RESEARCH};
use crate::plan_execute::operand::ONLY_NUMBER;
use crate::plan_execute::reference::{OPEN, OutputReference, references};

impl PlanDraft<'_> {
    /// Has a model take the number for a calculation out of what was looked up. Several values of
    /// one step stay: nothing tells which number each of them means.
    pub(super) fn take_numbers(&mut self) {
        let mut numbers = NumberSteps {
            looked_up: self.looked_up(),
            free: self.free_ids(),
            taken: BTreeMap::new(),
            added: Vec::new(),
            noted: Vec::new(),
        };
        for (stage, steps) in self.stages.iter_mut().enumerate() {
            for (at, step) in steps.iter_mut().enumerate() {
                numbers.take(step, &format!("[{stage}][{at}]"));
            }
            steps.append(&mut numbers.added);
        }
        for (path, message) in numbers.noted {
            self.note(path, message);
        }
    }

    /// What was looked up, by the ids of the steps that return texts about it; blank if only the
    /// calculation can say.
    fn looked_up(&self) -> BTreeMap<String, String> {
        let is_text =
            |tool: &str| tool == EXPLORER || self.capabilities.role_of(tool) == Some(RESEARCH);
        let carried = self.carried.iter().filter(|(_, tool)| is_text(tool));
        let mut known: BTreeMap<String, String> =
            carried.map(|(id, _)| (id.clone(), String::new())).collect();
        for step in self.stages.iter().flatten() {
            if is_text(text_of(step, "tool_name")) {
                let subject = subject(step, &known);
                known.insert(text_of(step, "stepId").to_owned(), subject);
            }
        }
        known
    }

    fn free_ids(&self) -> impl Iterator<Item = String> + use<> {
        let mut used: BTreeSet<String> =
            self.stages.iter().flatten().map(|step| text_of(step, "stepId").to_owned()).collect();
        used.extend(self.carried.keys().cloned());
        (1..).map(|number| format!("s{number}")).filter(move |id| !used.contains(id))
    }
}

/// The steps that take numbers.
struct NumberSteps<I> {
    /// See [`PlanDraft::looked_up`].
    looked_up: BTreeMap<String, String>,
    /// Ids for them.
    free: I,
    /// Their ids, by the references to what they take a number out of.
    taken: BTreeMap<String, String>,
    /// Those that the stage gets.
    added: Vec<DraftStep>,
    /// What was put right, with its place.
    noted: Vec<(String, String)>,
}

impl<I: Iterator<Item = String>> NumberSteps<I> {
    /// Has a step calculate with numbers.
    fn take(&mut self, step: &mut DraftStep, path: &str) {
        for (source, written) in texts_of(step, &self.looked_up) {
            let id = self.number_of(&source, &written, text_of(step, "narrative_step"));
            calculate_with(step, &written, &id);
            let message = format!("a model takes the number of {source}: {id}");
            self.noted.push((format!("{path}.sub_task_input.expression"), message));
        }
    }

    /// The step that takes the number out of a text.
    fn number_of(&mut self, source: &str, written: &str, calculation: &str) -> String {
        if let Some(id) = self.taken.get(written) {
            return id.clone();
        }
        let id = self.free.next().unwrap_or_default();
        let what = self.looked_up.get(source).map_or("", String::as_str);
        self.added.push(number_step(&id, what, calculation, written));
        self.taken.insert(written.to_owned(), id.clone());
        id
    }
}

/// The words of a search; of a page those of the search that found it.
fn subject(step: &DraftStep, known: &BTreeMap<String, String>) -> String {
    let Some(input) = step.get("sub_task_input").and_then(Json::as_object) else {
        return String::new();
    };
    if let Some(query) = input.get("query").and_then(Json::as_str) {
        return query.to_owned();
    }
    let found_by = outputs(input, known).into_iter().find_map(|read| known.get(read.step));
    found_by.cloned().unwrap_or_default()
}

fn outputs<'i>(
    input: &'i Map<String, Json>,
    known: &BTreeMap<String, String>,
) -> Vec<OutputReference<'i>> {
    let read = references(input, &|id| known.contains_key(id)).into_iter();
    read.filter_map(|(_, read)| read.ok()).filter(|read| known.contains_key(read.step)).collect()
}

/// The texts that stand for a number in what a step calculates, each with the step that returned
/// it, as long as each step gives one.
fn texts_of(step: &DraftStep, looked_up: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let input = step.get("sub_task_input").and_then(Json::as_object);
    let Some(input) = input.filter(|_| text_of(step, "tool_name") == CALCULATOR) else {
        return Vec::new();
    };
    let expression = input.get("expression").and_then(Json::as_str).unwrap_or_default();
    let mut by_step: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for read in outputs(input, looked_up) {
        by_step.entry(read.step).or_default().insert(read.text);
    }
    let single = |(source, written): (&str, BTreeSet<&str>)| {
        let [only] = written.into_iter().collect::<Vec<_>>().try_into().ok()?;
        let only: &str = only;
        is_operand(expression, only).then(|| (source.to_owned(), only.to_owned()))
    };
    by_step.into_iter().filter_map(single).collect()
}

/// Whether a reference is one operand of several: alone, or as all that a function such as `sum` is
/// given, it may stand for many numbers.
fn is_operand(expression: &str, reference: &str) -> bool {
    let mut parts = expression.split(reference);
    let before = parts.next().unwrap_or_default();
    let function = before.trim_end().strip_suffix('(').unwrap_or_default();
    let is_called = function.trim_end().ends_with(char::is_alphanumeric);
    let has_others =
        |part: &str| part.contains(OPEN) || part.contains(|sign: char| sign.is_ascii_digit());
    let after: Vec<&str> = parts.collect();
    let is_only = is_called && after.iter().any(|part| part.trim_start().starts_with(')'));
    !is_only && (has_others(before) || after.into_iter().any(has_others))
}

fn calculate_with(step: &mut DraftStep, written: &str, id: &str) {
    let expression = step.get_mut("sub_task_input").and_then(|input| input.get_mut("expression"));
    let Some(expression) = expression else { return };
    let text = expression.as_str().unwrap_or_default();
    *expression = json!(text.replace(written, &format!("@{{outputs.{id}.result_data}}")));
}

fn number_step(id: &str, what: &str, calculation: &str, written: &str) -> DraftStep {
    let what = if what.is_empty() { calculation } else { what };
    let step = json!({
        "stepId": id, "assigned_agent_role": ORCHESTRATOR, "tool_name": MODEL,
        "sub_task_input": {"prompt": format!("Write the number, {ONLY_NUMBER}: {what}\n\n{written}")},
        "narrative_step": format!("take the number: {what}"),
    });
    step.as_object().cloned().unwrap_or_default()
}
