//! Calculations that are searched for. A small planner that has learnt to look things up looks up
//! an expression too, and has what was found calculated.

use serde_json::{Value as Json, json};

use super::stages::sources;
use super::{DraftStep, PlanDraft, text_of};
use crate::plan_execute::capability::{CALCULATOR, RESEARCH};
use crate::plan_execute::expression::is_expression;
use crate::plan_execute::reference::OPEN;

impl PlanDraft<'_> {
    /// Has the expression itself calculated, and not searched for unless others need the search.
    pub(super) fn calculate_searched(&mut self) {
        let searched: Vec<(String, String)> = self
            .stages
            .iter()
            .flatten()
            .filter(|step| self.capabilities.role_of(text_of(step, "tool_name")) == Some(RESEARCH))
            .filter_map(|step| {
                let query = step.get("sub_task_input")?.get("query")?.as_str()?;
                let id = text_of(step, "stepId").to_owned();
                is_expression(query).then(|| (id, query.to_owned()))
            })
            .collect();
        let mut has_left_out = false;
        for (id, query) in searched {
            let mut is_calculated = false;
            self.each_step(&mut |step| {
                if calculates_output(step.fields, &id) {
                    step.fields.insert("sub_task_input".to_owned(), json!({ "expression": query }));
                    let message = format!("the expression that {id} searches for: {query}");
                    step.note(".sub_task_input.expression", message);
                    is_calculated = true;
                }
            });
            if is_calculated && !self.stages.iter().flatten().any(|step| refers_to(step, &id)) {
                self.leave_out(&id);
                has_left_out = true;
            }
        }
        if has_left_out {
            self.stages.retain(|stage| !stage.is_empty());
        }
    }

    /// Stages that this empties stay, so that what is noted names their places.
    fn leave_out(&mut self, id: &str) {
        let is_it = |step: &DraftStep| text_of(step, "stepId") == id;
        let steps = |stage: &Vec<DraftStep>| stage.iter().position(is_it);
        let mut places = self.stages.iter().map(steps).enumerate();
        let place = places.find_map(|(stage, step)| Some((stage, step?)));
        let Some((stage, step)) = place else { return };
        if let Some(steps) = self.stages.get_mut(stage) {
            steps.remove(step);
        }
        self.note(format!("[{stage}][{step}]"), format!("left out, nothing needs the step: {id}"));
    }
}

/// Whether a step calculates with the output of another one and nothing else.
fn calculates_output(step: &DraftStep, id: &str) -> bool {
    let expression = step.get("sub_task_input").and_then(|input| input.get("expression"));
    let expression = expression.and_then(Json::as_str).unwrap_or_default().trim();
    let is_one = expression.starts_with(OPEN) && expression.find('}') == Some(expression.len() - 1);
    is_one && text_of(step, "tool_name") == CALCULATOR && refers_to(step, id)
}

fn refers_to(step: &DraftStep, id: &str) -> bool {
    sources(step, &|step| step == id).contains(id)
}
