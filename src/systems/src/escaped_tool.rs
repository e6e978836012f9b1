//! Results of tools as models may read them.

use std::sync::Arc;

use antiphon_core::approval::HostVerdict;
use antiphon_core::{Fault, ToolOutcome, ToolSpec};
use antiphon_runtime::{CallContext, Tool};
use async_trait::async_trait;
use serde_json::Value as Json;

use crate::delimited_input::escape;

/// A tool in whose results the tags of the systems are made harmless: a page that says
/// `<question>` does not ask anything.
pub(crate) struct EscapedTool(pub(crate) Arc<dyn Tool>);

#[async_trait]
impl Tool for EscapedTool {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    async fn approve(&self, arguments: &Json, cx: &CallContext) -> Result<HostVerdict, Fault> {
        self.0.approve(arguments, cx).await
    }

    async fn call(&self, arguments: Json, cx: &CallContext) -> ToolOutcome {
        match self.0.call(arguments, cx).await {
            Ok(result) => Ok(escaped(result)),
            Err(mut fault) => {
                fault.message = escape(&fault.message).into_owned();
                Err(fault)
            }
        }
    }
}

fn escaped(value: Json) -> Json {
    match value {
        Json::String(text) => escape(&text).into(),
        Json::Array(items) => items.into_iter().map(escaped).collect(),
        Json::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (escape(&name).into_owned(), escaped(value)))
            .collect(),
        other => other,
    }
}
