//! What plans can use: roles, and the tools of each. A new worker is one more role.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use antiphon_core::{Fault, FaultCode, Schema, ToolSpec};
use antiphon_reply::CompiledSchema;
use antiphon_runtime::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::native_tool::{is_native, native_tools};
use crate::tool_text::{call_text, tool_text};

/// The role of steps that the system carries out itself.
pub const ORCHESTRATOR: &str = "Orchestrator";
/// The worker that gathers information.
pub const RESEARCH: &str = "ResearchAgent";
/// The worker for everything else.
pub const UTILITY: &str = "UtilityAgent";

/// Searches the web.
pub const SEARCH: &str = "WebSearchTool";
/// Reads a page.
pub const PAGES: &str = "ReadWebpageTool";
/// Searches a folder of documents; the tool's own name.
pub const DOCUMENT_SEARCH: &str = "search_documents";
/// Reads one of them.
pub const DOCUMENTS: &str = "read_document";
/// Calculates.
pub const CALCULATOR: &str = "CalculatorTool";
/// Works with files.
pub const FILES: &str = "FileSystemTool";
/// Downloads a file.
pub const DOWNLOADER: &str = "FileDownloaderTool";
/// Reads the pages of a search.
pub const EXPLORER: &str = "ExploreSearchResults";
/// Has a model write a text.
pub const MODEL: &str = "LLMStepExecutor";
/// Another name of it.
const MODEL_ALIAS: &str = "GeminiStepExecutor";

/// A worker of the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkerRole {
    /// What it does, for the planner.
    pub description: String,
    /// Its tools, by their names.
    pub tools: Vec<String>,
}

/// How a step with a tool is carried out.
#[derive(Clone)]
pub(super) enum StepAction {
    /// The tool is called.
    Call(Arc<dyn Tool>),
    /// The pages of a search are read with this tool.
    Explore(Arc<dyn Tool>),
    /// A model writes.
    AskModel,
}

/// A tool that a role has.
#[derive(Clone)]
pub(super) struct RoleTool {
    pub(super) spec: ToolSpec,
    pub(super) arguments: CompiledSchema,
    pub(super) action: StepAction,
}

struct CapableRole {
    name: String,
    description: String,
    tools: Vec<RoleTool>,
}

/// The roles, in the order in which a planner reads of them.
pub struct Capabilities {
    roles: Vec<CapableRole>,
}

impl Capabilities {
    /// The roles with the tools that were given. Native tools become those that plans name; a tool
    /// that no role claims is the `UtilityAgent`'s.
    ///
    /// # Errors
    /// A `Validation` fault: `system_setting_invalid` for a role that claims a tool which was not
    /// given, `schema_invalid` for the arguments of a tool.
    pub fn of(
        given: &[Arc<dyn Tool>],
        workers: &BTreeMap<String, WorkerRole>,
    ) -> Result<Self, Fault> {
        let mut tools = native_tools(given);
        tools.extend(given.iter().filter(|tool| !is_native(&tool.spec().name)).cloned());
        let mut capabilities = Self { roles: Vec::new() };
        capabilities.role(RESEARCH, "gathers information");
        capabilities.role(UTILITY, "calculates, and does what has no worker of its own");
        capabilities.role(ORCHESTRATOR, "writes texts with a model, works with files");
        for (name, worker) in workers {
            capabilities.role(name, &worker.description);
            for wanted in &worker.tools {
                if tools.iter().all(|tool| tool.spec().name != *wanted) {
                    return Err(unknown_tool(name, wanted));
                }
            }
        }
        for tool in &tools {
            let name = tool.spec().name.as_str();
            let claims = |(role, worker): (&String, &WorkerRole)| {
                worker.tools.iter().any(|own| own == name).then(|| role.clone())
            };
            let role = workers.iter().find_map(claims);
            let role = role.unwrap_or_else(|| usual_role(name).to_owned());
            capabilities.add(&role, tool.spec().clone(), StepAction::Call(Arc::clone(tool)))?;
        }
        let pages = tools.iter().find(|tool| tool.spec().name == PAGES);
        if let Some(pages) = pages {
            let action = StepAction::Explore(Arc::clone(pages));
            capabilities.add(ORCHESTRATOR, explorer(), action)?;
        }
        capabilities.add(ORCHESTRATOR, model_step(), StepAction::AskModel)?;
        Ok(capabilities)
    }

    fn role(&mut self, name: &str, description: &str) {
        match self.roles.iter_mut().find(|role| role.name == name) {
            Some(known) => description.clone_into(&mut known.description),
            None => self.roles.push(CapableRole {
                name: name.to_owned(),
                description: description.to_owned(),
                tools: Vec::new(),
            }),
        }
    }

    fn add(&mut self, role: &str, spec: ToolSpec, action: StepAction) -> Result<(), Fault> {
        let arguments = CompiledSchema::compile(&Schema::new(&spec.name, spec.parameters.clone()))?;
        if let Some(role) = self.roles.iter_mut().find(|known| known.name == role) {
            role.tools.push(RoleTool { spec, arguments, action });
        }
        Ok(())
    }

