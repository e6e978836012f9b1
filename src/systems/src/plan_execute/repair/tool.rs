//! Which tool a step means, and whose it is.

use serde_json::{Value as Json, json};

use super::{StepDraft, text_of};
use crate::plan_execute::capability::{
    CALCULATOR, Capabilities, DOCUMENT_SEARCH, DOCUMENTS, DOWNLOADER, EXPLORER, FILES, MODEL,
    PAGES, SEARCH, canonical,
};
use crate::plan_execute::operation::operation_named;
use crate::tool_name::meant_name;

/// What planners call the work of tools, without `tool`, capitals and signs; and the tools that do
/// it. If there is only one of them, it is meant.
const WORK: [(&[&str], &[&str]); 7] = [
    (
        &["search", "websearch", "documentsearch", "documentssearch", "searchweb"],
        &[SEARCH, DOCUMENT_SEARCH],
    ),
    (
        &["read", "reader", "readpage", "readwebpage", "readdocument", "webpagereader"],
        &[PAGES, DOCUMENTS],
    ),
    (&["calculate", "calculator", "calculation"], &[CALCULATOR]),
    (&["llm", "llmstep", "llmexecutor", "stepexecutor", "geministep"], &[MODEL]),
    (&["explore", "exploresearch", "explorepages"], &[EXPLORER]),
    (&["file", "files", "filesystem", "filewriter", "pdf", "pdfwriter"], &[FILES]),
    (&["downloader", "filedownload"], &[DOWNLOADER]),
];

impl StepDraft<'_> {
    /// Names the tool, and the role that has it.
    pub(super) fn name_tool(&mut self) {
        let given = text_of(self.fields, "tool_name").to_owned();
        let role = text_of(self.fields, "assigned_agent_role").to_owned();
        let capabilities = self.capabilities;
        let Some(tool) = tool_of(capabilities, &given, &role) else { return };
        if tool != given {
            if let Some(operation) = operation_named(&given).filter(|it| it.tool == tool) {
                self.name_operation(operation.name);
            }
            self.set("tool_name", json!(tool), format!("read as {tool}: {given}"));
        }
        let Some(owner) = capabilities.role_of(tool).filter(|owner| *owner != role) else { return };
        if role.is_empty() {
            // A planner need not say it.
            self.fields.insert("assigned_agent_role".to_owned(), json!(owner));
            return;
        }
        let message = format!("the tool is one of {owner}: {role}");
        self.set("assigned_agent_role", json!(owner), message);
    }

    /// Puts an operation into the input, if that names none.
    fn name_operation(&mut self, operation: &str) {
        if let Some(input) = self.fields.get_mut("sub_task_input").and_then(Json::as_object_mut) {
            input.entry("operation").or_insert_with(|| json!(operation));
        }
    }
}

/// The tool that a step means by the names of a tool and a role.
fn tool_of<'n>(capabilities: &'n Capabilities, given: &'n str, role: &'n str) -> Option<&'n str> {
    let names: Vec<&str> = capabilities.tool_names().collect();
    if capabilities.role_of(given).is_some() {
        return Some(given);
    }
    let is_role = given.is_empty() || capabilities.has_role(given);
    meant(&names, given)
        .or_else(|| meant(&names, role).filter(|_| is_role))
        .or_else(|| capabilities.only_tool(given).filter(|_| is_role))
        .or_else(|| capabilities.only_tool(role).filter(|_| is_role))
}

/// The tool of these that a name means.
fn meant<'n>(names: &[&'n str], given: &str) -> Option<&'n str> {
    if given.is_empty() {
        return None;
    }
    let there = |tool: &str| names.iter().copied().find(|name| *name == tool);
    let by_name = || meant_name(given, names).or_else(|| there(canonical(given)));
    let by_operation = || there(operation_named(given)?.tool);
    let by_work = || {
        let work = bare(given);
        let (_, tools) = WORK.iter().find(|(words, _)| words.contains(&work.as_str()))?;
        let mut able = tools.iter().filter_map(|tool| there(tool));
        able.next().filter(|_| able.next().is_none())
    };
    by_name().or_else(by_operation).or_else(by_work)
}

/// A name in small letters, without signs and the word for a tool.
fn bare(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let bare: String = letters.map(|sign| sign.to_ascii_lowercase()).collect();
    bare.strip_suffix("tool").unwrap_or(&bare).to_owned()
}
