//! Native tools as the tools that plans name: the same work, with the input and the result that a
//! plan counts on.

use std::sync::Arc;

use antiphon_core::approval::{Approval, HostVerdict};
use antiphon_core::{Fault, FaultCode, SideEffect, ToolOutcome, ToolSpec};
use antiphon_runtime::{CallContext, Tool, UserContext};
use async_trait::async_trait;
use serde_json::{Value as Json, json};

use super::capability::{CALCULATOR, DOWNLOADER, FILES, PAGES, SEARCH};
use super::operation::{operation, operations};
use crate::partial_result::{PartialError, PartialResult};

/// A tool of a plan over native ones.
pub(super) struct NativeTool {
    spec: ToolSpec,
    /// The native tools that it may call.
    natives: Vec<Arc<dyn Tool>>,
}

/// The names of the native tools below each tool of a plan.
const NATIVES: [(&str, &[&str]); 5] = [
    (SEARCH, &["web_search"]),
    (PAGES, &["read_page"]),
    (CALCULATOR, &["calculate"]),
    (FILES, &["write_file", "append_file", "read_file", "list_files", "write_pdf"]),
    (DOWNLOADER, &["download"]),
];

/// Whether a tool stands below one that plans name.
pub(super) fn is_native(name: &str) -> bool {
    NATIVES.iter().any(|(_, natives)| natives.contains(&name))
}

/// The tools of plans for which there are native ones.
pub(super) fn native_tools(given: &[Arc<dyn Tool>]) -> Vec<Arc<dyn Tool>> {
    let of = |(name, below): &(&'static str, &[&str])| -> Option<Arc<dyn Tool>> {
        let natives = given.iter().filter(|tool| below.contains(&tool.spec().name.as_str()));
        let natives: Vec<Arc<dyn Tool>> = natives.cloned().collect();
        (!natives.is_empty()).then(|| Arc::new(NativeTool::new(name, natives)) as Arc<dyn Tool>)
    };
    NATIVES.iter().filter_map(of).collect()
}

impl NativeTool {
    fn new(name: &str, natives: Vec<Arc<dyn Tool>>) -> Self {
        let has = |native: &str| natives.iter().any(|tool| tool.spec().name == native);
        let known: Vec<&str> = operations(name, &has).map(|operation| operation.name).collect();
        let (description, properties, required) = described(name, &known);
        let parameters = json!({
            "type": "object", "properties": properties, "required": required,
            "additionalProperties": false,
        });
        let mut spec = ToolSpec::new(name, description, parameters);
        let specs = || natives.iter().map(|tool| tool.spec());
        spec.results = declared(name);
        let only_reads = specs().all(crate::tool_cache::only_reads);
        spec.side_effect = if only_reads { SideEffect::Read } else { SideEffect::Write };
        spec.idempotent = specs().all(|one| one.idempotent);
        // Each native tool has its own limit; a longer one must not be cut by a shorter one.
        spec.timeout = specs().map(|one| one.timeout).max().flatten();
        let asks = |who| specs().any(|one| one.approval == who);
        spec.approval = if asks(Approval::Person) {
            Approval::Person
        } else if asks(Approval::Host) {
            Approval::Host
        } else {
            Approval::None
        };
        Self { spec, natives }
    }

    /// The native tool for an input, and its arguments.
    fn native(&self, input: &Json) -> Result<(&Arc<dyn Tool>, Json), Fault> {
        let of = |name: &str| input.get(name).cloned().unwrap_or_default();
        let only = self.natives.first();
        let (tool, arguments) = match self.spec.name.as_str() {
            SEARCH => {
                let mut arguments = json!({"query": of("query")});
                if let (Some(fields), Some(num)) = (arguments.as_object_mut(), input.get("num")) {
                    fields.insert("count".to_owned(), num.clone());
                }
                (only, arguments)
            }
            PAGES => (only, json!({"url": of("url")})),
            CALCULATOR => (only, json!({"expression": of("expression")})),
            name => {
                let wanted = of("operation");
                let wanted = operation(name, wanted.as_str().unwrap_or_default());
                let params = of("params");
                let params = params.as_object().cloned().unwrap_or_default();
                let tool = self
                    .natives
                    .iter()
                    .find(|tool| wanted.is_some_and(|it| it.native == tool.spec().name));
                (tool, wanted.map_or(Json::Null, |it| it.arguments(&params)))
            }
        };
        let tool = tool.ok_or_else(|| {
            let message = format!("the tool has no such operation: {}", of("operation"));
            Fault::new(FaultCode::InvalidValue, message).with("tool", self.spec.name.as_str())
        })?;
        Ok((tool, arguments))
    }

