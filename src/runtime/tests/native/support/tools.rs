//! Tools of a few lines.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::agent::AgentTool;
use antiphon_core::reply::Shape;
use antiphon_core::{Schema, SideEffect, ToolOutcome, ToolSpec};
use antiphon_runtime::{CallContext, Tool};
use async_trait::async_trait;
use serde_json::{Value as Json, json};

type Calling = Pin<Box<dyn Future<Output = ToolOutcome> + Send>>;

/// A tool made of a closure.
pub(crate) struct Made {
    spec: ToolSpec,
    code: Box<dyn Fn(Json, CallContext) -> Calling + Send + Sync>,
}

pub(crate) fn tool<F>(
    name: &str,
    timeout: Option<Duration>,
    code: impl Fn(Json, CallContext) -> F + Send + Sync + 'static,
) -> Arc<Made>
where
    F: Future<Output = ToolOutcome> + Send + 'static,
{
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let mut spec = ToolSpec::new(name, "a tool of a test", parameters);
    spec.timeout = timeout;
    spec.side_effect = SideEffect::Read;
    Arc::new(Made { spec, code: Box::new(move |arguments, cx| Box::pin(code(arguments, cx))) })
}

/// The tool as an agent declares it.
pub(crate) fn declared(tool: &Made) -> AgentTool {
    let schema = Schema::new(tool.spec.name.clone(), tool.spec.parameters.clone());
    AgentTool { spec: tool.spec.clone(), arguments: Arc::new(Shape::compile(&schema).unwrap()) }
}

#[async_trait]
impl Tool for Made {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: Json, cx: &CallContext) -> ToolOutcome {
        (self.code)(arguments, cx.clone()).await
    }
}