    /// Whether there is a role of that name.
    pub fn has_role(&self, name: &str) -> bool {
        self.roles.iter().any(|role| role.name == name)
    }

    /// The role that has a tool.
    pub fn role_of(&self, tool: &str) -> Option<&str> {
        let has =
            |role: &&CapableRole| role.tools.iter().any(|own| own.spec.name == canonical(tool));
        self.roles.iter().find(has).map(|role| role.name.as_str())
    }

    /// Whether a role has any tool.
    pub(super) fn has_tools(&self, role: &str) -> bool {
        self.roles.iter().any(|known| known.name == role && !known.tools.is_empty())
    }

    /// The names of all tools.
    pub(super) fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.roles.iter().flat_map(|role| &role.tools).map(|tool| tool.spec.name.as_str())
    }

    /// The tool of a role that has no other.
    pub(super) fn only_tool(&self, role: &str) -> Option<&str> {
        let role = self.roles.iter().find(|known| known.name == role)?;
        let [only] = role.tools.as_slice() else { return None };
        Some(&only.spec.name)
    }

    /// A tool of a role.
    pub(super) fn tool(&self, role: &str, tool: &str) -> Option<&RoleTool> {
        let role = self.roles.iter().find(|known| known.name == role)?;
        role.tools.iter().find(|own| own.spec.name == canonical(tool))
    }

    /// The tools of the roles that are workers, by role.
    pub fn worker_tools(&self) -> BTreeMap<String, Vec<Arc<dyn Tool>>> {
        let workers = self.roles.iter().filter(|role| role.name != ORCHESTRATOR);
        let tools = |role: &CapableRole| {
            let called = role.tools.iter().filter_map(|tool| match &tool.action {
                StepAction::Call(tool) => Some(Arc::clone(tool)),
                StepAction::Explore(_) | StepAction::AskModel => None,
            });
            (role.name.clone(), called.collect())
        };
        workers.map(tools).collect()
    }

    /// The tools with what each needs, for a planner that is a small model: it repeats what it
    /// reads, and a tool decides its role.
    pub(super) fn short_text(&self) -> String {
        let tools = self.roles.iter().flat_map(|role| &role.tools);
        let lines = tools.map(|tool| format!("- {}", call_text(&tool.spec)));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The roles and their tools, for a planner.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for role in self.roles.iter().filter(|role| !role.tools.is_empty()) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}: {}", role.name, role.description);
            for tool in &role.tools {
                let described = tool_text(&tool.spec, "result_data.").replace('\n', "\n  ");
                let _ = writeln!(text, "- {}: {described}", tool.spec.name);
            }
        }
        text
    }
}

/// The name that stands for a tool.
pub fn canonical(tool: &str) -> &str {
    if tool == MODEL_ALIAS { MODEL } else { tool }
}

/// Whose a tool is that no worker of the caller claims.
fn usual_role(tool: &str) -> &'static str {
    match tool {
        SEARCH | PAGES | DOCUMENT_SEARCH | DOCUMENTS => RESEARCH,
        FILES | DOWNLOADER => ORCHESTRATOR,
        _ => UTILITY,
    }
}

fn explorer() -> ToolSpec {
    let parameters = json!({
        "type": "object",
        "properties": {
            "searchResults": {"type": "array", "items": {"type": "object"}},
            "pagesToExplore": {"type": "integer", "minimum": 1, "maximum": 10},
        },
        "additionalProperties": false,
    });
    let description = "Reads the first pages of a search: of `searchResults`, or of the latest WebSearchTool of an earlier stage.";
    let results = Some(json!({"type": "string"}));
    ToolSpec { results, ..ToolSpec::new(EXPLORER, description, parameters) }
}

fn model_step() -> ToolSpec {
    let message = json!({
        "type": "object",
        "properties": {"role": {"enum": ["system", "user", "assistant"]}, "content": {"type": "string"}},
        "required": ["role", "content"],
    });
    let parameters = json!({
        "type": "object",
        "properties": {
            "prompt": {"type": "string"},
            "prompt_template": {"type": "string"},
            "prompt_params": {"type": "object"},
            "messages": {"type": "array", "items": message},
            "data_from_previous_step": {"type": "boolean"},
            "isFinalAnswer": {"type": "boolean"},
        },
        "additionalProperties": false,
    });
    let description = "Has a model write a text from `prompt`. In the only step of the last stage, `isFinalAnswer` makes its text the answer of the task.";
    let results = Some(json!({"type": "string"}));
    ToolSpec { results, ..ToolSpec::new(MODEL, description, parameters) }
}

fn unknown_tool(role: &str, tool: &str) -> Fault {
    let message = format!("`workers` gives {role} a tool that the system does not have: {tool}");
    Fault::new(FaultCode::SystemSettingInvalid, message).hint("pass it in `tools`")
}
