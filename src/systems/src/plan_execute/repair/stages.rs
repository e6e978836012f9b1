//! Steps that need each other in stages of their own, and outputs that nobody would read.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};

use super::{DraftStep, PlanDraft, text_of};
use crate::plan_execute::capability::{MODEL, canonical};
use crate::plan_execute::reference::references;
use crate::tool_cache::only_reads;

impl PlanDraft<'_> {
    /// A step that refers to one of its own stage comes into a stage behind it.
    pub(super) fn separate_stages(&mut self) {
        let mut separate = Vec::new();
        for (at, mut stage) in std::mem::take(&mut self.stages).into_iter().enumerate() {
            loop {
                let own: BTreeSet<String> =
                    stage.iter().map(|step| text_of(step, "stepId").to_owned()).collect();
                let needs = |step: &DraftStep| {
                    let id = text_of(step, "stepId");
                    sources(step, &|id| own.contains(id)).iter().any(|source| source != id)
                };
                let (later, first): (Vec<DraftStep>, Vec<DraftStep>) =
                    stage.iter().cloned().partition(needs);
                if later.is_empty() || first.is_empty() {
                    separate.push(stage);
                    break;
                }
                for step in &later {
                    let id = text_of(step, "stepId");
                    self.note(format!("[{at}]"), format!("the step gets a later stage: {id}"));
                }
                separate.push(first);
                stage = later;
            }
        }
        self.stages = separate;
    }

    /// A text that is written from nothing, after outputs that nobody reads, is written from them.
    pub(super) fn give_outputs(&mut self) {
        let known: BTreeSet<String> =
            self.stages.iter().flatten().map(|step| text_of(step, "stepId").to_owned()).collect();
        let read: BTreeSet<String> = self
            .stages
            .iter()
            .flatten()
            .flat_map(|step| sources(step, &|id| known.contains(id)))
            .collect();
        let mut unread: Vec<String> = Vec::new();
        let mut given = Vec::new();
        for (stage, steps) in self.stages.iter_mut().enumerate() {
            for (at, step) in steps.iter_mut().enumerate() {
                if !unread.is_empty() && writes_from_nothing(step) {
                    let ids = unread.join(", ");
                    add_outputs(step, &unread);
                    let path = format!("[{stage}][{at}].sub_task_input.prompt");
                    given.push((path, format!("given what no step refers to: {ids}")));
                    unread.clear();
                }
            }
            let looks = |step: &&DraftStep| {
                let tool = text_of(step, "tool_name");
                let role = text_of(step, "assigned_agent_role");
                let tool = self.capabilities.tool(role, tool);
                tool.is_some_and(|tool| tool.spec.name != MODEL && only_reads(&tool.spec))
            };
            let ids = steps.iter().filter(looks).map(|step| text_of(step, "stepId").to_owned());
            unread.extend(ids.filter(|id| !read.contains(id)));
        }
        for (path, message) in given {
            self.note(path, message);
        }
    }
}

/// The steps that the input of one refers to.
pub(super) fn sources(step: &DraftStep, is_step: &dyn Fn(&str) -> bool) -> BTreeSet<String> {
    let Some(input) = step.get("sub_task_input").and_then(Json::as_object) else {
        return BTreeSet::new();
    };
    let read = references(input, is_step).into_iter().filter_map(|(_, read)| read.ok());
    read.map(|reference| reference.step.to_owned()).filter(|id| is_step(id)).collect()
}

/// Whether a model writes from a prompt alone.
fn writes_from_nothing(step: &DraftStep) -> bool {
    let is_prompt = |input: &Map<String, Json>| {
        input.get("prompt").is_some_and(Json::is_string)
            && !input.contains_key("data_from_previous_step")
            && references(input, &|_| true).is_empty()
    };
    let input = step.get("sub_task_input").and_then(Json::as_object);
    canonical(text_of(step, "tool_name")) == MODEL && input.is_some_and(is_prompt)
}

fn add_outputs(step: &mut DraftStep, ids: &[String]) {
    let Some(prompt) = step.get_mut("sub_task_input").and_then(|input| input.get_mut("prompt"))
    else {
        return;
    };
    let outputs = ids.iter().map(|id| format!("\n\n@{{outputs.{id}.result_data}}"));
    let text = prompt.as_str().unwrap_or_default().to_owned();
    *prompt = json!(text + &outputs.collect::<String>());
}
