//! What a server promises about the results of a tool.

use std::fmt;

use antiphon_core::reply::ReplyParser;
use antiphon_core::{Fault, Schema};
use antiphon_reply::CompiledSchema;
use rmcp::model::{CallToolResult, Tool};
use serde_json::Value as Json;

use super::failure::{quoted, reply_invalid};
use super::schemas;

/// The schema of a tool's structured results.
#[derive(Clone)]
pub(super) struct ResultSchema(CompiledSchema);

impl ResultSchema {
    /// The schema of a tool that has one. One that cannot be used is left out with a warning:
    /// results can be read without it.
    pub(super) fn of(server: &str, tool: &Tool) -> Option<Self> {
        let schema = schemas::bounded(tool.output_schema.as_deref()?.clone());
        let compiled = schema.and_then(|schema| {
            let schema = Schema::new(tool.name.to_string(), schema);
            CompiledSchema::compile(&schema).map_err(|fault| fault.message.clone())
        });
        match compiled {
            Ok(compiled) => Some(Self(compiled)),
            Err(cause) => {
                let tool = quoted(&tool.name);
                tracing::warn!(server, tool = %tool, cause, "results are not validated");
                None
            }
        }
    }

    /// The schema itself.
    pub(super) fn json(&self) -> &Json {
        &self.0.schema().json
    }

    /// Checks a result that is no error.
    ///
    /// # Errors
    /// `mcp_reply_invalid` if the structured content is missing or does not fit.
    pub(super) fn check(&self, server: &str, result: &CallToolResult) -> Result<(), Fault> {
        let schema = &self.0;
        let Some(value) = &result.structured_content else {
            let cause = "it lacks the structured content that its tool's schema promises";
            return Err(reply_invalid(server, cause));
        };
        schema.validate(value).map_err(|violations| {
            let sentences = violations.iter().map(|violation| violation.sentence("result"));
            let cause = sentences.collect::<Vec<_>>().join("; ");
            reply_invalid(server, &format!("it does not fit its tool's schema: {cause}"))
        })
    }
}

impl PartialEq for ResultSchema {
    fn eq(&self, other: &Self) -> bool {
        self.0.schema().json == other.0.schema().json
    }
}

impl fmt::Debug for ResultSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ResultSchema").field(&self.0.schema().json).finish()
    }
}
