//! The list of a server's tools, checked.

use antiphon_core::{Fault, FaultCode, SideEffect, ToolSpec};
use rmcp::model::Tool;

use super::connection::Connection;
use super::failure::{CallFailure, quoted};
use super::names::NameRegistry;
use super::result_schema::ResultSchema;
use super::schemas;

/// The most tools that a server may have.
const MOST_TOOLS: usize = 1000;
/// The most pages of its list.
const MOST_PAGES: usize = 100;
/// Characters of a description that a model reads.
const DESCRIPTION: usize = 4000;

/// A tool of a server, under the name that models use.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ListedTool {
    /// The server's name for it.
    pub(super) name: String,
    /// What models and the engine see.
    pub(super) spec: ToolSpec,
    /// What its results must fit, if the server says so.
    pub(super) results: Option<ResultSchema>,
}

/// What to take from a list.
#[derive(Clone, Debug)]
pub(super) struct ToolSelection {
    pub(super) prefix: String,
    /// Names of the server; empty for all.
    pub(super) only: Vec<String>,
}

/// All pages of the list.
pub(super) async fn read(connection: &Connection) -> Result<Vec<Tool>, CallFailure> {
    let mut tools = Vec::new();
    let mut cursor = None;
    for _ in 0..MOST_PAGES {
        let page = connection.page(cursor).await?;
        tools.extend(page.tools);
        cursor = page.next_cursor;
        if cursor.is_none() || tools.len() >= MOST_TOOLS {
            break;
        }
    }
    tools.truncate(MOST_TOOLS);
    Ok(tools)
}

impl ToolSelection {
    /// The tools to use, in the order of the server. Those that cannot be used are left out with a
    /// warning, unless they were asked for.
    pub(super) fn of(&self, server: &str, tools: &[Tool]) -> Result<Vec<ListedTool>, Fault> {
        let missing = self.only.iter().find(|name| !tools.iter().any(|tool| tool.name == **name));
        if let Some(name) = missing {
            let known: Vec<_> = tools.iter().map(|tool| quoted(&tool.name)).collect();
            let message = format!("the MCP server `{server}` has no such tool: {name}");
            return Err(Fault::new(FaultCode::McpToolUnknown, message)
                .hint(format!("its tools are {}", known.join(", ")))
                .with("server", server)
                .with("tool", name.clone()));
        }
        let mut names = NameRegistry::default();
        let mut listed = Vec::new();
        for tool in tools {
            let wanted = self.only.iter().any(|name| *name == tool.name);
            if !wanted && !self.only.is_empty() {
                continue;
            }
            match schemas::parameters(&tool.input_schema) {
                Ok(parameters) => {
                    let name = names.claim(&self.prefix, &tool.name);
                    let results = ResultSchema::of(server, tool);
                    let mut spec = spec(name, tool, parameters);
                    spec.results = results.as_ref().map(|schema| schema.json().clone());
                    listed.push(ListedTool { name: tool.name.to_string(), spec, results });
                }
                Err(cause) if wanted => return Err(unusable(server, tool, &cause)),
                Err(cause) => {
                    tracing::warn!(server, tool = %quoted(&tool.name), cause, "a tool is left out");
                }
            }
        }
        Ok(listed)
    }
}

fn unusable(server: &str, tool: &Tool, cause: &str) -> Fault {
    let message = format!("a tool of the MCP server `{server}` cannot be used, because {cause}");
    Fault::new(FaultCode::McpToolUnknown, message)
        .hint("leave it out of `tools`")
        .with("server", server)
        .with("tool", quoted(&tool.name))
}

fn spec(name: String, tool: &Tool, parameters: serde_json::Value) -> ToolSpec {
    let description = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
    let mut spec = ToolSpec::new(name, visible(description), parameters);
    // Hints of a stranger: they decide about order and repetition, never about permission.
    let hint = tool.annotations.as_ref();
    if hint.is_some_and(|hint| hint.read_only_hint == Some(true)) {
        spec.side_effect = SideEffect::Read;
    }
    spec.idempotent = hint.is_some_and(|hint| hint.idempotent_hint == Some(true));
    spec.cache = Some(false);
    spec
}

/// A description without characters that people do not see, so that nothing is said to the model
/// alone; bounded.
fn visible(text: &str) -> String {
    let shown = text.chars().filter(|c| !is_hidden(*c));
    shown.take(DESCRIPTION).collect()
}

fn is_hidden(c: char) -> bool {
    let control = c.is_control() && !matches!(c, '\n' | '\t');
    control
        || matches!(c, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}')
        || matches!(c, '\u{FEFF}' | '\u{00AD}' | '\u{E0000}'..='\u{E0FFF}')
}
