//! Plans that need no planner, because the words of the task say enough.

use std::collections::BTreeSet;

use antiphon_core::{Fault, FaultCode};
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::json_texts::replace;

/// A plan for tasks of one wording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanTemplate {
    /// Its name, for the trace.
    pub name: String,
    /// A regular expression for the whole task, whatever the case; its named groups are the
    /// variables of the plan.
    pub pattern: String,
    /// A plan whose texts may hold `{{NAME}}` for a group. A step without an id gets one.
    pub plan: Json,
}

/// The templates in the order in which they are tried.
#[derive(Debug)]
pub struct PlanTemplates(Vec<(PlanTemplate, Regex)>);

const BUILT_IN: [(&str, &str); 2] = [
    ("weather.json", include_str!("templates/weather.json")),
    ("calculator.json", include_str!("templates/calculator.json")),
];

impl PlanTemplates {
    /// The templates of the caller, then those that every task has.
    ///
    /// # Errors
    /// `system_setting_invalid` for a pattern that cannot be read, or a plan with a variable that
    /// the pattern has not.
    pub fn new(own: &[PlanTemplate]) -> Result<Self, Fault> {
        let mut all = own.to_vec();
        for (file, text) in BUILT_IN {
            let template = serde_json::from_str(text)
                .map_err(|error| invalid(file, &format!("the file cannot be read: {error}")))?;
            all.push(template);
        }
        let compiled = all.into_iter().map(|template| {
            let pattern = regex(&template)?;
            check_variables(&template, &pattern)?;
            Ok((template, pattern))
        });
        compiled.collect::<Result<_, Fault>>().map(Self)
    }

    /// The plan of the first template whose pattern fits a task, and its name.
    pub fn plan_of(&self, task: &str) -> Option<(&str, Json)> {
        let task = task.trim().trim_end_matches(['.', '!', '?']).trim_end();
        let (template, found) = self
            .0
            .iter()
            .find_map(|(template, pattern)| Some((template, pattern.captures(task)?)))?;
        let value = |name: &str| found.name(name).map_or("", |group| group.as_str().trim());
        let filled = replace(&template.plan, &|text| Ok::<_, ()>(json!(filled(text, &value))));
        Some((&template.name, numbered(filled.unwrap_or_default())))
    }
}

fn regex(template: &PlanTemplate) -> Result<Regex, Fault> {
    let whole = format!("(?is)^(?:{})$", template.pattern);
    Regex::new(&whole)
        .map_err(|error| invalid(&template.name, &format!("the pattern cannot be read: {error}")))
}

/// A text with the values of its variables, which are not read again.
fn filled<'v>(text: &str, value: &dyn Fn(&str) -> &'v str) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else { break };
        filled.push_str(before);
        filled.push_str(value(name.trim()));
        rest = after;
    }
    filled.push_str(rest);
    filled
}

fn check_variables(template: &PlanTemplate, pattern: &Regex) -> Result<(), Fault> {
    let known: BTreeSet<&str> = pattern.capture_names().flatten().collect();
    let mut unknown = None;
    crate::json_texts::visit(&template.plan, &mut |_, text| {
        let names = crate::template::fields(text).unwrap_or_default();
        unknown = unknown.or_else(|| names.into_iter().find(|name| !known.contains(name)));
    });
    match unknown {
        Some(name) => Err(invalid(&template.name, &format!("the pattern has no group: {name}"))),
        None => Ok(()),
    }
}

/// The plan with an id for each step that has none: `t1`, `t2` and so on.
fn numbered(mut plan: Json) -> Json {
    let stages = plan.as_array_mut().into_iter().flatten();
    let steps = stages.flat_map(|stage| stage.as_array_mut().into_iter().flatten());
    for (number, step) in (1..).zip(steps) {
        if let Some(fields) = step.as_object_mut() {
            fields.entry("stepId").or_insert_with(|| json!(format!("t{number}")));
        }
    }
    plan
}

fn invalid(name: &str, reason: &str) -> Fault {
    let message = format!("a template of plans is invalid, {name}: {reason}");
    Fault::new(FaultCode::SystemSettingInvalid, message).with("template", name)
}
