//! The input of a step as its tool takes it.

use antiphon_core::reply::ReplyParser;
use serde_json::{Map, Value as Json, json};

use super::{StepDraft, text_of};
use crate::json_texts::visit;
use crate::plan_execute::capability::{DOWNLOADER, FILES, MODEL, RoleTool, canonical};
use crate::plan_execute::step_request::PROMPTS;
use crate::tool_arguments::{is_text, properties, required, unfit_options, unknown};

impl StepDraft<'_> {
    /// Makes the input fit the tool.
    pub(super) fn fit_input(&mut self) {
        let capabilities = self.capabilities;
        let role = text_of(self.fields, "assigned_agent_role").to_owned();
        let name = text_of(self.fields, "tool_name").to_owned();
        let Some(tool) = capabilities.tool(&role, &name) else { return };
        self.make_object(tool);
        let Some(mut input) = self.fields.get("sub_task_input").and_then(Json::as_object).cloned()
        else {
            return;
        };
        if matches!(canonical(&name), FILES | DOWNLOADER) {
            self.fit_file_input(canonical(&name), tool, &mut input);
        }
        self.name_main_argument(tool, &mut input);
        for name in unknown(&tool.spec.parameters, &input) {
            input.remove(&name);
            self.note_input(&name, format!("left out, the tool has no such field: {name}"));
        }
        for name in unfit(tool, &input) {
            let given = input.remove(&name).unwrap_or_default();
            self.note_input(&name, format!("left out, it does not fit the tool: {given}"));
        }
        self.fields.insert("sub_task_input".to_owned(), Json::Object(input));
    }

    /// A text alone is the one thing that the tool needs; a tool that needs nothing gets nothing.
    fn make_object(&mut self, tool: &RoleTool) {
        let input = match self.fields.get("sub_task_input") {
            None | Some(Json::Null) if needs_nothing(tool) => {
                return self.set("sub_task_input", json!({}), "the tool needs none".to_owned());
            }
            Some(Json::String(text)) => match serde_json::from_str::<Map<String, Json>>(text) {
                Ok(fields) => Some(Json::Object(fields)),
                Err(_) => main_argument(tool).map(|name| json!({ name: text })),
            },
            _ => None,
        };
        if let Some(input) = input {
            self.set("sub_task_input", input, "the text is read as an object".to_owned());
        }
    }

    /// A text under a name that the tool does not have is the one thing that it needs, if that is
    /// missing.
    fn name_main_argument(&mut self, tool: &RoleTool, input: &mut Map<String, Json>) {
        let Some(main) = main_argument(tool) else { return };
        let is_given = if tool.spec.name == MODEL {
            PROMPTS.iter().any(|name| input.contains_key(*name))
        } else {
            input.contains_key(main)
        };
        let unknown = unknown(&tool.spec.parameters, input);
        if let ([other], false) = (unknown.as_slice(), is_given)
            && input.get(other).is_some_and(Json::is_string)
            && let Some(text) = input.remove(other)
        {
            input.insert(main.to_owned(), text);
            self.note_input(main, format!("it was under another name: {other}"));
        }
    }

    pub(super) fn note_input(&mut self, field: &str, message: String) {
        self.note(&format!(".sub_task_input.{field}"), message);
    }
}

/// The one argument that a tool needs, if that may be a text.
fn main_argument(tool: &RoleTool) -> Option<&str> {
    if tool.spec.name == MODEL {
        return Some("prompt");
    }
    let parameters = &tool.spec.parameters;
    let [only] = required(parameters).try_into().ok()?;
    properties(parameters)?.get(only).filter(|schema| is_text(schema)).map(|_| only)
}

/// The optional arguments that do not fit, whatever references in others become.
fn unfit(tool: &RoleTool, input: &Map<String, Json>) -> Vec<String> {
    let fixed = input.iter().filter(|(_, value)| !holds_reference(value));
    let fixed: Map<String, Json> =
        fixed.map(|(name, value)| (name.clone(), value.clone())).collect();
    match tool.arguments.parse_text(&Json::Object(fixed.clone()).to_string(), false) {
        Ok(_) => Vec::new(),
        Err(unfit) => {
            let mut names = unfit_options(&tool.spec.parameters, &unfit);
            names.retain(|name| fixed.contains_key(name));
            names.dedup();
            names
        }
    }
}

fn needs_nothing(tool: &RoleTool) -> bool {
    tool.spec.name != MODEL && required(&tool.spec.parameters).is_empty()
}

fn holds_reference(value: &Json) -> bool {
    let mut found = false;
    visit(value, &mut |_, text| found |= text.contains("@{"));
    found
}