    /// The result of the native tool as plans know it.
    fn result(&self, value: Json) -> Json {
        match self.spec.name.as_str() {
            SEARCH => {
                let Some(found) = value.get("results").and_then(Json::as_array) else {
                    return value;
                };
                let shown = |one: &Json| json!({"title": one["title"], "link": one["url"], "snippet": one["snippet"]});
                found.iter().map(shown).collect()
            }
            PAGES => match value.get("text").and_then(Json::as_str) {
                Some(text) if value.get("next_offset").is_some_and(Json::is_u64) => {
                    json!(format!("{text}\n[the page goes on]"))
                }
                Some(text) => json!(text),
                None => value,
            },
            CALCULATOR => {
                value.get("number").or_else(|| value.get("result")).cloned().unwrap_or(value)
            }
            FILES => {
                let errors = file_errors(&value);
                PartialResult { value, errors }.into_returned()
            }
            _ => value,
        }
    }
}

/// What a PDF file lacks: the font that was asked for, and characters.
fn file_errors(value: &Json) -> Vec<PartialError> {
    let text = |name: &str| value.get(name).and_then(Json::as_str);
    let path = text("path").unwrap_or_default();
    let font = text("unusable_font").map(|reason| format!("the font cannot be used: {reason}"));
    let missing = value.get("missing_characters").and_then(Json::as_array).map_or(0, Vec::len);
    let missing = (missing > 0).then(|| format!("characters that no font has: {missing}"));
    let errors = font.into_iter().chain(missing);
    errors.map(|message| PartialError { source: path.to_owned(), message }).collect()
}

/// The schema of what a tool of plans returns, where that does not depend on an operation.
fn declared(name: &str) -> Option<Json> {
    let text = || json!({"type": "string"});
    match name {
        SEARCH => {
            let hit = json!({"title": text(), "link": text(), "snippet": text()});
            let hit = json!({"type": "object", "properties": hit});
            Some(json!({"type": "array", "items": hit}))
        }
        PAGES => Some(text()),
        CALCULATOR => Some(json!({"type": ["number", "string"]})),
        _ => None,
    }
}

/// The description, properties and required fields of a tool of plans.
fn described(name: &str, known: &[&str]) -> (&'static str, Json, Json) {
    match name {
        SEARCH => (
            "Searches the web. The result is a list of objects with `title`, `link` and `snippet`.",
            json!({
                "query": {"type": "string", "minLength": 1},
                "num": {"type": "integer", "minimum": 1, "maximum": 20},
            }),
            json!(["query"]),
        ),
        PAGES => (
            "Reads a web page. The result is its text.",
            json!({"url": {"type": "string", "minLength": 1}}),
            json!(["url"]),
        ),
        CALCULATOR => (
            "Calculates an expression. The result is a number.",
            json!({"expression": {"type": "string", "minLength": 1}}),
            json!(["expression"]),
        ),
        DOWNLOADER => (
            "Downloads a file: `params` are `url` and, if you like, `filename`.",
            json!({"operation": {"enum": known}, "params": {"type": "object"}}),
            json!(["operation", "params"]),
        ),
        _ => (
            "Works with files: `params` are `filename`, `content` and, if you like, `directory` for what writes; `filepath` for `read_file`; `directory` and `recursive` for `list_files`. A PDF can have a `fontSize`, a `fontName` such as Helvetica or Courier, or a `customFontFileName` of the fonts that are there, and `margins` in points: a number, or four (top, right, bottom, left).",
            json!({"operation": {"enum": known}, "params": {"type": "object"}}),
            json!(["operation", "params"]),
        ),
    }
}

#[async_trait]
impl Tool for NativeTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn approve(&self, input: &Json, cx: &CallContext) -> Result<HostVerdict, Fault> {
        let (tool, arguments) = self.native(input)?;
        if tool.spec().approval == Approval::Host {
            return tool.approve(&arguments, cx).await;
        }
        Ok(HostVerdict::Approve)
    }

    fn bind(&self, user_context: &UserContext) -> Option<Arc<dyn Tool>> {
        let bound = |tool: &Arc<dyn Tool>| tool.bind(user_context).unwrap_or_else(|| tool.clone());
        let natives = self.natives.iter().map(bound).collect();
        Some(Arc::new(Self { spec: self.spec.clone(), natives }))
    }

    async fn call(&self, input: Json, cx: &CallContext) -> ToolOutcome {
        let (tool, arguments) = self.native(&input)?;
        tool.call(arguments, cx).await.map(|value| self.result(value))
    }
}
