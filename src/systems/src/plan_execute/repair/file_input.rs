//! The input of a step that works with files: an operation, and its parameters.

use std::path::Path;

use serde_json::{Map, Value as Json, json};

use super::StepDraft;
use crate::plan_execute::capability::RoleTool;
use crate::plan_execute::operation::{CREATE, FileOperation, PDF, operation, operation_named};
use crate::tool_arguments::renamed;
use crate::tool_name::meant_name;

/// A parameter, and what else planners call it.
type ParameterNames = (&'static str, &'static [&'static str]);

const NAME: ParameterNames =
    ("filename", &["filepath", "path", "file_path", "file", "file_name", "fileName", "name"]);
const CONTENT: ParameterNames = ("content", &["text", "body", "data", "contents"]);
/// Endings of files that no PDF file has.
const TEXT_ENDINGS: [&str; 6] = ["txt", "md", "csv", "json", "html", "log"];
const PARAMETERS: [ParameterNames; 3] = [NAME, CONTENT, ("url", &["link", "address"])];

impl StepDraft<'_> {
    /// Names the operation and its parameters.
    pub(super) fn fit_file_input(
        &mut self,
        name: &str,
        tool: &RoleTool,
        input: &mut Map<String, Json>,
    ) {
        let known = tool.spec.parameters.pointer("/properties/operation/enum");
        let known: Vec<&str> =
            known.and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect();
        self.nest_parameters(input);
        let given = input.get("operation").and_then(Json::as_str).unwrap_or_default().to_owned();
        let is_pdf = input.get("params").is_some_and(names_pdf) && known.contains(&PDF);
        let is_new = operation(name, &given).is_none_or(|it| it.name == CREATE);
        let is_text = input.get("params").is_some_and(names_text_file) && known.contains(&CREATE);
        let meant = match operation_meant(&given, &known) {
            _ if is_pdf && is_new => Some(PDF),
            Some(PDF) if is_text => Some(CREATE),
            meant => meant,
        };
        let Some(meant) = meant else { return };
        if meant != given {
            input.insert("operation".to_owned(), json!(meant));
            self.note_input("operation", format!("read as {meant}: {given}"));
        }
        let params = input.get_mut("params").and_then(Json::as_object_mut);
        if let (Some(operation), Some(params)) = (operation(name, meant), params) {
            self.fit_parameters(operation, params);
        }
    }

    /// Parameters beside the operation belong into `params`.
    fn nest_parameters(&mut self, input: &mut Map<String, Json>) {
        if input.get("params").is_some_and(Json::is_object) {
            return;
        }
        let operation = input.remove("operation");
        let params = std::mem::take(input);
        input.extend(operation.map(|operation| ("operation".to_owned(), operation)));
        input.insert("params".to_owned(), Json::Object(params));
        self.note_input("params", "the parameters are put into it".to_owned());
    }

    fn fit_parameters(&mut self, operation: &FileOperation, params: &mut Map<String, Json>) {
        for (name, others) in PARAMETERS.iter().filter(|(name, _)| operation.has(name)) {
            let others: Vec<&str> =
                others.iter().copied().filter(|other| !operation.has(other)).collect();
            if let Some(other) = renamed(params, name, &others) {
                self.note_input(
                    &format!("params.{name}"),
                    format!("it was under another name: {other}"),
                );
            }
        }
        let unknown: Vec<String> =
            params.keys().filter(|name| !operation.has(name)).cloned().collect();
        for name in unknown {
            params.remove(&name);
            let message = format!("left out, the operation has no such parameter: {name}");
            self.note_input(&format!("params.{name}"), message);
        }
        let name = params.get("filename").and_then(Json::as_str).map(str::to_owned);
        let bare = name.filter(|name| !name.is_empty() && !name.contains(['.', '@']));
        if let Some(name) = bare.filter(|_| operation.name == PDF) {
            params.insert("filename".to_owned(), json!(format!("{name}.pdf")));
            self.note_input("params.filename", format!("the name gets its ending: {name}"));
        }
    }
}

/// Whether parameters name a PDF file and have what is written into it.
fn names_pdf(params: &Json) -> bool {
    let is_pdf = |name: String| Path::new(&name).extension().is_some_and(|ending| ending == "pdf");
    parameter(params, CONTENT).is_some() && parameter(params, NAME).is_some_and(is_pdf)
}

/// The text of a parameter in small letters, under any of its names.
fn parameter(params: &Json, (name, others): ParameterNames) -> Option<String> {
    let mut all = std::iter::once(name).chain(others.iter().copied());
    all.find_map(|name| params.get(name)?.as_str().map(str::to_lowercase))
}

/// Whether parameters name a file of text.
fn names_text_file(params: &Json) -> bool {
    let ending = |name: String| Path::new(&name).extension()?.to_str().map(str::to_owned);
    parameter(params, NAME).and_then(ending).is_some_and(|it| TEXT_ENDINGS.contains(&it.as_str()))
}

/// The operation of these that a name means: itself, its native tool, or the only one there is.
fn operation_meant<'n>(given: &str, known: &[&'n str]) -> Option<&'n str> {
    let named = || {
        let named = operation_named(given)?.name;
        known.iter().copied().find(|name| *name == named)
    };
    let only = || match known {
        [only] if given.is_empty() => Some(*only),
        _ => None,
    };
    meant_name(given, known).or_else(named).or_else(only)
}
