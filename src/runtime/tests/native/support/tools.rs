//! Tools of a few lines.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::agent::AgentTool;
use antiphon_core::approval::{Approval, HostVerdict};
use antiphon_core::{Fault, Schema, SideEffect, ToolOutcome, ToolSpec};
use antiphon_reply::CompiledSchema;
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

impl Made {
    /// The same code, declared otherwise.
    pub(crate) fn with_spec(self, spec: ToolSpec) -> Self {
        Self { spec, ..self }
    }
}

/// A tool whose calls are approved for Lyon alone.
pub(crate) struct Guarded(Made);

pub(crate) fn guarded(name: &str) -> Arc<Guarded> {
    let code = |arguments: Json, _: CallContext| -> Calling {
        Box::pin(async move { Ok(arguments["city"].clone()) })
    };
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let mut spec = ToolSpec::new(name, "a tool that asks", parameters);
    spec.approval = Approval::Host;
    Arc::new(Guarded(Made { spec, code: Box::new(code) }))
}

/// The tool as an agent declares it.
pub(crate) fn declared(tool: &Arc<impl Tool>) -> AgentTool {
    let spec = tool.spec().clone();
    let schema = Schema::new(spec.name.clone(), spec.parameters.clone());
    AgentTool { spec, arguments: Arc::new(CompiledSchema::compile(&schema).unwrap()) }
}

#[async_trait]
impl Tool for Guarded {
    fn spec(&self) -> &ToolSpec {
        &self.0.spec
    }

    async fn approve(&self, arguments: &Json, _: &CallContext) -> Result<HostVerdict, Fault> {
        let fits = arguments["city"] == "Lyon";
        Ok(if fits { HostVerdict::Approve } else { HostVerdict::Refuse(Some("only Lyon".into())) })
    }

    async fn call(&self, arguments: Json, cx: &CallContext) -> ToolOutcome {
        self.0.call(arguments, cx).await
    }
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
